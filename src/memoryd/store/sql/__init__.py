"""The SQL statements, by name. Python builds SQL only here; elsewhere it names a statement and passes parameters."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from memoryd import features
from memoryd.errors import StoreError
from memoryd.store.columns import MOVED, Table

_HEADER = re.compile(r"^-- name: *([a-z_.]+) *$", re.MULTILINE)
_NOTES = re.compile(r"\A(?:--.*\n)*")


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
    return with_parts(statements)


def with_parts(statements: dict[str, str]) -> dict[str, str]:
    """Return the statements, with the text of a part, such as `parts.passing`, in place of its name in braces."""
    for part in [name for name in statements if name.startswith("parts.")]:
        text = _NOTES.sub("", statements.pop(part))
        statements = {name: sql.replace(f"{{{part}}}", text) for name, sql in statements.items()}
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


_SPELLINGS = {
    "sqlite": {' COLLATE "C"': "", "DOUBLE PRECISION": "REAL", "BIGINT": "INTEGER"},
    "postgres": {" WITHOUT ROWID": ""},
}
"""How each dialect spells what the shared scripts spell otherwise."""


@cache
def migrations(dialect: str) -> Mapping[int, str]:
    """Return the scripts of a dialect in order, by the version that each creates; the first one needs no other.

    A script consists of the shared one of that version, if there is one, and the dialect's own.
    """
    scripts: dict[int, str] = {}
    for folder in (files(__name__) / "migrations", files(__name__) / dialect / "migrations"):
        for file in folder.iterdir():
            if file.name.endswith(".sql"):
                version = int(file.name.partition("_")[0])
                scripts[version] = scripts.get(version, "") + spelled(file.read_text(encoding="utf-8"), dialect)
    return dict(sorted(scripts.items()))


def spelled(script: str, dialect: str) -> str:
    """Return a script without the lines of the other dialects, in the spelling of this one."""
    others = "|".join(_SPELLINGS.keys() - {dialect})
    script = re.sub(rf"^.*-- (?:{others})\b.*\n|\s*-- {dialect}$", "", script, flags=re.MULTILINE)
    for shared, own in _SPELLINGS[dialect].items():
        script = script.replace(shared, own)
    return script


def outstanding(place: str, found: int, scripts: Mapping[int, str], former: str) -> Mapping[int, str]:
    """Return the scripts that a database of version `found` lacks, by the version that each creates.

    Raise StoreError for a newer version than that of the last script, or one before the first; that names `former`,
    how such a database is taken over.
    """
    known = f"{place} has schema version {found}; this memoryd knows versions {min(scripts)} to {max(scripts)}. "
    if found > max(scripts):
        raise StoreError(
            f"{known}It was not touched. Upgrade memoryd to the version that wrote it, then restart this process."
        )
    if 0 < found < min(scripts):
        raise StoreError(f"{known}It was not touched. It was written before the first release: {former}")
    return {version: script for version, script in scripts.items() if version > found}


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
