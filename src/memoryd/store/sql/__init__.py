"""The statements, by name. Python never builds SQL outside of here: it names a statement and gives parameters."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: *([a-z_.]+) *$", re.MULTILINE)

TABLES = (  # a table stands after those it refers to; words, tags and tombstones make themselves
    "projects", "sessions", "session_holders", "records", "memory_details", "entity_details", "observation_details",
    "interaction_details", "summary_details", "relations", "perspectives", "embeddings", "events",
)  # fmt: skip


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
