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

Session = tuple[str, str]
"""The principal, '' if the process has one user, and the id of the session."""
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
        self._kept: dict[Session, Workspace] | None = {} if read_only else None
        self._holder = name or str(uuid.uuid4())
        self._unused = name
        self._own: set[str] = set()
        self._switched: set[str] = set()
        self._held: dict[Session, str] = {}
        """The sessions this process holds and when to renew each: by wall-clock time, since machines sleep."""
        self._lock = Lock()
        """Serializes join() and end(): a connection that joins while the session ends must not lose its hold."""
        self._joined: Counter[Session] = Counter()
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

    def active(self, session: str, principal: str = "") -> Workspace | None:
        """Return the active project of a session; None if it has none, or if that was archived or deleted."""
        if self._kept is not None:
            chosen = self._kept.get((principal, session))
            now = self._workspaces.by_id(chosen.id) if chosen else None
            return now if now == chosen else None  # an archived project stays deselected after it is restored
        who = {"principal": principal, "session": session}
        row = from_registry(self._store, lambda q: q.one("sessions.active", **who), None)
        return workspace_of(row) if row else None

    def switch(self, session: str, name: str, principal: str = "") -> Workspace:
        """Make a project the active one and return it; raise NotFoundError, or InvalidInputError if archived."""
        chosen = self._workspaces.active(name)
        if self._kept is not None:
            self._kept[principal, session] = chosen
            return chosen
        row = {"principal": principal, "session": session, "project": chosen.id}
        self._store.write(None, lambda q: q.run("sessions.switch", **row))
        self._switched.add(session)
        return chosen

    # the life of a session -------------------------------------------------------------------------------------------

    def hold(self, session: str, principal: str = "", *, writing: bool = False) -> None:
        """Hold a session, or renew the hold, so that no other process ends it.

        A session made by new() is held only after its first write.
        """
        due = self._held.get((principal, session))
        unused = not session or (due is None and session in self._own and not writing)
        if self._kept is not None or unused:
            return
        if due is None or not self._clock.now() < due <= self._clock.ago(-ASTRAY):
            until = FOREVER if self._persist else self._clock.ago(-TERM)
            row = {"principal": principal, "session": session, "holder": self._holder, "until": until}
            self._store.placement.create(None)
            self._store.write(None, lambda q: q.run("sessions.hold", **row))
            self._held[principal, session] = self._clock.ago(-RENEWAL)

    def join(self, session: str, principal: str = "") -> None:
        """Hold a session for a lasting connection, until its end()."""
        with self._lock:
            self._joined[principal, session] += 1
            self.hold(session, principal)

    def end(self, session: str, principal: str = "") -> None:
        """Remove a connection that joined a session; with its last connection, release the session."""
        with self._lock:
            self._joined[principal, session] -= 1
            if self._joined[principal, session] <= 0:
                del self._joined[principal, session]
                self._leave(session, principal)

    def tend(self, stopping: Callable[[], bool]) -> None:
        """Renew the sessions of lasting connections, and end those of dead processes."""
        self.renew()
        if not self._workspaces.all("active"):
            return
        self._shorten()
        now = self._clock.now()
        for row in self._store.read(None, lambda q: q.all("sessions.expired", now=now)):
            name = f"session {row['principal']} {row['id']}"
            with self._leases.alone(name) as mine:
                if mine and not stopping():
                    self._end_expired((row["principal"], row["id"]), now)

    def renew(self) -> None:
        """Renew the sessions of lasting connections."""
        for principal, session in self._lasting():
            self.hold(session, principal)

    def _lasting(self) -> list[Session]:
        """Return the held sessions that last as long as this process or a connection to it."""
        return [one for one in list(self._held) if not self._remote or self._joined[one]]

    def _shorten(self) -> None:
        """Limit holds made while the clock was far ahead to the term that they would have now."""
        astray = {"astray": self._clock.ago(-TERM - ASTRAY), "forever": FOREVER}
        if self._store.read(None, lambda q: q.one("sessions.astray", **astray)):
            self._store.write(None, lambda q: q.run("sessions.shorten", **astray, until=self._clock.ago(-TERM)))

    def _end_expired(self, session: Session, now: str) -> None:
        who = {"principal": session[0], "session": session[1]}
        left = self._left(session)
        held = self._store.read(None, lambda q: q.one("sessions.held", **who, now=now))
        if held or self._erase(left):
            self._store.write(None, lambda q: q.run("sessions.forget", **who, now=now))

    def _leave(self, session: str, principal: str) -> None:
        if self._held.pop((principal, session), None) is not None:
            with suppress(MemorydError):  # it expires
                self._release((principal, session))

    def _release(self, session: Session) -> None:
        """Release a session; if this process is its last holder, delete its volatile memories."""
        who = {"principal": session[0], "session": session[1]}
        now = self._clock.now()

        def release(queries: Queries) -> bool:
            queries.run("sessions.release", **who, holder=self._holder)
            ends = not self._persist and queries.one("sessions.held", **who, now=now) is None
            if not ends:
                queries.run("sessions.forget", **who, now=now)
            return ends

        left = {} if self._persist else self._left(session)
        if self._store.write(None, release) and self._erase(left):
            self._store.write(None, lambda q: q.run("sessions.forget", **who, now=now))

    def _left(self, session: Session) -> Left:
        """Return the volatile memories of a session, read before its release: later ones belong to a new holder."""
        left: Left = {}
        for workspace in self._workspaces.all("active"):
            left[workspace.id] = None
            with going_on(workspace):
                rows = self._store.read(workspace, lambda q: q.all("vault.volatile", session=session[1]))
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
        for principal, session in self._lasting():
            self._leave(session, principal)
        ended = [{"principal": "", "session": session} for session in self._own & self._switched]
        if ended:
            with suppress(StoreError):  # a leftover row does no harm
                self._store.write(None, lambda q: q.many("sessions.end", ended))
