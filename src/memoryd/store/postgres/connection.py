"""Connections to Postgres: how they are opened, lent out and returned, and what their errors mean."""

import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import psycopg
from psycopg import conninfo, errors
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from memoryd.errors import InvalidInputError, StoreAwayError, StoreBusyError, StoreError, UncertainError
from memoryd.store.base import Row
from memoryd.store.base.rows import closed, uncertain
from memoryd.store.journal import ForeignServer, State
from memoryd.store.sql import load

WAIT = 30.0  # seconds to wait for a connection if all are lent out
IDLE = 300.0  # seconds after which an unused connection is no longer trusted
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between attempts to connect: a server that restarts is back in a moment
PARAMETERS: dict[str, Any] = {"connect_timeout": 10, "application_name": "memoryd", "keepalives_idle": 30}
EXAMPLE = "postgresql://user:password@host:5432/database"
REFUSALS = {  # refusals that only a person can resolve, by a part of the server's message, and the next step
    "password authentication failed": "Correct user and password in MEMORY_DATABASE_URL.",
    "no password supplied": "Put a password into MEMORY_DATABASE_URL.",
    "no pg_hba.conf entry": "Let the server accept this user from here in its pg_hba.conf.",
    "not permitted to log in": "Name another user in MEMORY_DATABASE_URL, or let this one log in.",
    "permission denied for database": "Let this user connect to it, or name another one in MEMORY_DATABASE_URL.",
    "does not exist": "Create it on the server, or correct MEMORY_DATABASE_URL.",
    "resolve host": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
    "translate host name": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
}
CROWDED = ("too many clients", "connection slots", "too many connections")
Connection = psycopg.Connection[Row]


class TransientError(StoreBusyError):
    """Nothing was committed, and the obstacle is gone with the transaction: the same work may succeed now."""


class Server(Protocol):
    """A Postgres server to connect to."""

    place: str
    """Its address for people; never a password."""

    def exists(self) -> bool:
        """Return whether something may be stored there; False if using it would create a new one."""

    def url(self) -> str:
        """Return its URL; start memoryd's own server if it does not run."""

    def state(self) -> State:
        """See `store.journal.Database`."""

    def start(self) -> bool:
        """Start it; return whether it was not running."""

    def stop(self) -> bool:
        """Stop it; return whether it was running. `url` raises StoreAwayError until it is started again."""

    def close(self) -> None:
        """Stop using it."""


class GivenServer(ForeignServer):
    """The server that MEMORY_DATABASE_URL names. Raise InvalidInputError if that is no URL."""

    def __init__(self, url: str) -> None:
        try:
            parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
        except psycopg.ProgrammingError:  # its text repeats the URL, and with it the password
            raise InvalidInputError(
                f"MEMORY_DATABASE_URL cannot be read. Write {EXAMPLE}, or postgresql:managed; of what stands for "
                "user and password every @ : / ? # % and blank as %40 %3A %2F %3F %23 %25 %20."
            ) from None
        self.place = f"{parts.get('host') or 'local'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
        self._url = conninfo.make_conninfo("", **(PARAMETERS | parts))

    def exists(self) -> bool:
        """Return True: only a connection could find out."""
        return True

    def url(self) -> str:
        """Return the URL as it was given."""
        return self._url


class Pool:
    """Lends connections, at most `most` at a time; broken idle ones are noticed and replaced.

    The thread that needs a connection opens it, so that its caller learns at once why that fails. psycopg_pool opens
    them in threads of its own: its callers wait for the whole timeout and only learn of the timeout.
    """

    def __init__(self, server: Server, most: int, configure: Callable[[Connection], None], *, read_only: bool) -> None:
        self._server = server
        self._configure = configure
        self._read_only = read_only
        self._slots = threading.BoundedSemaphore(most)
        self._idle: list[tuple[float, Connection]] = []
        self._closed = threading.Event()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection for one transaction; what is not committed is rolled back. Raise StoreError."""
        if not self._slots.acquire(timeout=WAIT):
            raise StoreBusyError(
                f"All connections of this process to {self._server.place} were in use for {WAIT:.0f} s. "
                "Nothing was stored by this call; try again."
            )
        try:
            connection = self._take() or self._made()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._slots.release()

    def connect(self) -> Connection:
        """Return a new connection, which the caller closes; raise StoreError, at once if waiting would not help."""
        for pause in (*PAUSES, None):
            self.demand_open()
            try:
                return self._attempt()
            except psycopg.OperationalError as error:
                if pause is None or any(sign in str(error) for sign in REFUSALS):
                    raise refused_connection(error, self._server.place) from error
                self._closed.wait(pause)
        raise AssertionError

    def demand_open(self) -> None:
        """Raise StoreError after close()."""
        if self._closed.is_set():
            raise closed()

    def close(self) -> None:
        """Close all connections; those that are lent out are closed when they are returned."""
        self._closed.set()
        self.let_go()

    def wait(self, seconds: float) -> None:
        """Wait so long, or until close()."""
        self._closed.wait(seconds)

    def let_go(self) -> None:
        """Close the idle connections."""
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                _end(self._idle.pop()[1])

    def _attempt(self) -> Connection:
        connection: Connection = psycopg.connect(self._server.url(), row_factory=dict_row)
        try:
            connection.read_only = self._read_only or None
            connection.execute(load("postgres")["upkeep.limit"])
            connection.commit()
        except psycopg.Error:
            _end(connection)
            raise
        return connection

    def _made(self) -> Connection:
        connection = self.connect()
        try:
            self._configure(connection)
        except psycopg.Error:
            _end(connection)
            raise
        return connection

    def _take(self) -> Connection | None:
        """Return the idle connection that was used last and still works, or None."""
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if time.monotonic() - since < IDLE and _silent(connection):
                return connection
            _end(connection)
        return None

    def _put_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                connection.rollback()
        sound = connection.info.transaction_status == TransactionStatus.IDLE and not connection.autocommit
        if self._closed.is_set() or not sound:
            _end(connection)
        else:
            self._idle.append((time.monotonic(), connection))


class Listener:
    """Hears which workspaces are written to, on a connection of its own."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: Connection | None = None

    def heard(self, wait: float) -> set[str] | None:
        """Wait for a write; return the ids of the workspaces that were written to, or None if that is unknown.

        It is unknown at first, after a broken connection, and on a replica, which allows no LISTEN.
        """
        try:
            if self._connection is None:
                self._connection = self._listening()
                return None
            ids = {notice.payload for notice in self._connection.notifies(timeout=wait, stop_after=1)}
            return ids | {notice.payload for notice in self._connection.notifies(timeout=0)} if ids else ids
        except (psycopg.Error, StoreError):
            self.close()
            self._pool.wait(wait)
            return None

    def _listening(self) -> Connection:
        connection = self._pool.connect()
        try:
            connection.autocommit = True
            connection.execute(load("postgres")["placement.listen"])
        except psycopg.Error:
            _end(connection)
            raise
        return connection

    def close(self) -> None:
        """Stop listening."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _end(connection)


def _silent(connection: Connection) -> bool:
    """Whether the server has sent nothing since: all that it sends unasked is that it shuts down."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


def _end(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.close()


# what errors mean ----------------------------------------------------------------------------------------------------


def refused_connection(error: psycopg.OperationalError, place: str) -> StoreError:
    """Return the error for a failed connection, with cause and next step."""
    cause = _cause(error)
    if any(sign in cause for sign in CROWDED):
        return StoreBusyError(
            f"The server at {place} has no connection left ({cause}). Nothing was stored by this call; try again, and "
            "raise its max_connections if this stays."
        )
    step = next((step for sign, step in REFUSALS.items() if sign in str(error)), "")
    return StoreAwayError(
        f"The database at {place} cannot be reached ({cause}). Nothing was stored by this call. "
        f"{step or 'Start the server, or correct MEMORY_DATABASE_URL; the next call tries again.'}"
    )


def commit(connection: Connection, place: str) -> None:
    """Commit and wait until that is durable; raise UncertainError if it is unknown whether it was committed."""
    try:
        connection.commit()
    except psycopg.OperationalError as error:
        if not connection.closed:
            raise
        raise _uncertain(error, place) from error
    connection.autocommit = True
    try:
        connection.execute(load("postgres")["placement.flush"])
    except psycopg.Error as error:
        raise _uncertain(error, place) from error
    connection.autocommit = False


def _uncertain(error: psycopg.Error, place: str) -> UncertainError:
    return uncertain(f"The connection to {place} was lost during a commit ({_cause(error)})")


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn database errors into a StoreError with cause and next step."""
    try:
        yield
    except (errors.SerializationFailure, errors.DeadlockDetected) as error:
        raise TransientError(
            f"Another process got in the way at {place}. Nothing was stored by this call; try again."
        ) from error
    except psycopg.Error as error:
        for known, kind, cause, step in _MEANINGS:
            if isinstance(error, known):
                message = f"{cause.format(place=place)} ({_cause(error)}). Nothing was stored by this call; {step}."
                raise kind(message) from error
        raise


_Known = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_MEANINGS: tuple[tuple[_Known, type[StoreError], str, str], ...] = (  # the first that fits: kind, cause, next step
    (errors.LockNotAvailable, StoreBusyError, "Another process kept {place} locked too long", "try again"),
    (
        errors.QueryCanceled, StoreBusyError, "The database at {place} took too long",
        "try again, and ask for less if this stays",
    ),
    (
        errors.ReadOnlySqlTransaction, StoreError, "The database at {place} is open for reading only",
        "let MEMORY_DATABASE_URL name a server that takes writes",
    ),
    (errors.DiskFull, StoreError, "The disk of {place} is full", "make room on the server"),
    (
        errors.InsufficientPrivilege, StoreError, "The role of MEMORY_DATABASE_URL may not do this at {place}",
        "let the tables' owner grant it, or name another role",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedFunction, errors.InternalError), StoreError,
        "The database at {place} cannot be used", "run `memoryd doctor`, or restore a backup",
    ),
    (
        (errors.IntegrityError, errors.DataError), StoreError, "A row would break a rule of {place}",
        "change what was to be stored",
    ),
    (
        psycopg.OperationalError, TransientError, "The connection to {place} was lost",
        "try again, and check that the server is up",
    ),
)  # fmt: skip


def _cause(error: psycopg.Error) -> str:
    """Return the line of an error that names the cause."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
    fatal = next((line for line in lines if "FATAL:" in line), "")
    return (fatal.partition("FATAL:")[2] or next(iter(lines), type(error).__name__)).strip().rstrip(".")
