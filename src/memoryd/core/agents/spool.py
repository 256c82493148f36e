"""Turns on their way to the journal: files beside the database, which the next hook or server takes in.

An agent must not wait for a database that is locked or away. So a hook writes its turns into a file of their own, whole
and durable, before it turns to the database; a file goes once its turns are in the journal. Two that take in the same
file at once do no harm, nor does one that dies between: a turn is kept once, by its id.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from memoryd import disk
from memoryd.core.agents import transcript_import
from memoryd.core.agents.transcript_import import Tally
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.errors import MemorydError, NotFoundError, StoreError
from memoryd.model import Interaction

TOOL = "memoryd hook"
"""What a record says that a hook wrote."""
WHOLE = ".json"
ABANDONED = 24 * 3600.0  # seconds after which a file that was never finished is removed


@dataclass(frozen=True, slots=True)
class Entry:
    """What one hook has read: turns of a workspace without their secrets, and which sessions are over."""

    workspace: str
    client: str
    turns: tuple[Interaction, ...]
    ended: tuple[str, ...] = ()


class Spool:
    """The files that wait for one database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.directory = _beside(engine)

    def put(self, entry: Entry) -> None:
        """Keep an entry; durable when this returns. Raise OSError where it cannot be written."""
        with disk.appearing(self.directory / f"{time.time_ns()}-{uuid.uuid4()}{WHOLE}") as path:
            path.write_text(json.dumps(asdict(entry)), encoding="utf-8")

    def waiting(self) -> list[Path]:
        """Return the files that are not taken in yet, the oldest first."""
        return sorted(self.directory.glob(f"*{WHOLE}"))

    def take_in(self, stopping: Callable[[], bool], workspace: str | None = None) -> None:
        """Bring what waits into the journal, for one workspace or all; what fails stays where it is.

        Raise the first MemorydError, once all were tried.
        """
        errors: list[MemorydError] = []
        for path in self.waiting():
            if stopping():
                return
            try:
                entry = _read(path)
                if entry and workspace in (None, entry.workspace):
                    self._keep(entry, path)
                    path.unlink(missing_ok=True)
            except MemorydError as error:
                errors.append(error)
            except OSError as error:  # another process reads it; its turns are kept once, whoever removes it
                errors.append(StoreError(f"{path} cannot be removed ({error}). Look into it."))
        self._sweep()
        if errors:
            raise errors[0]

    def _keep(self, entry: Entry, path: Path) -> None:
        tally = Tally()
        with written_by(entry.client, TOOL):
            journal = Journal(Scope(self._engine, self._engine.workspaces.ensure(entry.workspace)))
            transcript_import.keep(journal.kept, entry.turns, self._engine.secrets, tally, path)
            for session in entry.ended:
                with suppress(NotFoundError):  # its turns may be gone by now
                    journal.summarize(session)
        if tally.faults:
            raise StoreError(f"Turns of {path} were not kept: {tally.first_faults[0].text}.")

    def _sweep(self) -> None:
        """Remove what a hook that was killed has left unfinished: the next one has read it again."""
        oldest = time.time() - ABANDONED
        for path in self.directory.glob(f"*{disk.SUFFIX}"):
            with suppress(OSError):  # another process may be faster
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _beside(engine: Engine) -> Path:
    """Where the entries of a database lie; for one on a server, below the data directory."""
    settings = engine.settings
    if settings.database_url:
        return settings.data_dir / "spool" / hashlib.sha256(engine.store.place.encode()).hexdigest()[:16]
    if settings.db_path:
        return settings.db_path.with_name(f"{settings.db_path.name}-spool")
    return settings.data_dir / "spool"


def _read(path: Path) -> Entry | None:
    """Return what a file holds; None where another process has just taken it in. Raise StoreError for a damaged one."""
    try:
        held = json.loads(path.read_bytes())
        turns = tuple(Interaction(**turn) for turn in held["turns"])
        return Entry(held["workspace"], held["client"], turns, tuple(held["ended"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StoreError(f"{path} cannot be read ({error}). It holds turns that a hook kept; look into it.") from error
