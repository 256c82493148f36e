"""Serve over HTTP on one port: MCP of both eras at /mcp, the legacy SSE transport, plain tools, health and metrics."""

import logging
import signal
import ssl
import time
import uuid
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, request_response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd import features
from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.errors import InvalidInputError, MemorydError, StoreError
from memoryd.loopback import is_loopback
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.connection import ADMISSION, Admission, Callers
from memoryd.server.http.admission import Door, HttpConnection
from memoryd.server.http.entry import (
    MESSAGES,
    SSE,
    Bearer,
    Entrance,
    Guard,
    name_of,
    names_of,
    rate_of,
    undecided,
)
from memoryd.server.http.gate import AccessGate, gate_of
from memoryd.server.http.messages import McpSessions, Messages
from memoryd.server.http.metrics import HealthChecks, Metrics
from memoryd.server.http.tools import Plain
from memoryd.server.process import end_soon, limit_heaps
from memoryd.settings import DEFAULT_WORKSPACE

log = logging.getLogger(__name__)
requests = logging.getLogger("memoryd.requests")

GIVEN_UP = JSONResponse(
    {"error": "The server ended before this call did. It is unknown whether the call took effect."}, 503
)
GONE = 499  # logged for a request whose client disconnected before its end, as in nginx
LAST_CALLS = 10  # seconds that running calls may still take after SIGTERM
ORDERLY = 2  # further seconds for uvicorn to end on its own


def serve(
    engine: Engine,
    certificate: str | None = None,
    key: str | None = None,
    made: Callable[[Engine], Starlette] | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish running calls and close the engine.

    `made`: a different application. `announce` is called with the server's address once it listens; default: print it.
    """
    limit_heaps()
    server = prepared(engine, certificate, key, made, announce)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it is done
        signal.signal(number, lambda *_: None)
    server.ending.append(partial(end_soon, engine, last_calls=LAST_CALLS + ORDERLY))
    server.run()


def prepared(
    engine: Engine,
    certificate: str | None = None,
    key: str | None = None,
    made: Callable[[Engine], Starlette] | None = None,
    announce: Callable[[str], None] | None = None,
) -> "_Server":
    """Return the server of an engine, configured by its settings. `made`, `announce`: see `serve`.

    Raise InvalidInputError if a token, the certificate or its key is missing.
    """
    _look_for_token(engine)
    if not engine.settings.read_only:
        _make_default(engine)
    app = (made or application)(engine)
    door = Door(_tls(certificate, key) if certificate or key else None)
    config = uvicorn.Config(
        app,
        host=engine.settings.host,
        port=engine.settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=LAST_CALLS,
        lifespan="on",
        http=partial(HttpConnection, door),  # type: ignore[arg-type]  # called like a class
        loop="asyncio" if door.tls else "auto",  # uvloop may read the client's first bytes before it can be paused
    )
    return _Server(config, door, app.state.ending, announce or _announce)


def _announce(address: str) -> None:
    print(f"memoryd serves {address}/mcp", flush=True)  # noqa: T201 - for people and programs


def _tls(certificate: str | None, key: str | None) -> ssl.SSLContext:
    """Return the TLS context; raise InvalidInputError if a file is missing or invalid."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate or "", key)
    except OSError as error:  # includes SSLError
        raise InvalidInputError(
            f"The certificate {certificate or '(none)'} and its key {key or '(none)'} cannot be used: {error}. Give a "
            "certificate and its key in PEM format with --certificate and --key."
        ) from None
    return context


def _look_for_token(engine: Engine) -> None:
    """Warn about requests that are refused while there is no token; raise InvalidInputError if all would be."""
    settings = engine.settings
    host, names = settings.host, settings.allowed_hosts
    elsewhere = [name for name in names if not is_loopback(name_of(name))]
    try:
        if settings.public_url:  # a token or a login is always required
            return
        if (is_loopback(host) and not elsewhere) or engine.tokens.any():
            return
    except StoreError as error:  # the database may come back; until then all requests are refused
        log.warning("%s", error)
        return
    if not is_loopback(host):
        raise InvalidInputError(
            f"{host} can be reached from other machines, and there is no token yet. Create one with `memoryd token "
            "create NAME`, or serve on 127.0.0.1."
        )
    log.warning(
        "There is no token yet: requests by the name %s (MEMORY_ALLOWED_HOSTS) and through a proxy are refused. Create "
        "one with `memoryd token create NAME`.",
        ", ".join(elsewhere),
    )


def _make_default(engine: Engine) -> None:
    """Create the default workspace, which `memoryd install --http` uses unless another one is given."""
    try:
        engine.workspaces.ensure(DEFAULT_WORKSPACE)
    except MemorydError as error:  # the database may come back, or the workspace be restored
        log.warning("%s", error)


class _Server(uvicorn.Server):
    """uvicorn's server, which announces its address once it listens, and ends endless streams when it stops."""

    def __init__(
        self, config: uvicorn.Config, door: Door, ending: list[Callable[[], None]], announce: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self.door = door
        self.ending = ending
        """Callbacks that run when the server begins to stop."""
        self._announce = announce

    async def startup(self, sockets: Any = None) -> None:
        """Listen; raise InvalidInputError where the system does not allow it."""
        try:
            await super().startup(sockets)
        except SystemExit as end:
            why = end.__context__  # uvicorn exits where it cannot listen
            if not isinstance(why, OSError):
                raise
            raise InvalidInputError(
                f"{self.config.host}:{self.config.port} cannot be served: {why.strerror}. If another server has this "
                "address, stop it, or choose another port with --port (MEMORY_PORT); 0 takes a free one."
            ) from None
        for server in self.servers if self.started else ():
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                name = f"[{host}]" if ":" in host else host
                scheme = "https" if self.door.tls else "http"
                self._announce(f"{scheme}://{name}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        for end in self.ending:
            end()
        self.door.close()
        await super().shutdown(sockets)


def application(engine: Engine, gate: Callable[[Calls], AccessGate] = gate_of) -> Starlette:
    """Return the ASGI application; its lifespan is the engine's. `gate` makes its gate."""
    calls = Calls(engine)
    server = MemoryServer(calls, remote=True)
    return assembled(calls, server, server.callers, gate=gate(calls))


def assembled(
    calls: Calls,
    server: Server[Any],
    callers: Callers,
    *,
    gate: AccessGate | None = None,
    streams: bool = False,
) -> Starlette:
    """Return the application with all routes to an MCP server. `streams`: /mcp answers with streams of events."""
    engine = calls.engine
    settings = engine.settings
    beyond = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # Entrance has checked the names
    lasting = settings.http_sessions
    manager = McpSessions(server, security_settings=beyond, json_response=not streams, stateless=not lasting)
    health, metrics = HealthChecks(engine), Metrics(calls)
    sse = SseServerTransport(MESSAGES, security_settings=beyond)
    public = settings.public_url
    gate = gate or gate_of(calls)
    plain = Plain(calls, gate)
    locked = partial(Guard, issuer=public, level=gate.asks_for)
    stream = _Stream(server, manager, callers, sse)
    routes: list[BaseRoute] = [
        Route("/mcp", locked(Messages(manager.asgi_app, gate)), methods=None if lasting else ["POST"]),
        Route(SSE, locked(stream), methods=["GET"]),
        Mount(MESSAGES, locked(Messages(sse.handle_post_message))),
        Route("/tools/{name}", locked(request_response(plain.call)), methods=["POST"]),
        Route("/openapi.json", plain.openapi),
        Route("/health", health.ready),
        Route("/health/live", health.live),
        Route("/metrics", locked(request_response(metrics.show)), methods=["GET"]),
        *gate.routes(),
        *(route for routes in features.hooked("routes") for route in routes(calls)),
        Route("/", _front),
    ]
    middleware = [
        Middleware(Logged),
        *gate.middleware(),
        Middleware(AuthenticationMiddleware, backend=Bearer(gate), on_error=undecided),
        Middleware(AuthContextMiddleware),
        Middleware(Entrance, calls=calls, names=names_of(settings), rate=rate_of(settings.rate_limit), gate=gate),
    ]
    handlers = {HTTPException: _refused}
    app = Starlette(
        routes=routes, middleware=middleware, lifespan=life_of(engine, manager.run), exception_handlers=handlers
    )
    app.state.ending = calls.ending
    return app


def life_of(
    engine: Engine, within: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return what opens the engine and its background work for as long as an application runs."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        with engine:
            scheduler.begin(engine)
            async with within():
                yield

    return life


async def _front(_request: Request) -> Response:
    """Name the paths. No token is needed."""
    return PlainTextResponse("This is memoryd: MCP at /mcp, tools over plain HTTP in /openapi.json.\n")


async def _refused(_request: Request, error: Exception) -> Response:
    """Answer an unknown path or a wrong method as JSON."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


class _Stream:
    """GET /sse: a legacy stream, which lasts as long as its client listens."""

    def __init__(
        self, server: Server[Any], manager: McpSessions, callers: Callers, transport: SseServerTransport
    ) -> None:
        self._server = server
        self._manager = manager
        self._callers = callers
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = uuid.uuid4().hex
        self._callers.opened[stream] = scope.get(ADMISSION, Admission())
        try:
            async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
                state = self._manager._lifespan_state  # noqa: SLF001 - one lifespan for all transports
                await serve_loop(
                    self._server,
                    incoming,
                    outgoing,
                    lifespan_state=state,
                    session_id=stream,
                    init_options=self._server.create_initialization_options(),
                )
        finally:
            del self._callers.opened[stream]


class Logged:
    """ASGI middleware: logs one line for each request, without its content."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:  # in the middle of a body: no client to answer
            status = GONE
        except CancelledError:  # uvicorn cancels what still runs when it stops
            if not status:
                await GIVEN_UP(scope, receive, watched)
        finally:
            admission: Admission = scope.get(ADMISSION, Admission())
            requests.info(
                "%s %s",
                scope["method"],
                scope["path"],
                extra={
                    "request": {
                        "status": status,
                        "ms": round(1000 * (time.perf_counter() - began), 1),
                        "workspace": admission.workspace.name if admission.workspace else None,
                        "token": admission.grant.principal or None,
                    }
                },
            )
