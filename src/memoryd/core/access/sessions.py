"""Sessions: their active project (b), and their volatile memories, which are deleted at their end (a)."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from threading import Lock

from memoryd.core.base.batches import batches
from memoryd.core.base.clock import ASTRAY, FOREVER, Clock
from memoryd.core.base.leases import Leases
from memoryd.core.records import records
from memoryd.core.workspaces.registry import Workspaces, from_registry, going_on, workspace_of
from memoryd.errors import MemorydError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Store

TERM = timedelta(days=1)  # time until a hold on a session expires; a killed process holds its sessions that long
RENEWAL = timedelta(hours=1)  # time after which a process renews a hold
ERASED = 500  # volatile memories that are deleted in one transaction

Left = dict[str, tuple[Workspace, Mapping[str, str]] | None]
"""For each workspace, the update times of the session's memories by id; None if they cannot be read now."""


class Sessions:
    """The active projects, kept in the registry (in RAM if read-only), and the holders of sessions.

    A session ends with its last holder: a process, or one client of a service. With `persist`, this holder does not
    delete the session's memories. A holder with a `name` gives it to its first new session. With `remote`, for HTTP, a
    session made only by requests is renewed only by them, and outlasts the process.
    """

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        clock: Clock,
        leases: Leases,
        *,
        read_only: bool,
        persist: bool,
        name: str = "",
        remote: bool = False,
    ) -> None:
        self._store = store
        self._workspaces = workspaces
        self._clock = clock
        self._leases = leases
        self._persist = persist
        self._remote = remote
        self._kept: dict[str, Workspace] | None = {} if read_only else None
        self._holder = name or str(uuid.uuid4())
        self._unused = name
        self._own: set[str] = set()
        self._switched: set[str] = set()
        self._held: dict[str, str] = {}
        """The sessions this process holds and when to renew each: by wall-clock time, since machines sleep."""
        self._lock = Lock()
        """Serializes join() and end(): a connection that joins while the session ends must not lose its hold."""
        self._joined: Counter[str] = Counter()
        """The number of lasting connections of each session."""

    def new(self) -> str:
        """Return a new session with a random id, which ends with this holder."""
        session, self._unused = self._unused or str(uuid.uuid4()), ""
        self._own.add(session)
        return session

    def resume(self) -> None:
        """Hold the session that a holder of the same name started in a process that has died."""
        self._own.add(self._holder)
        if self._store.placement.exists():
            self.hold(self._holder, writing=True)

    # the active project ----------------------------------------------------------------------------------------------

    def active(self, session: str) -> Workspace | None:
        """Return the active project of a session; None if it has none, or if that was archived or deleted."""
        if self._kept is not None:
            chosen = self._kept.get(session)
            now = self._workspaces.by_id(chosen.id) if chosen else None
            return now if now == chosen else None  # an archived project stays deselected after it is restored
        row = from_registry(self._store, lambda q: q.one("sessions.active", session=session), None)
        return workspace_of(row) if row else None

    def switch(self, session: str, name: str) -> Workspace:
        """Make a project the active one and return it; raise NotFoundError, or InvalidInputError if archived."""
        chosen = self._workspaces.active(name)
        if self._kept is not None:
            self._kept[session] = chosen
            return chosen
        self._store.write(None, lambda q: q.run("sessions.switch", session=session, project=chosen.id))
        self._switched.add(session)
        return chosen

    # the life of a session -------------------------------------------------------------------------------------------

    def hold(self, session: str, *, writing: bool = False) -> None:
        """Hold a session, or renew the hold, so that no other process ends it.

        A session made by new() is held only after its first write.
        """
        due = self._held.get(session)
        unused = not session or (due is None and session in self._own and not writing)
        if self._kept is not None or unused:
            return
        if due is None or not self._clock.now() < due <= self._clock.ago(-ASTRAY):
            until = FOREVER if self._persist else self._clock.ago(-TERM)
            row = {"session": session, "holder": self._holder, "until": until}
            self._store.placement.create(None)
            self._store.write(None, lambda q: q.run("sessions.hold", **row))
            self._held[session] = self._clock.ago(-RENEWAL)

    def join(self, session: str) -> None:
        """Hold a session for a lasting connection, until its end()."""
        with self._lock:
            self._joined[session] += 1
            self.hold(session)

    def end(self, session: str) -> None:
        """Remove a connection that joined a session; with its last connection, release the session."""
        with self._lock:
            self._joined[session] -= 1
            if self._joined[session] <= 0:
                del self._joined[session]
                self._leave(session)

    def tend(self, stopping: Callable[[], bool]) -> None:
        """Renew the sessions of lasting connections, and end those of dead processes."""
        self.renew()
        if not self._workspaces.all("active"):
            return
        self._shorten()
        now = self._clock.now()
        for row in self._store.read(None, lambda q: q.all("sessions.expired", now=now)):
            with self._leases.alone(f"session {row['id']}") as mine:
                if mine and not stopping():
                    self._end_expired(row["id"], now)

    def renew(self) -> None:
        """Renew the sessions of lasting connections."""
        for session in self._lasting():
            self.hold(session)

    def _lasting(self) -> list[str]:
        """Return the held sessions that last as long as this process or a connection to it."""
        return [one for one in list(self._held) if not self._remote or self._joined[one]]

    def _shorten(self) -> None:
        """Limit holds made while the clock was far ahead to the term that they would have now."""
        astray = {"astray": self._clock.ago(-TERM - ASTRAY), "forever": FOREVER}
        if self._store.read(None, lambda q: q.one("sessions.astray", **astray)):
            self._store.write(None, lambda q: q.run("sessions.shorten", **astray, until=self._clock.ago(-TERM)))

    def _end_expired(self, session: str, now: str) -> None:
        left = self._left(session)
        held = self._store.read(None, lambda q: q.one("sessions.held", session=session, now=now))
        if held or self._erase(left):
            self._store.write(None, lambda q: q.run("sessions.forget", session=session, now=now))

    def _leave(self, session: str) -> None:
        if self._held.pop(session, None) is not None:
            with suppress(MemorydError):  # it expires
                self._release(session)

    def _release(self, session: str) -> None:
        """Release a session; if this process is its last holder, delete its volatile memories."""
        now = self._clock.now()

        def release(queries: Queries) -> bool:
            queries.run("sessions.release", session=session, holder=self._holder)
            ends = not self._persist and queries.one("sessions.held", session=session, now=now) is None
            if not ends:
                queries.run("sessions.forget", session=session, now=now)
            return ends

        left = {} if self._persist else self._left(session)
        if self._store.write(None, release) and self._erase(left):
            self._store.write(None, lambda q: q.run("sessions.forget", session=session, now=now))

    def _left(self, session: str) -> Left:
        """Return the volatile memories of a session, read before its release: later ones belong to a new holder."""
        left: Left = {}
        for workspace in self._workspaces.all("active"):
            left[workspace.id] = None
            with going_on(workspace):
                rows = self._store.read(workspace, lambda q: q.all("vault.volatile", session=session))
                left[workspace.id] = workspace, {row["id"]: row["updated_at"] for row in rows}
        return left

    def _erase(self, left: Left) -> bool:
        """Delete memories in batches; return whether that succeeded in every workspace."""
        done = 0
        for workspace, written in filter(None, left.values()):
            with going_on(workspace):
                for part in batches(written, ERASED):
                    self._store.write(workspace, partial(self._erase_part, {key: written[key] for key in part}))
                done += 1
        return done == len(left)

    def _erase_part(self, written: Mapping[str, str], queries: Queries) -> None:
        """Delete the memories that have not been rewritten since they were read."""
        rows = queries.all("vault.rewritten", ids=json.dumps(list(written)))
        same = [row["id"] for row in rows if row["updated_at"] == written[row["id"]]]
        records.erase(queries, same, self._clock.now())

    def close(self) -> None:
        """Release the sessions that do not outlast this process; those without another holder end."""
        for session in self._lasting():
            self._leave(session)
        ended = [{"session": session} for session in self._own & self._switched]
        if ended:
            with suppress(StoreError):  # a leftover row does no harm
                self._store.write(None, lambda q: q.many("sessions.end", ended))
