"""The connections of a process to Postgres: a pool, and a connection that listens for notifications."""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from itertools import count

import psycopg
from psycopg import conninfo, errors
from psycopg.pq import TransactionStatus

from memoryd.deadline import time_left
from memoryd.errors import StoreBusyError, StoreError
from memoryd.store.base import Row, closed
from memoryd.store.postgres.connection import Connection, ReplacedError, SilentError
from memoryd.store.postgres.failures import is_crowded, is_lost, is_refusal, refused_connection
from memoryd.store.postgres.queries import configure, limited, statements
from memoryd.store.postgres.server import Server, ServerAddress, hosts
from memoryd.store.postgres.timelines import Lineage, Timelines

log = logging.getLogger(__name__)

WAIT = 30.0  # seconds to wait for a connection if all are lent out
IDLE = 300.0  # seconds after which an unused connection is no longer trusted, and closed for others to use
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between attempts to connect: a restarting server is soon back
AGAIN = 1.0  # seconds between further attempts
FAILOVER = 45.0  # seconds within which a server restarts or another takes over: Patroni's defaults need up to 30
STILL_AWAY = 3.0  # seconds that a call waits for a server that has been away for longer than that
DOUBT = 5.0  # seconds without an answer after which a process checks whether another server has taken over
GRACE = 10.0  # seconds that an answer may be late: the server ends statements itself at its own limit


class Pool:
    """A pool of at most `most` connections; broken idle ones are detected and replaced.

    The thread that needs a connection opens it, so that its caller learns immediately why that fails. psycopg_pool
    opens connections in other threads: its callers wait for the whole timeout and learn only of the timeout.
    """

    def __init__(self, server: Server, most: int, timelines: Timelines, *, read_only: bool) -> None:
        self._server = server
        self._read_only = read_only
        self._slots = threading.BoundedSemaphore(most)
        self._writers = threading.BoundedSemaphore(max(most * 3 // 4, 1))
        """Writers may all wait, for a standby or a lock, and must leave connections to readers."""
        self._idle: list[tuple[float, Connection]] = []
        self._closed = threading.Event()
        self.fails_over = False
        """Whether another server may replace this one; known after the first connection."""
        self.pooled = False
        """Whether there is a pooler in between; known after the first connection."""
        self._shared: bool | None = None
        """Whether the pooler lends its connections for a transaction, not for a whole session."""
        self._timelines = timelines
        self._asked = False
        """Whether the timeline of a server is known."""
        self._away: float | None = None
        """When the present attempts to connect began to fail."""
        self._looking = threading.Lock()
        self._looked = 0.0

    # lending ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def connection(self, *, writing: bool = False) -> Iterator[Connection]:
        """Lend a connection for one transaction; roll back what is not committed. Raise StoreError."""
        with ExitStack() as held:
            wait = min(WAIT, max(time_left(), 0))
            until = time.monotonic() + wait
            for semaphore in (self._writers, self._slots) if writing else (self._slots,):
                if not semaphore.acquire(timeout=max(until - time.monotonic(), 0)):
                    raise StoreBusyError(
                        f"All connections of this process to {self._server.place} were in use for {wait:.0f} s. "
                        "Nothing was stored by this call; try again."
                    )
                held.callback(semaphore.release)
            connection = self._take() or self._made()
            try:
                yield connection
            except psycopg.Error as error:
                if is_lost(error):
                    connection.end()
                raise
            finally:
                self._put_back(connection)

    def _made(self) -> Connection:
        connection = self.connect()
        try:
            configure(connection)
        except psycopg.Error:
            connection.end()
            raise
        return connection

    def _take(self) -> Connection | None:
        """Return the most recently used idle connection that still works, or None."""
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if time.monotonic() - since < IDLE and connection.is_silent() and not self._is_replaced(connection.lineage):
                return connection
            connection.end()
        return None

    def _put_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                connection.rollback()
        sound = connection.info.transaction_status == TransactionStatus.IDLE
        kept = self._shared or not connection.pooled
        if self._closed.is_set() or not (sound and kept):
            connection.end()
        else:
            self._idle.append((time.monotonic(), connection))
        with suppress(IndexError):  # the first is the least recently used one
            while time.monotonic() - self._idle[0][0] >= IDLE:
                self._idle.pop(0)[1].end()

    # connecting ------------------------------------------------------------------------------------------------------

    def connect(self) -> Connection:
        """Return a new connection, which the caller closes; raise StoreError, immediately if waiting would not help.

        Wait for a server to restart, or for another to take over: a single address may be that of a proxy. If the
        server has no connection left, return one of the pool.
        """
        began = time.monotonic()
        for tried in count():
            self.demand_open()
            servers, failures = hosts(self._server.url()), dict[str, psycopg.OperationalError]()
            self.fails_over = len(servers) > 1
            if self.fails_over and not self._asked:
                self._look(servers)
            for host in servers:
                try:
                    return self._attempt(host)
                except psycopg.OperationalError as error:
                    failures[host.place] = error
            if all(map(is_crowded, failures.values())) and (returned := self._take()):
                return returned
            pause, self._away = PAUSES[tried] if tried < len(PAUSES) else AGAIN, self._away or began
            until = max(self._away + FAILOVER, began + min(FAILOVER, STILL_AWAY))
            if pause > min(time_left(), until - time.monotonic()) or all(map(is_refusal, failures.values())):
                refused = refused_connection(failures, self._server.place, self._timelines.remedy)
                raise refused from next(reversed(failures.values()))
            if tried == len(PAUSES):
                log.warning("Waiting for the database at %s, up to %.0f s", self._server.place, until - began)
            self._closed.wait(pause)
        raise AssertionError("it returns or raises")

    def demand_open(self) -> None:
        """Raise StoreError after close()."""
        if self._closed.is_set():
            raise closed()

    def close(self) -> None:
        """Close all connections; lent connections are closed when they are returned."""
        self._closed.set()
        self.let_go()
        self._timelines.close()

    def wait(self, seconds: float) -> None:
        """Wait for some seconds, or until close()."""
        self._closed.wait(seconds)

    def let_go(self) -> None:
        """Close the idle connections."""
        while self._idle:
            with suppress(IndexError):  # another thread took it
                self._idle.pop()[1].end()

    def _attempt(self, host: ServerAddress) -> Connection:
        connection = Connection.open(host.url, self._watch)
        try:
            self._introduce(connection, host)
        except psycopg.Error:
            connection.end()
            raise
        self._away = None
        return connection

    def _introduce(self, connection: Connection, host: ServerAddress) -> None:
        """Find out what is at the other end, and set the limits of its statements."""
        session = limited(connection, connection.info.backend_pid)
        connection.limit = session["seconds"] + GRACE
        if session["pooled"]:
            self.pooled, connection.pooled, connection.prepare_threshold = True, True, None
            if self._shared is None:
                self._shared = self._meets_itself(session["pid"], host)
        self.meet(connection)

    def _meets_itself(self, pid: int, host: ServerAddress) -> bool:
        """Return whether a second client of the pooler gets the session that the first one just had."""
        with suppress(psycopg.OperationalError), closing(Connection.open(host.url, self._watch)) as other:
            return bool(limited(other, 0)["pid"] == pid)
        return False

    # replaced servers ------------------------------------------------------------------------------------------------

    def _watch(self, connection: Connection, seconds: float) -> None:
        """Raise an error if it is useless to wait longer for the answer to a statement."""
        if self._is_replaced(connection.lineage):
            raise ReplacedError("another server has taken over")
        if connection.limit is not None and seconds > connection.limit:
            raise SilentError(f"no answer for {seconds:.0f} s")
        if connection.limit is not None and time_left() < 0:
            raise SilentError(f"no answer for {seconds:.0f} s, until the call's time was up")
        if connection.lineage and seconds > DOUBT and time.monotonic() - self._looked > DOUBT:
            self._look(hosts(self._server.url()))

    def _look(self, servers: Iterable[ServerAddress]) -> None:
        """Ask every server for its timeline, unless another thread is doing so."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            for host in servers:
                with suppress(psycopg.OperationalError):
                    url = conninfo.make_conninfo(host.url, target_session_attrs="any")
                    with closing(Connection.open(url, self._watch)) as connection:
                        self.meet(connection)
        finally:
            self._looked = time.monotonic()
            self._looking.release()

    def meet(self, connection: Connection) -> None:
        """Ask a server for its lineage; raise ReplacedError if another has replaced it, or it has lost writes."""
        known = self._timelines.known()
        connection.lineage = _lineage(connection)
        if connection.lineage:
            refusal, self._asked = self._timelines.meet(connection.lineage, known), True
            if refusal:
                raise ReplacedError(refusal)
            connection.lineage = replace(connection.lineage, lost=self._timelines.lost(connection.lineage.system))

    def acknowledge(self, connection: Connection, flushed: Row) -> None:
        """Remember how far the log of a server is durable."""
        if connection.lineage and flushed["waited"]:
            self._timelines.acknowledged(connection.lineage, flushed["place"], replicated=flushed["replicated"])

    def _is_replaced(self, lineage: Lineage | None) -> bool:
        return bool(lineage and lineage.timeline < self._timelines.newest(lineage.system))


def _lineage(connection: Connection) -> Lineage | None:
    """Return the lineage of a server, or None if it cannot be read."""
    try:
        row = connection.execute(statements()["upkeep.lineage"]).fetchone() or {}
    except (errors.ProgrammingError, errors.NotSupportedError, errors.ObjectNotInPrerequisiteState):
        return None
    server = connection.info
    return Lineage(row["system"], row["timeline"], row["place"], f"{server.host}:{server.port}", row["recovered"])


class Listener:
    """The connection that listens for writes to workspaces."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: Connection | None = None

    def heard(self, wait: float) -> set[str] | None:
        """Wait for a write; return the ids of the workspaces that were written to, or None if that is unknown.

        It is unknown at first, after a broken connection, on a replica, which does not allow LISTEN, and through a
        pooler, where it would occupy a connection of the server.
        """
        try:
            if self._connection is None and not self._pool.pooled:
                self._connection = self._listening()
                return None
            if self._connection is None:
                self._pool.wait(wait)
                return None
            ids = {notice.payload for notice in self._connection.notifies(timeout=wait, stop_after=1)}
            return ids | {notice.payload for notice in self._connection.notifies(timeout=0)} if ids else ids
        except (psycopg.Error, StoreError):
            self.close()
            self._pool.wait(wait)
            return None

    def _listening(self) -> Connection | None:
        connection = self._pool.connect()
        try:
            if connection.pooled:
                connection.end()
                return None
            connection.execute(statements()["placement.listen"])
        except psycopg.Error:
            connection.end()
            raise
        return connection

    def close(self) -> None:
        """Stop listening."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()
