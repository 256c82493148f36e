"""The new, finished turns of a transcript, whichever agent wrote it.

Transcripts of Codex, Gemini CLI, Cursor and opencode are read by the readers of their import formats, so a turn has the
same id whether it comes from a hook or an import.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

from memoryd.core.records.derived_ids import derived_id, usable_session
from memoryd.features.agents import transcript_import
from memoryd.features.agents.transcript_import import AgentStop, ReadPosition, Tally
from memoryd.features.imports.formats import codex, cursor, gemini, opencode
from memoryd.features.imports.formats.items import Fault, SourceTurn, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, opened
from memoryd.model import Interaction, Kind
from memoryd.text import storable

SessionReader: TypeAlias = Callable[[SourceFile], Iterator[Yielded]]
READERS: tuple[tuple[ForeignFormat, SessionReader], ...] = (
    (codex.FORMAT, codex.session),
    (gemini.FORMAT, gemini.session),
    (cursor.FORMAT, cursor.session),
    (opencode.FORMAT, opencode.session),
)
"""For each agent except Claude Code its format, and the reader of one session in it."""


@dataclass(frozen=True, slots=True)
class FinishedTurns:
    """The finished turns from a position on."""

    client: str
    """The agent that wrote the transcript."""
    turns: list[Interaction]
    position: ReadPosition | None
    """Where the next hook continues; None if there was no turn."""


def finished(
    path: Path, session: str, position: ReadPosition, *, client: str, stop: AgentStop, tally: Tally
) -> FinishedTurns:
    """Return the finished turns of a transcript by `client`, unless its content names another agent.

    Raise InvalidInputError if it is no transcript.
    """
    for form, read in READERS:
        with opened(path) as source:
            known = any(form.files(source))
        if known:
            return _of_session(path, form.name, read, position, stop, tally)
    turns = transcript_import.collect(path, session, position, stop, tally)
    further = ReadPosition(turns[-1].offset, turns[-1].origin) if turns else None
    return FinishedTurns(client, [turn.interaction() for turn in turns if turn.ended], further)


def _of_session(
    path: Path, form: str, read: SessionReader, position: ReadPosition, stop: AgentStop, tally: Tally
) -> FinishedTurns:
    """Return the finished turns: all that are followed by another one, and the last one if its end is certain."""
    turns = stop.awaited(partial(_read, path, form, read), attrgetter("response"), tally)
    if not turns:
        return FinishedTurns(form, [], None)
    ids = [turn.id for turn in turns]
    begin = ids.index(position.uuid) if position.uuid in ids else 0
    over = stop.is_over(turns[-1].response)
    return FinishedTurns(form, turns[begin:] if over else turns[begin:-1], ReadPosition(0, ids[-1]))


def _read(path: Path, form: str, read: SessionReader) -> tuple[list[Interaction], Tally]:
    """Return all turns of a session in the journal's form; a last line without an end is still being written."""
    turns: list[Interaction] = []
    faults = Tally()
    with opened(path) as source:
        for one in read(source.files[0]):
            if isinstance(one, SourceTurn):
                turns.append(_interaction(form, one))
            elif isinstance(one, Fault) and not one.is_torn:
                faults.fault(path, 0, one.reason)
    return turns, faults


def _interaction(form: str, turn: SourceTurn) -> Interaction:
    return Interaction(
        id=derived_id(Kind.INTERACTION, form, turn.id, ""),
        session_id=storable(usable_session(turn.session_id)),
        created_at=turn.created_at,
        prompt=storable(turn.prompt),
        thought=storable(turn.thought),
        response=storable(turn.response),
    )
