"""Checks and repairs of a Postgres database."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from psycopg import sql

from memoryd.model import Workspace
from memoryd.store.base import UNIT, Row, StoredFile
from memoryd.store.postgres.checks import changed
from memoryd.store.postgres.queries import PostgresQueries, statements
from memoryd.store.postgres.rows import PostgresRows
from memoryd.store.postgres.schema import asked, lacking, version_of
from memoryd.store.postgres.search import PostgresIndex, build


class PostgresUpkeep:
    """See `store.base.Upkeep`."""

    def __init__(self, rows: PostgresRows, index: PostgresIndex) -> None:
        self._rows = rows
        self._index = index

    def describe(self) -> str:
        if not self._rows.server.exists():
            return f"Postgres, {self._rows.place}"
        with self._rows.separate_connection() as connection:
            server, version = asked(connection, "upkeep.server"), version_of(connection)
            lineage = connection.lineage
            timeline = f", timeline {lineage.timeline}" if lineage else ""
            lost = f"; {lineage.lost}" if lineage and lineage.lost else ""
        role = f"role {server['role']}{'' if server['may_create'] else ', which may not create tables'}"
        return (
            f"PostgreSQL {server['server'].split()[0]}, pgvector {server['pgvector'] or 'not in use'}, "
            f"schema {version}, {role}{timeline}, {self._rows.place}{lost}"
        )

    def files(self, workspaces: Iterable[Workspace | None]) -> list[StoredFile]:
        with self._rows.separate_connection() as connection:
            return [StoredFile(self._rows.place, asked(connection, "upkeep.server")["size"], None)]

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Check what is needed to read, write and search; Postgres itself checks the rows.

        Raise StoreError if there is no schema and none can be created.
        """
        if not self._rows.has_schema():
            if not self._rows.read_only:
                self._rows.rehearse()
            return []
        with self._rows.connection() as connection:
            server, lacks = asked(connection, "upkeep.server"), lacking(connection, 1)
            lacks += changed(connection, read_only=self._rows.read_only)
            invalid = connection.execute(statements()["upkeep.invalid"]).fetchall()
        if server["read_only"] and not self._rows.read_only:
            lacks.append("it does not accept writes. Set MEMORY_DATABASE_URL to a server that does.")
        if pages := server["broken_pages"]:
            lacks.append(f"{pages} pages did not match their checksums. Restore a backup on a working disk.")
        rebuild = "Rebuild it with `memoryd doctor --repair`."
        return [*lacks, *(f"the index {row['name']} is not valid. {rebuild}" for row in invalid)]

    def reindex(self, workspace: Workspace | None) -> None:
        # an index of a partitioned table needs several transactions
        with self._rows.separate_connection(unlimited=True) as connection:
            for row in connection.execute(statements()["upkeep.invalid"]).fetchall():
                index = sql.Identifier(row["place"], row["name"])
                connection.execute(sql.SQL("REINDEX INDEX {}").format(index))

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        found: list[Row] = self._rows.read(
            workspace, lambda q: q.all("upkeep.damaged", dims=json.dumps(dict(dims)), unit=UNIT)
        )
        if found and drop:
            self._rows.write(workspace, lambda q: q.many("upkeep.drop", found))
        return len(found)

    def scrub(self, workspace: Workspace) -> list[Path]:
        """Vacuum what was deleted; return no files: they are the server's, as are its log and backups."""
        with self._rows.separate_connection(unlimited=True) as connection:
            connection.execute(statements()["upkeep.vacuum"])
        return []

    def tend(self, workspace: Workspace) -> None:
        """Build the vector indexes that searches have missed; others can write in the meantime.

        Do nothing through a pooler, which would keep the builder's lock and settings.
        """
        if self._rows.read_only or self._rows.pooled or not self._index.near.wanted:
            return
        # CONCURRENTLY is not allowed in a transaction
        with self._rows.separate_connection(unlimited=True) as connection:
            queries = PostgresQueries(connection, None)
            while self._index.near.wanted and (queries.one("vectors.lone") or {})["lone"]:
                build(queries, self._index.near.wanted.pop())
        self._index.near.forget()
