"""The Store on Postgres with pgvector: one schema for all workspaces, through a pool of connections."""

import itertools
import json
import math
import re
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import conninfo, errors
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import dict_row
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool, PoolTimeout

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Filter, VectorSet, Workspace
from memoryd.store.base import Queries, Row, Scored, Vector
from memoryd.store.migrate import migrate
from memoryd.store.sql import load, migrations
from memoryd.text import WordQuery

T = TypeVar("T")

CONNECTIONS = 16
SCHEMA = 0x6D656D64  # the advisory lock of who brings the schema up to date
WAIT = 30.0  # seconds for a connection, and for another process to let go of a workspace
MOST = 20_000  # records that a term is counted in: beyond that it is common, however common
DRIVEN = 3_000  # records that a question may match before its commonest words only order what others find
TRIES = 5  # of a transaction that got in the way of another one's
Connection = psycopg.Connection[Row]


class HalfvecDumper(Dumper):
    """Arrays as pgvector takes them: dimension, nothing, and big-endian float16."""

    format = Format.BINARY

    def dump(self, obj: NDArray[Any]) -> bytes:
        """See Dumper."""
        return struct.pack(">HH", len(obj), 0) + obj.astype(">f2").tobytes()


class HalfvecLoader(Loader):
    """The reverse."""

    format = Format.BINARY

    def load(self, data: Any) -> NDArray[np.float32]:
        """See Loader."""
        return np.frombuffer(bytes(data), ">f2", offset=4).astype(np.float32)


class PostgresQueries:
    """The named statements on one connection; `:workspace` is filled in."""

    def __init__(self, connection: Connection, workspace: Workspace | None) -> None:
        self.connection = connection
        self._bound = {"workspace": workspace.id if workspace else ""}

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Every row."""
        return self._run(name, parameters).fetchall()

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row, if any."""
        return self._run(name, parameters).fetchone()

    def run(self, name: str, /, **parameters: Any) -> int:
        """Change rows; returns how many."""
        return self._run(name, parameters).rowcount

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Run once for each row of parameters."""
        with self.connection.cursor() as cursor:
            cursor.executemany(_statements()[name], [self._bound | dict(row) for row in rows])

    def _run(self, name: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        return self.connection.execute(_statements()[name], self._bound | dict(parameters), binary=True)


@cache
def _statements() -> dict[str, str]:
    """Every statement, with psycopg's placeholders in place of `:name`."""
    return {
        name: re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", text.replace("%", "%%"))
        for name, text in load("postgres").items()
    }


class PostgresStore:
    """See `store.base.Store`."""

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self._url = url
        self.home = ""
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url, min_size=0, max_size=connections, open=False, timeout=WAIT, configure=_configure,
            kwargs={"row_factory": dict_row}, name="memoryd",
        )  # fmt: skip
        self._lock = threading.Lock()
        self._ready = self._closed = False

    # connections -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection to a database that has the present schema."""
        with explained(self._url):
            self._prepare()
            with self._pool.connection() as connection:
                yield connection

    def _prepare(self) -> None:
        """Once: bring the schema up to date. Ten processes may start at the same time."""
        with self._lock:
            if self._closed:
                raise StoreError("The store is closed.")
            if self._ready:
                return
            with psycopg.connect(self._url, autocommit=True, row_factory=dict_row) as connection:
                _upgrade(connection)
            self._pool.open()
            self._ready = True

    def made(self) -> bool:
        """Whether there is a registry: the schema, which first use makes."""
        with self._connection():
            return True

    def make(self, workspace: Workspace | None) -> None:
        """Nothing is to be made but the schema."""
        self.made()

    # transactions ----------------------------------------------------------------------------------------------------

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot."""
        with self._connection() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return work(PostgresQueries(connection, workspace))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction, durable when this returns; one at a time in a workspace."""
        for attempt in itertools.count(1):
            try:
                return self._write(workspace, work)
            except StoreBusyError:
                if attempt == TRIES:
                    raise
        raise AssertionError

    def _write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        with self._connection() as connection, connection.transaction():
            queries = PostgresQueries(connection, workspace)
            queries.one("placement.lock")
            if workspace and queries.one("placement.marked"):
                raise refused(workspace)
            return work(queries)

    # words -----------------------------------------------------------------------------------------------------------

    def words(self, workspace: Workspace, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """The records that match by words, by BM25 over title, type, body and tags."""
        terms = query.terms()

        def work(queries: Queries) -> Scored:
            found = queries.all("search.statistics", terms=json.dumps([t.tsquery() for t in terms]), most=MOST)
            number, length = found[0]["number"], max(found[0]["length"], 1.0)
            weights = {row["term"]: _rarity(row["having"], number) for row in found}
            rows = queries.all(
                "search.words", **_visible(allowed), limit=limit, length=length,
                match=_driving(query, {row["term"]: row["having"] for row in found}),
                terms=json.dumps([[t.tsquery(), t.tsquery("A"), weights[t.tsquery()]] for t in terms]),
            )  # fmt: skip
            return [(row["id"], row["score"]) for row in rows]

        return self.read(workspace, work)

    # vectors ---------------------------------------------------------------------------------------------------------

    def nearest(self, workspace: Workspace, among: VectorSet, vector: Vector, allowed: Filter, limit: int) -> Scored:
        """The records whose vectors lie nearest, by cosine."""
        return self.read(workspace, lambda q: [(row["id"], row["cosine"]) for row in q.all(
            "vectors.nearest", **_of(among), vector=vector, dim=len(vector), **_visible(allowed), limit=limit
        )])  # fmt: skip

    def cosines(self, workspace: Workspace, among: VectorSet, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """The cosine of `vector` with each of the records that have a vector in a set."""
        return self.read(workspace, lambda q: {row["id"]: row["cosine"] for row in q.all(
            "vectors.cosines", **_of(among), vector=vector, dim=len(vector), ids=json.dumps(list(ids))
        )})  # fmt: skip

    def vectors(self, workspace: Workspace, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors in a set of each record that has some, one a chunk."""
        return self.read(workspace, lambda q: _by_record(
            q.all("vectors.of", **_of(among), ids=json.dumps(list(ids)))
        ))  # fmt: skip

    def means(self, workspace: Workspace, among: VectorSet) -> tuple[list[str], Vector]:
        """The entities whose observations have vectors in a set, and their means."""
        rows = self.read(workspace, lambda q: q.all("vectors.means", **_of(among)))
        if not rows:
            return [], np.empty((0, 0), np.float32)
        matrix = np.stack([row["vector"] for row in rows])
        return [row["id"] for row in rows], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    # archive and delete ----------------------------------------------------------------------------------------------

    def room(self, workspace_id: str) -> str:
        """There is but one place."""
        return ""

    def put_away(self, registry: Queries, workspace: Workspace) -> str:
        """Refuse every later write of a workspace."""
        _beside(registry, workspace).run("placement.mark")
        return workspace.db_path

    def is_put_away(self, workspace: Workspace) -> bool:
        """Whether its writes are refused."""
        return self.read(workspace, lambda q: q.one("placement.marked")) is not None

    def bring_back(self, registry: Queries, workspace: Workspace) -> str:
        """The reverse of `put_away`."""
        _beside(registry, workspace).run("placement.unmark")
        return workspace.db_path

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Remove its rows. The mark stays, for who still knows the workspace."""
        queries = _beside(registry, workspace)
        for statement in ("workspaces.empty", "workspaces.silence", "perspectives.clear"):
            queries.run(statement)

    # upkeep ----------------------------------------------------------------------------------------------------------

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Indexes that a failed build has left unusable: Postgres keeps all else that is checked in a file."""
        with self._connection() as connection:
            rows = connection.execute("SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid")
            return [f"the index {row['name']} is not valid. Build it anew with REINDEX." for row in rows]

    def path(self, workspace: Workspace | None) -> Path | None:
        """No file of ours."""
        return None

    def describe(self) -> str:
        """Which server, and where; never a password."""
        with self._connection() as connection:
            row = connection.execute(
                "SELECT version() AS server, extversion FROM pg_extension WHERE extname = 'vector'"
            )
            found = row.fetchone() or {}
        return f"{' '.join(found['server'].split()[:2])}, pgvector {found['extversion']}, {place_of(self._url)}"

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            self._closed = True
        if self._ready:
            self._pool.close()


def _configure(connection: Connection) -> None:
    """Vectors travel in binary, as numpy's arrays."""
    if info := TypeInfo.fetch(connection, "halfvec"):
        dumper = type("Dumper", (HalfvecDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(np.ndarray, dumper)
        connection.adapters.register_loader(info.oid, HalfvecLoader)
    connection.rollback()


def _upgrade(connection: Connection) -> None:
    """Apply the scripts that the database lacks, each with its number in one transaction, one process at a time."""
    connection.execute("SELECT pg_advisory_lock(%s)", (SCHEMA,))
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)")
    row = connection.execute("SELECT coalesce(max(version), 0) AS version FROM schema_version").fetchone()
    assert row is not None

    def apply(version: int, script: str) -> None:
        with connection.transaction():
            connection.execute(script)
            connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (version,))

    migrate(row["version"], migrations("postgres"), apply)


def _of(among: VectorSet) -> dict[str, str]:
    return {"perspective": among.perspective, "model": among.model}


def _visible(allowed: Filter) -> dict[str, str]:
    return {
        "session": allowed.session, "entity": allowed.entity,
        "kinds": json.dumps([str(kind) for kind in allowed.kinds]),
        "tags": json.dumps(list(dict.fromkeys(allowed.tags)), ensure_ascii=False),
    }  # fmt: skip


def _beside(registry: Queries, workspace: Workspace) -> PostgresQueries:
    """The same transaction, on the rows of a workspace."""
    assert isinstance(registry, PostgresQueries)
    return PostgresQueries(registry.connection, workspace)


def _rarity(having: int, number: int) -> float:
    """The inverse document frequency of BM25, as FTS5 has it: never 0."""
    return max(math.log((number - having + 0.5) / (having + 0.5)), 1e-6)


def _driving(query: WordQuery, having: Mapping[str, int]) -> str:
    """What must match: the query; of a plain question its rarest words, as far as they find enough."""
    if query.syntax:
        return query.tsquery()
    chosen: list[str] = []
    total = 0
    for term in sorted(having, key=lambda term: having[term]):
        if not chosen or total + having[term] <= DRIVEN:
            chosen.append(term)
            total += having[term]
    return " | ".join(chosen)


def _by_record(rows: Sequence[Row]) -> dict[str, Vector]:
    """(chunks, dim) for each id, all of the dim that most have."""
    dims = Counter(row["dim"] for row in rows)
    found: dict[str, list[Vector]] = {}
    for row in rows:
        if row["dim"] == dims.most_common(1)[0][0]:
            found.setdefault(row["id"], []).append(row["vector"])
    return {key: np.stack(vectors) for key, vectors in found.items()}


def refused(workspace: Workspace) -> StoreError:
    """Whoever found it active a moment ago may still try to write."""
    return StoreError(
        f'project "{workspace.name}" was archived or deleted meanwhile. Nothing was stored by this call; '
        "restore it first, or switch to another one."
    )


def place_of(url: str) -> str:
    """Host and database of a URL, without user and password."""
    parts = conninfo.conninfo_to_dict(url)
    return f"{parts.get('host') or 'local'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what can happen to a database into a StoreError with cause and next step."""
    try:
        yield
    except (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable) as error:
        raise StoreBusyError(
            f"Another process got in the way at {place_of(url)}. Nothing was stored by this call; try again."
        ) from error
    except PoolTimeout as error:
        raise StoreBusyError(
            f"No connection to {place_of(url)} was free or could be made in {WAIT:.0f} s. "
            "Nothing was stored by this call; try again, and check that the server is up."
        ) from error
    except (errors.IntegrityError, errors.DataError) as error:
        raise StoreError(
            f"A row would break a rule of {place_of(url)} ({str(error).splitlines()[0]}). "
            "Nothing was stored by this call; change what was to be stored."
        ) from error
    except (psycopg.OperationalError, errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege) as error:
        raise StoreError(
            f"The database at {place_of(url)} cannot be used ({str(error).strip().splitlines()[0]}). "
            "Nothing was stored by this call; check the server and MEMORY_DATABASE_URL."
        ) from error
