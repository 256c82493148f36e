"""Which workspaces there are. d's namespaces are workspaces that are made on first use."""

import uuid

from memoryd.core.clock import Clock
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.store.base import Row, Store

NAME_LENGTH = 200


class Workspaces:
    """The registry."""

    def __init__(self, store: Store, clock: Clock, home: str) -> None:
        self._store = store
        self._clock = clock
        self._home = home
        self._known: dict[str, Workspace] = {}

    def all(self) -> list[Workspace]:
        """Every workspace, by name."""
        if not self._store.made():
            return []
        return [_workspace(row) for row in self._store.read(None, lambda q: q.all("workspaces.all"))]

    def get(self, name: str) -> Workspace | None:
        """The workspace of that name, if there is one."""
        if not self._store.made():
            return None
        row = self._store.read(None, lambda q: q.one("workspaces.by_name", name=name))
        return _workspace(row) if row else None

    def ensure(self, name: str) -> Workspace:
        """The workspace of that name, made on first use."""
        if found := self._known.get(name):
            return found
        _check(name)
        found = self.get(name)
        if found is None:
            self._make(Workspace(id=str(uuid.uuid4()), name=name, db_path=self._home))
            found = self.get(name)
            assert found is not None
        self._known[name] = found
        return found

    def _make(self, new: Workspace) -> None:
        """Its place first, its row second: what the registry knows had a file, so one that is missing was lost.

        For the same reason no file is made where the registry knows another workspace in it.
        """
        self._store.make(None)
        if all(known.db_path != new.db_path for known in self.all()):
            self._store.make(new)
        row = {"id": new.id, "name": new.name, "description": "", "db_path": new.db_path, "now": self._clock.now()}
        self._store.write(None, lambda q: q.run("workspaces.add", **row))


def _check(name: str) -> None:
    if not name.strip() or len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidInputError(
            f"{name[:50]!r} cannot name a workspace: it takes 1 to {NAME_LENGTH} printable characters."
        )


def _workspace(row: Row) -> Workspace:
    return Workspace(**row)
