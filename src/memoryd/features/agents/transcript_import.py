"""Takes finished turns from transcripts into the journal, each once, while their agents may work.

An agent may stop before the last lines of its transcript are written, and may continue later. So a turn is stored only
when its end is certain; otherwise the next hook or import reads it again from its beginning.
"""

import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import IO, TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.security.secrets import SecretRefusedError, Secrets
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.claude_code import LINE, Reader, Turn
from memoryd.model import Interaction
from memoryd.store.journal import JournalStore

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
