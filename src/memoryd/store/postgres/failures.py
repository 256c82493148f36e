"""The meaning of Postgres errors: cause, next step, and whether to retry."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import errors

from memoryd.errors import StoreAwayError, StoreBusyError, StoreError, UncertainError
from memoryd.store.base import Row, uncertain
from memoryd.store.postgres.connection import Connection, ReplacedError, SilentError
from memoryd.store.sql import load

REFUSALS = {  # the next step for refusals that only a person can resolve, by a part of the server's message
    "password authentication failed": "Correct user and password in MEMORY_DATABASE_URL, PGPASSWORD or ~/.pgpass.",
    "no password supplied": "Put a password into ~/.pgpass, PGPASSWORD or MEMORY_DATABASE_URL.",
    "no pg_hba.conf entry": "Allow this user from this machine in the server's pg_hba.conf.",
    "pg_hba.conf rejects": "Allow this user from this machine in the server's pg_hba.conf.",
    "not currently accepting connections": "Allow connections: ALTER DATABASE ... ALLOW_CONNECTIONS true.",
    "not permitted to log in": "Name another user in MEMORY_DATABASE_URL, or allow this one to log in.",
    "permission denied for database": "Allow this user to connect to it, or name another user in MEMORY_DATABASE_URL.",
    "root certificate file": "Put the authority's certificate there, or name it with sslrootcert in the URL.",
    "certificate verify failed": "Name the certificate of the server's authority with sslrootcert in the URL.",
    "does not match host name": "Name the host in MEMORY_DATABASE_URL as its certificate does.",
    "does not support SSL": "Enable TLS on the server, or change sslmode in MEMORY_DATABASE_URL.",
    "statement pooling mode": "Set the pooler to lend connections for a transaction: pool_mode = transaction.",
    "unsupported startup parameter": "Remove it from MEMORY_DATABASE_URL; set it for the role with ALTER ROLE ... SET.",
    "definition of service": "Correct its name, as in PGSERVICE, or enter it in ~/.pg_service.conf.",
    "service file": "Correct or unset PGSERVICEFILE.",
    "does not exist": "Create it on the server, or correct MEMORY_DATABASE_URL.",
    "resolve host": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
    "translate host name": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
}
CROWDED = ("too many clients", "connection slots", "too many connections")


class TransientError(StoreBusyError):
    """Nothing was committed, and the obstacle ended with the transaction: the same work may succeed now."""


class StandbyError(TransientError):
    """The server takes no writes now: it may soon, or another one in its place."""


def read_only(error: psycopg.Error, place: str) -> StoreError:
    """Return the error for a write of a process that only reads."""
    return StoreError(f"The database at {place} is read-only ({_cause(error)}). Nothing was stored by this call.")


def is_lost(error: psycopg.Error) -> bool:
    """Return whether an error is about the connection, not from a server that goes on to serve it.

    libpq's own errors have no SQLSTATE; psycopg's about wrong parameters have none, either, but other classes.
    """
    state = error.sqlstate or error.diag.sqlstate
    if state is None:
        served = errors.ProgrammingError | errors.DataError | errors.NotSupportedError | errors.PipelineAborted
        return not isinstance(error, served)
    return state.startswith(("08", "57P"))


def is_refusal(error: psycopg.OperationalError) -> bool:
    """Return whether only a person can resolve why a connection failed."""
    return any(sign in str(error) for sign in REFUSALS)


def is_crowded(error: psycopg.OperationalError) -> bool:
    """Return whether a connection failed because the server, the database or the role has no more connections."""
    return any(sign in str(error) for sign in CROWDED)


def refused_connection(failures: Mapping[str, psycopg.OperationalError], place: str, replaced: str) -> StoreError:
    """Return the error for failed connections to these servers, with causes and next step.

    `replaced` is the step if another server has replaced one of them.
    """
    causes = [_cause(error) for error in failures.values()]
    if len(causes) > 1:
        causes = [f"{host}: {cause.rpartition('failed: ')[2]}" for host, cause in zip(failures, causes, strict=True)]
    cause = "; ".join(causes)
    if any(map(is_crowded, failures.values())):
        return StoreBusyError(
            f"The server at {place} has no connection left ({cause}). Nothing was stored by this call; try again, and "
            "raise its max_connections, or the limit of the role or the database, if this persists."
        )
    step = next((step for sign, step in REFUSALS.items() if sign in cause), "")
    if any(isinstance(error, ReplacedError) for error in failures.values()):
        step = replaced
    if len(causes) > 1:
        step = step or "Start or promote one of them, or correct MEMORY_DATABASE_URL; the next call tries again."
    return StoreAwayError(
        f"The database at {place} cannot be reached ({cause}). Nothing was stored by this call. "
        f"{step or 'Start the server, or correct MEMORY_DATABASE_URL; the next call tries again.'}"
    )


class Commit:
    """A commit, and the wait until it is durable; the end of the pipeline brings the answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._committed, self._flushed = connection.cursor(), connection.cursor()

    def send(self) -> None:
        """Send both."""
        self._committed.execute("COMMIT", prepare=False)
        self._flushed.execute(load("postgres")["placement.flush"])

    def flushed(self) -> Row:
        """Return how far the log is now durable."""
        row = self._flushed.fetchone()
        assert row
        return row

    def is_uncertain(self, error: psycopg.Error) -> bool:
        """Return whether the transaction may have been committed in spite of an error."""
        return self._committed.statusmessage == "COMMIT" or self._connection.closed or is_lost(error)


def unknown(error: psycopg.Error, place: str) -> UncertainError:
    """Return the error for a commit whose outcome is unknown."""
    return uncertain(f"The connection to {place} was lost during a commit ({_cause(error)})")


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn database errors into a StoreError with cause and next step."""
    try:
        yield
    except (errors.SerializationFailure, errors.DeadlockDetected) as error:
        raise TransientError(
            f"The call conflicted with another process at {place}. Nothing was stored by this call; try again."
        ) from error
    except psycopg.Error as error:
        plain = psycopg.OperationalError() if is_lost(error) and not isinstance(error, SilentError) else error
        for known, kind, cause, step in _MEANINGS:
            if isinstance(plain, known):
                message = f"{cause.format(place=place)} ({_cause(error)}). Nothing was stored by this call; {step}."
                raise kind(message) from error
        raise


_Known = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_MEANINGS: tuple[tuple[_Known, type[StoreError], str, str], ...] = (  # the first that fits: kind, cause, next step
    (errors.PipelineAborted, StoreError, "A statement failed at {place}", "read the log of memoryd"),
    (SilentError, StoreBusyError, "The database at {place} does not answer", "try again, and check whether it hangs"),
    (errors.LockNotAvailable, StoreBusyError, "Another process kept {place} locked too long", "try again"),
    (
        errors.QueryCanceled,
        StoreBusyError,
        "The database at {place} took too long",
        "try again, and ask for less if this persists",
    ),
    (
        errors.ReadOnlySqlTransaction,
        StandbyError,
        "The database at {place} is read-only",
        "try again, and if it stays read-only, set MEMORY_DATABASE_URL to a server that accepts writes",
    ),
    (errors.DiskFull, StoreError, "The disk of {place} is full", "free space on the server"),
    (
        (errors.ConfigurationLimitExceeded, errors.OutOfMemory, errors.ProgramLimitExceeded),
        StoreError,
        "The server of {place} has reached a limit",
        "raise it for this role, or ask for less",
    ),
    (
        errors.RaiseException,
        StoreError,
        "A trigger that is not memoryd's forbids this at {place}",
        "ask the administrator of the database",
    ),
    (
        errors.InsufficientPrivilege,
        StoreError,
        "The role of MEMORY_DATABASE_URL may not do this at {place}",
        "let the tables' owner grant it, or name another role",
    ),
    (
        (errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout),
        TransientError,
        "The database at {place} ended this transaction",
        "try again, and raise the limit of the role if this persists",
    ),
    (
        (
            errors.UndefinedTable,
            errors.UndefinedFunction,
            errors.UndefinedObject,
            errors.InternalError,
            errors.IoError,
            errors.UndefinedFile,
        ),
        StoreError,
        "The database at {place} cannot be used",
        "run `memoryd doctor`, or restore a backup",
    ),
    (
        (errors.IntegrityError, errors.DataError),
        StoreError,
        "A row would violate a constraint of {place}",
        "change what was to be stored",
    ),
    (
        psycopg.OperationalError,
        TransientError,
        "The connection to {place} was lost",
        "try again, and check that the server is up",
    ),
)


def _cause(error: psycopg.Error) -> str:
    """Return the line of an error that names the cause."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
    fatal = next((line for line in lines if "FATAL:" in line), "")
    return (fatal.partition("FATAL:")[2] or next(iter(lines), type(error).__name__)).strip().rstrip(".")
