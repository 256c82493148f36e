"""The store on Postgres with pgvector: one schema for all workspaces; archiving sets a mark that every write checks."""

from pathlib import Path

from memoryd.model import Workspace
from memoryd.store.base import Placement, Queries
from memoryd.store.journal import State
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.rows import PostgresRows
from memoryd.store.postgres.search import PostgresIndex
from memoryd.store.postgres.server import GivenServer, Server
from memoryd.store.postgres.upkeep import PostgresUpkeep
from memoryd.store.rows import empty_some

CONNECTIONS = 16


class PostgresPlacement(Placement):
    """See `store.base.Placement`."""

    def __init__(self, rows: PostgresRows) -> None:
        self._rows = rows

    def exists(self) -> bool:
        """Return whether there is a schema, which contains the registry."""
        return self._rows.has_schema()

    def create(self, workspace: Workspace | None) -> None:
        self._rows.prepare()

    def archive(self, registry: Queries, workspace: Workspace) -> str:
        _beside(registry, workspace).run("placement.mark")
        return workspace.db_path

    def is_archived(self, workspace: Workspace) -> bool:
        return self._rows.read(workspace, lambda q: q.one("placement.marked")) is not None

    def restore(self, registry: Queries, workspace: Workspace) -> str:
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


class PostgresStore(PostgresRows):
    """See `store.base.Store`. `timelines` is the file that records which servers have taken over."""

    product = "Postgres"

    def __init__(
        self,
        server: Server | str,
        connections: int = CONNECTIONS,
        *,
        read_only: bool = False,
        timelines: Path | None = None,
    ) -> None:
        given = GivenServer(server, read_only=read_only) if isinstance(server, str) else server
        super().__init__(given, connections, timelines, read_only=read_only)
        self.index = PostgresIndex()
        self.placement = PostgresPlacement(self)
        self.upkeep = PostgresUpkeep(self, self.index)

    def state(self) -> State:
        return self.server.state()

    def start(self) -> bool:
        return self.server.start()

    def stop(self) -> bool:
        stopped = self.server.stop()
        self._pool.let_go()
        return stopped
