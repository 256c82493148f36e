"""Find the SQLite files of a source that have the tables of a format."""

from collections.abc import Callable, Iterator
from pathlib import Path

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, foreign_database
from memoryd.features.imports.formats.source import Source
from memoryd.store.sqlite.file import MAGIC


def databases(source: Source, fits: Callable[[ForeignDatabase], object], *patterns: str) -> Iterator[Path]:
    """Yield the SQLite files that fit: the source itself, or those of a folder that match a pattern."""
    for file in source.candidates(*patterns):
        if file.path and file.head().startswith(MAGIC):
            with foreign_database(file.path) as database:
                is_fit = bool(fits(database))
            if is_fit:
                yield file.path


def has(table: str, *columns: str) -> Callable[[ForeignDatabase], bool]:
    """Return a function that tests whether a database has a table with these columns."""
    return lambda database: table in database.tables and database.tables[table].issuperset(columns)
