"""The Store on SQLite, through apsw: one writer thread a file with group commit, a pool of readers, words by FTS5."""

import json
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import GENERAL, Filter, Workspace
from memoryd.store.base import Queries, Row, Scored, Vector
from memoryd.store.files import Files
from memoryd.store.migrate import migrate
from memoryd.store.sql import TABLES, copying, load, migrations
from memoryd.store.vectors import VectorIndexes, by_record, sieve_for
from memoryd.text import WordQuery

T = TypeVar("T")

APPLICATION_ID = 0x6D656D64  # 'memd': tells our files from other programs'
BUSY_MS = 30_000  # eight processes that write at once exceed five seconds now and then
BATCH = 256  # jobs that share one commit at most
OPEN_FILES = 16
CLOSING = 2.0  # seconds for a writer to finish; it may be waiting for a lock of another process
TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0
DURABILITY = {"full": "FULL", "normal": "NORMAL"}


class SqliteQueries:
    """The named statements on one connection; `:workspace` is filled in."""

    def __init__(self, connection: apsw.Connection, workspace: Workspace | None) -> None:
        self.connection = connection
        self._bound = {"workspace": workspace.id if workspace else ""}
        self._statements = load("sqlite")

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Every row."""
        return list(_rows(self.connection, self._statements[name], self._bound | parameters))

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row, if any."""
        return next(_rows(self.connection, self._statements[name], self._bound | parameters), None)

    def run(self, name: str, /, **parameters: Any) -> int:
        """Change rows; returns how many."""
        before = self.connection.total_changes()
        self.connection.execute(self._statements[name], self._bound | parameters)
        return self.connection.changes() if self.connection.total_changes() != before else 0

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Run once for each row of parameters."""
        self.connection.executemany(self._statements[name], [self._bound | dict(row) for row in rows])


@dataclass(slots=True)
class _Job:
    work: Callable[[Queries], Any]
    workspace: Workspace | None
    done: "Future[Any]"


class _Database:
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
                connection = _connect(self.path, self._durability)
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
            return _connect(self.path, self._durability, readonly=True)

    def check_rows(self) -> list[str]:
        """Integrity of pages and foreign keys; the slow part of a check, which locks nobody out.

        On a connection of its own: what one has cached of FTS5's index is stale after a write of another, and FTS5's
        part of integrity_check would call that corruption (tried, SQLite 3.54).
        """
        with explained(self.path), closing(_connect(self.path, self._durability, readonly=True)) as connection:
            pages = [row["integrity_check"] for row in _rows(connection, "PRAGMA integrity_check")]
            broken = list(_rows(connection, "PRAGMA foreign_key_check"))
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
                        job.done.set_exception(_told(error, self.path))
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
        mode = "immutable=1" if _frozen(source) else "mode=ro"  # BEGIN IMMEDIATE would lock out its writers else
        self._writer.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?{mode}",))
        with immediate(self._writer):
            for number, table in enumerate(TABLES):
                columns = [row["name"] for row in _rows(self._writer, f"PRAGMA table_info({table})")]
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


class SqliteStore:
    """See `store.base.Store`."""

    def __init__(self, files: Files, durability: Literal["full", "normal"] = "full") -> None:
        self.files = files
        self._durability = DURABILITY[durability]
        self._open: OrderedDict[Path, _Database] = OrderedDict()
        self._lock = threading.Lock()
        self._indexes = VectorIndexes()

    @contextmanager
    def _database(self, workspace: Workspace | None) -> Iterator[_Database]:
        """The open file of a workspace; the least recently used files beyond OPEN_FILES are closed."""
        path = self.files.path(workspace)
        with self._lock:
            database = self._open.get(path) or _Database(path, self._durability)
            self._open[path] = database
            self._open.move_to_end(path)
            database.users += 1
            idle = [p for p, d in self._open.items() if not d.users][: max(0, len(self._open) - OPEN_FILES)]
            unused = [self._open.pop(p) for p in idle]
        for old in unused:
            old.close()
        try:
            yield database
        finally:
            with self._lock:
                database.users -= 1

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot."""
        with self._database(workspace) as database, database.reader() as connection:
            return work(SqliteQueries(connection, workspace))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction, durable when this returns."""
        with self._database(workspace) as database:
            return database.write(workspace, work)

    def words(self, workspace: Workspace, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """The records that match by words, by BM25 over title, type, body and tags."""

        def work(queries: Queries) -> Scored:
            scope = [f"w{workspace.id.replace('-', '')}"] if queries.one("search.shared") else []
            scope += [f"({' OR '.join(f'k{kind}' for kind in allowed.kinds)})"] if allowed.kinds else []
            match = f"{{title type body tags}} : ({query.fts5()})"
            if scope:
                match = f"scope_tokens : ({' AND '.join(scope)}) AND {match}"
            rows = queries.all(
                "search.words", match=match, **_visible(allowed), limit=limit,
                title=TITLE_WEIGHT, type=TYPE_WEIGHT, body=BODY_WEIGHT, tag=TAGS_WEIGHT,
            )  # fmt: skip
            return [(row["id"], row["score"]) for row in rows]

        return self.read(workspace, work)

    def nearest(self, workspace: Workspace, model: str, vector: Vector, allowed: Filter, limit: int) -> Scored:
        """The records whose vectors lie nearest, by cosine."""

        def work(queries: Queries) -> Scored:
            sieve = sieve_for(queries, allowed)
            with self._indexes.current(queries, workspace, GENERAL, model, len(vector)) as index:
                near = index.nearest(queries, vector, limit, sieve)
            ids = _ids(queries, [rid for rid, _ in near])
            return [(ids[rid], cosine) for rid, cosine in near if rid in ids]

        return self.read(workspace, work)

    def cosines(self, workspace: Workspace, model: str, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """The cosine of `vector` with each of the records that have a vector of `model`."""

        def work(queries: Queries) -> dict[str, float]:
            names = {row["rid"]: row["id"] for row in queries.all("search.rids", ids=json.dumps(list(ids)))}
            with self._indexes.current(queries, workspace, GENERAL, model, len(vector)) as index:
                found = index.cosines(queries, vector, list(names))
            return {names[rid]: cosine for rid, cosine in found.items()}

        return self.read(workspace, work)

    def vectors(self, workspace: Workspace, model: str, ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors of `model` of each record that has some, one a chunk."""
        return self.read(workspace, lambda q: by_record(
            q.all("vectors.of", ids=json.dumps(list(ids)), perspective=GENERAL, model=model)
        ))  # fmt: skip

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Integrity of the file's pages, of foreign keys, and of the words against the rows."""
        with self._database(workspace) as database:
            found = database.check_rows() + database.write(workspace, _check_words)
        return [f"{database.path}: {problem}" for problem in found]

    def backup(self, target: Path, workspaces: Sequence[Workspace], progress: Callable[[float], None]) -> None:
        """Write everything as one consistent SQLite file, which serves as a MEMORY_DB_PATH of its own."""
        if target.exists():
            raise StoreError(f"{target} exists already. Nothing was written; choose a new file name.")
        unfinished = target.with_name(target.name + ".partial")
        unfinished.unlink(missing_ok=True)
        sources = {self.files.path(workspace): workspace for workspace in (*workspaces, None)}
        with explained(unfinished), ExitStack() as undo:
            undo.callback(unfinished.unlink, missing_ok=True)  # thrown away whole if anything goes wrong
            whole = _Database(unfinished, "OFF")
            with closing(whole):
                for number, workspace in enumerate(reversed(sources.values())):
                    with self._database(workspace) as source:  # made, and brought to the present schema, by opening it
                        for part in whole.copy_from(source.path):
                            progress((number + part) / len(sources))
                whole.pack()
            unfinished.rename(target)

    def path(self, workspace: Workspace | None) -> Path | None:
        """The file that holds a workspace."""
        return self.files.path(workspace)

    def describe(self) -> str:
        """Where the rows are, for people."""
        return f"SQLite {apsw.sqlite_lib_version()}, {self.files.path(None).parent}"

    def close(self) -> None:
        """Commit what was accepted and close every file."""
        with self._lock:
            every, self._open = self._open, OrderedDict()
        for database in every.values():
            database.close()


# details of apsw -----------------------------------------------------------------------------------------------------


def _connect(path: Path, durability: str, *, readonly: bool = False) -> apsw.Connection:
    name, flags = str(path), apsw.SQLITE_OPEN_READWRITE | (0 if readonly else apsw.SQLITE_OPEN_CREATE)
    if _frozen(path):
        name, flags = f"{path.absolute().as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(name, flags | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(BUSY_MS)
    connection.pragma("foreign_keys", True)
    connection.pragma("cache_size", -64_000)  # b: 64 MB
    connection.pragma("recursive_triggers", True)  # a REPLACE would else leave its words behind
    connection.pragma("synchronous", durability)
    connection.pragma("query_only", readonly)
    connection.convert_binding = _as_blob
    return connection


def _frozen(path: Path) -> bool:
    """Whether a database lies where nobody is writing and SQLite cannot make the files beside it that reading takes."""
    return path.exists() and not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()


def _rows(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """Each row as a dict; a row trace would do that too, and take longer than all the rest."""
    cursor = connection.execute(sql, parameters)
    try:
        names = [name for name, *_ in cursor.get_description()]
    except apsw.ExecutionCompleteError:  # not one row
        return
    for values in cursor:
        yield dict(zip(names, values, strict=True))


def _as_blob(_cursor: apsw.Cursor, _place: int, value: Any) -> bytes:
    """Vectors are given as arrays."""
    return bytes(value.data)


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


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that takes the write lock first: deferred ones fail with busy errors among several processes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def savepoint(connection: apsw.Connection) -> Iterator[None]:
    """What fails inside leaves nothing. A full disk may end the whole transaction, which apsw's own would hide."""
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
    """Turn SQLite's and the file system's errors into a StoreError with cause and next step."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _told(error, path) from error


_TOLD: dict[type[Exception], str] = {
    apsw.BusyError: "Another process kept {path} locked for {seconds:g} s. Nothing was stored by this call; try again.",
    apsw.LockedError: "{path} was locked by another process. Nothing was stored by this call; try again.",
    apsw.FullError: "The disk of {path} is full. Nothing was stored by this call; free some space.",
    apsw.NotADBError: "{path} is not a SQLite database. It was not touched; choose another file.",
    apsw.ReadOnlyError: "{path} is read-only. Nothing was stored; make it writable or choose another place.",
    apsw.CorruptError: "{path} is damaged ({error}). Run `memoryd doctor`, or restore a backup.",
    apsw.CantOpenError: "{path} cannot be opened ({error}). Check that its directory exists and is writable.",
    apsw.IOError: "{path} could not be read or written ({error}). Nothing was stored by this call; check the disk.",
    apsw.Error: "{path} could not be read or written ({error}).",
    OSError: "{path} cannot be opened ({error}). Check that its directory exists and is writable.",
}


def _told(error: BaseException, path: Path) -> BaseException:
    text = next((text for kind, text in _TOLD.items() if isinstance(error, kind)), None)
    if text is None or isinstance(error, apsw.ConstraintError):
        return error
    busy = isinstance(error, apsw.BusyError | apsw.LockedError)
    return (StoreBusyError if busy else StoreError)(text.format(path=path, error=error, seconds=BUSY_MS / 1000))


def _foreign(connection: apsw.Connection) -> bool:
    """Whether another program made this database; in one snapshot, for a process of ours may be making it."""
    with connection:
        tables = connection.execute("SELECT name FROM sqlite_schema").fetchall()
        owner = connection.pragma("application_id")
    return bool(tables) and owner != APPLICATION_ID


def _check_words(queries: Queries) -> list[str]:
    try:
        queries.run("words.check")
    except apsw.CorruptError:
        return ["the words do not match the rows. Repair them with `memoryd doctor --repair`."]
    return []


def _visible(allowed: Filter) -> dict[str, Any]:
    tags = list(dict.fromkeys(allowed.tags))
    return {"session": allowed.session, "tags": json.dumps(tags), "tag_count": len(tags)}


def _ids(queries: Queries, rids: list[int]) -> dict[int, str]:
    return {row["rid"]: row["id"] for row in queries.all("search.ids", rids=json.dumps(rids))}
