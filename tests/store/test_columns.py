"""store/columns.py matches the migrated tables of both dialects."""

from contextlib import closing
from pathlib import Path

import apsw
import psycopg

from memoryd.store.columns import DETAILS, EXPORTED, MOVED, Table
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.sql import migrations
from memoryd.store.sqlite.connection import equipped
from tests.clients import database

Columns = dict[str, bool]
"""Whether each column may be null."""

DERIVED = {"put_away", "synced", "schema_version", "record_tags", "embedding_tombstones", "word_changes"}
"""What holds no data of people: marks, and what a database derives."""
STAYING = {"leases", "tokens", "accounts", "oauth_clients", "authorizations", "logins", "login_tokens", "access_log"}
"""What stays in its registry: locks, and who may come in over HTTP."""


def expected(table: Table) -> Columns:
    own = {name: column.optional for name, column in table.columns.items()}
    return own | ({} if table.registry else {"workspace_id": False}) | ({"seq": False} if table.numbered else {})


def test_the_tables_of_sqlite() -> None:
    with closing(equipped(apsw.Connection(":memory:"))) as file:
        for script in migrations("sqlite").values():
            file.execute(script)
        tables = {
            name
            for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if not str(name).startswith(("sqlite_", "records_fts"))
        }
        assert tables - DERIVED - STAYING == set(MOVED)
        for name, table in MOVED.items():
            query = "SELECT name, NOT ([notnull] OR pk) FROM pragma_table_info(?)"
            found = {str(column): bool(optional) for column, optional in file.execute(query, (name,))}
            own = {"rid", "related"} if table.numbered else {"rid", "related", "seq"}
            assert {key: found[key] for key in found if key not in own} == expected(table), name


def test_the_tables_of_postgres(postgres: str, tmp_path: Path) -> None:
    url = database(postgres, tmp_path)
    with closing(PostgresStore(url)) as store:
        store.placement.create(None)
    found: dict[str, Columns] = {}
    with psycopg.connect(url) as connection:
        query = """SELECT c.table_name, c.column_name, c.is_nullable = 'YES' FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND table_name !~ '^embeddings_[0-9]+$'"""
        for table, column, optional in connection.execute(query):
            found.setdefault(table, {})[column] = optional
    del found["records"]["words"], found["records"]["related"]
    assert {name: found[name] for name in found if name not in DERIVED | STAYING} == {
        name: expected(table) for name, table in MOVED.items()
    }


def test_every_kind_of_record_has_a_table_of_details() -> None:
    assert next(iter(EXPORTED)) == "records"
    for name, kind in DETAILS.items():
        assert MOVED[name].columns["id"].refers == (kind,)
    assert all(set(table.key) <= set(table.columns) for table in MOVED.values())
