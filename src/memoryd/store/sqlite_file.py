"""One SQLite file: a writer thread with group commit, a pool of readers, the schema."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries
from memoryd.store.migrate import migrate
from memoryd.store.sql import TABLES, copying, migrations
from memoryd.store.sqlite_connection import (
    BUSY_MS,
    SqliteQueries,
    connect,
    explained,
    frozen,
    immediate,
    rows,
    savepoint,
    told,
)

T = TypeVar("T")

APPLICATION_ID = 0x6D656D64  # 'memd': tells our files from other programs'
BATCH = 256  # jobs that share one commit at most
CLOSING = 2.0  # seconds for a writer to finish; it may be waiting for a lock of another process


@dataclass(slots=True)
class _Job:
    work: Callable[[Queries], Any]
    workspace: Workspace | None
    done: "Future[Any]"


class SqliteFile:
    """One file: its writer thread, its readers, its schema."""

    def __init__(self, path: Path, durability: str) -> None:
        self.path = path
        self._durability = durability
        self._readers: list[apsw.Connection] = []
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.users = 0
        self._writer = self._open_writer()

    # opening ---------------------------------------------------------------------------------------------------------

    def _open_writer(self) -> apsw.Connection:
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as undo:
                connection = connect(self.path, self._durability)
                undo.callback(connection.close)
                self._prepare(connection)
                undo.pop_all()
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Refuse what is not ours or newer, then bring the schema up to date; another process may do the same."""
        if _foreign(connection):
            raise StoreError(f"{self.path} is a database of another program. It was not touched; choose another file.")
        scripts = migrations("sqlite")
        version = connection.pragma("user_version")
        if version <= len(scripts) and not connection.readonly("main") and connection.pragma("journal_mode") != "wal":
            _log_ahead(connection)  # a new file, or a backup that is put to use
        if version == len(scripts):
            return

        def apply(version: int, script: str) -> None:
            with immediate(connection):
                if connection.pragma("user_version") < version:  # a process that started with us may have been faster
                    connection.execute(script)
                    connection.pragma("application_id", APPLICATION_ID)
                    connection.pragma("user_version", version)

        migrate(connection.pragma("user_version"), scripts, apply)

    # reading ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self) -> Iterator[apsw.Connection]:
        """A connection on one snapshot."""
        with explained(self.path):
            connection = self._take_reader()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if self._closed or connection.open_flags & apsw.SQLITE_OPEN_READONLY:  # what is frozen may thaw
                    connection.close()
                else:
                    self._readers.append(connection)

    def _take_reader(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            return connect(self.path, self._durability, readonly=True)

    def check_rows(self) -> list[str]:
        """Integrity of pages and foreign keys; the slow part of a check, which locks nobody out.

        On a connection of its own: what one has cached of FTS5's index is stale after a write of another, and FTS5's
        part of integrity_check would call that corruption (tried, SQLite 3.54).
        """
        with explained(self.path), closing(connect(self.path, self._durability, readonly=True)) as connection:
            pages = [row["integrity_check"] for row in rows(connection, "PRAGMA integrity_check")]
            broken = list(rows(connection, "PRAGMA foreign_key_check"))
        problems = [f"damaged pages: {text}. Restore a backup." for text in pages[:5] if text != "ok"]
        return problems + [f"a row of {row['table']} refers to nothing. Restore a backup." for row in broken[:5]]

    # writing ---------------------------------------------------------------------------------------------------------

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Hand `work` to the writer thread and wait until it is committed."""
        job = _Job(work, workspace, Future())
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name=f"writer {self.path.name}", daemon=True)
                self._thread.start()
        assert threading.current_thread() is not self._thread, "a write inside a write would wait for itself"
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
        """Run the jobs in one transaction, each in a savepoint of its own, and answer after the commit."""
        finished: list[tuple[_Job, Any]] = []
        failure = StoreError()
        try:
            with explained(self.path), immediate(self._writer):
                for job in batch:
                    try:
                        finished.append((job, self._run(job)))
                    except BaseException as error:  # whatever a job raises is its caller's to see
                        if not self._writer.in_transaction:  # a full disk ends the transaction, not just the job
                            raise
                        job.done.set_exception(told(error, self.path))
            for job, result in finished:
                job.done.set_result(result)
        except StoreError as error:
            failure = error
        finally:  # nothing else of this batch is durable: every caller hears so
            for job in batch:
                if not job.done.done():
                    job.done.set_exception(failure)

    def _run(self, job: _Job) -> Any:
        with savepoint(self._writer):
            return job.work(SqliteQueries(self._writer, job.workspace))

    # backup ----------------------------------------------------------------------------------------------------------

    def copy_from(self, source: Path) -> Iterator[float]:
        """Add every row of another file, from one snapshot of it; words and tags follow by trigger. Yields 0 to 1."""
        mode = "immutable=1" if frozen(source) else "mode=ro"  # BEGIN IMMEDIATE would lock out its writers else
        self._writer.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?{mode}",))
        with immediate(self._writer):
            for number, table in enumerate(TABLES):
                columns = [row["name"] for row in rows(self._writer, f"PRAGMA table_info({table})")]
                self._writer.execute(copying(table, columns))
                yield (number + 1) / len(TABLES)
        self._writer.execute("DETACH source")

    def pack(self) -> None:
        """Leave one plain file behind, without a write-ahead log, flushed to the disk."""
        self._writer.pragma("synchronous", "FULL")
        self._writer.pragma("journal_mode", "delete")

    # the end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit what was accepted, then close every connection; one that is still at work is left to the exit."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(CLOSING)
            if self._thread.is_alive():
                return
            self._thread = None
        self._closed = True
        while self._readers:
            self._readers.pop().close()
        self._writer.close()


def _foreign(connection: apsw.Connection) -> bool:
    """Whether another program made this database; in one snapshot, for a process of ours may be making it."""
    with connection:
        tables = connection.execute("SELECT name FROM sqlite_schema").fetchall()
        owner = connection.pragma("application_id")
    return bool(tables) and owner != APPLICATION_ID


def _log_ahead(connection: apsw.Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait by itself for another process that does the same."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
