"""The new, finished turns of a transcript, whichever agent wrote it, taken into the journal, each once.

An agent may stop before the last lines of its transcript are written, and may continue later. So a turn is stored only
when its end is certain; otherwise the next hook reads it again from its beginning. Transcripts of Codex, Gemini CLI,
Cursor and opencode are read by the readers of their import formats, so a turn has the same id whether it comes from a
hook or an import.
"""

import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.records.derived_ids import derived_id, usable_session
from memoryd.core.security.secrets import SecretRefusedError, Secrets
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats import codex, cursor, gemini, opencode
from memoryd.features.imports.formats.claude_code import LINE, Reader, Turn
from memoryd.features.imports.formats.items import Fault, SourceTurn, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, opened
from memoryd.model import Interaction, Kind
from memoryd.store.journal import JournalStore
from memoryd.text import storable

T = TypeVar("T")

BATCH = 100  # turns stored in one transaction
LATE = 2.0  # seconds to wait for the last lines after an agent has stopped
AGAIN = 0.1  # seconds between two checks for them


@dataclass(frozen=True, slots=True)
class TranscriptFault:
    """A line that could not be used; line 0 stands for the whole file."""

    file: str
    line: int
    text: str


@dataclass(slots=True)
class Tally:
    """The number of faults of transcripts, and the first one."""

    faults: int = 0
    first: TranscriptFault | None = None

    def fault(self, file: Path, line: int, text: str) -> None:
        """Count a fault."""
        self.add(Tally(1, TranscriptFault(str(file), line, text)))

    def add(self, other: "Tally") -> None:
        """Add the faults of another tally."""
        self.faults += other.faults
        self.first = self.first or other.first


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Where to read on in a transcript: the line at this offset, which has this uuid."""

    offset: int = 0
    uuid: str = ""


def keep(kept: JournalStore, turns: Iterable[Interaction], secrets: Secrets, tally: Tally, path: Path) -> None:
    """Store the turns with new ids in batches, with secrets masked.

    Only the id of a turn decides: a resumed session may repeat its lines under another session's id.
    """
    for batch in batches(turns, BATCH):
        known = kept.known([turn.id for turn in batch])
        unknown = list(cleaned((turn for turn in batch if turn.id not in known), secrets, tally, path))
        if unknown:
            kept.put(unknown)


def cleaned(turns: Iterable[Interaction], secrets: Secrets, tally: Tally, path: Path) -> Iterator[Interaction]:
    """Yield the turns with secrets masked; the tally counts each refused turn as a fault."""
    for turn in turns:
        try:
            clean = secrets.clean({"prompt": turn.prompt, "thought": turn.thought, "response": turn.response})
        except SecretRefusedError as error:
            tally.fault(path, 0, f"the turn of {turn.created_at} is left out: its {str(error).rstrip('.')}")
        else:
            yield replace(turn, **clean.value) if clean.found else turn


# one transcript, while its agent may work ----------------------------------------------------------------------------


def transcript(path: str, home: Path) -> Path:
    """Resolve the path of a transcript; raise InvalidInputError unless it is a regular file below `home`."""
    try:
        found = Path(path).expanduser().resolve()
        regular = stat.S_ISREG(found.stat().st_mode)
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"The transcript {path[:200]!r} cannot be read: {error}.") from None
    if not found.is_relative_to(home.resolve()):
        raise InvalidInputError(f"The transcript {path[:200]!r} is not below {home}, so it is not read.")
    if not regular:
        raise InvalidInputError(f"The transcript {path[:200]!r} is not a file.")
    return found


@dataclass(frozen=True, slots=True)
class AgentStop:
    """How far an agent is whose transcript is read."""

    ended: bool = False
    """Whether the session is over, so that a turn that ends with a text is over too."""
    last: str | None = None
    """Its last message, if it has stopped: its turn is over once the transcript contains that text."""
    of_subagent: bool = False
    """Whether the transcript has the turns of one that the agent started."""

    def is_over(self, words: str) -> bool:
        """Return whether a turn is over that ends with these words."""
        return says(words, self.last) if self.last else self.ended and bool(words)

    def awaited(self, read: Callable[[], tuple[list[T], Tally]], words: Callable[[T], str], tally: Tally) -> list[T]:
        """Read until the last turn has the last message, or for LATE seconds; return what was read last."""
        until = time.monotonic() + LATE
        while True:
            turns, faults = read()
            if not self.last or (turns and says(words(turns[-1]), self.last)) or time.monotonic() > until:
                tally.add(faults)
                return turns
            time.sleep(AGAIN)


def collect(path: Path, session: str, position: ReadPosition, stop: AgentStop, tally: Tally) -> list[Turn]:
    """Return the turns of a transcript from a position on; the last one may be unfinished.

    If the agent has stopped, this waits a little for its last message.
    """
    read = partial(_turns, path, session, position, of_subagent=stop.of_subagent)
    turns = stop.awaited(read, attrgetter("words"), tally)
    if turns and not turns[-1].closed:
        turns[-1].closed = stop.is_over(turns[-1].words) or (not stop.last and turns[-1].ended)
    return turns


def _turns(path: Path, session: str, position: ReadPosition, *, of_subagent: bool) -> tuple[list[Turn], Tally]:
    tally = Tally()
    with path.open("rb") as file:
        begin = position if _is_valid(file, position) else ReadPosition()
        reader = Reader(file, session, lambda line, text: tally.fault(path, line, text), of_subagent=of_subagent)
        turns = list(reader.turns(begin.offset))
    if tally.faults and not reader.lines:
        raise InvalidInputError(f"{path} is not a transcript: it has no JSON object on any line.")
    return turns, tally


def _is_valid(file: IO[bytes], position: ReadPosition) -> bool:
    """Return whether the line is still at its position; otherwise the file was replaced or rewritten."""
    if not position.uuid:
        return False
    file.seek(max(0, position.offset - 1))
    before = file.read(1) if position.offset else b"\n"
    return before == b"\n" and position.uuid.encode() in file.readline(LINE)


def says(words: str, last: str) -> bool:
    """Return whether `words` end with the text `last`, regardless of line breaks."""
    text = " ".join(last.split())
    return bool(text) and " ".join(words.split()).endswith(text)


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
    turns = collect(path, session, position, stop, tally)
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
