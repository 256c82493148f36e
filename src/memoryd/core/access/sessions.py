"""Sessions: which project is active in each (b), and what lasts no longer than it does (a)."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial

from memoryd.core.base.batches import batches
from memoryd.core.base.clock import FOREVER, Clock
from memoryd.core.base.leases import Leases
from memoryd.core.records import records
from memoryd.core.workspaces.registry import Workspaces, going_on, workspace_of
from memoryd.errors import MemorydError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Store

TERM = timedelta(days=1)  # for which a process holds a session; after kill -9 what it left goes then
RENEWAL = timedelta(hours=1)  # after which a process that goes on says so
ERASED = 500  # volatile memories that go in one transaction

Session = tuple[str, str]
"""Whose it is, and its id. The first is '' where the process has one user."""
Left = dict[str, tuple[Workspace, Mapping[str, str]] | None]
"""By workspace, when each of a session's memories was written, by id; None where that cannot be read now."""


class Sessions:
    """The active projects, in the registry, or in memory where nothing may be written; and who holds which session.

    A session that several processes hold ends with the last of them. With `persist` this process lets its memories be.
    """

    def __init__(
        self, store: Store, workspaces: Workspaces, clock: Clock, leases: Leases, *, read_only: bool, persist: bool
    ) -> None:
        self._store = store
        self._workspaces = workspaces
        self._clock = clock
        self._leases = leases
        self._persist = persist
        self._kept: dict[Session, Workspace] | None = {} if read_only else None
        self._holder = str(uuid.uuid4())
        self._own: set[str] = set()
        self._switched: set[str] = set()
        self._held: dict[Session, str] = {}
        """Those of this process, and when each is to be renewed: a time of day, for machines sleep."""
        self._joined: Counter[Session] = Counter()
        """The connections of each session that last."""

    def new(self) -> str:
        """A session that nobody else can name, so that it ends with this process."""
        session = str(uuid.uuid4())
        self._own.add(session)
        return session

    # the active project ----------------------------------------------------------------------------------------------

    def active(self, session: str, principal: str = "") -> Workspace | None:
        """The project that the session chose; None where it chose none, or it was archived or deleted since."""
        if self._kept is not None:
            chosen = self._kept.get((principal, session))
            now = self._workspaces.by_id(chosen.id) if chosen else None
            return now if now == chosen else None  # once archived it is chosen no more, also when it is back
        if not self._store.placement.exists():
            return None
        row = self._store.read(None, lambda q: q.one("sessions.active", principal=principal, session=session))
        return workspace_of(row) if row else None

    def switch(self, session: str, name: str, principal: str = "") -> Workspace:
        """Make a project the active one. Raises NotFoundError, or InvalidInputError where it is archived."""
        chosen = self._workspaces.active(name)
        if self._kept is not None:
            self._kept[principal, session] = chosen
            return chosen
        row = {"principal": principal, "session": session, "project": chosen.id}
        self._store.write(None, lambda q: q.run("sessions.switch", **row))
        self._switched.add(session)
        return chosen

    # what lasts as long as a session ---------------------------------------------------------------------------------

    def hold(self, session: str, principal: str = "", *, writing: bool = False) -> None:
        """Go on with a session in this process, so that no other one ends it.

        One of its own is held from when something is written that must go with it.
        """
        due = self._held.get((principal, session))
        nobodys = not session or (due is None and session in self._own and not writing)
        if self._kept is not None or nobodys:
            return
        if due is None or self._clock.now() >= due:
            until = FOREVER if self._persist else self._clock.ago(-TERM)
            row = {"principal": principal, "session": session, "holder": self._holder, "until": until}
            self._store.placement.create(None)
            self._store.write(None, lambda q: q.run("sessions.hold", **row))
            self._held[principal, session] = self._clock.ago(-RENEWAL)

    def join(self, session: str, principal: str = "") -> None:
        """A connection that lasts belongs to a session: until its end() this process goes on with it."""
        self._joined[principal, session] += 1
        self.hold(session, principal)

    def end(self, session: str, principal: str = "") -> None:
        """A connection that joined it is over: with the last one this process is done with it."""
        self._joined[principal, session] -= 1
        if self._joined[principal, session] <= 0:
            del self._joined[principal, session]
            self._leave(session, principal)

    def tend(self, stopping: Callable[[], bool]) -> None:
        """Go on with the sessions of connections that last, and end those of processes that are gone.

        Others that were held go on by calls alone.
        """
        for principal, session in list(self._held):
            if self._joined[principal, session] or session in self._own:
                self.hold(session, principal)
        if not self._workspaces.all("active"):
            return
        now = self._clock.now()
        for row in self._store.read(None, lambda q: q.all("sessions.expired", now=now)):
            name = f"session {row['principal']} {row['id']}"
            with self._leases.alone(name) as mine:
                if mine and not stopping():
                    self._end_expired((row["principal"], row["id"]), now)

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
        """Be done with a session in this process; if it is the last one, what was volatile goes."""
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
        """What a session has written, asked before it is let go of: what it has then is not a newcomer's."""
        found: Left = {}
        for workspace in self._workspaces.all("active"):
            found[workspace.id] = None
            with going_on(workspace):
                rows = self._store.read(workspace, lambda q: q.all("vault.volatile", session=session[1]))
                found[workspace.id] = workspace, {row["id"]: row["updated_at"] for row in rows}
        return found

    def _erase(self, left: Left) -> bool:
        """Remove it, a part at a time; whether that could be done in every workspace."""
        done = 0
        for workspace, written in filter(None, left.values()):
            with going_on(workspace):
                for part in batches(written, ERASED):
                    self._store.write(workspace, partial(self._erase_part, {key: written[key] for key in part}))
                done += 1
        return done == len(left)

    def _erase_part(self, written: Mapping[str, str], queries: Queries) -> None:
        """What nobody has written anew since."""
        rows = queries.all("vault.rewritten", ids=json.dumps(list(written)))
        same = [row["id"] for row in rows if row["updated_at"] == written[row["id"]]]
        records.erase(queries, same, self._clock.now())

    def close(self) -> None:
        """Those that nobody else holds are over."""
        for principal, session in list(self._held):
            self._leave(session, principal)
        ended = [{"principal": "", "session": session} for session in self._own & self._switched]
        if ended:
            with suppress(StoreError):  # a row too many is nobody's loss
                self._store.write(None, lambda q: q.many("sessions.end", ended))
