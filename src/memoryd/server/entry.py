"""What a request over HTTP must pass before it comes to a protocol: host and origin, token, rate, workspace."""

import math
import time
from typing import Any

from anyio import to_thread
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.authentication import AuthenticationError
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memoryd.core.tokens import EVERYTHING, Grant, Tokens
from memoryd.errors import InvalidInputError, NotFoundError, StoreError
from memoryd.model import Workspace
from memoryd.server.calls import Calls
from memoryd.server.connection import ENTRY, Entry
from memoryd.server.openapi import WORKSPACE

LOOPBACK = ("127.0.0.1", "localhost", "::1")
RETRY = 5  # seconds after which a server that is busy may be asked again
SSE, MESSAGES = "/sse", "/sse/messages/"
BOUND = ("/mcp", SSE, "/tools/")  # where a workspace is used
LOCKED = "memoryd.locked"  # in the ASGI scope
METADATA = "/.well-known/oauth-protected-resource/mcp"
OPEN = ("/health", "/health/live", "/openapi.json")  # for anybody: they tell nothing of what is kept


class Refusal(Exception):  # noqa: N818 - an answer rather than an error
    """A request is answered with a status and a JSON error, and goes no further."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.response = JSONResponse({"error": text}, status, headers)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    return host in LOOPBACK or host.startswith("127.")


def security(host: str, allowed: tuple[str, ...]) -> TransportSecuritySettings:
    """Which names a request may come by, and which pages may send one: against DNS rebinding."""
    names = [*LOOPBACK[:2], "[::1]", *([] if host in ("0.0.0.0", "::") else [host]), *allowed]  # noqa: S104 - asked, not bound
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[f"{scheme}://{form}" for name in names for form in (name, f"{name}:*")
                         for scheme in ("http", "https")],
    )  # fmt: skip


class Verifier:
    """Tells the SDK which tokens are valid."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        """See mcp.server.auth.provider.TokenVerifier."""
        try:
            known = await to_thread.run_sync(self._tokens.check, token)
        except StoreError as error:
            raise AuthenticationError(str(error)) from None
        if known is None:
            return None
        return AccessToken(token="", client_id=known.id, scopes=[known.grant.level], claims={"grant": known.grant})


class Bearer(BearerAuthBackend):
    """Who sends a request, by its token. What is open is so with any token, and without the database."""

    async def authenticate(self, conn: HTTPConnection) -> Any:
        """See starlette.authentication.AuthenticationBackend."""
        return None if conn.scope["path"] in OPEN else await super().authenticate(conn)


def undecided(_request: HTTPConnection, error: Exception) -> Response:
    """The answer where nobody can say whether a token is valid: the database is away."""
    return JSONResponse({"error": str(error)}, 503, {"Retry-After": str(RETRY)})


def grant_of(scope: Scope) -> Grant:
    """What the token of a request allows; everything where there are no tokens."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser) and user.access_token.claims:
        grant: Grant = user.access_token.claims["grant"]
        return grant
    return EVERYTHING


class Entrance:
    """ASGI middleware around everything."""

    def __init__(
        self, app: ASGIApp, calls: Calls, names: TransportSecuritySettings, rate: RateLimitItem | None
    ) -> None:
        self._app = app
        self._calls = calls
        self._names = TransportSecurityMiddleware(names)
        self._rate = rate
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            await self._admit(request)
        except Refusal as refused:
            await refused.response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, request: Request) -> None:
        """Find out what is asked for, in whose name and where. Raises Refusal."""
        if wrong := await self._names.validate_request(request, is_post=False):
            raise Refusal(wrong.status_code, bytes(wrong.body).decode())
        if request.scope["path"] in OPEN:
            return
        try:
            await to_thread.run_sync(self._enter, request, grant_of(request.scope))
        except StoreError as error:
            raise Refusal(503, str(error), **{"Retry-After": str(RETRY)}) from None

    def _enter(self, request: Request, grant: Grant) -> None:
        locked = request.scope[LOCKED] = grant is EVERYTHING and self._needs_token(request)
        if locked or grant.principal:
            self._count(grant.principal or (request.client.host if request.client else ""))
        if request.scope["path"].startswith(BOUND) and not locked:
            request.scope[ENTRY] = Entry(grant, self._bound(request, grant))

    def _needs_token(self, request: Request) -> bool:
        """Beyond this machine always; here where there are any, or where one was sent that is not valid."""
        engine = self._calls.engine
        return not is_loopback(engine.settings.host) or "authorization" in request.headers or engine.tokens.any()

    def _count(self, who: str) -> None:
        if self._rate and not self._limiter.hit(self._rate, who):
            wait = max(1, math.ceil(self._limiter.get_window_stats(self._rate, who).reset_time - time.time()))
            raise Refusal(429, f"More than {self._rate}. Try again in {wait} s.", **{"Retry-After": str(wait)})

    def _bound(self, request: Request, grant: Grant) -> Workspace | None:
        """c: the workspace of the header, which must exist; a token that is bound to one allows no other."""
        name = request.headers.get(WORKSPACE, "").strip()
        if not name and not grant.workspace:
            opens = request.method == "POST" and not request.scope["path"].startswith(MESSAGES)
            if self._calls.binding and (opens or request.scope["path"] == SSE):
                raise Refusal(400, f"Missing required header: {WORKSPACE}")
            return None
        try:
            return self._find(name, grant.workspace)
        except NotFoundError as error:
            raise Refusal(404, str(error)) from None
        except InvalidInputError as error:
            raise Refusal(409, str(error)) from None

    def _find(self, name: str, bound: str) -> Workspace:
        if not bound:
            return self._calls.named(name)
        own = self._calls.engine.workspaces.by_id(bound)
        if own is None:
            raise NotFoundError("The workspace of this token is gone.")
        if name and name != own.name:
            raise Refusal(403, f"This token is bound to another workspace than {name[:100]}.")
        return self._calls.named(own.name)


class Guard:
    """ASGI middleware around what needs a token where there are any. What passed no entrance is locked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        app = self._app
        if scope.get(LOCKED, True):
            app = RequireAuthMiddleware(app, [], AnyHttpUrl(f"{base(scope)}{METADATA}"))
        await app(scope, receive, send)


def base(scope: Scope) -> str:
    """The server's URL as the client wrote it: behind a proxy, or on every interface, the server knows no other."""
    return str(Request(scope).base_url).rstrip("/")


def rate_of(text: str) -> RateLimitItem | None:
    """The rate that a setting names. Raises InvalidInputError."""
    if text.strip().lower() in ("none", "0", "off"):
        return None
    try:
        return parse(text)
    except ValueError:
        raise InvalidInputError(
            f"MEMORY_RATE_LIMIT={text!r} cannot be read. Write 6000/minute, 50/second or none."
        ) from None
