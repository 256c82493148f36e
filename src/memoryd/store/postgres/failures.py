"""What the errors of Postgres mean: cause, next step, and whether the same work may succeed now."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import errors

from memoryd.errors import StoreAwayError, StoreBusyError, StoreError, UncertainError
from memoryd.store.base.rows import uncertain
from memoryd.store.postgres.connection import Connection, ReplacedError, SilentError
from memoryd.store.sql import load

REFUSALS = {  # refusals that only a person can resolve, by a part of the server's message, and the next step
    "password authentication failed": "Correct user and password in MEMORY_DATABASE_URL, PGPASSWORD or ~/.pgpass.",
    "no password supplied": "Put a password into ~/.pgpass, PGPASSWORD or MEMORY_DATABASE_URL.",
    "no pg_hba.conf entry": "Let the server accept this user from here in its pg_hba.conf.",
    "pg_hba.conf rejects": "Let the server accept this user from here in its pg_hba.conf.",
    "not currently accepting connections": "Let it: ALTER DATABASE ... ALLOW_CONNECTIONS true.",
    "not permitted to log in": "Name another user in MEMORY_DATABASE_URL, or let this one log in.",
    "permission denied for database": "Let this user connect to it, or name another one in MEMORY_DATABASE_URL.",
    "root certificate file": "Put the authority's certificate there, or name it by sslrootcert in the URL.",
    "certificate verify failed": "Name the certificate of the server's authority by sslrootcert in the URL.",
    "does not match host name": "Name the host in MEMORY_DATABASE_URL as its certificate does.",
    "does not support SSL": "Let the server take TLS, or change sslmode in MEMORY_DATABASE_URL.",
    "statement pooling mode": "Let the pooler lend connections for a transaction: pool_mode = transaction.",
    "unsupported startup parameter": "Take it out of MEMORY_DATABASE_URL; the role can have it by ALTER ROLE ... SET.",
    "definition of service": "Correct its name, as in PGSERVICE, or enter it in ~/.pg_service.conf.",
    "service file": "Correct or unset PGSERVICEFILE.",
    "does not exist": "Create it on the server, or correct MEMORY_DATABASE_URL.",
    "resolve host": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
    "translate host name": "Correct the host in MEMORY_DATABASE_URL, or wait for the network.",
}
CROWDED = ("too many clients", "connection slots", "too many connections")


class TransientError(StoreBusyError):
    """Nothing was committed, and the obstacle is gone with the transaction: the same work may succeed now."""


def is_refusal(error: psycopg.OperationalError) -> bool:
    """Return whether only a person can resolve why a connection failed."""
    return any(sign in str(error) for sign in REFUSALS)


def is_crowded(error: psycopg.OperationalError) -> bool:
    """Return whether a connection failed because the server, the database or the role has as many as it may."""
    return any(sign in str(error) for sign in CROWDED)


def refused_connection(failures: Mapping[str, psycopg.OperationalError], place: str, replaced: str) -> StoreError:
    """Return the error for failed connections to each of these servers, with causes and next step.

    `replaced` is the step if another server has taken the place of one.
    """
    causes = [_cause(error) for error in failures.values()]
    if len(causes) > 1:
        causes = [f"{host}: {cause.rpartition('failed: ')[2]}" for host, cause in zip(failures, causes, strict=True)]
    cause = "; ".join(causes)
    if any(map(is_crowded, failures.values())):
        return StoreBusyError(
            f"The server at {place} has no connection left ({cause}). Nothing was stored by this call; try again, and "
            "raise its max_connections, or the limit of the role or the database, if this stays."
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
    (SilentError, StoreBusyError, "The database at {place} does not answer", "try again, and look whether it hangs"),
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
        (errors.ConfigurationLimitExceeded, errors.OutOfMemory, errors.ProgramLimitExceeded), StoreError,
        "The server of {place} came to a limit", "raise it for this role, or ask for less",
    ),
    (
        errors.RaiseException, StoreError, "A trigger that is not memoryd's forbids this at {place}",
        "ask who runs the database",
    ),
    (
        errors.InsufficientPrivilege, StoreError, "The role of MEMORY_DATABASE_URL may not do this at {place}",
        "let the tables' owner grant it, or name another role",
    ),
    (
        (errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout), TransientError,
        "The database at {place} ended this transaction", "try again, and let the role have longer ones if this stays",
    ),
    (
        (
            errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedObject, errors.InternalError,
            errors.IoError, errors.UndefinedFile,
        ), StoreError,
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
