"""One SQLite file: a writer thread with group commit, a pool of readers, the schema."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memoryd import disk
from memoryd.daemon import started
from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries, archived, closed
from memoryd.store.columns import MOVED
from memoryd.store.sql import copying, counting, listing_common_columns, migrations, outstanding
from memoryd.store.sqlite.connection import (
    BUSY_MS,
    SqliteQueries,
    connect,
    explained,
    frozen,
    has_contents,
    immediate,
    lost,
    rows,
    savepoint,
    store_error,
    writable,
)
from memoryd.store.sqlite.layout import REGISTRY

T = TypeVar("T")

MAGIC = b"SQLite format 3\0"  # the first bytes of every SQLite file
APPLICATION_ID = 0x6D656D64  # 'memd': distinguishes memoryd's files from other programs'
RESTORE = "Restore a backup; `memoryd export FILE --salvage` writes what can still be read."
BATCH = 256  # maximum jobs that share one commit
MOVING_MS = 200  # milliseconds to wait for others to release a file that is to be moved
IDLE_READERS = 4  # idle connections that are kept; each has its own page cache
CLOSING = 2.0  # seconds for a writer to finish; it may be waiting for a lock of another process


@dataclass(slots=True)
class _Job:
    work: Callable[[Queries], Any]
    workspace: Workspace | None
    guarded: bool
    done: "Future[Any]"


class SqliteFile:
    """One file: its writer thread, its readers, its schema.

    A file `at_rest` belongs to an archived workspace: it has no write-ahead log, so that it can be moved.
    """

    def __init__(self, path: Path, durability: str, *, at_rest: bool = False) -> None:
        self.path = path
        self.at_rest = at_rest
        self._durability = durability
        self._connection: apsw.Connection | None = None
        self._readers: list[apsw.Connection] = []
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._opening = threading.Lock()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False
        self.users = 0
        self.readonly = False
        """Whether it was not writable when it was opened, because of its permissions or those of its directory."""

    # opening ---------------------------------------------------------------------------------------------------------

    def open(self, *, create: bool = False) -> None:
        """Open the file, once; may wait for other processes. Unless `create`, raise StoreError if it is lost."""
        with self._opening:
            if self._closing:
                raise closed()
            if self._connection is None:
                self._connection = self._open_writer(create)
                self.readonly = self._connection.readonly("main")

    @property
    def _writer(self) -> apsw.Connection:
        assert self._connection is not None, "it was not opened"
        return self._connection

    def _open_writer(self, create: bool) -> apsw.Connection:
        with explained(self.path):
            if create:
                disk.make_directory(self.path.parent)
                disk.make_file(self.path)
            with ExitStack() as undo:
                connection = connect(self.path, self._durability, create=create)
                undo.callback(connection.close)
                self._prepare(connection)
                self._demand_name()  # from here on our lock prevents moving it
                undo.pop_all()
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Bring the schema up to date, as another process may, too; raise StoreError for a foreign or newer file."""
        if _foreign(connection):
            raise StoreError(f"{self.path} is a database of another program. It was not touched; choose another file.")
        out_of_date = bool(self._outstanding(connection))
        can_log = not self.at_rest and not connection.readonly("main")
        if can_log and connection.pragma("journal_mode") != "wal":
            if not self.path.exists():
                raise lost(self.path)
            _log_ahead(connection)  # a new file, or one from a backup or the archive
        if not out_of_date:
            return
        with immediate(connection):  # all or nothing, and one wait for the disk
            for version, script in self._outstanding(connection).items():  # another process may have applied them
                connection.execute(script)
                connection.pragma("user_version", version)
            connection.pragma("application_id", APPLICATION_ID)

    def _outstanding(self, connection: apsw.Connection) -> Mapping[int, str]:
        memory = self.path.parent if self.path.name == REGISTRY else self.path
        former = f"move {memory} to another place, and run `memoryd import` with that."
        return outstanding(str(self.path), connection.pragma("user_version"), migrations("sqlite"), former)

    @contextmanager
    def _of_this_version(self, connection: apsw.Connection) -> Iterator[None]:
        """Raise StoreError for a statement that fails because another process has migrated the file."""
        try:
            yield
        except (apsw.SQLError, apsw.ConstraintError):
            self._outstanding(connection)
            raise

    def _demand_name(self) -> None:
        """Raise StoreError if the file was moved, removed or emptied: writes would be lost with the process."""
        if not has_contents(self.path):
            raise lost(self.path)

    # reading ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self) -> Iterator[apsw.Connection]:
        """Lend a connection on one snapshot; raise StoreError."""
        with explained(self.path):
            connection = self._take_reader()
            try:
                connection.execute("BEGIN")
                with self._of_this_version(connection):
                    yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give_back(connection)

    def _take_reader(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            return connect(self.path, self._durability, readonly=True)

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._lock:
            frozen = connection.open_flags & apsw.SQLITE_OPEN_READONLY  # and may become writable
            keep = not frozen and not self._closing and len(self._readers) < IDLE_READERS
            if keep:
                self._readers.append(connection)
        if not keep:
            connection.close()

    def check_rows(self) -> list[str]:
        """Return broken pages and foreign keys; the slow part of a check, during which others can write.

        This uses a new connection: what a connection has cached of FTS5's index is stale after another one's write,
        and FTS5's part of integrity_check would report that as corruption (tried, SQLite 3.54).
        """
        with explained(self.path), closing(connect(self.path, self._durability, readonly=True)) as connection:
            pages = [row["integrity_check"] for row in rows(connection, "PRAGMA integrity_check")]
            broken = list(rows(connection, "PRAGMA foreign_key_check"))
        problems = [f"damaged pages: {text}. {RESTORE}" for text in pages[:5] if text != "ok"]
        return problems + [f"a row of {row['table']} refers to nothing. Restore a backup." for row in broken[:5]]

    # writing ---------------------------------------------------------------------------------------------------------

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T], *, guarded: bool = True) -> T:
        """Hand `work` to the writer thread and wait until it is committed.

        With `guarded`, raise StoreError if the workspace is archived.
        """
        if guarded and workspace and self.at_rest:
            raise archived(workspace)
        job = _Job(work, workspace, guarded, Future())
        assert threading.current_thread() is not self._thread, "a write inside a write would wait for itself"
        with self._lock:  # a job after the end mark would wait forever
            if self._closing:
                raise closed()
            if self._thread is None:
                self._thread = started(self._serve, f"writer {self.path.name}")
            self._jobs.put(job)
        result: T = job.done.result()
        return result

    def _serve(self) -> None:
        while job := self._jobs.get():
            batch = [job]
            while len(batch) < BATCH and not self._jobs.empty():
                if (following := self._jobs.get()) is None:
                    self._jobs.put(None)  # for the outer loop
                    break
                batch.append(following)
            self._commit(batch)

    def _commit(self, batch: list[_Job]) -> None:
        """Run the jobs in one transaction, each in its own savepoint, and answer after the commit."""
        finished: list[tuple[_Job, Any]] = []
        failure = _raised(lambda: self._together(batch, finished))
        if failure is None:
            for job, result in finished:
                job.done.set_result(result)
            return
        for job in batch:  # nothing of this batch is known to be durable: every caller gets the error
            if not job.done.done():
                job.done.set_exception(failure)

    def _together(self, batch: list[_Job], finished: list[tuple[_Job, Any]]) -> None:
        if self.readonly and writable(self.path):
            self._open_again()
        with explained(self.path), immediate(self._writer):
            self._demand_name()
            for job in batch:
                error = _raised(partial(self._run, job, finished))
                if error is None:
                    continue
                if not self._writer.in_transaction:  # a full disk ends the transaction, not just the job
                    raise error
                job.done.set_exception(store_error(error, self.path))

    def _open_again(self) -> None:
        connection = self._open_writer(create=False)
        self._writer.close()
        self._connection, self.readonly = connection, connection.readonly("main")

    def _run(self, job: _Job, finished: list[tuple[_Job, Any]]) -> None:
        queries = SqliteQueries(self._writer, job.workspace)
        with savepoint(self._writer), self._of_this_version(self._writer):
            if job.guarded and job.workspace and queries.one("placement.marked"):
                raise archived(job.workspace)
            result = job.work(queries)
        finished.append((job, result))

    def empty_log(self) -> None:
        """Write the log back into the file and empty it; raise StoreError if another process keeps reading it."""
        with explained(self.path), closing(connect(self.path, self._durability)) as connection:
            busy, *_ = next(iter(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
        if busy:
            raise StoreBusyError(
                f"The rows were removed, but another process reads {self.path}, so its write-ahead log could not be "
                "emptied yet. Repeat this later."
            )

    # backup ----------------------------------------------------------------------------------------------------------

    def copy_from(self, source: Path) -> Iterator[tuple[str, int]]:
        """Add every row of another file, from one snapshot of it; triggers add words and tags.

        That file may have an older schema. Yield each table and its number of rows.
        """
        mode = "immutable=1" if frozen(source) else "mode=ro"  # otherwise BEGIN IMMEDIATE would lock out its writers
        self._writer.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?{mode}",))
        with immediate(self._writer):
            for table in MOVED:
                columns = [row["name"] for row in rows(self._writer, listing_common_columns(), {"table": table})]
                if not columns:
                    continue
                try:
                    self._writer.execute(copying(table, columns))
                except (apsw.CorruptError, apsw.NotADBError) as error:  # the new file is intact
                    raise store_error(error, source) from error
                yield table, self._writer.execute(counting("source", table)).get
        self._writer.execute("DETACH source")

    def lacking(self, copied: Mapping[str, int]) -> list[str]:
        """Return the tables that lack rows that were copied into them."""
        there = {table: self._writer.execute(counting("main", table)).get for table in copied}
        return [
            f"{table} has {there[table]} rows instead of {number}"
            for table, number in copied.items()
            if there[table] != number
        ]

    # the end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit accepted jobs, then close every connection; a writer that is still busy ends with the process."""
        with self._lock:
            self._closing = True
            if self._thread is not None:
                self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(CLOSING)
            if self._thread.is_alive():
                return
        if not self._opening.acquire(timeout=CLOSING):
            return
        with self._lock:
            idle, self._readers = self._readers, []
        for connection in (*idle, self._connection):
            if connection is not None:
                connection.close()
        self._opening.release()


def move(source: Path, target: Path) -> bool:
    """Move a database; do nothing and return False if any process has it open.

    If a file is renamed while a process has it open, the next writes of that process are lost. So the log is
    checkpointed first, which SQLite refuses while anyone else is connected, and others are locked out until the file
    has its new name.
    """
    with explained(source), closing(connect(source, "FULL")) as connection:
        connection.set_busy_timeout(MOVING_MS)
        try:
            connection.pragma("journal_mode", "delete")
            connection.execute("BEGIN EXCLUSIVE")
        except (apsw.BusyError, apsw.LockedError):
            return False
        if target.exists() or connection.pragma("journal_mode") != "delete":  # another process came in between
            return False
        disk.make_directory(target.parent)
        disk.rename(source, target)
    return True


def _raised(work: Callable[[], object]) -> BaseException | None:
    """Run `work`; return its error, which goes to the callers of the batch, so that the writer thread continues."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - passed on, not swallowed
        return error
    return None


def schema_version(path: Path) -> int | None:
    """Return the version of the schema according to the header of a file; None unless it is a database of memoryd."""
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(72)
    ours = head.startswith(MAGIC) and head[68:] == APPLICATION_ID.to_bytes(4, "big")
    return int.from_bytes(head[60:64], "big") if ours else None


def _foreign(connection: apsw.Connection) -> bool:
    """Return whether another program made this database; one statement, since another process may be creating it."""
    ours = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema) OR application_id = ? FROM pragma_application_id"
    return not connection.execute(ours, (APPLICATION_ID,)).get


def _log_ahead(connection: apsw.Connection) -> None:
    """Switch to a write-ahead log; wait, as SQLite does not, for another process that does the same."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
