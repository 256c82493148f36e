"""The registry of workspaces: create, find, archive, restore and delete them. b: projects, d: namespaces.

Nothing is cached between calls: another process may have archived or deleted a workspace in the meantime.
"""

import json
import logging
import shutil
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from memoryd.core.base.clock import Clock
from memoryd.core.security.secrets import Secrets, cleaned
from memoryd.errors import (
    InvalidInputError,
    MemorydError,
    StoreBusyError,
    StoreError,
    UncertainError,
    UnknownWorkspaceError,
)
from memoryd.hidden import seen
from memoryd.model import Workspace
from memoryd.settings import AUTO, DEFAULT_WORKSPACE
from memoryd.store.base import Queries, Row, Store

log = logging.getLogger(__name__)
T = TypeVar("T")
DefaultT = TypeVar("DefaultT")

NAME_LENGTH = 200
DESCRIPTION_LENGTH = 2_000
LISTED = 10  # maximum names in a message
SLUG_LENGTH = 100
EXPORTS = "exports"
"""The name of the directory, in the data directory, with the journal exports of all workspaces."""
ACTIVE, ARCHIVED = "active", "archived"
PERSONAL = "personal"
"""The workspace that is read together with every project that gets a workspace from now on, if it exists."""
COMMIT = "commit:"
"""The prefix of a project's key that is the first commit of its repository."""

StatusFilter = Literal["active", "archived", "all"]


class Workspaces:
    """The registry of workspaces, and their files or schemas."""

    def __init__(self, store: Store, clock: Clock, secrets: Secrets, exports: Path | None = None) -> None:
        """`exports`: the directory with a directory of exports for each workspace, which is deleted with it."""
        self.secrets = secrets
        self._exports = exports
        self._store = store
        self._clock = clock

    # find ------------------------------------------------------------------------------------------------------------

    def all(self, status: StatusFilter = "all") -> list[Workspace]:
        """Return the workspaces with a status, sorted by name."""
        every = map(workspace_of, from_registry(self._store, lambda q: q.all("workspaces.all"), ()))
        return [workspace for workspace in every if status in ("all", workspace.status)]

    def get(self, name: str) -> Workspace | None:
        """Return the workspace with a name, however its accents are encoded, or None."""
        spellings = dict.fromkeys((name, composed(name)))
        return next(filter(None, (self._look(partial(_by_name, name=spelling)) for spelling in spellings)), None)

    def by_id(self, workspace_id: str) -> Workspace | None:
        """Return the workspace with an id, or None."""
        return self._look(lambda q: q.one("workspaces.by_id", id=workspace_id))

    def _look(self, work: Callable[[Queries], Row | None]) -> Workspace | None:
        row = from_registry(self._store, work, None)
        return workspace_of(row) if row else None

    def find(self, name: str) -> Workspace:
        """Return the workspace with a name; raise UnknownWorkspaceError."""
        if found := self.get(name):
            return found
        raise UnknownWorkspaceError(f'project "{name[:100]}" not found.', self.names())

    def names(self, but: Workspace | None = None) -> str:
        """Return the names of the first workspaces, for a message; '' for none."""
        names = [workspace.name for workspace in self.all() if but is None or workspace.id != but.id]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        return ", ".join(names[:LISTED]) + more

    def active(self, name: str) -> Workspace:
        """Return the workspace with a name; raise NotFoundError, or InvalidInputError if it is archived."""
        return usable(self.find(name))

    # the projects of the user ----------------------------------------------------------------------------------------

    def of_keys(self, keys: Sequence[str]) -> Workspace | None:
        """Return the workspace of the project with these keys, the most reliable first, or None."""
        return self._of_keys(keys)[0]

    def _of_keys(self, keys: Sequence[str]) -> tuple[Workspace | None, bool]:
        return from_registry(self._store, lambda q: _of_keys(q, keys), (None, False))

    def ensure_of_keys(self, keys: Sequence[str], name: str) -> Workspace:
        """Return the workspace of a project, created on first use with this name, plus a number if the name is taken.

        From then on all keys of the project lead to it. Raise InvalidInputError if it is archived.
        """
        found, complete = self._of_keys(keys)
        while found is None:
            self._make(self._new(self.free(name)), keys)
            found, complete = self._of_keys(keys)
        usable(found)
        if not complete:
            self._store.write(None, lambda q: _add_keys(q, keys, _of_keys(q, keys)[0]))
        return found

    def is_of_project(self, workspace: Workspace) -> bool:
        """Return whether a workspace belongs to a project, and is therefore known by more than its name."""
        return bool(self._look(lambda q: q.one("workspaces.of_project", id=workspace.id)))

    def personal(self) -> Workspace | None:
        """Return the one about the user, which all projects read if they have a memory each; None if they have not."""
        ids = from_registry(self._store, _personal, ())
        return self.by_id(ids[0]) if ids else None

    def free(self, name: str) -> str:
        """Return the name, plus a number if a workspace has that name or if the name is reserved."""
        free, number = composed(name), 1
        while free in (AUTO, DEFAULT_WORKSPACE) or self.get(free):
            number += 1
            free = f"{composed(name)}-{number}"
        return free

    def lead(self, keys: Sequence[str], name: str) -> Workspace:
        """Make a project's keys lead to the workspace with a name, created on first use; return the workspace."""
        workspace = self.ensure(name)
        self._store.write(None, lambda q: _add_keys(q, keys, workspace))
        return workspace

    def keys(self, workspace: Workspace) -> list[str]:
        """Return the keys of projects that lead to a workspace."""
        rows = self._store.read(None, lambda q: q.all("workspaces.keys", id=workspace.id))
        return [str(row["key"]) for row in rows]

    def learn(self, name: str, keys: Sequence[str]) -> Workspace:
        """Return the workspace with a name, created on first use. Those of the keys that led nowhere lead to it."""
        while (found := self.get(name)) is None:
            free = [key for key in keys if not self.of_keys([key])]
            self._make(self._new(composed(name)), free[:1])

        def add(queries: Queries) -> None:
            _add_keys(queries, [key for key in keys if not _of_keys(queries, [key])[0]], found)

        if found.status == ACTIVE and not all(self.of_keys([key]) for key in keys):
            self._store.write(None, add)
        return found

    # reading together ------------------------------------------------------------------------------------------------

    def included(self, workspace: Workspace) -> list[Workspace]:
        """Return the workspaces that a workspace includes, archived ones too, but not those included indirectly."""
        return list(filter(None, map(self.by_id, workspace.includes)))

    def include(self, name: str, others: Sequence[str], *, remove: bool = False) -> Workspace:
        """Make a workspace include others, or with `remove` no longer include them; return it.

        Raise NotFoundError; raise InvalidInputError if one of the others is the workspace itself, is archived, or is
        to be removed but not included.
        """
        workspace = self.active(name)
        chosen = [self.find(other) if remove else self.active(other) for other in others]
        for one in chosen:
            if one.id == workspace.id:
                raise InvalidInputError(f'project "{name}" always includes itself. Name another project.')
            if remove and one.id not in workspace.includes:
                raise InvalidInputError(f'project "{name}" does not include "{one.name}"')

        def change(queries: Queries) -> None:
            known = _known(queries, workspace) or workspace
            ids = [one.id for one in chosen]
            kept = [key for key in known.includes if key not in ids]
            _set_included(queries, known, kept if remove else [*kept, *ids])

        self._store.write(None, change)
        return self.find(name)

    # create ----------------------------------------------------------------------------------------------------------

    def ensure(self, name: str) -> Workspace:
        """Return the workspace with a name, created on first use; raise InvalidInputError if it is archived."""
        if found := self.get(name):
            return usable(found)
        self._make(self._new(composed(name)))
        return self.active(name)

    @cleaned
    def create(self, name: str, description: str = "") -> Workspace:
        """b: create a workspace, in a separate file if the store has one for each. Raise InvalidInputError."""
        name = composed(name)
        _check_slug(name)
        if taken := self.get(name):
            raise _taken(taken)
        if not self._make(self._new(name, description, apart=True)):
            raise _taken(self.find(name))
        return self.find(name)

    def usable(self, name: str) -> Workspace | None:
        """Return the workspace with a name, or None; raise InvalidInputError if it is archived or cannot exist."""
        if found := self.get(name):
            return usable(found)
        check_name(name)
        return None

    def adopt(self, name: str) -> Workspace:
        """Create a workspace for imported data, in a separate file if the store has one for each."""
        self._make(self._new(name, apart=True))
        return self.active(name)

    def tell(self, workspace: Workspace, description: str, created_at: str, updated_at: str) -> None:
        """Set the description and the times of a workspace."""
        fields = {
            "description": self.secrets.clean(description).value,
            "created_at": created_at,
            "updated_at": updated_at,
        }
        self._store.write(None, lambda q: q.run("workspaces.tell", id=workspace.id, **fields))

    def _new(self, name: str, description: str = "", *, apart: bool = False) -> Workspace:
        """Return a workspace that is to be made; `apart` in a separate file, if the store has one for each."""
        placement, made = self._store.placement, str(uuid.uuid4())
        place = placement.own_path(made) if apart else placement.home
        return Workspace(id=made, name=name, description=description, db_path=place)

    def _make(self, new: Workspace, keys: Sequence[str] = ()) -> bool:
        """Create a workspace with keys; return False if its name is taken, or if another workspace has the keys.

        The file is created before the row, so that a registered workspace without a file must have lost it. For the
        same reason no file is created if the registry assigns that file to another workspace.
        """
        check_name(new.name)
        if self.secrets.clean(new.name).found:
            raise InvalidInputError("The name of the workspace looks like a secret. Choose another name.")
        self._store.placement.create(None)
        row = {"id": new.id, "name": new.name, "description": new.description, "db_path": new.db_path}

        def register(queries: Queries) -> bool:
            added = not (keys and _of_keys(queries, keys)[0]) and queries.changed(
                "workspaces.add", **row, now=self._clock.now()
            )
            if added and keys:
                _add_keys(queries, keys, new)
            if added and (keys or new.name == DEFAULT_WORKSPACE):  # the one of everything outside of projects
                _set_included(queries, new, _personal(queries))
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
        """Remove what a failed creation has left behind, as far as possible; doctor reports the rest.

        A commit whose outcome is unknown could reappear after a crash, so a second commit repeats and undoes it. After
        any other failure the registry does not have it, and is not written: its disk may be full.
        """
        if new.db_path == self._store.placement.home:
            return

        with suppress(StoreError):
            if doubtful:

                def withdraw(queries: Queries) -> None:
                    doubtful(queries)
                    queries.run("workspaces.remove", id=new.id)

                self._store.write(None, withdraw)
            self._store.read(None, lambda q: self._store.placement.erase(q, new))

    # archive, restore, delete ----------------------------------------------------------------------------------------
    #
    # The registry decides, in a transaction that excludes all other processes. Idempotent steps then move the file of
    # the workspace; `settle` repeats them after a crash, or if the file was in use. A workspace that is restored or
    # deleted stays archived until the last step.

    def archive(self, name: str) -> Workspace:
        """Archive a workspace: it accepts no writes, is active in no session, and its file moves to the archive."""
        found = self.find(name)
        if not self._retire(found):
            raise InvalidInputError(f'project "{name}" is already archived')
        try:
            self.settle_one(found)
        except StoreError as error:
            log.warning("project %s is archived; its file will be moved later: %s", name, error)
        return self.by_id(found.id) or found

    def restore(self, name: str) -> Workspace:
        """Restore an archived workspace; raise StoreBusyError if another process is reading its file."""
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
        """Delete a workspace and its contents permanently; after a crash it is archived: delete it again."""
        found = self.find(name)
        self._retire(found)
        self._put_away(found)
        self._store.placement.empty(found)
        self._remove_exports(found)

        def remove(queries: Queries) -> None:
            self._store.placement.erase(queries, _known(queries, found) or found)
            queries.run("workspaces.remove", id=found.id)
            for other in map(workspace_of, queries.all("workspaces.all")):
                if found.id in other.includes:
                    _set_included(queries, other, [key for key in other.includes if key != found.id])

        self._store.write(None, remove)
        return found

    def _remove_exports(self, workspace: Workspace) -> None:
        own = self._exports / workspace.id if self._exports else None
        if own is None or not own.is_dir():
            return
        try:
            shutil.rmtree(own)
        except OSError as error:
            raise StoreError(
                f'project "{workspace.name}" is archived, but not deleted, as its exports in {own} cannot be removed: '
                f"{error.strerror or error}. Remove them, then delete the project again."
            ) from error

    def _put_away(self, workspace: Workspace) -> None:
        """Archive the file of a workspace before it is erased; a damaged file that cannot be moved stays in place."""
        try:
            self.settle_one(workspace)
        except StoreError as error:
            if isinstance(error, StoreBusyError) or workspace.db_path == self._store.placement.home:
                raise
            log.warning("project %s is deleted without being archived first: %s", workspace.name, error)

    def _retire(self, workspace: Workspace) -> bool:
        """Mark a workspace as archived; return False if it was archived before."""

        def retire(queries: Queries) -> bool:
            queries.run("sessions.leave", project=workspace.id)
            return bool(queries.changed("workspaces.mark", id=workspace.id, status=ARCHIVED, now=self._clock.now()))

        return self._store.write(None, retire)

    def settle(self) -> None:
        """Finish archiving that was interrupted by a crash or by another process that had a file open."""
        for workspace in self.all("archived"):
            with going_on(workspace):
                if not self._store.placement.is_archived(workspace):
                    self.settle_one(workspace)

    def settle_one(self, workspace: Workspace) -> None:
        """Move the file of a workspace to the archive, if it is archived."""

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
    """Log an error in one workspace instead of raising it, so that the others are still processed."""
    try:
        yield
    except MemorydError as error:
        log.warning("workspace %s: %s", workspace.name, error)


def from_registry(store: Store, work: Callable[[Queries], T], otherwise: DefaultT) -> T | DefaultT:
    """Return what `work` reads in the registry, or another value if nothing was ever stored."""
    return store.read(None, work) if store.placement.exists() else otherwise


def workspace_of(row: Row) -> Workspace:
    """Build a Workspace from a row of `projects`."""
    return Workspace(**{**row, "includes": tuple(json.loads(row["includes"]))})


def _of_keys(queries: Queries, keys: Sequence[str]) -> tuple[Workspace | None, bool]:
    """Return the workspace that the first known key leads to, and whether all keys lead to it.

    A path is ignored if the repository there now has another first commit than the earlier one.
    """
    rows = queries.all("workspaces.of_keys", keys=json.dumps(list(keys)))
    has_commit = {row["id"] for row in rows if row["key"].startswith(COMMIT)}
    by_key = {row.pop("key"): row for row in rows}
    surest, *others = keys
    if surest.startswith(COMMIT):
        others = [key for key in others if key in by_key and by_key[key]["id"] not in has_commit]
    found = next((by_key[key] for key in (surest, *others) if key in by_key), None)
    complete = found is not None and all(by_key.get(key) == found for key in keys)
    return workspace_of(found) if found else None, complete


def _add_keys(queries: Queries, keys: Sequence[str], workspace: Workspace | None) -> None:
    if workspace:
        queries.many("workspaces.add_key", [{"key": key, "id": workspace.id} for key in keys])


def _by_name(queries: Queries, name: str) -> Row | None:
    return queries.one("workspaces.by_name", name=name)


def _known(queries: Queries, workspace: Workspace) -> Workspace | None:
    """Return the current state of a workspace in the registry, or None."""
    row = queries.one("workspaces.by_id", id=workspace.id)
    return workspace_of(row) if row else None


def _personal(queries: Queries) -> list[str]:
    """Return the ids of what new projects and a new default workspace read: the personal one, and what it includes.

    A repository of that name is a project like any other.
    """
    row = _by_name(queries, PERSONAL)
    if row is None or queries.one("workspaces.of_project", id=row["id"]):
        return []
    found = workspace_of(row)
    return [found.id, *found.includes] if found.status == ACTIVE else []


def _set_included(queries: Queries, workspace: Workspace, ids: Sequence[str]) -> None:
    queries.run("workspaces.include", id=workspace.id, includes=json.dumps(list(dict.fromkeys(ids))))


def usable(workspace: Workspace) -> Workspace:
    """Return the workspace; raise InvalidInputError if it is archived."""
    if workspace.status != ACTIVE:
        raise InvalidInputError(f'project "{workspace.name}" is archived — restore it first')
    return workspace


def _taken(by: Workspace) -> InvalidInputError:
    step = "Switch to it" if by.status == ACTIVE else "It is archived: restore it"
    return InvalidInputError(
        f'Failed to create project "{by.name}": the name is taken. {step}, or choose another name.'
    )


def composed(name: str) -> str:
    """Return a name with its accents in one encoding, in which keyboards and file systems differ unseen."""
    return unicodedata.normalize("NFC", name)


def _check_slug(name: str) -> None:
    """Raise InvalidInputError unless a name can be typed by whoever reads it, in a command or an address."""
    plain = 0 < len(name) <= SLUG_LENGTH and name[0].isalnum() and all(map(_in_slug, name))
    if not plain or seen(name)[0] != name:
        raise InvalidInputError(
            f'Failed to create project "{name[:100]}": a name has 1 to {SLUG_LENGTH} letters (of any script, but of '
            'one only in each word), digits, "-", "_" and ".", and begins with a letter or a digit. Choose another '
            "name."
        )


def _in_slug(character: str) -> bool:
    """Return whether a slug may have this character: a mark is the vowel or the accent of a letter before it."""
    return character.isalnum() or character in "-_." or unicodedata.category(character) in ("Mn", "Mc")


def check_name(name: str) -> None:
    """Raise InvalidInputError if a text cannot be the name of a workspace."""
    if name == AUTO:
        raise InvalidInputError(f"{AUTO} is reserved for the workspace of the project. Choose another name.")
    if not name.strip() or len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidInputError(
            f"{name[:50]!r} is not a valid workspace name: use 1 to {NAME_LENGTH} printable characters."
        )
