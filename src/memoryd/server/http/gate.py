"""The gate of a server over HTTP: which credentials it accepts, how clients get them, and how it refuses others."""

from anyio import to_thread
from mcp.server.auth.provider import AccessToken
from starlette.authentication import AuthenticationError
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from memoryd import features
from memoryd.core.access.tokens import LEVELS, Grant, Level
from memoryd.errors import ProviderAwayError, StoreError
from memoryd.server.calls import Calls

MCP = "/mcp"
RESOURCE = "/.well-known/oauth-protected-resource"
"""The path of the metadata of the protected resource."""


class AccessGate:
    """The gate of one server. This one is for the tokens that people create with a command; a slice may extend it."""

    def __init__(self, calls: Calls) -> None:
        self._credentials = calls.engine.credentials

    @property
    def asks_for(self) -> Level | None:
        """The level that a client without a credential is led to ask for; None if this server issues none."""
        return None

    async def check(self, presented: str) -> Grant | None:
        """Return the grant of a credential; None if it is not valid. Raise StoreError or ProviderAwayError."""
        return await to_thread.run_sync(self._credentials.check, presented)

    async def verify_token(self, token: str) -> AccessToken | None:
        """See mcp.server.auth.provider.TokenVerifier: check() for the SDK."""
        try:
            grant = await self.check(token)
        except (StoreError, ProviderAwayError) as error:
            raise AuthenticationError(str(error)) from None
        if grant is None:
            return None
        return AccessToken(token="", client_id=grant.principal, scopes=[grant.level], claims={"grant": grant})

    def routes(self) -> list[BaseRoute]:
        """Return the routes by which clients get credentials."""
        return []

    def refused(self, grant: Grant, tool: str) -> Response | None:  # noqa: ARG002 - here none is
        """Return the answer to a login that does not cover a tool, if its client can ask for more; else None."""
        return None

    def middleware(self) -> list[Middleware]:
        """Return what every request passes before its credential is checked."""
        return []

    def is_shared(self, path: str) -> bool:  # noqa: ARG002 - here none is
        """Return whether pages of any site may call a path."""
        return False


def gate_of(calls: Calls) -> AccessGate:
    """Return the gate that a slice provides, else one for tokens alone."""
    made: type[AccessGate] = next(features.hooked("gate"), AccessGate)
    return made(calls)


# the refusal of a credential, from which a client learns what it needs and where to get it (RFC 6750, RFC 9728) -------


def scope_of(level: Level) -> str:
    """Return a level as scopes: each includes those before it."""
    return " ".join(LEVELS[: LEVELS.index(level) + 1])


def challenge(issuer: str | None, status: int, error: str, text: str, level: Level | None) -> Response:
    """Return the refusal of a credential (RFC 6750, 3), with the scopes it needs and where to get one.

    `level` is None if another server issues the tokens, since its scopes are not known.
    """
    given = {"error": error, "error_description": text}
    if issuer:
        given |= {"scope": scope_of(level)} if level else {}
        given |= {"resource_metadata": f"{issuer}{RESOURCE}{MCP}"}
    header = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in given.items())
    return JSONResponse({"error": error, "error_description": text}, status, {"WWW-Authenticate": header})
