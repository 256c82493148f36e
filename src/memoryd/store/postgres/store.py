"""The store on Postgres with pgvector: one schema for all workspaces."""

from pathlib import Path

from memoryd.store.journal import State
from memoryd.store.postgres.placement import PostgresPlacement
from memoryd.store.postgres.rows import PostgresRows
from memoryd.store.postgres.search import PostgresIndex
from memoryd.store.postgres.server import GivenServer, Server
from memoryd.store.postgres.upkeep import PostgresUpkeep

CONNECTIONS = 16


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
        """Return the state of memoryd's own server, or that the server is external."""
        return self.server.state()

    def start(self) -> bool:
        """Start memoryd's own server; return whether it was not running."""
        return self.server.start()

    def stop(self) -> bool:
        """Stop memoryd's own server; return whether it was running."""
        stopped = self.server.stop()
        self.disconnect()
        return stopped
