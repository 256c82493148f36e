"""The statements, by name. Python never builds SQL outside of here: it names a statement and gives parameters."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_HEADER = re.compile(r"^-- name: *([a-z_.]+) *$", re.MULTILINE)

TABLES = (  # a table stands after those it refers to; words, tags and tombstones make themselves
    "projects", "sessions", "session_holders", "records", "memory_details", "entity_details", "observation_details",
    "interaction_details", "summary_details", "versions", "relations", "perspectives", "embeddings", "events",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """How the rows of a table are read in pages and written as they are."""

    key: tuple[str, ...]
    """What orders them, within their workspace."""
    others: tuple[str, ...]
    registry: bool = False
    """Whether they belong to no workspace."""
    numbered: bool = False
    """Whether the last column of the key is a number that each database gives by itself."""
    known: str = "NOTHING"
    """What becomes of a row whose key is there already."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What a row says, whichever database it is in."""
        return (self.key[:-1] if self.numbered else self.key) + self.others


def _rows(key: str, others: str, **traits: Any) -> Rows:
    return Rows(tuple(key.split()), tuple(others.split()), **traits)


MOVED: Mapping[str, Rows] = {
    "projects": _rows("id", "name description db_path status created_at updated_at", registry=True),
    "sessions": _rows(
        "principal id", "active_project", registry=True,
        known="UPDATE SET active_project = coalesce(sessions.active_project, excluded.active_project)",
    ),
    "session_holders": _rows("principal id holder", "expires_at", registry=True),
    "records": _rows("id", "kind name type body tags scope session_id client tool created_at updated_at deleted_at"),
    "memory_details": _rows(
        "id", "fingerprint importance access_count accessed_at consolidated superseded_by ending reason gist"
    ),
    "entity_details": _rows("id", "summary_updated_at next_ordinal"),
    "observation_details": _rows("id", "entity_id ordinal"),
    "interaction_details": _rows("id", "thought_at response_at"),
    "summary_details": _rows("id", "memory_count quality productivity impact complexity technologies"),
    "versions": _rows("id until", "body tags importance"),
    "relations": _rows("id", "from_entity to_entity relation_type created_at deleted_at"),
    "perspectives": _rows("name", "template"),
    "embeddings": _rows("id perspective model chunk", "dim vector"),
    "events": _rows("at seq", "operation subject", numbered=True),
}  # fmt: skip
"""What a move between databases takes along, in the order of TABLES."""


@cache
def load(dialect: str) -> dict[str, str]:
    """Every named statement of a dialect (`sqlite`): the shared files first, then the dialect's own."""
    statements: dict[str, str] = {}
    root = files(__name__)
    for folder in (root, root / dialect):
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".sql"):
                _, *parts = _HEADER.split(file.read_text(encoding="utf-8"))
                statements |= dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return statements


@cache
def moving() -> dict[str, str]:
    """The statements by which rows move from one database to another: four for each table of MOVED, by its name."""
    statements: dict[str, str] = {}
    for table, rows in MOVED.items():
        home = "true" if rows.registry else "workspace_id = :workspace"
        key, after = ", ".join(rows.key), ", ".join(f":{column}" for column in rows.key)
        page = f"SELECT {', '.join(rows.key + rows.others)} FROM {table} WHERE {home}"  # noqa: S608 - our own names
        statements |= {
            f"moved.{table}_first": f"{page} ORDER BY {key} LIMIT :limit",
            f"moved.{table}_after": f"{page} AND ({key}) > ({after}) ORDER BY {key} LIMIT :limit",
            f"moved.{table}_put": _putting(table, rows),
            f"moved.{table}_number": f"SELECT count(*) AS number FROM {table} WHERE {home}",  # noqa: S608 - our own names
        }
    return statements


def _putting(table: str, rows: Rows) -> str:
    """Adds a row, unless its key is there."""
    columns = rows.columns if rows.registry else ("workspace_id", *rows.columns)
    values = [":workspace" if column == "workspace_id" else f":{column}" for column in columns]
    key = rows.key if rows.registry else ("workspace_id", *rows.key)
    known = "" if rows.numbered else f" ON CONFLICT ({', '.join(key)}) DO {rows.known}"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(values)}){known}"  # noqa: S608 - our own names


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """The scripts of a dialect in their order; a database of version n has had the first n."""
    folder = files(__name__) / dialect / "migrations"
    scripts = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple(file.read_text(encoding="utf-8") for _, file in scripts)


def counting(schema: str, table: str) -> str:
    """How many rows a table has, `main` or `source`."""
    return f"SELECT count(*) FROM {schema}.{table}"  # noqa: S608 - names of our own schema


def copying(table: str, columns: Iterable[str]) -> str:
    """Adds the rows of a table of the database that is attached as `source`; one file now holds all workspaces."""
    copied = [name for name in columns if name not in ("rid", "seq")]
    values = ["''" if name == "db_path" else name for name in copied]
    into = f"INSERT INTO main.{table} ({', '.join(copied)})"
    return f"{into} SELECT {', '.join(values)} FROM source.{table}"  # noqa: S608 - names of our own schema
