"""The placement of workspaces on SQLite: their files are created, archived, restored and deleted.

A file that another process has open must not be moved: its next acknowledged write would be lost. So the mark of an
archived workspace is in its own file, where every write checks it, and the file is moved once no process has it open.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from memoryd.errors import StoreBusyError
from memoryd.model import Workspace
from memoryd.store.base import Placement, Queries
from memoryd.store.rows import empty_some
from memoryd.store.sqlite.connection import SqliteQueries, explained, has_contents, lost
from memoryd.store.sqlite.file import move
from memoryd.store.sqlite.layout import LOG, Layout, remove
from memoryd.store.sqlite.open_files import OpenFiles

TRIES = 5  # attempts to move a file that this process keeps reopening
LETTING_GO = 1.0  # seconds to wait for reads of this process before moving a file is postponed


class SqlitePlacement(Placement):
    """See `store.base.Placement`."""

    def __init__(self, layout: Layout, files: OpenFiles) -> None:
        self.home = layout.home()
        self._layout = layout
        self._files = files

    def own_path(self, workspace_id: str) -> str:
        return self._layout.own_path(workspace_id)

    def path(self, workspace: Workspace | None) -> Path:
        return self._layout.path(workspace)

    def strays(self, workspaces: Sequence[Workspace]) -> list[Path]:
        known = {self._layout.path(workspace).name for workspace in workspaces}
        return [path for path in self._layout.own_files() if path.name not in known]

    def exists(self) -> bool:
        """Return whether there is a registry; raise StoreError if it is lost but workspaces exist, or inaccessible."""
        registry = self._layout.path(None)
        log = registry.with_name(registry.name + LOG)  # written only after the file itself
        with explained(registry):
            if has_contents(registry):
                return True
            others = [*self._layout.others(), *([log] if has_contents(log) else [])]
            if others and not has_contents(registry):  # each is created after the registry, so check again
                raise lost(registry)
        return bool(others)

    def create(self, workspace: Workspace | None) -> None:
        if workspace is None:
            self.exists()
        with self._files.lent(workspace, create=True):
            pass

    def archive(self, registry: Queries, workspace: Workspace) -> str:
        """Mark the workspace in its own file, where every write checks it; move the file if no process has it open."""
        path = self._layout.path(workspace)
        if not path.exists():
            return workspace.db_path
        self._beside(registry, workspace, lambda q: q.run("placement.mark"))
        if (pair := self._layout.pair(workspace)) and path != pair[1]:
            for _ in range(TRIES):  # maintenance or embedding may reopen it in between
                self._files.let_go(path, LETTING_GO)
                if move(path, pair[1]) or not self._files.has(path):
                    break
        return self._layout.db_path(workspace)

    def is_archived(self, workspace: Workspace) -> bool:
        """Return whether its separate file is archived or lost, or whether it is marked in a shared file."""
        path = self._layout.path(workspace)
        if pair := self._layout.pair(workspace):
            return not pair[0].exists() and self._layout.db_path(workspace) == workspace.db_path
        if not path.exists():
            return True
        with self._files.lent(workspace) as file, file.reader() as connection:
            return SqliteQueries(connection, workspace).one("placement.marked") is not None

    def restore(self, registry: Queries, workspace: Workspace) -> str:
        """Move the file back if it was moved; remove the mark last."""
        path, pair = self._layout.path(workspace), self._layout.pair(workspace)
        if pair and path == pair[1] and path.exists():
            self._files.let_go(path)
            if not move(path, pair[0]):
                raise StoreBusyError(
                    f"{path} is being read by another process. Nothing was changed by this call; try again."
                )
        self._beside(registry, workspace, lambda q: q.run("placement.unmark"))
        return self._layout.db_path(workspace)

    def empty(self, workspace: Workspace) -> None:
        """Delete the rows of a workspace in a shared file, in small transactions, then their words."""
        if self._layout.pair(workspace) or not self._layout.path(workspace).exists():
            return
        with self._files.lent(workspace) as file:
            while file.write(workspace, empty_some, guarded=False):
                pass
            file.write(workspace, lambda q: q.run("words.optimize"), guarded=False)

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Delete its file, or its rows in a shared file, where its mark stays, so that writes keep failing."""
        if pair := self._layout.pair(workspace):
            for path in pair:
                self._files.let_go(path)
                with explained(path):
                    remove(path)
        elif self._layout.path(workspace).exists():
            self._beside(registry, workspace, _empty)

    def _beside(self, registry: Queries, workspace: Workspace, work: Callable[[Queries], object]) -> None:
        """Run `work` in the file of a workspace despite its mark; in this transaction if the file has the registry."""
        if self._layout.path(workspace) == self._layout.path(None):
            assert isinstance(registry, SqliteQueries)
            work(SqliteQueries(registry.connection, workspace))
            return
        with self._files.lent(workspace) as file:
            file.write(workspace, work, guarded=False)


def _empty(queries: Queries) -> None:
    """Delete the remaining rows, written since `empty`."""
    if sum(iter(lambda: empty_some(queries), 0)):
        queries.run("words.optimize")
    queries.run("perspectives.clear")
    queries.run("workspaces.forget_sync")
