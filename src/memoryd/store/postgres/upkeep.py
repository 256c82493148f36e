"""Checks and repairs of a Postgres database."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from psycopg import sql

from memoryd.model import Workspace
from memoryd.store.base import UNIT, Row, StoredFile
from memoryd.store.postgres.connection import Connection
from memoryd.store.postgres.queries import PostgresQueries, statements
from memoryd.store.postgres.rows import PostgresRows
from memoryd.store.postgres.schema import asked, lacking, version_of
from memoryd.store.postgres.search import PostgresIndex, build
from memoryd.store.sql import load, migrations


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


# damage to the schema by an administrator or a restore, with the statements that repair it ---------------------------


OWNER = "As the owner of the tables, run:"
AGAIN = "if it fails, a restore has lost rows: restore the backup again"
_MAKING = re.compile(r"^CREATE (?:UNIQUE )?(INDEX|TRIGGER) (\w+)\b[^;]*?\sON \w+[^;]*;", re.MULTILINE)
"""What the scripts create that can be dropped without its table."""
_TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)\)(?: PARTITION[^;]*)?;$", re.MULTILINE | re.DOTALL)


def changed(connection: Connection, *, read_only: bool) -> list[str]:
    """Return what is missing, disabled or forbidden, but needed to read and, unless `read_only`, to write."""
    return [
        *_missing(connection),
        *_disabled(connection),
        *_misled(connection),
        *_misordered(connection),
        *_barred(connection, ["SELECT"] if read_only else ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ]


def _missing(connection: Connection) -> Iterator[str]:
    """Yield the indexes, triggers, keys and text search configurations that were dropped or not restored."""
    there = {row["name"]: row["valid"] for row in _rows(connection, "upkeep.parts")}
    if "memoryd" not in there:
        yield "the text search configuration memoryd was dropped. Restore a backup."
    for part in {part[2]: part for part in _MAKING.finditer(_scripts())}.values():  # a later script's definition counts
        if part[2] not in there:
            yield f"the {part[1].lower()} {part[2]} was dropped. {OWNER} {' '.join(part[0].split())}"
    for table, key, definition in _keys():
        if key not in there:
            yield f"the key {key} is missing. {OWNER} ALTER TABLE {table} ADD {definition}; {AGAIN}."
        elif not there[key]:
            yield f"the key {key} is not validated. {OWNER} ALTER TABLE {table} VALIDATE CONSTRAINT {key}; {AGAIN}."


def _disabled(connection: Connection) -> Iterator[str]:
    for row in _rows(connection, "upkeep.disabled"):
        who, which = ("As a superuser, run:", "ALL") if row["keys"] else (OWNER, "USER")
        if row["name"] in _tables():
            step = f"ALTER TABLE {row['name']} ENABLE TRIGGER {which}; then start memoryd's processes again."
            yield f"triggers of {row['name']} are disabled. {who} {step}"


def _misled(connection: Connection) -> Iterator[str]:
    for row in _rows(connection, "upkeep.misled"):
        step = f"ALTER FUNCTION {row['name']} SET search_path = {row['place']}, pg_temp;"
        yield f"the function {row['name']} does not look in its own schema, {row['place']}. {OWNER} {step}"


def _misordered(connection: Connection) -> Iterator[str]:
    """Yield a problem if text indexes were built with another version of the system's collation."""
    for row in _rows(connection, "upkeep.collation"):
        problem = f"the system sorts texts by collation version {row['now']}, but indexes were built with {row['made']}"
        database = f'DATABASE "{row["name"]}"'
        step = f"REINDEX {database}; ALTER {database} REFRESH COLLATION VERSION;"
        yield f"{problem}: they may miss rows. As the owner of the database, run: {step}"


def _barred(connection: Connection, needed: list[str]) -> Iterator[str]:
    """Yield missing rights of the role, and tables whose rows row-level security hides from it."""
    server, ours = asked(connection, "upkeep.server"), _tables()
    rows = [row for row in _rows(connection, "upkeep.rights") if row["name"] in ours]
    if lacking := [row["name"] for row in rows if not set(needed).isdisjoint(row["lacks"])]:
        step = f'GRANT {", ".join(needed)} ON ALL TABLES IN SCHEMA {server["place"]} TO "{server["role"]}";'
        yield f"the role {server['role']} may not use {', '.join(lacking)} as it needs. {OWNER} {step}"
    if hidden := [row["name"] for row in rows if row["hidden"]]:
        problem = f"row-level security hides rows of {', '.join(hidden)} from the role {server['role']}"
        yield f'{problem}. As a superuser, run: ALTER ROLE "{server["role"]}" BYPASSRLS;'


def _rows(connection: Connection, name: str) -> list[Row]:
    return connection.execute(load("postgres")[name]).fetchall()


# what the scripts create ---------------------------------------------------------------------------------------------


@cache
def _scripts() -> str:
    return re.sub("--.*", "", "\n".join(migrations("postgres").values()))


@cache
def _tables() -> set[str]:
    return {name for name, _ in _TABLE.findall(_scripts())}


@cache
def _keys() -> list[tuple[str, str, str]]:
    """Return the table, the name that Postgres gives it, and the definition of each key."""
    found = []
    for table, body in _TABLE.findall(_scripts()):
        for part in re.split(r",(?![^(]*\))", body):
            if definition := _key(" ".join(part.split())):
                kind, columns = definition.split()[0], definition.partition("(")[2].partition(")")[0]
                named = f"{table}_{columns.replace(', ', '_')}"
                names = {"PRIMARY": f"{table}_pkey", "FOREIGN": f"{named}_fkey", "UNIQUE": f"{named}_key"}
                found.append((table, names[kind], definition))
    return found


def _key(part: str) -> str:
    """Return the definition of a key in a part of a table's definition, or ''."""
    if part.startswith(("PRIMARY KEY", "FOREIGN KEY", "UNIQUE")):
        return part
    column, _, rest = part.partition(" ")
    of_column = re.search("PRIMARY KEY|UNIQUE|REFERENCES.*", rest)
    if of_column is None:
        return ""
    references = of_column[0] if of_column[0].startswith("REFERENCES") else ""
    return f"FOREIGN KEY ({column}) {references}" if references else f"{of_column[0]} ({column})"
