"""The routes of the authorization server, and the requests that pages of other sites may send."""

import logging
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from memoryd import extras
from memoryd.core.access.tokens import Grant, Level
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.login import metadata
from memoryd.features.login.accounts import accounts_of
from memoryd.features.login.documents import ClientDocuments
from memoryd.features.login.endpoints import Endpoints
from memoryd.features.login.pages import LoginPages
from memoryd.server.calls import Calls
from memoryd.server.http.gate import MCP, AccessGate, challenge

if TYPE_CHECKING:
    from memoryd.features.login.identities import Identities

log = logging.getLogger(__name__)

DOCUMENTS = "/.well-known/"
FROM_ANYWHERE = (MCP, metadata.TOKEN, metadata.REGISTER, metadata.REVOKE)
"""The paths that pages of any site may call: they need credentials that no browser adds automatically."""
EXPOSED = ("WWW-Authenticate", "Mcp-Session-Id", "MCP-Protocol-Version", "Retry-After")
DAY = 86_400  # seconds for which a browser remembers the answer of a preflight


class Auth(AccessGate):
    """How clients get tokens: from this server or from a provider, and not at all without a public address."""

    def __init__(self, calls: Calls, documents: ClientDocuments) -> None:
        super().__init__(calls)
        settings = calls.engine.settings
        self._calls = calls
        self._documents = documents
        self.issuer = settings.public_url
        """The public address."""
        self.issues = self.issuer is not None and settings.login != "jwt"
        """Whether this server issues the tokens."""
        self.identities: Identities | None = None
        if settings.login != "password":
            found = extras.load("memoryd.features.login.identities:Identities", "login", InvalidInputError)
            self.identities = found(calls.engine)

    @property
    def asks_for(self) -> Level | None:
        """See AccessGate: a client is led to ask for `write`."""
        return "write" if self.issues else None

    async def check(self, presented: str) -> Grant | None:
        """See AccessGate: a token of the provider is accepted, too, if this server issues none."""
        known = await super().check(presented)
        if known is None and self.identities and not self.issues and presented.count(".") == 2:
            known = await to_thread.run_sync(self.identities.check, presented)
        return known

    def routes(self) -> list[BaseRoute]:
        if self.issuer is None:
            return []
        if self.identities and not self.issues:
            return metadata.routes(self.issuer, self.identities.provider.issuer)
        documents = self._documents if self._calls.engine.settings.login_documents else None
        pages = LoginPages(
            self._calls.engine, self.issuer, documents, self.identities, every_workspace=not self._calls.binding
        )
        endpoints = Endpoints(self._calls.engine, self.issuer)
        own = metadata.server_document(self.issuer, documents=documents is not None)
        return [*metadata.routes(self.issuer, self.issuer, own), *endpoints.routes(), *pages.routes()]

    def refused(self, grant: Grant, tool: str) -> Response | None:
        """See AccessGate: if this server issues the tokens, the answer names all scopes for the tool."""
        called = self._calls.tools.get(tool)
        asked_of = self.issuer and self.issues and called and grant.is_persons
        if not asked_of or not called or grant.allows(tool, called.capability):
            return None
        text = f"This login does not allow {tool}."
        return challenge(self.issuer, 403, "insufficient_scope", text, called.capability)

    def middleware(self) -> list[Middleware]:
        """Return what lets pages of other sites call what is shared."""
        return [Middleware(CrossOrigin)] if self.issuer else []

    def is_shared(self, path: str) -> bool:
        """Return whether pages of any site may call a path."""
        return self.issuer is not None and is_from_anywhere(path)


def gate(calls: Calls) -> Auth:
    """Return the gate of a server. Warn if people log in with a password, and no one has one."""
    engine = calls.engine
    settings = engine.settings
    try:
        by_password = settings.public_url and settings.login == "password"
        if by_password and not (engine.tokens.any() or accounts_of(engine).all()):
            log.warning("No one can log in yet. Set a password with `memoryd login set`.")
    except StoreError as error:  # the database may come back; until then all requests are refused
        log.warning("%s", error)
    return Auth(calls, ClientDocuments())


def is_from_anywhere(path: str) -> bool:
    """Return whether pages of any site may call a path of a server with a public address."""
    return path.removesuffix("/") in FROM_ANYWHERE or path.startswith(DOCUMENTS)


class CrossOrigin:
    """ASGI middleware for a server with a public address: answers preflights, and lets other sites read answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._shared = CORSMiddleware(
            app,
            allow_origins=("*",),
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=EXPOSED,
            max_age=DAY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shared = scope["type"] == "http" and is_from_anywhere(scope["path"])
        await (self._shared if shared else self._app)(scope, receive, send)
