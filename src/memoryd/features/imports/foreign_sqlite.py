"""Read-only access to SQLite files of other programs: nothing is written, and none of their code runs."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from memoryd.errors import InvalidInputError
from memoryd.store.base import Row
from memoryd.store.sql import listing_columns, listing_tables, reading, reading_bytes
from memoryd.store.sqlite.connection import rows

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
