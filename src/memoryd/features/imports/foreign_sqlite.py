"""SQLite files of other programs, found by their tables and only read: none of their code runs."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.items import Yielded
from memoryd.features.imports.formats.source import FilesOf, ItemsOf, Source, SourceFile, that
from memoryd.store.base import Row
from memoryd.store.sql import listing_columns, listing_tables, reading, reading_bytes
from memoryd.store.sqlite.connection import rows
from memoryd.store.sqlite.file import MAGIC

BUSY_MS = 5_000  # the program that owns the file may be writing


class ForeignDatabase:
    """One snapshot of an open database."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table."""
        return {
            table: frozenset(self._names(listing_columns(), table=table)) for table in self._names(listing_tables())
        }

    def _names(self, statement: str, **parameters: str) -> list[str]:
        return [row["name"] for row in rows(self._connection, statement, parameters)]

    def rows(self, table: str, *order: str) -> Iterator[Row]:
        """Yield the rows of a table, ordered by the given columns that exist; nothing if there is no such table.

        Bytes of a text that are not UTF-8 become U+FFFD.
        """
        if columns := self.tables.get(table):
            ordered, number = [name for name in order if name in columns], 0
            try:
                for row in rows(self._connection, reading(table, ordered)):
                    yield row
                    number += 1
            except UnicodeDecodeError:
                yield from islice(self._lenient(table, sorted(columns), ordered), number, None)

    def _lenient(self, table: str, columns: Sequence[str], order: Sequence[str]) -> Iterator[Row]:
        for values in self._connection.execute(reading_bytes(table, columns, order)):
            pairs = zip(values[::2], values[1::2], strict=True)
            decoded = [value.decode("utf-8", "replace") if is_text else value for is_text, value in pairs]
            yield dict(zip(columns, decoded, strict=True))


@contextmanager
def foreign_database(path: Path) -> Iterator[ForeignDatabase]:
    """Open a file for reading; raise InvalidInputError if it cannot be opened, or later if its rows cannot be read."""
    try:
        with _connected(path) as connection:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            connection.pragma("query_only", True)
            connection.execute("BEGIN")
            yield ForeignDatabase(connection)
    except apsw.Error as error:
        raise InvalidInputError(
            f"{path.name} cannot be read ({error}). Close the program that uses it, or restore it."
        ) from error


@contextmanager
def _connected(path: Path) -> Iterator[apsw.Connection]:
    """Open a file; on a medium that is read-only as it is, without a log as unchanging, with one in a copy."""
    log = path.with_name(f"{path.name}-wal")
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(_opened(path, "mode=ro")))
            connection.pragma("schema_version")
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if log.is_file() and log.stat().st_size:
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="memoryd-import-")))
                for file in (path, log):
                    shutil.copyfile(file, folder / file.name)
                connection = stack.enter_context(closing(_opened(folder / path.name, "mode=rw")))
            else:
                connection = stack.enter_context(closing(_opened(path, "immutable=1")))
        yield connection


def _opened(path: Path, how: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE if how == "mode=rw" else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(f"{path.absolute().as_uri()}?{how}", flags | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(BUSY_MS)
    return connection


# the databases of a source --------------------------------------------------------------------------------------------


def stored_at(file: SourceFile) -> Path | None:
    """Return the path of a SQLite file; None for any other file, and in an archive."""
    return file.path if file.path and file.head().startswith(MAGIC) else None


def databases(fits: Callable[[ForeignDatabase], object], *patterns: str) -> FilesOf:
    """Return a function for ForeignFormat.files: it yields the SQLite files that fit."""

    def is_fit(file: SourceFile) -> bool:
        if not (path := stored_at(file)):
            return False
        with foreign_database(path) as database:
            return bool(fits(database))

    return that(is_fit, *patterns)


def each_of(
    of_database: Callable[[ForeignDatabase, frozenset[str]], Iterable[Yielded]],
    of_file: Callable[[SourceFile, frozenset[str]], Iterable[Yielded]] = lambda *_: (),
) -> ItemsOf:
    """Return a function for ForeignFormat.read: it reads the databases first, then the other files."""

    def read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
        found = [(file, stored_at(file)) for file in source.files]
        for path in (path for _, path in found if path):
            with foreign_database(path) as database:
                yield from of_database(database, more)
        for file in (file for file, path in found if not path):
            yield from of_file(file, more)

    return read


def has(table: str, *columns: str) -> Callable[[ForeignDatabase], bool]:
    """Return a function that tests whether a database has a table with these columns."""
    return lambda database: table in database.tables and database.tables[table].issuperset(columns)
