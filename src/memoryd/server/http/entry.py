"""The checks of an HTTP request before a protocol handles it: host and origin, token, rate, workspace."""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from starlette.authentication import AuthenticationError
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memoryd import features
from memoryd.core.access.tokens import EVERYTHING, Grant, Level
from memoryd.core.workspaces.registry import composed
from memoryd.errors import InvalidInputError, NotFoundError, StoreError
from memoryd.loopback import LOCAL_NAME, is_loopback
from memoryd.model import Workspace
from memoryd.server.calls import RETRY, Calls
from memoryd.server.connection import ADMISSION, AT_ONCE, Admission
from memoryd.server.http.bodies import Rate, sender_of
from memoryd.server.http.gate import AccessGate, challenge
from memoryd.server.http.openapi import WORKSPACE
from memoryd.settings import Settings
from memoryd.text import storable

log = logging.getLogger(__name__)

SSE, MESSAGES = "/sse", "/sse/messages/"
BOUND = ("/mcp", SSE, "/tools/")  # the paths that use a workspace
LOCKED = "memoryd.locked"  # in the ASGI scope
HEALTH = "/health"  # open to everyone; with a token the answer has details
OPEN = (HEALTH, "/health/live", "/openapi.json")  # no token needed: they reveal no stored data

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][:/?#@\s]+)(?::\d{1,5})?")  # RFC 9110, 7.2: uri-host [ ":" port ]
_COMPRESSED = re.compile(r"\b(gzip|compress|deflate|br|zstd)\b", re.IGNORECASE)
_BY_PROXIES = re.compile(
    r"(x-)?(original-)?forwarded(-.+)?|via|x-real-ip|(x-proxyuser|true-client|x-client|x-cluster-client)-ip|x-scheme"
    r"|front-end-https|cdn-loop|(x-envoy|x-amzn?|x-azure|x-arr|x-appengine|x-vercel|cf|fly|ngrok|tailscale)-.+"
)
"""Headers that only a proxy adds: the sender of such a request is not on this machine."""


class Refusal(Exception):  # noqa: N818 - an answer rather than an error
    """The request is answered with a status and a JSON error."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.response = JSONResponse({"error": text}, status, headers)


def name_of(host: str) -> str:
    """Return the name in a `Host` header, or an `Origin` without its scheme, without the port; '' if malformed."""
    found = _HOST.fullmatch(host.lower())
    return found[1].strip("[]") if found else ""


def is_direct(request: HTTPConnection) -> bool:
    """Return whether a request seems to come from this machine: from a local address and name, without a proxy."""
    sender = request.client.host if request.client else ""
    local = is_loopback(sender) and is_loopback(name_of(request.headers.get("host", "")))
    return local and not any(_BY_PROXIES.fullmatch(name) for name in request.headers)


def is_open(request: HTTPConnection) -> bool:
    """Return whether a request needs no token."""
    path = request.scope["path"]
    opened = [start for feature in features.features() for start in feature.open_paths]
    if f"{path}/" in opened or path.startswith(tuple(opened)):  # they check credentials themselves
        return True
    return path in OPEN and not (path == HEALTH and "authorization" in request.headers)


def names_of(settings: Settings) -> frozenset[str]:
    """Return the names of this server that requests and web pages may use: a protection against DNS rebinding."""
    host, public = settings.host, settings.public_url
    given = ["127.0.0.1", "localhost", "::1", LOCAL_NAME, *settings.allowed_hosts]
    given += [] if host in ("0.0.0.0", "::") else [host]  # noqa: S104 - asked, not bound
    given += [name_of(urlsplit(public).netloc)] if public else []
    names = (name.lower().removesuffix(":*") for name in given)
    return frozenset(name.strip("[]") if name.endswith("]") else name for name in names)


class Bearer(BearerAuthBackend):
    """Authenticates a request by its token. Open paths need neither a valid token nor the database."""

    async def authenticate(self, conn: HTTPConnection) -> Any:
        try:
            return None if is_open(conn) else await super().authenticate(conn)
        except AuthenticationError:
            if conn.scope["path"] == HEALTH:  # /health reports the state of the database
                return None
            raise


def undecided(request: HTTPConnection, error: Exception) -> Response:
    """Return the answer for a token that cannot be checked."""
    return _away(request, error).response


def _away(request: HTTPConnection, error: Exception) -> Refusal:
    """Return the refusal while database or provider are unreachable; only local callers learn its address."""
    log.warning("A request cannot be checked: %s", error)
    text = str(error) if is_direct(request) else "The request cannot be checked now; the server's log says why."
    return Refusal(503, text, **{"Retry-After": str(RETRY)})


def grant_of(scope: Scope) -> Grant:
    """Return the grant of a request's token; EVERYTHING without a token."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser) and user.access_token.claims:
        grant: Grant = user.access_token.claims["grant"]
        return grant
    return EVERYTHING


class Entrance:
    """ASGI middleware that admits requests: names, token, rate, workspace."""

    def __init__(self, app: ASGIApp, calls: Calls, names: frozenset[str], rate: Rate | None, gate: AccessGate) -> None:
        self._app = app
        self._calls = calls
        self._names = names
        self._public = urlsplit(calls.engine.settings.public_url or "")
        self._rate = rate
        self._gate = gate
        self._running: Counter[str] = Counter()
        """The number of open requests by principal."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if self._public.netloc and request.headers.get("host", "").lower() == self._public.netloc:
            scope["scheme"] = self._public.scheme  # so that cookies and origins are the public ones behind any proxy
        try:
            await self._admit(request)
            with self._among(scope):
                await self._app(scope, receive, send)
        except Refusal as refused:
            await refused.response(scope, receive, send)

    async def _admit(self, request: Request) -> None:
        """Check a request and store its Admission in the scope. Raise Refusal."""
        host, origin = (request.headers.get(name, "").lower() for name in ("host", "origin"))
        if not self._is_named(host):
            log.warning("Invalid Host header: %s", host)
            raise Refusal(421, "Invalid Host header")
        scheme, _, source = origin.partition("://")
        own = scheme in ("http", "https") and self._is_named(source)
        if origin and not own and not self._gate.is_shared(request.scope["path"]):
            log.warning("Invalid Origin header: %s", origin)
            raise Refusal(403, "Invalid Origin header")
        if _COMPRESSED.search(request.headers.get("content-encoding", "")):
            text = "The body is compressed. Send it uncompressed, without Content-Encoding."
            raise Refusal(415, text, **{"Accept-Encoding": "identity"})
        if is_open(request):
            return
        try:
            await to_thread.run_sync(self._enter, request, grant_of(request.scope))
        except StoreError as error:
            raise _away(request, error) from None

    def _is_named(self, host: str) -> bool:
        """Return whether a host is this server: by a name, on any port, or by one that is allowed with a port."""
        name = name_of(host)
        return bool(name) and not self._names.isdisjoint((name, host))

    @contextmanager
    def _among(self, scope: Scope) -> Iterator[None]:
        """Count an admitted request while it is open. Raise Refusal if its sender has too many."""
        if scope.get(LOCKED, True):
            yield
            return
        who = grant_of(scope).principal
        if self._running[who] >= AT_ONCE:
            text = f"{AT_ONCE} requests are already open, including streams. End one first."
            raise Refusal(429, text, **{"Retry-After": str(RETRY)})
        self._running[who] += 1
        try:
            yield
        finally:
            self._running[who] -= 1

    def _enter(self, request: Request, grant: Grant) -> None:
        locked = request.scope[LOCKED] = grant is EVERYTHING and self._needs_token(request)
        if locked or grant.principal:
            who = grant.principal or sender_of(request)
            if self._rate and (wait := self._rate.hit(who)):
                text = f"More than {self._rate.limit}. Try again in {wait} s."
                raise Refusal(429, text, **{"Retry-After": str(wait)})
        if request.scope["path"].startswith(BOUND) and not locked:
            request.scope[ADMISSION] = Admission(grant, self._bound(request, grant))

    def _needs_token(self, request: Request) -> bool:
        """Return True for remote requests; for local ones if a token exists, or an invalid one was sent."""
        engine = self._calls.engine
        here = is_loopback(engine.settings.host) and is_direct(request) and not self._public.netloc
        return not here or "authorization" in request.headers or engine.tokens.any()

    def _bound(self, request: Request, grant: Grant) -> Workspace | None:
        """Return the workspace of the header, which must exist (seed c); a token bound to one allows no other."""
        name = header_of(request, WORKSPACE)
        if len(set(request.headers.getlist(WORKSPACE))) > 1:  # a proxy may have used the other one
            raise Refusal(400, f"{WORKSPACE} names two workspaces.")
        if not name and not grant.workspace:
            opens = request.method == "POST" and not request.scope["path"].startswith(MESSAGES)
            if self._calls.binding and (opens or request.scope["path"] == SSE):
                raise Refusal(400, f"Missing required header: {WORKSPACE}")
            return None
        if "%" in name and not self._calls.engine.workspaces.get(name):
            name = storable(unquote(name))  # many clients can send only ASCII
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
            raise NotFoundError("The workspace of this token was deleted.")
        if name and composed(name) != composed(own.name):
            raise Refusal(403, f"This token is bound to a workspace other than {name[:100]}.")
        return self._calls.named(own.name)


class Guard:
    """ASGI middleware that requires a token for locked requests, and for those that passed no Entrance.

    `issuer`: the public URL, where clients can find out how to log in; `level`: the level to ask for.
    """

    def __init__(self, app: ASGIApp, issuer: str | None, level: Level | None = None) -> None:
        self._app = app
        self._issuer = issuer
        self._level = level

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope.get(LOCKED, True):
            app = challenge(self._issuer, 401, "invalid_token", "Authentication required", self._level)
        await app(scope, receive, send)


def header_of(request: Request, name: str) -> str:
    """Return a header as text: in UTF-8, as clients send names today, else in Latin-1, HTTP's encoding; '' if none."""
    given = request.headers.get(name, "").encode("latin-1")
    try:
        return given.decode().strip()
    except UnicodeDecodeError:
        return given.decode("latin-1").strip()


def rate_of(text: str) -> Rate | None:
    """Parse a rate limit. Raise InvalidInputError."""
    if text.strip().lower() in ("none", "0", "off"):
        return None
    try:
        return Rate(text)
    except ValueError:
        raise InvalidInputError(
            f"MEMORY_RATE_LIMIT={text!r} is not a rate. Write 6000/minute, 50/second or none."
        ) from None
