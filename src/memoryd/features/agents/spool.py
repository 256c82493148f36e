"""The spool of turns on their way to the journal: files next to the database, moved by the next hook or server.

An agent must not wait for a database that is locked or unreachable. So a hook first writes its turns to a file,
atomically and durably; the file is deleted once its turns are in the journal. Even if two processes move the same file,
or one dies in between, each turn is stored once, because its id decides.
"""

import hashlib
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from memoryd import disk
from memoryd.core.base.background import Chore
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.workspaces.project import WorkspaceChoice
from memoryd.errors import MemorydError, NotFoundError, StoreError
from memoryd.features.agents import transcripts
from memoryd.features.agents.transcripts import Tally
from memoryd.model import Interaction, Workspace
from memoryd.posting import HookServer, NotPostedError

TOOL = "memoryd hook"
"""The provenance of a record written by a hook."""
WHOLE = ".json"
PIECE = 1 << 20  # bytes of turns in one request, unless one turn has more
ASKING = 3.0  # seconds after which a hook gives up on the database, for which a user would wait at every turn
ABANDONED = 24 * 3600.0
"""Seconds after which the unfinished file of a killed hook is removed; the next hook has read its turns again."""


@dataclass(frozen=True, slots=True)
class SpooledTurns:
    """The result of one hook: turns of a workspace, with secrets masked, and the sessions that have ended."""

    workspace: str
    client: str
    turns: tuple[Interaction, ...]
    ended: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """The keys of the project to which the workspace belongs; empty if only the name counts."""


class Spool(ABC):
    """The spooled files of one place, a database or a server."""

    or_else = ""
    """Who moves them besides the next hook, as the end of an enumeration."""

    def __init__(self, directory: Path, place: str) -> None:
        self.directory = directory
        self.place = place
        """The path or address, for people; never a password."""

    def put(self, entry: SpooledTurns) -> None:
        """Store turns durably. Raise OSError if they cannot be written."""
        with disk.appearing(self.directory / f"{time.time_ns()}-{uuid.uuid4()}{WHOLE}") as path:
            path.write_text(json.dumps(asdict(entry)), encoding="utf-8")

    def waiting(self) -> list[Path]:
        """Return the files that have not been moved yet, oldest first."""
        return sorted(self.directory.glob(f"*{WHOLE}"))

    def take_in(self, stopping: Callable[[], bool], choice: WorkspaceChoice | None = None) -> None:
        """Move the spooled turns of one workspace, or of all, to the journal; files that fail stay in the spool.

        After all files were tried, raise the first MemorydError.
        """
        errors: list[MemorydError] = []
        for path in self.waiting():
            if stopping():
                return
            try:
                entry = _read(path)
                if entry and (choice is None or (choice.name, choice.keys) == (entry.workspace, entry.keys)):
                    self._store(entry, path)
                    path.unlink(missing_ok=True)
            except MemorydError as error:
                errors.append(error)
            except OSError as error:  # e.g. another process is reading it; its turns are stored only once
                errors.append(StoreError(f"{path} cannot be removed ({error}). Check its permissions."))
        disk.sweep(self.directory.glob(f"*{disk.SUFFIX}"), ABANDONED)
        if errors:
            raise errors[0]

    @abstractmethod
    def _store(self, entry: SpooledTurns, path: Path) -> None:
        """Store the turns of a file where they belong. Raise MemorydError if they must stay."""


class EngineSpool(Spool):
    """The spooled files of an engine's own database."""

    or_else = " or server"

    def __init__(self, engine: Engine) -> None:
        super().__init__(_beside(engine), engine.store.place)
        self._engine = engine

    def _store(self, entry: SpooledTurns, path: Path) -> None:
        choice = WorkspaceChoice(entry.workspace, entry.keys)
        tally = store(self._engine, lambda: choice.ensure(self._engine.workspaces), entry, path)
        if tally.first:
            raise StoreError(f"Turns of {path} were not stored: {tally.first.text}.")


class ServerSpool(Spool):
    """The files on their way to a workspace of a server."""

    def __init__(self, server: HookServer, data_dir: Path) -> None:
        name = hashlib.sha256(f"{server.workspace} at {server.url}".encode()).hexdigest()[:16]
        super().__init__(data_dir / "spool" / name, server.url)
        self._server = server

    def put(self, entry: SpooledTurns) -> None:
        """Store turns durably, in files that each fit into a request. Raise OSError if they cannot be written."""
        pieces = list(_pieces(entry.turns))
        for number, turns in enumerate(pieces, 1):
            ended = entry.ended if number == len(pieces) else ()
            super().put(replace(entry, turns=turns, ended=ended))

    def _store(self, entry: SpooledTurns, _path: Path) -> None:
        turns = [asdict(turn) for turn in entry.turns]
        message = {"event": "turns", "client": entry.client, "turns": turns, "ended": entry.ended}
        try:
            self._server.post(message, ASKING)
        except NotPostedError as error:
            raise StoreError(str(error)) from None


def _pieces(turns: tuple[Interaction, ...]) -> Iterator[tuple[Interaction, ...]]:
    piece, size = list[Interaction](), 0
    for turn in turns:
        length = len(json.dumps(asdict(turn)))
        if piece and size + length > PIECE:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(turn)
        size += length
    if piece:
        yield tuple(piece)


def store(engine: Engine, found: Callable[[], Workspace], entry: SpooledTurns, origin: Path) -> Tally:
    """Store turns in the journal of the workspace that `found` returns, each once, and summarize what has ended."""
    tally = Tally()
    with written_by(entry.client, TOOL):
        journal = Journal(Scope(engine, found()))
        transcripts.keep(journal.kept, entry.turns, engine.secrets, tally, origin)
        for session in entry.ended:
            with suppress(NotFoundError):  # its turns may have been deleted
                journal.summarize(session)
    return tally


def _beside(engine: Engine) -> Path:
    """Return the spool directory of a database; for a database server it is below the data directory."""
    settings = engine.settings
    if settings.database_url:
        return settings.data_dir / "spool" / hashlib.sha256(engine.store.place.encode()).hexdigest()[:16]
    if settings.db_path:
        return settings.db_path.with_name(f"{settings.db_path.name}-spool")
    return settings.data_dir / "spool"


def _read(path: Path) -> SpooledTurns | None:
    """Return the content of a file; None if another process has just moved it. Raise StoreError if it is damaged."""
    try:
        held = json.loads(path.read_bytes())
        turns = tuple(Interaction(**turn) for turn in held["turns"])
        keys = tuple(held.get("keys", ()))  # older versions wrote none
        return SpooledTurns(held["workspace"], held["client"], turns, tuple(held["ended"]), keys)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). It contains turns from a hook. Repair or delete it."
        ) from error


def chores(engine: Engine) -> list[Chore]:
    """Return what a server does with the spool now and then."""
    return [EngineSpool(engine).take_in]
