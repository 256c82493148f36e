"""Transactions on Postgres, after the schema of the database is brought up to date."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import psycopg
from psycopg import errors

from memoryd.deadline import time_left
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries, archived
from memoryd.store.postgres import pool
from memoryd.store.postgres.connection import Connection
from memoryd.store.postgres.failures import Commit, StandbyError, TransientError, explained, read_only, unknown
from memoryd.store.postgres.pool import Listener, Pool
from memoryd.store.postgres.queries import PostgresQueries, limit
from memoryd.store.postgres.schema import bring_up_to_date, version_of
from memoryd.store.postgres.server import Server
from memoryd.store.postgres.timelines import Timelines

T = TypeVar("T")

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"  # a writer that waited has to see what the previous one wrote
TRIES = 5  # of a transaction that conflicted with another one, or lost its connection


class PostgresRows:
    """See `store.base.Rows`."""

    def __init__(self, server: Server, connections: int, timelines: Path | None, *, read_only: bool) -> None:
        self.server = server
        self.place = server.place
        self.read_only = read_only
        self._pool = Pool(server, connections, Timelines(timelines, read_only=read_only), read_only=read_only)
        self._listener = Listener(self._pool)
        self._lock = threading.Lock()
        self._ready = False
        self._failure: StoreError | None = None

    # connections -----------------------------------------------------------------------------------------------------

    @contextmanager
    def connection(self, *, writing: bool = False) -> Iterator[Connection]:
        """Lend a connection to a database with the present schema."""
        with explained(self.place):
            self.prepare()
            with self._pool.connection(writing=writing) as connection:
                try:
                    yield connection
                except errors.ReadOnlySqlTransaction as error:  # it is no longer the primary: find out which server is
                    self._pool.let_go()
                    connection.end()
                    if self.read_only:
                        raise read_only(error, self.place) from error
                    raise
                except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction):
                    self._ready = False  # dropped, restored from an early backup, or upgraded: check again
                    self._pool.let_go()
                    connection.end()
                    self.prepare()
                    raise

    def prepare(self) -> None:
        """Bring the schema up to date, once. Any number of processes may do this at the same time."""
        self._pool.demand_open()
        if self._ready:
            return
        before = self._failure
        with self._lock:
            if self._failure and self._failure is not before:  # another thread tried while this call waited
                raise type(self._failure)(str(self._failure))
            if not self._ready:
                try:
                    with self.separate_connection() as connection:
                        bring_up_to_date(connection, self.place, read_only=self.read_only)
                except StoreError as failure:
                    self._failure = failure
                    raise
                self._ready = True

    def rehearse(self) -> None:
        """Create the schema and roll that back; raise StoreError if it cannot be created."""
        with self.separate_connection() as connection, connection.transaction(force_rollback=True):
            bring_up_to_date(connection, self.place, read_only=self.read_only)

    @contextmanager
    def separate_connection(self, *, unlimited: bool = False) -> Iterator[Connection]:
        """Open a separate connection, which needs no schema: the database may lack the type of vectors.

        With `unlimited`, its statements have no time limit.
        """
        with explained(self.place), closing(self._pool.connect()) as connection:
            if unlimited:
                connection.limit = None
                if not connection.pooled:
                    connection.execute("SET statement_timeout = 0")
            yield connection

    def has_schema(self) -> bool:
        """Return whether the database has a schema; create neither a schema nor a server."""
        if self._ready or not self.server.exists():
            return self._ready
        with self.separate_connection() as connection:
            return version_of(connection) > 0

    @property
    def pooled(self) -> bool:
        """Whether there is a pooler in between, which keeps no session; known after the first connection."""
        return self._pool.pooled

    def close(self) -> None:
        """Close the connections, and release the server. No thread may be waiting for changes."""
        self._pool.close()
        self._listener.close()
        self.server.close()

    # transactions ----------------------------------------------------------------------------------------------------

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        return self._repeated(work, lambda counted: self._read_once(workspace, counted))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T], *, guarded: bool = True) -> T:
        """Run `work` as one transaction, one at a time for each workspace; return its result once it is durable.

        Without `guarded` the mark of an archived workspace is ignored.
        """
        return self._repeated(work, lambda counted: self._write_once(workspace, counted, guarded=guarded))

    def _repeated(self, work: Callable[[Queries], T], attempt: Callable[[Callable[[Queries], T]], T]) -> T:
        """Attempt some work again while nothing was committed, and what prevented it may pass.

        A server that takes no statements or no writes has FAILOVER seconds. Work that conflicts with other work, or
        loses its connection, of which it may be the cause, is done TRIES times at most.
        """
        times = 0

        def counted(queries: Queries) -> T:
            nonlocal times
            times += 1
            return work(queries)

        until, pauses = time.monotonic() + pool.FAILOVER, iter(pool.PAUSES)
        while True:
            before = times
            try:
                return attempt(counted)
            except TransientError as error:
                if times == before or isinstance(error, StandbyError):
                    pause, left = next(pauses, pool.AGAIN), min(time_left(), until - time.monotonic())
                else:  # so that two do not conflict again
                    pause, left = random.uniform(0, 0.05 * times), time_left()  # noqa: S311
                    left = left if times < TRIES else -1
                if pause > left:
                    raise
            self._pool.wait(pause)

    def _read_once(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        with self.connection() as connection, connection.pipeline():
            connection.execute(READING, prepare=False)
            if connection.pooled:
                limit(connection)
            result = work(PostgresQueries(connection, workspace))
            connection.execute("ROLLBACK", prepare=False)
            return result

    def _write_once(self, workspace: Workspace | None, work: Callable[[Queries], T], *, guarded: bool) -> T:
        sent: Commit | None = None
        with self.connection(writing=True) as connection:
            try:
                with connection.pipeline():
                    connection.execute(f"{WRITING} READ ONLY" if self.read_only else WRITING, prepare=False)
                    if connection.pooled:  # the pooler may lead each transaction to another server
                        limit(connection)
                        if connection.lineage:
                            self._pool.meet(connection)
                    queries = PostgresQueries(connection, workspace, writing=True)
                    queries.run("placement.lock")
                    if queries.one("placement.marked") and guarded and workspace:
                        raise archived(workspace)
                    result = work(queries)
                    sent = Commit(connection)
                    sent.send()
            except psycopg.Error as error:
                if sent and sent.is_uncertain(error):
                    raise unknown(error, self.place) from error
                raise
            self._pool.acknowledge(connection, sent.flushed())
            return result

    def changes(self, wait: float) -> set[str] | None:
        """Wait for the notification of a commit; return the ids of the workspaces, or None if none can be received."""
        if self.server.exists():
            return self._listener.heard(wait)
        self._pool.wait(wait)
        return None

    def wake(self) -> None:
        """Do nothing: only the server ends a wait for its notifications, and each is short."""
