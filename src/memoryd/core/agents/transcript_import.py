"""From transcripts to the journal: which turns are over, and how they get there once.

An agent may stop before the last lines of its transcript are written, and go on after it stopped. So a turn is kept
only when its end is certain; one that is not is found by the next hook or import, which reads on from its beginning.
"""

import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from memoryd.core.agents.claude_code import LINE, Reader, Turn
from memoryd.core.base.batches import batches
from memoryd.core.security.secrets import SecretRefusedError, Secrets
from memoryd.core.transfer.jsonl import Done, ignored
from memoryd.errors import InvalidInputError
from memoryd.model import Interaction
from memoryd.store.journal import JournalStore

BATCH = 100  # turns a transaction
QUIET = 600.0  # seconds without a line after which a transcript is taken to be finished
LATE = 2.0  # seconds in which an agent that has stopped writes its last lines
AGAIN = 0.1  # seconds between two looks for them
REMARKS = 20  # faults that are told one by one


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that could not be used; line 0 is the whole file."""

    file: str
    line: int
    text: str


@dataclass(slots=True)
class Tally:
    """What was found, and what of it was new. `open`: turns that seem to go on."""

    files: int = 0
    read: int = 0
    new: int = 0
    open: int = 0
    faults: int = 0
    first_faults: list[Fault] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)
    """The kinds of the secrets that were masked in what was new."""

    def fault(self, file: Path, line: int, text: str) -> None:
        """Count a fault; the first ones are kept."""
        self.faults += 1
        if len(self.first_faults) < REMARKS:
            self.first_faults.append(Fault(str(file), line, text))


@dataclass(frozen=True, slots=True)
class Place:
    """From where a transcript is to be read next: the line with this uuid."""

    offset: int = 0
    uuid: str = ""


def keep(kept: JournalStore, turns: Iterable[Interaction], secrets: Secrets, tally: Tally, path: Path) -> None:
    """Keep the turns whose ids are not there yet, in batches, without their secrets; the tally counts them.

    Whatever else they say: a session that is resumed may repeat its lines under another session's id.
    """
    for batch in batches(turns, BATCH):
        known = kept.known([turn.id for turn in batch])
        unknown = list(cleaned((turn for turn in batch if turn.id not in known), secrets, tally, path))
        tally.read += len(batch)
        tally.new += kept.put(unknown) if unknown else 0


def cleaned(turns: Iterable[Interaction], secrets: Secrets, tally: Tally, path: Path) -> Iterator[Interaction]:
    """The turns without their secrets; the tally counts what was masked, and as a fault each turn that is refused."""
    for turn in turns:
        if clean := _clean(turn, secrets, tally, path):
            yield clean


def _clean(turn: Interaction, secrets: Secrets, tally: Tally, path: Path) -> Interaction | None:
    """A turn without its secrets; None where they are refused, which is a fault."""
    try:
        cleaned = secrets.clean({"prompt": turn.prompt, "thought": turn.thought, "response": turn.response})
    except SecretRefusedError as error:
        tally.fault(path, 0, f"the turn of {turn.created_at} was not kept: {str(error).rstrip('.')}")
        return None
    tally.masked += cleaned.found
    return replace(turn, **cleaned.value) if cleaned.found else turn


# one transcript, while its agent may work ----------------------------------------------------------------------------


def transcript(path: str, home: Path) -> Path:
    """The file of a path that came from elsewhere. Raises InvalidInputError unless it is one, below `home`."""
    try:
        found = Path(path).expanduser().resolve()
        regular = stat.S_ISREG(found.stat().st_mode)
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"The transcript {path[:200]!r} cannot be read: {error}.") from None
    if not found.is_relative_to(home.resolve()):
        raise InvalidInputError(f"The transcript {path[:200]!r} is not below {home}: it is not read.")
    if not regular:
        raise InvalidInputError(f"The transcript {path[:200]!r} is no file.")
    return found


def collect(path: Path, session: str, place: Place, *, ended: bool, last: str | None, tally: Tally) -> list[Turn]:
    """The turns of a transcript that are over; the last one stands for the place to go on from, whether over or not.

    `last` is what the agent said last, if it stopped and is known: its turn is over once the transcript has that, for
    which this waits a little. `ended`: the session is over, so what ends in words is.
    """
    until = time.monotonic() + LATE
    while True:
        faults = Tally()
        turns = _turns(path, session, place, faults)
        if not last or (turns and _says(turns[-1], last)) or time.monotonic() > until:
            break
        time.sleep(AGAIN)
    tally.faults += faults.faults
    tally.first_faults += faults.first_faults
    if turns and not turns[-1].closed:
        turns[-1].closed = _says(turns[-1], last) if last else turns[-1].ended or (ended and bool(turns[-1].words))
    return turns


def _turns(path: Path, session: str, place: Place, tally: Tally) -> list[Turn]:
    with path.open("rb") as file:
        begin = place if _stands(file, place) else Place()
        reader = Reader(file, session, lambda line, text: tally.fault(path, line, text))
        turns = list(reader.turns(begin.offset))
    if tally.faults and not reader.lines:
        raise InvalidInputError(f"{path} is no transcript: it has no line that is a JSON object.")
    return turns


def _stands(file: IO[bytes], place: Place) -> bool:
    """Whether the line is where it was; else the file is another one, or was written anew."""
    if not place.uuid:
        return False
    file.seek(max(0, place.offset - 1))
    before = file.read(1) if place.offset else b"\n"
    return before == b"\n" and place.uuid.encode() in file.readline(LINE)


def _says(turn: Turn, last: str) -> bool:
    """Whether the last words of a turn are in its transcript, however the lines are broken."""
    said = " ".join(last.split())
    return bool(said) and " ".join(turn.words.split()).endswith(said)


# all transcripts below a directory -----------------------------------------------------------------------------------


def load(kept: JournalStore, directory: Path, secrets: Secrets, report: Done = ignored) -> Tally:
    """Keep the turns of all transcripts below a directory; what is there already stays as it is.

    A line that cannot be used is told, and the rest goes on.
    """
    tally = Tally()
    files = [path for path in sorted(directory.rglob("*.jsonl")) if path.is_file()]
    total, before = max(1, sum(path.stat().st_size for path in files)), 0
    for path in files:
        tally.files += 1
        try:
            with path.open("rb") as file:
                keep(kept, _over(path, file, tally), secrets, tally, path)
                before += file.tell()
        except (OSError, InvalidInputError) as error:
            tally.fault(path, 0, str(error))
        report(min(1.0, before / total))
    return tally


def _over(path: Path, file: IO[bytes], tally: Tally) -> Iterator[Interaction]:
    quiet = time.time() - path.stat().st_mtime > QUIET
    for turn in Reader(file, path.stem, lambda line, text: tally.fault(path, line, text)).turns():
        if turn.ended or quiet:
            yield turn.interaction()
        else:
            tally.open += 1
