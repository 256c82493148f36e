"""The Store on SQLite, through apsw: one writer thread a file with group commit, a pool of readers, words by FTS5."""

import json
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw
import numpy as np

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import GENERAL, Filter, Kind, Workspace
from memoryd.store.base import Queries, Row, Scored, Vector
from memoryd.store.files import Files
from memoryd.store.migrate import migrate
from memoryd.store.sql import load, migrations
from memoryd.store.vectors import VectorIndexes
from memoryd.text import WordQuery

T = TypeVar("T")

APPLICATION_ID = 0x6D656D64  # 'memd': tells our files from other programs'
BUSY_MS = 30_000  # eight processes that write at once exceed five seconds now and then
BATCH = 256  # jobs that share one commit at most
OPEN_FILES = 16
CLOSING = 2.0  # seconds for a writer to finish; it may be waiting for a lock of another process
TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0
TABLES = (  # a table stands after those it refers to; words, tags and tombstones make themselves
    "projects", "sessions", "session_holders", "records", "memory_details", "entity_details", "observation_details",
    "interaction_details", "summary_details", "relations", "perspectives", "embeddings", "events",
)  # fmt: skip
DURABILITY = {"full": "FULL", "normal": "NORMAL"}


class SqliteQueries:
    """The named statements on one connection; `:workspace` is filled in."""

    def __init__(self, connection: apsw.Connection, workspace: Workspace | None) -> None:
        self.connection = connection
        self._bound = {"workspace": workspace.id if workspace else ""}
        self._statements = load("sqlite")

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Every row."""
        return self.connection.execute(self._statements[name], self._bound | parameters).fetchall()

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row, if any."""
        return self.connection.execute(self._statements[name], self._bound | parameters).fetchone()

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
        if connection.pragma("application_id") != APPLICATION_ID and _tables(connection):
            raise StoreError(f"{self.path} is a database of another program. It was not touched; choose another file.")
        scripts = migrations("sqlite")
        if connection.pragma("user_version") == len(scripts):
            return
        if connection.pragma("user_version") < len(scripts):
            connection.pragma("journal_mode", "wal")

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
                self._readers.append(connection)

    def _take_reader(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            return _connect(self.path, self._durability, readonly=True)

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
            last = False
            while len(batch) < BATCH and not self._jobs.empty():
                if (following := self._jobs.get()) is None:
                    last = True
                    break
                batch.append(following)
            self._commit(batch)
            if last:
                return

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
        with self._writer:  # a savepoint
            return job.work(SqliteQueries(self._writer, job.workspace))

    # backup ----------------------------------------------------------------------------------------------------------

    def copy_from(self, source: Path, progress: Callable[[float], None]) -> None:
        """Add every row of another file, from one snapshot of it; words and tags follow by trigger."""
        self._writer.execute("ATTACH ? AS source", (str(source),))
        with immediate(self._writer):
            for number, table in enumerate(TABLES):
                columns = [name for _, name, *_ in self._writer.execute(f"PRAGMA table_info({table})")]
                copied = [name for name in columns if name not in ("rid", "seq")]
                values = ["''" if name == "db_path" else name for name in copied]  # one file now holds them all
                self._writer.execute(
                    f"INSERT INTO main.{table} ({', '.join(copied)}) SELECT {', '.join(values)} FROM source.{table}"
                )
                progress((number + 1) / len(TABLES))
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
            closing = [self._open.pop(p) for p in idle]
        for old in closing:
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
        """The records whose vectors lie nearest, by cosine of their best chunk."""

        def work(queries: Queries) -> Scored:
            only = None
            if allowed.kinds or allowed.tags:
                only = [row["rid"] for row in queries.all("search.allowed", **_visible(allowed), **_kinds(allowed))]
            hidden = [row["rid"] for row in queries.all("search.hidden", session=allowed.session)]
            with self._indexes.current(queries, workspace, GENERAL, model, len(vector)) as index:
                near = index.nearest(queries, vector, limit, only=only, hidden=hidden)
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
        """The first vector of `model` of each record that has one."""
        rows = self.read(
            workspace,
            lambda q: q.all("vectors.first", ids=json.dumps(list(ids)), perspective=GENERAL, model=model),
        )
        return {row["id"]: np.frombuffer(row["vector"], np.float16).astype(np.float32) for row in rows}

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Integrity of the file's pages, of foreign keys, and of the words against the rows."""
        with self._database(workspace) as database:
            found = database.write(workspace, _check)
        return [f"{database.path}: {problem}" for problem in found]

    def backup(self, target: Path, workspaces: Sequence[Workspace], progress: Callable[[float], None]) -> None:
        """Write everything as one consistent SQLite file, which serves as a MEMORY_DB_PATH of its own."""
        if target.exists():
            raise StoreError(f"{target} exists already. Nothing was written; choose a new file name.")
        partial = target.with_name(target.name + ".partial")
        partial.unlink(missing_ok=True)
        sources = dict.fromkeys(self.files.path(workspace) for workspace in (None, *workspaces))
        with explained(partial):
            whole = _Database(partial, "OFF")  # thrown away whole if anything goes wrong
            try:
                for number, path in enumerate(sources):
                    whole.copy_from(path, lambda part, number=number: progress((number + part) / len(sources)))
                whole.pack()
            finally:
                whole.close()
            partial.rename(target)

    def path(self, workspace: Workspace | None) -> Path | None:
        """The file that holds a workspace."""
        return self.files.path(workspace)

    def describe(self) -> str:
        """Where the rows are, for people."""
        return f"SQLite {apsw.sqlite_lib_version()}, {self.files.path(None).parent}"

    def close(self) -> None:
        """Commit what was accepted and close every file."""
        with self._lock:
            closing = list(self._open.values())
            self._open.clear()
        for database in closing:
            database.close()


# details of apsw -----------------------------------------------------------------------------------------------------


def _connect(path: Path, durability: str, *, readonly: bool = False) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | (0 if readonly else apsw.SQLITE_OPEN_CREATE)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_MS)
    connection.pragma("foreign_keys", True)  # noqa: FBT003
    connection.pragma("cache_size", -64_000)  # b: 64 MB
    connection.pragma("recursive_triggers", True)  # noqa: FBT003  # a REPLACE would else leave its words behind
    connection.pragma("synchronous", durability)
    connection.pragma("query_only", readonly)
    connection.row_trace = _as_row
    connection.convert_binding = _as_blob
    return connection


def _as_row(cursor: apsw.Cursor, values: tuple[Any, ...]) -> Row:
    return dict(zip((name for name, *_ in cursor.get_description()), values, strict=True))


def _as_blob(_cursor: apsw.Cursor, _place: int, value: Any) -> bytes:
    """Vectors are given as arrays."""
    data: bytes = value.tobytes()
    return data


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
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's and the file system's errors into a StoreError with cause and next step."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _told(error, path) from error


def _told(error: BaseException, path: Path) -> BaseException:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(f"{path} was locked by another process for {BUSY_MS // 1000} s. Try again.")
        case apsw.FullError():
            return StoreError(f"The disk of {path} is full. Nothing was stored by this call; free some space.")
        case apsw.NotADBError():
            return StoreError(f"{path} is not a SQLite database. It was not touched; choose another file.")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} is read-only. Nothing was stored; make it writable or choose another place.")
        case apsw.CorruptError():
            return StoreError(f"{path} is damaged ({error}). Run `memoryd doctor`, or restore a backup.")
        case apsw.CantOpenError() | OSError():
            return StoreError(f"{path} cannot be opened ({error}). Check that its directory exists and is writable.")
        case apsw.ConstraintError():
            return error
        case apsw.Error():
            return StoreError(f"{path} could not be read or written ({error}).")
    return error


def _tables(connection: apsw.Connection) -> int:
    return len(connection.execute("SELECT name FROM sqlite_schema").fetchall())


def _check(queries: Queries) -> list[str]:
    assert isinstance(queries, SqliteQueries)
    run = queries.connection.execute
    pages = [row["integrity_check"] for row in run("PRAGMA integrity_check") if row["integrity_check"] != "ok"]
    problems = [f"damaged pages: {text}. Restore a backup." for text in pages[:5]]
    broken = run("PRAGMA foreign_key_check").fetchall()
    problems += [f"a row of {row['table']} refers to nothing. Restore a backup." for row in broken[:5]]
    try:
        queries.run("words.check")
    except apsw.Error:
        problems.append("the words do not match the rows. Repair them with `memoryd doctor --repair`.")
    return problems


def _visible(allowed: Filter) -> dict[str, Any]:
    tags = list(dict.fromkeys(allowed.tags))
    return {"session": allowed.session, "tags": json.dumps(tags), "tag_count": len(tags)}


def _kinds(allowed: Filter) -> dict[str, Any]:
    return {"kinds": json.dumps([str(kind) for kind in allowed.kinds or Kind])}


def _ids(queries: Queries, rids: list[int]) -> dict[int, str]:
    return {row["rid"]: row["id"] for row in queries.all("search.ids", rids=json.dumps(rids))}
