"""The SQL statements, by name. Python builds SQL only here; elsewhere it names a statement and passes parameters."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from memoryd import features
from memoryd.store.columns import MOVED, Table

_HEADER = re.compile(r"^-- name: *([a-z_.]+) *$", re.MULTILINE)


@cache
def load(dialect: str) -> dict[str, str]:
    """Return every named statement of a dialect (`sqlite`): the shared ones, those of slices, the dialect's own."""
    statements: dict[str, str] = {}
    root = files(__name__)
    for folder in (root, *features.folders("sql"), root / dialect):
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".sql"):
                _, *parts = _HEADER.split(file.read_text(encoding="utf-8"))
                statements |= dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return statements


@cache
def moving() -> dict[str, str]:
    """Return the statements that move rows between databases, by name: five for each table of MOVED."""
    statements: dict[str, str] = {}
    for name, table in MOVED.items():
        home = "true" if table.registry else "workspace_id = :workspace"
        order, after = ", ".join(table.order), ", ".join(f":{column}" for column in table.order)
        page = f"SELECT {', '.join(table.stored)} FROM {name} WHERE {home}"  # noqa: S608 - our own names
        statements |= {
            f"moved.{name}_first": f"{page} ORDER BY {order} LIMIT :limit",
            f"moved.{name}_after": f"{page} AND ({order}) > ({after}) ORDER BY {order} LIMIT :limit",
            f"moved.{name}_of": f"{page} AND {table.key[0]} IN (SELECT value FROM json_each(:ids))",  # noqa: S608
            f"moved.{name}_put": _putting(name, table),
            f"moved.{name}_number": f"SELECT count(*) AS number FROM {name} WHERE {home}",  # noqa: S608 - our own names
        }
    return statements


def _putting(name: str, table: Table) -> str:
    """Return the statement that adds a row unless its key exists."""
    workspace = () if table.registry else ("workspace_id",)
    columns = (*workspace, *table.columns)
    values = [":workspace" if column == "workspace_id" else f":{column}" for column in columns]
    known = "" if table.numbered else f" ON CONFLICT ({', '.join((*workspace, *table.key))}) DO {table.known}"
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join(values)}){known}"  # noqa: S608 - our own names


@cache
def migrations(dialect: str) -> Mapping[int, str]:
    """Return the scripts of a dialect in order, by the version that each creates; the first one needs no other."""
    folder = files(__name__) / dialect / "migrations"
    scripts = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return {int(name.partition("_")[0]): file.read_text(encoding="utf-8") for name, file in scripts}


def counting(schema: str, table: str) -> str:
    """Return the statement that counts the rows of a table in the schema `main` or `source`."""
    return f"SELECT count(*) FROM {schema}.{table}"  # noqa: S608 - names of our own schema


def copying(table: str, columns: Iterable[str]) -> str:
    """Return the statement that copies a table from the attached database `source` into one file for all workspaces."""
    copied = [name for name in columns if name not in ("rid", "seq")]
    values = ["''" if name == "db_path" else name for name in copied]
    into = f"INSERT INTO main.{table} ({', '.join(copied)})"
    return f"{into} SELECT {', '.join(values)} FROM source.{table}"  # noqa: S608 - names of our own schema


def listing_common_columns() -> str:
    """Return the statement that lists the columns of a table that the attached database `source` has, too."""
    return "SELECT name FROM pragma_table_info(:table, 'main') JOIN pragma_table_info(:table, 'source') USING (name)"


def listing_tables() -> str:
    """Return the statement that lists the ordinary tables of any SQLite file."""
    return "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' ORDER BY name"


def listing_columns() -> str:
    """Return the statement that lists the columns of a table of any SQLite file."""
    return "SELECT name FROM pragma_table_info(:table)"


def reading(table: str, order: Iterable[str]) -> str:
    """Return the statement that reads all rows of a table of any SQLite file, whatever its name."""
    place, *ordered = (_quoted(name) for name in (table, *order))
    return f"SELECT * FROM {place}{_ordered(ordered)}"  # noqa: S608 - the names are quoted


def reading_bytes(table: str, columns: Iterable[str], order: Iterable[str]) -> str:
    """Return the statement that reads a table; whether a column is text precedes it, and text is read as bytes."""
    place, *ordered = (_quoted(name) for name in (table, *order))
    each = ", ".join(
        f"typeof({name}) = 'text', CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
        for name in map(_quoted, columns)
    )
    return f"SELECT {each} FROM {place}{_ordered(ordered)}"  # noqa: S608 - the names are quoted


def _ordered(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f" ORDER BY {listed}" if listed else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
