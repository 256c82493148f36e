"""The gate of a server over HTTP: which credentials it accepts, and how clients get them."""

from collections.abc import Callable
from typing import Protocol

from anyio import to_thread
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from memoryd import features
from memoryd.core.access.tokens import Grant, Level
from memoryd.server.calls import Calls


class AccessGate(Protocol):
    """The gate of one server."""

    @property
    def asks_for(self) -> Level | None:
        """The level that a client without a credential is led to ask for; None if this server issues none."""

    async def check(self, presented: str) -> Grant | None:
        """Return the grant of a credential; None if it is not valid. Raise StoreError or ProviderAwayError."""

    def routes(self) -> list[BaseRoute]:
        """Return the routes by which clients get credentials."""

    def guarding(self, app: ASGIApp) -> ASGIApp:
        """Return /mcp behind what the gate checks besides the credential."""

    def middleware(self) -> list[Middleware]:
        """Return what every request passes before its credential is checked."""

    def is_shared(self, path: str) -> bool:
        """Return whether pages of any site may call a path."""


def gate_of(calls: Calls) -> AccessGate:
    """Return the gate that a slice provides, else one for tokens alone."""
    made: Callable[[Calls], AccessGate] = next(features.hooked("gate"), TokenGate)
    return made(calls)


class TokenGate:
    """A gate for tokens that people create with a command."""

    asks_for: Level | None = None

    def __init__(self, calls: Calls) -> None:
        self._credentials = calls.engine.credentials

    async def check(self, presented: str) -> Grant | None:
        """See AccessGate."""
        return await to_thread.run_sync(self._credentials.check, presented)

    def routes(self) -> list[BaseRoute]:
        """See AccessGate."""
        return []

    def guarding(self, app: ASGIApp) -> ASGIApp:
        """See AccessGate."""
        return app

    def middleware(self) -> list[Middleware]:
        """See AccessGate."""
        return []

    def is_shared(self, path: str) -> bool:  # noqa: ARG002 - none is
        """See AccessGate."""
        return False
