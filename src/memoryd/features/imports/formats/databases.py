"""Find the SQLite files of a source that have the tables of a format."""

from collections.abc import Callable, Iterator

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, foreign_database
from memoryd.features.imports.formats.items import Yielded
from memoryd.features.imports.formats.source import Source, SourceFile
from memoryd.store.sqlite.file import MAGIC


def databases(source: Source, fits: Callable[[ForeignDatabase], object], *patterns: str) -> Iterator[SourceFile]:
    """Yield the SQLite files that fit: the source itself, or those of a folder that match a pattern."""
    for file in source.candidates(*patterns):
        if file.path and file.head().startswith(MAGIC):
            with foreign_database(file.path) as database:
                is_fit = bool(fits(database))
            if is_fit:
                yield file


def read_each(source: Source, read: Callable[[ForeignDatabase], Iterator[Yielded]]) -> Iterator[Yielded]:
    """Yield the items of each database of a source. Raise InvalidInputError if one cannot be read."""
    for path in filter(None, (file.path for file in source.files)):
        with foreign_database(path) as database:
            yield from read(database)


def parted(source: Source) -> tuple[Source, Source]:
    """Return the source with its SQLite files only, and with its other files only."""
    is_stored = [bool(file.path) and file.head().startswith(MAGIC) for file in source.files]
    pairs = list(zip(source.files, is_stored, strict=True))
    return source.narrowed(file for file, yes in pairs if yes), source.narrowed(file for file, yes in pairs if not yes)


def has(table: str, *columns: str) -> Callable[[ForeignDatabase], bool]:
    """Return a function that tests whether a database has a table with these columns."""
    return lambda database: table in database.tables and database.tables[table].issuperset(columns)
