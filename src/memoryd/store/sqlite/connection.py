"""Connections to SQLite, through apsw: opening, queries, and the meaning of errors."""

import errno
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Row, uncertain
from memoryd.store.sql import load, moving
from memoryd.store.sqlite import fork
from memoryd.store.sqlite.layout import LOG
from memoryd.text import indexed

BUSY_MS = 30_000  # eight processes that write at once occasionally exceed five seconds
SHARED = 32 * 2**10  # minimum bytes of the index of a write-ahead log; without them SQLite reports an I/O error
PLENTY = 64 * 2**20  # free bytes of a disk that is not itself full, if SQLite reports a full one without naming it
CACHES = 16 * 2**20  # bytes of pages cached by all connections of this process; the system caches the file, too

WRITTEN_AT, ROLLBACK = 18, b"\x01"  # the byte that says how a file is written, and its value without a write-ahead log
# Source: sqlite.org/fileformat2.html, "The Database Header".

apsw.soft_heap_limit(CACHES)


class SqliteQueries(Queries):
    """The named statements on one connection, which sets `:workspace`."""

    def __init__(self, connection: apsw.Connection, workspace: Workspace | None) -> None:
        super().__init__(workspace)
        self.connection = connection
        self._statements = _statements()
        self.rids: dict[str, int] = {}

    @property
    def writing(self) -> bool:
        """Whether the transaction has written something."""
        return self.connection.txn_state("main") == apsw.SQLITE_TXN_WRITE

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        return list(rows(self.connection, self._statements[name], self._bound | parameters))

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        return next(rows(self.connection, self._statements[name], self._bound | parameters), None)

    def run(self, name: str, /, **parameters: Any) -> None:
        self.connection.execute(self._statements[name], self._bound | parameters)

    def changed(self, name: str, /, **parameters: Any) -> int:
        before = self.connection.total_changes()
        self.connection.execute(self._statements[name], self._bound | parameters)
        return self.connection.changes() if self.connection.total_changes() != before else 0

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        self.connection.executemany(self._statements[name], [self._bound | dict(row) for row in rows])


def looked_up(queries: Queries) -> dict[str, int]:
    """Return the index keys that this transaction has looked up, by id; a record's key never changes."""
    assert isinstance(queries, SqliteQueries)
    return queries.rids


@cache
def _statements() -> dict[str, str]:
    return load("sqlite") | moving()


def connect(path: Path, durability: str, *, readonly: bool = False, create: bool = False) -> apsw.Connection:
    """Return a connection to a database; with `create` the file may be an empty one. Raise StoreError, apsw.Error."""
    if not (create or has_contents(path)):
        raise lost(path)
    connection = _opened(path)
    if connection.readonly("main") and writable(path):  # SQLite falls back to read-only if an opening fails once
        connection.close()
        connection = _opened(path)
    try:
        connection.pragma("user_version")  # the first read makes the index of the write-ahead log
    except (apsw.IOError, apsw.CantOpenError, apsw.FullError):
        if not is_full(path) or has_contents(Path(os.path.realpath(path) + LOG)):
            raise
        connection.close()
        connection = _immutable(path)
    connection.pragma("foreign_keys", True)
    connection.pragma("cache_size", -64_000)  # b: 64 MB
    connection.pragma("recursive_triggers", True)  # otherwise a REPLACE would leave its words behind
    connection.pragma("secure_delete", True)  # what is purged is overwritten
    connection.pragma("synchronous", durability)
    connection.pragma("query_only", readonly)
    return equipped(connection)


def equipped(connection: apsw.Connection) -> apsw.Connection:
    """Add to a connection the function that the schema needs; return it."""
    connection.convert_binding = _as_blob
    connection.create_scalar_function("indexed", _indexed, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
    return connection


def _indexed(*values: Any) -> str:
    return indexed(values[0])


def _opened(path: Path) -> apsw.Connection:
    return _immutable(path) if frozen(path) else _open(path, str(path), apsw.SQLITE_OPEN_READWRITE)


def _immutable(path: Path) -> apsw.Connection:
    """Return a connection that only reads, for which SQLite needs no other file."""
    return _open(path, f"{path.absolute().as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY)


def _open(path: Path, name: str, flags: int) -> apsw.Connection:
    fork.demand_own(path)
    _demand_own_log(path)
    try:
        connection = apsw.Connection(name, flags | apsw.SQLITE_OPEN_URI)
    except apsw.CantOpenError as error:
        if path.exists():
            raise
        raise lost(path) from error
    fork.note_opened(connection, path)
    connection.set_busy_timeout(BUSY_MS)
    return connection


def _demand_own_log(path: Path) -> None:
    """Raise StoreError if a write-ahead log is next to a file that has none, such as a backup: SQLite would mix them.

    The file is read through SQLite: closing it by other means would release the locks of this process (POSIX).
    """
    path = Path(os.path.realpath(path))  # SQLite looks for the log next to the real file
    log = path.with_name(path.name + LOG)
    if not path.exists() or not has_contents(log):
        return
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    written = file.xRead(1, WRITTEN_AT) if file.xFileSize() else b""
    file.xClose()
    if written == ROLLBACK:
        raise StoreError(
            f"{log} is not part of {path}: a backup seems to have been copied over a database that was in use when its "
            f"process or machine died. Nothing was changed. To use the backup, move {log.name} and "
            f"{path.name}-shm away; to use the earlier database, put its file back."
        )


def has_contents(path: Path) -> bool:
    """Return whether a file exists and is not empty: SQLite takes an empty one for a new database."""
    try:
        return path.stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):  # also a log that another thread's last connection removes just now
        return False


def lost(path: Path) -> StoreError:
    """Return the error for a missing or empty file. A new one would look as if nothing had ever been stored."""
    return StoreError(
        f"{path} is {'empty' if path.exists() else 'missing'}. Nothing was stored by this call. "
        "Put the file back from a copy or a backup; `memoryd doctor` shows what is there."
    )


def frozen(path: Path) -> bool:
    """Return whether no process writes a database, and SQLite cannot create the files that it needs to read it."""
    return path.exists() and not os.access(path.parent, os.W_OK) and not path.with_name(path.name + LOG).exists()


def writable(path: Path) -> bool:
    """Return whether the permissions of a database and its directory allow writing now."""
    return os.access(path, os.W_OK) and not frozen(path)


def rows(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """Yield each row as a dict; a row trace could do that too, but takes longer than everything else."""
    cursor = connection.execute(sql, parameters)
    try:
        names = [name for name, *_ in cursor.get_description()]
    except apsw.ExecutionCompleteError:  # no rows
        return
    for values in cursor:
        yield dict(zip(names, values, strict=True))


def _as_blob(_cursor: apsw.Cursor, _place: int, value: Any) -> bytes:
    return bytes(value.data)


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """Run a transaction that takes the write lock first: deferred ones fail with busy errors if processes compete."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        _commit(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _commit(connection: apsw.Connection) -> None:
    """Commit; raise UncertainError if everything was written, but the disk did not confirm it.

    A write that itself fails leaves no end mark in the log, so SQLite would not treat it as committed after a crash.
    """
    try:
        connection.execute("COMMIT")
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE:
            raise
        raise uncertain(f"The disk of {connection.db_filename('main')} failed during a commit ({error})") from error


@contextmanager
def savepoint(connection: apsw.Connection) -> Iterator[None]:
    """Undo everything inside on an error. A full disk may end the whole transaction, which apsw's own would hide."""
    connection.execute("SAVEPOINT job")
    settled = False
    try:
        yield
        connection.execute("RELEASE job")
        settled = True
    finally:
        if not settled and connection.in_transaction:
            with suppress(apsw.Error):
                connection.execute("ROLLBACK TO job; RELEASE job")
                settled = True
        if not settled and connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the errors of a database or a file into a StoreError with cause and next step."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise store_error(error, path) from error


_MESSAGES: dict[type[Exception], str] = {  # external errors; other errors of apsw are bugs in this code
    FileExistsError: "{path} cannot be opened: {error.filename} is not a directory. Choose another place.",
    apsw.BusyError: "Another process kept {path} locked for {seconds:g} s. Nothing was stored by this call; try again.",
    apsw.LockedError: "{path} was locked by another process. Nothing was stored by this call; try again.",
    apsw.FullError: "The disk of {path} is full. Nothing was stored by this call; free some space.",
    apsw.NotADBError: "{path} is not a SQLite database. It was not touched; choose another file.",
    apsw.ReadOnlyError: "{path} is read-only. Nothing was stored; make it writable or choose another place.",
    apsw.CorruptError: "{path} is damaged ({error}). Run `memoryd doctor`, or restore a backup; "
    "`memoryd export FILE --salvage` writes what can still be read.",
    apsw.CantOpenError: "{path} cannot be opened ({error}). Check that its directory exists and is writable, and so is "
    "that for temporary files (TMPDIR).",
    **dict.fromkeys(
        (apsw.IOError, apsw.NoLFSError),
        "{path} could not be read or written ({error}). Nothing was stored by this call; check the disk.",
    ),
    **dict.fromkeys(
        (apsw.AuthError, apsw.PermissionsError),
        "Access to {path} was denied ({error}). Nothing was stored by this call; check the permissions.",
    ),
    **dict.fromkeys(
        (apsw.InterruptError, apsw.AbortError, apsw.ProtocolError, apsw.SchemaChangeError),
        "{path} is temporarily unavailable ({error}). Nothing was stored by this call; try again.",
    ),
    apsw.NoMemError: "There is not enough memory to use {path}. Nothing was stored by this call; free some.",
    apsw.TooBigError: "A text is too large for {path}. Nothing was stored by this call; store it in parts.",
    apsw.ConstraintError: "A row would violate a constraint of {path} ({error}). Nothing was stored by this call; "
    "change what was to be stored.",
    PermissionError: "{path} cannot be opened: {rights}. Nothing was stored by this call; run memoryd as the owner, "
    "allow this user to read and write there, or choose another place (MEMORY_DATA_DIR).",
    OSError: "{path} cannot be opened ({error}). Check that its directory exists and is writable.",
}


_NO_ROOM_ASIDE = (
    "The disk of {path} has free space, but a quota, or the disk for temporary files (SQLITE_TMPDIR, TMPDIR or "
    "/var/tmp), does not. Nothing was stored by this call; free some space."
)
_TOO_MANY_FILES = (
    "{path} cannot be opened: this process has too many files open. Nothing was stored by this call; "
    "raise `ulimit -n`, or stop some clients."
)


def store_error(error: BaseException, path: Path) -> BaseException:
    """Return the StoreError for an error of a database or a file; any other error unchanged."""
    text = next((text for kind, text in _MESSAGES.items() if isinstance(error, kind)), None)
    if isinstance(error, apsw.NotADBError) and not has_contents(path):  # emptied while it was open
        return lost(path)
    if isinstance(error, apsw.IOError | apsw.ReadOnlyError) and is_full(path):
        text = _MESSAGES[apsw.FullError]
    if isinstance(error, apsw.FullError) and _free(path) > PLENTY:
        text = _NO_ROOM_ASIDE
    if isinstance(error, apsw.CantOpenError | OSError) and _too_many_files():
        text = _TOO_MANY_FILES
    if text is None:
        return error
    busy = isinstance(error, apsw.BusyError | apsw.LockedError)
    rights = _rights(path) if isinstance(error, PermissionError) else ""
    return (StoreBusyError if busy else StoreError)(
        text.format(path=path, error=error, seconds=BUSY_MS / 1000, rights=rights)
    )


def _rights(path: Path) -> str:
    """Return whose permissions deny access: those of a file, or of the innermost directory that can be seen."""
    seen = next(place for place in (path, *path.parents) if os.access(place, os.F_OK))
    owner = ""
    if sys.platform != "win32":
        owner = f", which belongs to the user {seen.stat().st_uid},"
        with suppress(KeyError):  # a user without a name
            owner = f", which belongs to {seen.owner()},"
    return f"the permissions of {seen}{owner} do not allow it"


def _too_many_files() -> bool:
    """Return whether no more files can be opened; SQLite does not report this."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def is_full(path: Path) -> bool:
    """Return whether the disk of a file has no space for the index of a write-ahead log."""
    return 0 <= _free(path) < SHARED


def _free(path: Path) -> int:
    """Return how many bytes are free on the disk of a file, or -1 if unknown."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free
    return -1
