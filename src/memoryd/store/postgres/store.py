"""The Store on Postgres with pgvector: one schema for all workspaces, through a pool of connections."""

import json
import random
import re
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import errors, sql
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format, TransactionStatus
from psycopg.types import TypeInfo

from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import UNIT, Place, Queries, Row, refused
from memoryd.store.journal import State
from memoryd.store.postgres.connection import (
    Connection,
    GivenServer,
    Listener,
    Pool,
    Server,
    TransientError,
    commit,
    explained,
)
from memoryd.store.postgres.schema import asked, bring_up_to_date, lacking, version_of
from memoryd.store.postgres.search import PostgresIndex, build
from memoryd.store.rows import empty_some
from memoryd.store.sql import load, moving

T = TypeVar("T")

CONNECTIONS = 16
TRIES = 5  # of a transaction that got in the way of another one's, or lost its connection


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
        self.workspace_id = workspace.id if workspace else ""
        self._bound = {"workspace": self.workspace_id}

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

    def composed(self, name: str, parts: Mapping[str, int | str], /, **parameters: Any) -> list[Row]:
        """Every row of a statement with these literals in its braces, planned for them."""
        statement = sql.SQL(_statements()[name]).format(**{key: sql.Literal(part) for key, part in parts.items()})
        return self.connection.execute(statement, self._bound | parameters, binary=True, prepare=False).fetchall()

    def define(self, name: str, names: Mapping[str, str], /, **parts: int | str) -> None:
        """Run a statement with these names and literals in its braces."""
        literals = {key: sql.Literal(part) for key, part in parts.items()}
        identifiers = {key: sql.Identifier(value) for key, value in names.items()}
        self.connection.execute(sql.SQL(_statements()[name]).format(**literals, **identifiers))

    def _run(self, name: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        return self.connection.execute(_statements()[name], self._bound | dict(parameters), binary=True)


@cache
def _statements() -> dict[str, str]:
    """Every statement, with psycopg's placeholders in place of `:name`."""
    return {
        name: re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", text.replace("%", "%%"))
        for name, text in (load("postgres") | moving()).items()
    }


class PostgresStore:
    """See `store.base.Store`."""

    def __init__(self, server: Server | str, connections: int = CONNECTIONS, *, read_only: bool = False) -> None:
        self._server = GivenServer(server) if isinstance(server, str) else server
        self.product = "Postgres"
        self.place = self._server.place
        self.home = ""
        self._read_only = read_only
        self._pool = Pool(self._server, connections, _configure, read_only=read_only)
        self._listener = Listener(self._pool)
        self._lock = threading.Lock()
        self.index = PostgresIndex()
        self._ready = False
        self._failure: StoreError | None = None

    # connections -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection to a database that has the present schema."""
        with explained(self.place):
            self._prepare()
            with self._pool.connection() as connection:
                try:
                    yield connection
                except errors.UndefinedTable:  # it was dropped, or restored from before there was a schema: look again
                    self._ready = False
                    self._pool.let_go()
                    raise

    def _prepare(self) -> None:
        """Once: bring the schema up to date. Ten processes may start at the same time."""
        self._pool.demand_open()
        if self._ready:
            return
        before = self._failure
        with self._lock:
            if self._failure and self._failure is not before:  # somebody tried while this call waited
                raise StoreError(str(self._failure))
            if not self._ready:
                try:
                    self._bring_up_to_date()
                except StoreError as failure:
                    self._failure = failure
                    raise
                self._ready = True

    def _bring_up_to_date(self) -> None:
        with self._apart() as connection:
            bring_up_to_date(connection, self.place, read_only=self._read_only)

    @contextmanager
    def _apart(self, *, patient: bool = False) -> Iterator[Connection]:
        """A connection that is not kept, for its database may have no vectors yet.

        A patient one runs each statement by itself, as long as it takes.
        """
        with explained(self.place), closing(self._pool.connect()) as connection:
            if patient:
                connection.autocommit = True
                connection.execute("SET statement_timeout = 0")
            yield connection

    def made(self) -> bool:
        """Whether there is a schema, which holds the registry. Makes none."""
        if self._ready or not self._server.exists():
            return self._ready
        with self._apart() as connection:
            return version_of(connection) > 0

    def make(self, workspace: Workspace | None) -> None:
        """Nothing is to be made but the schema."""
        with explained(self.place):
            self._prepare()

    # transactions ----------------------------------------------------------------------------------------------------

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot."""
        return _until_it_holds(lambda: self._read(workspace, work))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction, durable when this returns; one at a time in a workspace."""
        return _until_it_holds(lambda: self._write(workspace, work))

    def _read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        with self._connection() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return work(PostgresQueries(connection, workspace))

    def _write(self, workspace: Workspace | None, work: Callable[[Queries], T], *, guarded: bool = True) -> T:
        with self._connection() as connection:
            queries = PostgresQueries(connection, workspace)
            queries.one("placement.lock")
            if guarded and workspace and queries.one("placement.marked"):
                raise refused(workspace)
            result = work(queries)
            if connection.info.transaction_status is not TransactionStatus.INTRANS:  # COMMIT would not say so
                raise StoreError(f"A statement failed at {self.place}. Nothing was stored by this call.")
            commit(connection, self.place)
            return result

    def changes(self, wait: float) -> set[str] | None:
        """Those that the server was told of with their commit."""
        if self._server.exists():
            return self._listener.heard(wait)
        self._pool.wait(wait)
        return None

    # indexes over vectors ---------------------------------------------------------------------------------------------

    def tend(self, workspace: Workspace) -> None:
        """Build the indexes over vectors that searches could have used; writers go on meanwhile."""
        if self._read_only or not self.index.near.wanted:
            return
        with self._apart(patient=True) as connection:  # what is done concurrently cannot be part of a transaction
            queries = PostgresQueries(connection, None)
            while self.index.near.wanted and (queries.one("vectors.lone") or {})["lone"]:
                build(queries, self.index.near.wanted.pop())
        self.index.near.forget()

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

    def empty(self, workspace: Workspace) -> None:
        """Remove its rows, a part at a time."""
        while _until_it_holds(lambda: self._write(workspace, empty_some, guarded=False)):
            pass

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Remove what was written since. The mark stays, for who still knows the workspace."""
        queries = _beside(registry, workspace)
        while empty_some(queries):
            pass
        queries.run("perspectives.clear")

    # upkeep ----------------------------------------------------------------------------------------------------------

    def places(self, workspaces: Iterable[Workspace | None]) -> list[Place]:
        """The one database."""
        with self._apart() as connection:
            return [Place(self.place, asked(connection, "upkeep.server")["size"], None)]

    def problems(self, workspace: Workspace | None) -> list[str]:
        """What keeps the database from being read, written or searched well; Postgres itself looks after the rows."""
        with self._connection() as connection:
            server, lacks = asked(connection, "upkeep.server"), lacking(connection, 1)
            invalid = connection.execute(_statements()["upkeep.invalid"]).fetchall()
        if server["read_only"] and not self._read_only:
            lacks.append("it takes no writes. Let MEMORY_DATABASE_URL name a server that does.")
        if pages := server["broken_pages"]:
            lacks.append(f"{pages} pages did not match their checksums. Restore a backup on a sound disk.")
        rebuild = "Build it anew with `memoryd doctor --repair`."
        return [*lacks, *(f"the index {row['name']} is not valid. {rebuild}" for row in invalid)]

    def reindex(self, workspace: Workspace | None) -> None:
        """Build invalid indexes anew."""
        with self._apart(patient=True) as connection:  # an index of a partitioned table takes several transactions
            for row in connection.execute(_statements()["upkeep.invalid"]).fetchall():
                index = sql.Identifier(row["place"], row["name"])
                connection.execute(sql.SQL("REINDEX INDEX {}").format(index))

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """How many vectors no search could use."""
        found: list[Row] = self.read(
            workspace, lambda q: q.all("upkeep.damaged", dims=json.dumps(dict(dims)), unit=UNIT)
        )
        if found and drop:
            self.write(workspace, lambda q: q.many("upkeep.drop", found))
        return len(found)

    def strays(self, workspaces: Sequence[Workspace]) -> list[Path]:
        """No files, so none that nobody knows."""
        return []

    def path(self, workspace: Workspace | None) -> Path | None:
        """No file of ours."""
        return None

    def describe(self) -> str:
        """Which server, its version and the schema's, and what this role may do."""
        if not self._server.exists():
            return f"Postgres, {self.place}"
        with self._apart() as connection:
            server, version = asked(connection, "upkeep.server"), version_of(connection)
        role = f"role {server['role']}{'' if server['may_create'] else ', which may not make tables'}"
        return (
            f"PostgreSQL {server['server'].split()[0]}, pgvector {server['pgvector'] or 'not in use'}, "
            f"schema {version}, {role}, {self.place}"
        )

    def state(self) -> State:
        """Whether a server of ours runs."""
        return self._server.state()

    def start(self) -> bool:
        """Start a server of ours."""
        return self._server.start()

    def stop(self) -> bool:
        """Stop a server of ours."""
        stopped = self._server.stop()
        self._pool.let_go()
        return stopped

    def close(self) -> None:
        """Let go of the connections, and of the server where it is ours. Nobody may be waiting for changes."""
        self._pool.close()
        self._listener.close()
        self._server.close()


def _until_it_holds(attempt: Callable[[], T]) -> T:
    """Try again where nothing was committed and another transaction, or a server that restarted, got in the way."""
    for tried in range(1, TRIES):
        try:
            return attempt()
        except TransientError:
            time.sleep(random.uniform(0, 0.05 * tried))  # noqa: S311 - so that two do not meet again
    return attempt()


def _configure(connection: Connection) -> None:
    """Vectors travel in binary, as numpy's arrays; plans are made as the planner must make them here."""
    if info := TypeInfo.fetch(connection, "halfvec"):
        dumper = type("Dumper", (HalfvecDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(np.ndarray, dumper)
        connection.adapters.register_loader(info.oid, HalfvecLoader)
    connection.execute(_statements()["upkeep.planner"])
    connection.commit()


def _beside(registry: Queries, workspace: Workspace) -> PostgresQueries:
    """The same transaction, on the rows of a workspace."""
    assert isinstance(registry, PostgresQueries)
    return PostgresQueries(registry.connection, workspace)
