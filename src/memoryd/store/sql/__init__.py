"""The statements, by name. Python never builds SQL: it names a statement and gives parameters."""

import re
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: *([a-z_.]+) *$", re.MULTILINE)


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
