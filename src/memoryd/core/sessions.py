"""b: which project is active in which session: one for each session, never one for all clients."""

import uuid
from contextlib import suppress

from memoryd.core.workspaces import Workspaces, workspace_of
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import Store


class Sessions:
    """The active projects, in the registry; with `read_only` in memory, since nothing may be written.

    A session is named by its id and by whose it is: `principal` is '' where the process has one user.
    """

    def __init__(self, store: Store, workspaces: Workspaces, *, read_only: bool) -> None:
        self._store = store
        self._workspaces = workspaces
        self._kept: dict[tuple[str, str], Workspace] | None = {} if read_only else None
        self._own: set[str] = set()
        self._written: set[str] = set()

    def new(self) -> str:
        """A session that nobody else can name, so that it ends with this process."""
        session = str(uuid.uuid4())
        self._own.add(session)
        return session

    def active(self, session: str, principal: str = "") -> Workspace | None:
        """The project that the session chose; None where it chose none, or it was archived or deleted since."""
        if self._kept is not None:
            chosen = self._kept.get((principal, session))
            now = self._workspaces.by_id(chosen.id) if chosen else None
            return now if now == chosen else None  # once archived it is chosen no more, also when it is back
        if not self._store.made():
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
        self._written.add(session)
        return chosen

    def close(self) -> None:
        """The sessions that nobody else can name are over."""
        ended = [{"principal": "", "session": session} for session in self._own & self._written]
        if ended:
            with suppress(StoreError):  # a row too many is nobody's loss
                self._store.write(None, lambda q: q.many("sessions.end", ended))
