"""Which workspaces there are, and what becomes of them. b's projects and d's namespaces are the same thing.

Nothing is remembered between calls: another process may have archived or deleted a workspace since.
"""

import logging
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from memoryd.core.base.clock import Clock
from memoryd.core.security.secrets import Secrets, cleaned
from memoryd.errors import InvalidInputError, MemorydError, NotFoundError, StoreBusyError, StoreError, UncertainError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Row, Store

log = logging.getLogger(__name__)

NAME_LENGTH = 200
DESCRIPTION_LENGTH = 2_000
TOLD = 10  # names that a message tells
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ACTIVE, ARCHIVED = "active", "archived"

Status = Literal["active", "archived", "all"]


class Workspaces:
    """The registry, and what becomes of the places of its workspaces."""

    def __init__(self, store: Store, clock: Clock, secrets: Secrets) -> None:
        self.secrets = secrets
        self._store = store
        self._clock = clock

    # looking ---------------------------------------------------------------------------------------------------------

    def all(self, status: Status = "all") -> list[Workspace]:
        """Every workspace of a status, by name."""
        if not self._store.placement.exists():
            return []
        every = map(workspace_of, self._store.read(None, lambda q: q.all("workspaces.all")))
        return [workspace for workspace in every if status in ("all", workspace.status)]

    def get(self, name: str) -> Workspace | None:
        """The workspace of that name, if there is one."""
        return self._look(lambda q: q.one("workspaces.by_name", name=name))

    def by_id(self, workspace_id: str) -> Workspace | None:
        """The workspace of that id, if there is one."""
        return self._look(lambda q: q.one("workspaces.by_id", id=workspace_id))

    def _look(self, work: Callable[[Queries], Row | None]) -> Workspace | None:
        row = self._store.read(None, work) if self._store.placement.exists() else None
        return workspace_of(row) if row else None

    def find(self, name: str) -> Workspace:
        """The workspace of that name. Raises NotFoundError that tells which there are."""
        if found := self.get(name):
            return found
        raise NotFoundError(f'project "{name[:100]}" not found. There are: {self.names()}.')

    def names(self) -> str:
        """Which workspaces there are, as far as a message can tell."""
        names = [workspace.name for workspace in self.all()]
        more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
        return ", ".join(names[:TOLD]) + more or "none yet"

    def active(self, name: str) -> Workspace:
        """The workspace of that name. Raises NotFoundError, or InvalidInputError where it is archived."""
        return usable(self.find(name))

    # making ----------------------------------------------------------------------------------------------------------

    def ensure(self, name: str) -> Workspace:
        """The workspace of that name, made on first use. Raises InvalidInputError where it is archived."""
        if found := self.get(name):
            return usable(found)
        check_printable(name)
        self._make(Workspace(id=str(uuid.uuid4()), name=name, db_path=self._store.placement.home))
        return self.active(name)

    @cleaned
    def create(self, name: str, description: str = "") -> Workspace:
        """b: a new workspace, in a place of its own where there are several. Raises InvalidInputError."""
        _check_slug(name)
        if taken := self.get(name):
            raise _taken(taken)
        workspace_id = str(uuid.uuid4())
        room = self._store.placement.own_path(workspace_id)
        made = self._make(Workspace(id=workspace_id, name=name, description=description, db_path=room))
        if not made:
            raise _taken(self.find(name))
        return self.find(name)

    def usable(self, name: str) -> Workspace | None:
        """The workspace of that name; None where one could be made. Raises InvalidInputError where neither is so."""
        if found := self.get(name):
            return usable(found)
        check_printable(name)
        return None

    def adopt(self, name: str) -> Workspace:
        """A workspace that comes from elsewhere, in a place of its own where there are several."""
        workspace_id = str(uuid.uuid4())
        self._make(Workspace(id=workspace_id, name=name, db_path=self._store.placement.own_path(workspace_id)))
        return self.active(name)

    def tell(self, workspace: Workspace, description: str, created_at: str, updated_at: str) -> None:
        """What is told of a workspace from now on, and since when there is one."""
        told = {
            "description": self.secrets.clean(description).value,
            "created_at": created_at,
            "updated_at": updated_at,
        }
        self._store.write(None, lambda q: q.run("workspaces.tell", id=workspace.id, **told))

    def _make(self, new: Workspace) -> bool:
        """Its place first, its row second: what the registry knows had a file, so one that is missing was lost.

        For the same reason no file is made where the registry knows another workspace in it. Returns whether this call
        made it: another process may have been faster.
        """
        if self.secrets.clean(new.name).found:
            raise InvalidInputError("The name of the workspace looks like a secret. Choose another name.")
        self._store.placement.create(None)
        row = {"id": new.id, "name": new.name, "description": new.description, "db_path": new.db_path}

        def register(queries: Queries) -> bool:
            added = queries.run("workspaces.add", **row, now=self._clock.now())
            if not added and new.db_path != self._store.placement.home:
                self._store.placement.erase(queries, new)
            return bool(added)

        try:
            if all(known.db_path != new.db_path for known in self.all()):
                self._store.placement.create(new)
            return self._store.write(None, register)
        except StoreError as error:
            self._unmake(new, register if isinstance(error, UncertainError) else None)
            raise

    def _unmake(self, new: Workspace, doubtful: Callable[[Queries], object] | None) -> None:
        """Leave nothing of a workspace that could not be made, as far as the disk lets us; doctor tells what stays.

        A commit that is in doubt could come back after a crash: one that does the same and undoes it takes its place.
        """
        if new.db_path == self._store.placement.home:
            return

        def withdraw(queries: Queries) -> None:
            if doubtful:
                doubtful(queries)
            queries.run("workspaces.remove", id=new.id)

        with suppress(StoreError):
            self._store.write(None, withdraw)
            self._store.write(None, lambda q: self._store.placement.erase(q, new))

    # archive, restore, delete ----------------------------------------------------------------------------------------
    #
    # The registry decides, in a transaction that keeps all other processes from doing the same. What it says is done to
    # the workspace's place by steps that can be said again: `settle` does so after a crash, and where the place was in
    # use. An archived workspace stays archived until the last step of its restoration; a deleted one until it is gone.

    def archive(self, name: str) -> Workspace:
        """Set aside: it takes no writes, no session has it active, and its file goes to the archive."""
        found = self.find(name)
        if not self._retire(found):
            raise InvalidInputError(f'project "{name}" is already archived')
        try:
            self.settle_one(found)
        except StoreError as error:
            log.warning("project %s is archived, and its file will be put away later: %s", name, error)
        return self.by_id(found.id) or found

    def restore(self, name: str) -> Workspace:
        """Bring an archived workspace back. Raises StoreBusyError where another process is reading its file."""
        found = self.find(name)
        if found.status == ACTIVE:
            raise InvalidInputError(f'project "{name}" is not archived')

        def bring_back(queries: Queries) -> None:
            if (known := _known(queries, found)) is None or known.status == ACTIVE:
                return
            self._place(queries, known, self._store.placement.restore(queries, known))
            queries.run("workspaces.mark", id=known.id, status=ACTIVE, now=self._clock.now())

        self._store.write(None, bring_back)
        return self.active(name)

    def delete(self, name: str) -> Workspace:
        """Remove a workspace and all that it holds, for good. What a crash leaves is archived: say it again."""
        found = self.find(name)
        self._retire(found)
        self._put_away(found)
        self._store.placement.empty(found)

        def remove(queries: Queries) -> None:
            self._store.placement.erase(queries, _known(queries, found) or found)
            queries.run("workspaces.remove", id=found.id)

        self._store.write(None, remove)
        return found

    def _put_away(self, workspace: Workspace) -> None:
        """Before it is erased: a file of its own that cannot be marked or moved, since it is damaged, goes as it is."""
        try:
            self.settle_one(workspace)
        except StoreError as error:
            if isinstance(error, StoreBusyError) or workspace.db_path == self._store.placement.home:
                raise
            log.warning("project %s is deleted as it is: %s", workspace.name, error)

    def _retire(self, workspace: Workspace) -> bool:
        """From here on nobody finds it active; whether anybody would have."""

        def retire(queries: Queries) -> bool:
            queries.run("sessions.leave", project=workspace.id)
            return bool(queries.run("workspaces.mark", id=workspace.id, status=ARCHIVED, now=self._clock.now()))

        return self._store.write(None, retire)

    def settle(self) -> None:
        """Do what is left to do of archiving: after a crash, or where another process had a file open."""
        for workspace in self.all("archived"):
            with going_on(workspace):
                if not self._store.placement.is_archived(workspace):
                    self.settle_one(workspace)

    def settle_one(self, workspace: Workspace) -> None:
        """Put the place of a workspace away, if it is archived."""

        def put_away(queries: Queries) -> None:
            known = _known(queries, workspace)
            if known and known.status == ARCHIVED:
                self._place(queries, known, self._store.placement.archive(queries, known))

        self._store.write(None, put_away)

    def _place(self, queries: Queries, workspace: Workspace, db_path: str) -> None:
        if db_path != workspace.db_path:
            queries.run("workspaces.place", id=workspace.id, db_path=db_path)


@contextmanager
def going_on(workspace: Workspace) -> Iterator[None]:
    """What goes wrong in one workspace is told, and keeps nobody from going on with the others."""
    try:
        yield
    except MemorydError as error:
        log.warning("workspace %s: %s", workspace.name, error)


def workspace_of(row: Row) -> Workspace:
    """From its row."""
    return Workspace(**row)


def _known(queries: Queries, workspace: Workspace) -> Workspace | None:
    """What the registry says of it now."""
    row = queries.one("workspaces.by_id", id=workspace.id)
    return workspace_of(row) if row else None


def usable(workspace: Workspace) -> Workspace:
    """It, unless it is archived: then InvalidInputError."""
    if workspace.status != ACTIVE:
        raise InvalidInputError(f'project "{workspace.name}" is archived — restore it first')
    return workspace


def _taken(by: Workspace) -> InvalidInputError:
    step = "Switch to it" if by.status == ACTIVE else "It is archived: restore it"
    return InvalidInputError(
        f'Failed to create project "{by.name}": the name is taken. {step}, or choose another name.'
    )


def _check_slug(name: str) -> None:
    if not SLUG.fullmatch(name):
        raise InvalidInputError(
            f'Failed to create project "{name[:100]}": a name takes 1 to 100 letters (a to z), digits, "-", "_" and '
            '".", and begins with a letter or a digit. Choose such a name.'
        )


def check_printable(name: str) -> None:
    """Raise InvalidInputError for what cannot name a workspace."""
    if not name.strip() or len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidInputError(
            f"{name[:50]!r} cannot name a workspace: it takes 1 to {NAME_LENGTH} printable characters."
        )
