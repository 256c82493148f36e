"""A connection to Postgres that does not wait forever for a frozen or replaced server."""

import logging
import selectors
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import dict_row

from memoryd.store.base import Row
from memoryd.store.postgres.timelines import Lineage

T = TypeVar("T")

logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of what follows the error that it raises

GREETING = 30.0  # seconds that a statement may take while the server's own limit is unknown


class SilentError(psycopg.OperationalError):
    """The server did not answer within the limit, and the connection was closed."""


class ReplacedError(psycopg.OperationalError):
    """Another server has replaced this one."""


class Connection(psycopg.Connection[Row]):
    """A connection that calls `watch` ten times a second while it waits, and closes its socket if that raises.

    It begins no transaction by itself.
    """

    limit: float | None = GREETING
    """Seconds that a statement may take; None: without a limit, even after the end of the call."""
    lineage: Lineage | None = None
    pooled = False
    """Whether there is a pooler in between, which may give each transaction another session."""
    watch: Callable[["Connection", float], None]

    @classmethod
    def open(cls, url: str, watch: Callable[["Connection", float], None]) -> Self:
        """Connect; raise psycopg.OperationalError. `watch` gets the connection and the seconds since a statement."""
        connection = cls.connect(url, autocommit=True, row_factory=dict_row, client_encoding="UTF8")
        connection.isolation_level = IsolationLevel.READ_COMMITTED  # whatever the role's default is
        connection.watch = watch
        return connection

    def wait(self, gen: Generator[Any, Any, T], *arguments: Any, **options: Any) -> T:
        """See psycopg: run the conversation of a statement. If `watch` raises, close the socket and raise its error."""
        try:
            return super().wait(self._watched(gen), *arguments, **options)
        except (SilentError, ReplacedError):
            self.pgconn.finish()
            raise

    def _watched(self, conversation: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        began = time.monotonic()
        try:
            wanted = next(conversation)
            while True:
                ready = yield wanted
                if not ready:  # psycopg yields every tenth of a second
                    self.watch(self, time.monotonic() - began)
                wanted = conversation.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result

    def is_silent(self) -> bool:
        """Return whether the server has sent nothing since: unasked, it sends only that it shuts down."""
        if self.closed:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    def end(self) -> None:
        """Close the connection in any state."""
        with suppress(psycopg.Error):
            self.close()
