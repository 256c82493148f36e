"""A temporary database for an import, which keeps rows until all of them are known to be consistent.

It has no name: its file disappears with the process, however that ends.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from memoryd.store.sql import migrations
from memoryd.store.sqlite.connection import SqliteQueries, equipped, explained

PLACE = Path("the directory for temporary files (SQLITE_TMPDIR, TMPDIR or /var/tmp)")
"""The location for people: SQLite chooses the actual one."""


class Scratch:
    """The rows of several workspaces, with the keys of the schema, but without an index of words."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def queries(self, workspace_id: str) -> Queries:
        """Return queries for a workspace with this id, which need not be registered."""
        return SqliteQueries(self._connection, Workspace(id=workspace_id, name="", db_path=""))

    def put(self, queries: Queries, table: str, row: Row) -> bool:
        """Add a row; return False if a unique key of the schema forbids it."""
        try:
            rows.put(queries, table, [row])
        except apsw.ConstraintError:
            return False
        return True


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Yield an empty database; raise StoreError if the directory for temporary files cannot store it."""
    with explained(PLACE), closing(equipped(apsw.Connection(""))) as connection:
        connection.pragma("journal_mode", "off")  # nothing is ever rolled back
        for script in migrations("sqlite").values():
            connection.execute(script)
        queries = SqliteQueries(connection, None)
        queries.run("scratch.wordless")
        queries.run("scratch.unrelated")
        connection.execute("BEGIN")  # a single transaction: a commit would write out what still fits into the cache
        yield Scratch(connection)
