"""The composition root: the store, the learned helpers, the clock and the settings of one process."""

from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from contextvars import copy_context
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Self, TypeVar

from memoryd import environment, features
from memoryd.core.access.credentials import Admissions, Credentials
from memoryd.core.access.sessions import Sessions
from memoryd.core.access.tokens import EVERYTHING, Grant, Tokens
from memoryd.core.base.background import Chore, Worker
from memoryd.core.base.clock import Clock
from memoryd.core.base.leases import Leases
from memoryd.core.records import access_counts
from memoryd.core.records.access_counts import Accesses
from memoryd.core.records.change_feed import Changes
from memoryd.core.records.embedding import Embedding
from memoryd.core.records.retention import Retention
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.project import WorkspaceChoice, detect
from memoryd.core.workspaces.registry import EXPORTS, Workspaces, composed, usable
from memoryd.errors import MemorydError, NotFoundError, UnknownWorkspaceError
from memoryd.model import Workspace
from memoryd.models.helpers import Helpers
from memoryd.settings import AUTO, Settings
from memoryd.store import open_store
from memoryd.store.base import Queries

T = TypeVar("T")


class Engine:
    """Everything that a process needs to remember. Files and models are opened on first use.

    Without `fetch` missing models are not downloaded, because a process that ends soon must not begin a download.
    """

    def __init__(self, settings: Settings, *, fetch: bool = True) -> None:
        self.settings = settings
        self.clock = Clock()
        self.secrets = Secrets(settings.secrets)
        self.store = open_store(settings)
        self.workspaces = Workspaces(self.store, self.clock, self.secrets, settings.data_dir / EXPORTS)
        self.leases = Leases(self.store, self.clock)
        self.sessions = Sessions(
            self.store,
            self.workspaces,
            self.clock,
            self.leases,
            read_only=settings.read_only,
            persist=settings.session_persist,
            remote=settings.transport == "http",
        )
        self.tokens = Tokens(self.store, self.workspaces, self.clock, self.secrets)
        self.credentials = Credentials(self.store, self.clock, self.tokens, self._admissions)
        self.helpers = Helpers(settings, fetch=fetch)
        self.embedding = Embedding(
            self.store, self.workspaces, self.helpers, self.leases, self.secrets, read_only=settings.read_only
        )
        self.changes = Changes(self.store, self.clock)
        self.accesses = Accesses()
        self._stored = set[str]()
        self._used = set[str]()
        """The names of workspaces in which something was stored."""
        self._directory = Path(environment.directory())
        self._choices: dict[Path, WorkspaceChoice] = {}
        self.retention = Retention(self.store, self.workspaces, self.clock, self.leases, settings.retention_days)
        self._clients = set[ClientEngine]()
        seldom: list[Chore] = [
            self.retention.settle,
            self._tend_sessions,
            self.embedding.catch_up,
            self.retention.tend,
            self.retention.purge,
        ]
        self.worker = Worker([self.embedding.follow], seldom=seldom)
        self._workers = [self.worker]
        self._parts: dict[Callable[[Engine], Any], Any] = {}
        self._making = RLock()  # a part may need another
        self._opened = ExitStack()
        """Closes what was opened on first use beside the store."""
        self._closing, self._closed = Lock(), False

    def client(self, settings: Settings, name: str, directory: Path) -> "ClientEngine":
        """Return this engine as a service's client, which runs in `directory`, uses it until its close()."""
        client = ClientEngine(self, settings, name, directory)
        self._clients.add(client)
        return client

    def part(self, make: "Callable[[Engine], T]") -> T:
        """Return what `make` makes of this engine: made on first use, then the same for all its clients."""
        with self._making:
            if make not in self._parts:
                self._parts[make] = make(self)
            part: T = self._parts[make]
            return part

    def at_close(self, close: Callable[[], object]) -> None:
        """Have `close` called after the store was closed."""
        self._opened.callback(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def demand_database(self) -> None:
        """Raise NotFoundError if nothing was ever stored, because reading must not create a database."""
        if not self.store.placement.exists():
            raise NotFoundError(f"There is no database yet at {self.store.place}. Store a memory to create it.")

    def workspace(self, *, make: bool, directory: Path | None = None) -> Workspace:
        """Return the current workspace, created on first use if `make`.

        `auto` means the project of `directory`, the caller's, unless the client has named one. Raise NotFoundError if
        the workspace does not exist, InvalidInputError if it is archived.
        """
        choice = self.choice(directory)
        if make:
            return choice.ensure(self.workspaces)
        self.demand_database()
        if workspace := choice.known(self.workspaces):
            return usable(workspace)
        why = f" yet, {choice.found_by}: its first memory creates it" if choice.found_by else ""
        raise UnknownWorkspaceError(f"There is no workspace {choice.name!r}{why}.", self.workspaces.names())

    def choice(self, directory: Path | None = None) -> WorkspaceChoice:
        """Return the current choice of workspace; `auto` is resolved once for each directory."""
        if self.settings.workspace != AUTO:
            return WorkspaceChoice(self.settings.workspace)
        place = self.settings.project_dir or directory or self._directory
        return self._choices.get(place) or self._choices.setdefault(place, detect(place))

    def note_if_new(
        self, place: Workspace | None = None, grant: Grant = EVERYTHING, directory: Path | None = None
    ) -> str:
        """Return a sentence if nothing was ever stored in the current workspace, while there are others; else ''.

        It may be a typing error: so only of a name that was typed, if it is that of the `place` of a call, and for a
        caller who may know of others.
        """
        choice = self.choice(directory)
        elsewhere = place is not None and place.name != composed(choice.name)
        if grant.workspace or elsewhere or not choice.is_typed or choice.name in self._used:
            return ""
        found = choice.known(self.workspaces)
        if found and self.store.read(found, lambda q: q.one("records.any")):
            self._used.add(choice.name)
            return ""
        others = self.workspaces.names(but=found)
        return f"The workspace {choice.name!r} is new. There are: {others}." if others else ""

    @property
    def workspace_name(self) -> str:
        """The name of the current workspace, or the one that it would be created under."""
        return self.choice().named(self.workspaces)

    def make_project(self) -> None:
        """Create the current workspace if it is that of a project, which is known by more than its name."""
        if self.choice().keys:
            self.workspace(make=True)

    def write(self, workspace: Workspace, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction in a workspace, adding the recalls noted since the last; return its result."""
        noted = self.accesses.take(workspace)

        context = copy_context()  # has the writer's origin: the store may write in another thread

        def both(queries: Queries) -> T:
            access_counts.write(queries, noted)
            return context.run(work, queries)

        with ExitStack() as undo:
            undo.callback(self.accesses.give_back, workspace, noted)
            result = self.store.write(workspace, both)
            undo.pop_all()
        return result

    def begin(self, *more: Worker) -> None:
        """Start the background workers, each in its own thread, and return immediately."""
        self._workers += more
        for worker in self._workers:
            worker.start()

    def stored(self, workspace: Workspace) -> None:
        """Note that a memory was stored in a workspace, because maintenance may be due."""
        self._stored.add(workspace.id)
        for worker in self._workers[1:]:  # this restarts one that died
            worker.wake()

    def stored_in(self) -> set[str]:
        """Return the ids of the workspaces in which memories were stored since the last call."""
        ids = set[str]()
        while self._stored:
            ids.add(self._stored.pop())
        return ids

    def embed_later(self, workspace: Workspace, ids: Collection[str] | None) -> None:
        """Have the background make the missing vectors of these records, or with None of the whole workspace."""
        if ids is None or ids:
            self.embedding.lacks(workspace, ids)
            self.worker.wake()

    def purge_if_at_once(self, workspace: Workspace) -> None:
        """Purge now if MEMORY_RETENTION_DAYS is 0."""
        if not self.settings.retention_days:
            self.retention.purge_workspace(workspace)

    def _admissions(self) -> Admissions | None:
        made: Callable[[Engine], Admissions] | None = next(features.hooked("admissions"), None)
        return made(self) if made else None

    def _tend_sessions(self, stopping: Callable[[], bool]) -> None:
        """Renew the sessions of clients, and only then end those that have expired: the machine may have slept."""
        for client in list(self._clients):
            client.sessions.renew()
        self.sessions.tend(stopping)

    def close(self, wait: float = 1.0) -> None:
        """Finish accepted work; background work resumes at the next start. A second call waits for the first."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._close(wait)

    def _close(self, wait: float) -> None:
        for worker in self._workers:
            worker.stop(wait / len(self._workers))
        self.changes.stop(wait)
        try:
            self._write_accesses()
            for client in list(self._clients):
                client.close()
            self.sessions.close()
        finally:
            self.store.close()
            self._opened.close()

    def _write_accesses(self) -> None:
        """Write the counts of recalls as far as possible; those of a read-only database are lost."""
        waiting = self.accesses.workspaces()
        with suppress(MemorydError):
            for workspace in self.workspaces.all("active") if waiting else ():
                with suppress(MemorydError):  # an error in one must not stop the others
                    if workspace.id in waiting:
                        self.write(workspace, lambda _: None)


class ClientEngine(Engine):
    """An engine as used by one client of a service: with its own settings and sessions, sharing all else."""

    def __init__(self, whole: Engine, settings: Settings, name: str, directory: Path) -> None:
        vars(self).update(vars(whole))  # it has the same parts, but for what follows
        self._whole = whole
        self.settings = settings
        self._directory = directory
        self._choices = {}
        self.sessions = Sessions(
            whole.store,
            whole.workspaces,
            whole.clock,
            whole.leases,
            read_only=settings.read_only,
            persist=settings.session_persist,
            name=name,
        )

    def part(self, make: Callable[[Engine], T]) -> T:
        return self._whole.part(make)

    def close(self, wait: float = 1.0) -> None:  # noqa: ARG002 - nothing here runs in the background
        """End the sessions that only this client holds."""
        self._clients.discard(self)
        self.sessions.close()
