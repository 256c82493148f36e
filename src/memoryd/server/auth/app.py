"""The routes of the authorization server, and what pages of other sites may ask over the network."""

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from memoryd.server.auth import metadata
from memoryd.server.auth.documents import ClientDocuments
from memoryd.server.auth.endpoints import Endpoints
from memoryd.server.auth.pages import LoginPages
from memoryd.server.calls import Calls

DOCUMENTS, OAUTH = "/.well-known/", "/oauth/"
FROM_ANYWHERE = (metadata.MCP, metadata.TOKEN, metadata.REGISTER, metadata.REVOKE)
"""The paths that pages of any site may call: what they demand, no browser adds by itself."""
EXPOSED = ("WWW-Authenticate", "Mcp-Session-Id", "MCP-Protocol-Version", "Retry-After")
DAY = 86_400  # seconds for which a browser remembers the answer of a preflight


def routes(calls: Calls, documents: ClientDocuments) -> list[BaseRoute]:
    """Return the routes of a server with a public address; none without one."""
    issuer = calls.engine.settings.public_url
    if issuer is None:
        return []
    pages = LoginPages(calls.engine, issuer, documents, every_workspace=not calls.binding)
    return [*metadata.routes(issuer, issuer), *Endpoints(calls.engine, issuer).routes(), *pages.routes()]


def is_from_anywhere(path: str) -> bool:
    """Return whether pages of any site may call a path of a server with a public address."""
    return path in FROM_ANYWHERE or path.startswith(DOCUMENTS)


class CrossOrigin:
    """ASGI middleware for a server with a public address: answers preflights, and lets other sites read answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._shared = CORSMiddleware(
            app, allow_origins=("*",), allow_methods=("GET", "POST", "DELETE"), allow_headers=("*",),
            expose_headers=EXPOSED, max_age=DAY,
        )  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        shared = scope["type"] == "http" and is_from_anywhere(scope["path"])
        await (self._shared if shared else self._app)(scope, receive, send)
