"""The placement of workspaces on Postgres: all in one schema; archiving sets a mark that every write checks."""

from memoryd.model import Workspace
from memoryd.store.base import Placement, Queries
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.rows import PostgresRows
from memoryd.store.rows import empty_some


class PostgresPlacement(Placement):
    """See `store.base.Placement`."""

    def __init__(self, rows: PostgresRows) -> None:
        self._rows = rows

    def exists(self) -> bool:
        """Return whether there is a schema, which contains the registry."""
        return self._rows.has_schema()

    def create(self, workspace: Workspace | None) -> None:
        """Create the schema if there is none."""
        self._rows.prepare()

    def archive(self, registry: Queries, workspace: Workspace) -> str:
        """Mark a workspace, so that every later write to it fails."""
        _beside(registry, workspace).run("placement.mark")
        return workspace.db_path

    def is_archived(self, workspace: Workspace) -> bool:
        """Return whether a workspace is marked."""
        return self._rows.read(workspace, lambda q: q.one("placement.marked")) is not None

    def restore(self, registry: Queries, workspace: Workspace) -> str:
        """Remove the mark."""
        _beside(registry, workspace).run("placement.unmark")
        return workspace.db_path

    def empty(self, workspace: Workspace) -> None:
        """Delete the rows of a workspace, in small transactions."""
        while self._rows.write(workspace, empty_some, guarded=False):
            pass

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Delete what was written since `empty`. The mark stays, so that writes keep failing."""
        queries = _beside(registry, workspace)
        while empty_some(queries):
            pass
        queries.run("perspectives.clear")
        queries.run("workspaces.forget_sync")
        queries.run("words.forget")


def _beside(registry: Queries, workspace: Workspace) -> PostgresQueries:
    """Return queries for a workspace, in the same transaction."""
    assert isinstance(registry, PostgresQueries)
    return PostgresQueries(registry.connection, workspace)
