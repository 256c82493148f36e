"""Serving over HTTP: MCP of both eras at /mcp, the legacy SSE transport, plain tools, health and figures, one port."""

import logging
import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.sse import SseServerTransport
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.connection import ENTRY, Entry, Sessions
from memoryd.server.entry import MESSAGES, SSE, Entrance, Guard, Verifier, is_loopback, security, undecided
from memoryd.server.operations import Health, Metrics
from memoryd.server.plain import Plain

log = logging.getLogger(__name__)
requests = logging.getLogger("memoryd.requests")

LAST_CALLS = 10  # seconds that calls may still take after SIGTERM
METADATA = "/.well-known/oauth-protected-resource"


def serve(
    engine: Engine,
    certificate: str | None = None,
    key: str | None = None,
    made: Callable[[Engine], Starlette] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun and close the engine. `made`: another application."""
    settings = engine.settings
    if not is_loopback(settings.host) and not engine.tokens.any():
        raise InvalidInputError(
            f"{settings.host} can be reached from other machines, and there is no token yet. Make one with "
            "`memoryd token create NAME`, or serve on 127.0.0.1."
        )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it is done
        signal.signal(number, lambda *_: None)
    config = uvicorn.Config(
        (made or application)(engine), host=settings.host, port=settings.port, log_config=None, access_log=False,
        server_header=False, ws="none", timeout_graceful_shutdown=LAST_CALLS, lifespan="on",
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    _Server(config).run()


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers if self.started else ():
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                print(f"memoryd serves http://{host}:{port}/mcp", flush=True)  # noqa: T201 - for people and programs


def application(engine: Engine) -> Starlette:
    """The ASGI application; its lifespan is the engine's."""
    calls = Calls(engine)
    server = MemoryServer(calls, remote=True)
    return assembled(calls, server, server.sessions)


def assembled(calls: Calls, server: Server[Any], sessions: Sessions, *, streams: bool = False) -> Starlette:
    """Every way in to an MCP server. `streams`: at /mcp it notifies and asks back while it answers."""
    engine = calls.engine
    settings = engine.settings
    names = security(settings.host, settings.allowed_hosts)
    base = f"http://{settings.host}:{settings.port}"
    metadata = AnyHttpUrl(f"{base}{METADATA}/mcp")
    server.streamable_http_app(transport_security=names, json_response=not streams)  # we need its session manager only
    manager = server.session_manager

    def guarded(app: ASGIApp) -> ASGIApp:
        return Guard(app, metadata)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with engine:
            if not settings.read_only:
                engine.worker.start()
            async with manager.run():
                yield

    health, metrics, plain = Health(engine), Metrics(calls), Plain(calls)
    sse = SseServerTransport(MESSAGES, security_settings=names)
    stream = _Stream(server, sessions, sse)
    about = {"resource": f"{base}/mcp", "bearer_methods_supported": ["header"], "scopes_supported": [
        "read", "write", "admin"]}  # fmt: skip

    async def described(_request: Request) -> Response:
        return JSONResponse(about)

    routes: list[BaseRoute] = [
        Route("/mcp", guarded(_Endpoint(manager.asgi_app))),
        Route(SSE, guarded(stream)),
        Mount(MESSAGES, guarded(sse.handle_post_message)),
        Route("/tools/{name}", guarded(_Endpoint(Route("/tools/{name}", plain.call, methods=["POST"]).app))),
        Route("/openapi.json", plain.openapi),
        Route("/health", health.ready),
        Route("/health/live", health.live),
        Route("/metrics", guarded(_Endpoint(Route("/metrics", metrics.show).app))),
        Route(f"{METADATA}/mcp", described),
    ]
    middleware = [
        Middleware(Logged),
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(Verifier(engine.tokens)), on_error=undecided),
        Middleware(AuthContextMiddleware),
        Middleware(Entrance, calls=calls, names=names),
    ]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


class _Endpoint:
    """An ASGI app that a Route takes as it is, not as a function of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Stream:
    """GET /sse: a legacy stream, which lasts as long as its client listens."""

    def __init__(self, server: Server[Any], sessions: Sessions, transport: SseServerTransport) -> None:
        self._server = server
        self._sessions = sessions
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = uuid.uuid4().hex
        self._sessions.opened[stream] = scope.get(ENTRY, Entry())
        try:
            async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
                state = self._server.session_manager._lifespan_state  # noqa: SLF001 - one lifespan for all transports
                await serve_loop(
                    self._server, incoming, outgoing, lifespan_state=state, session_id=stream,
                    init_options=self._server.create_initialization_options(),
                )  # fmt: skip
        finally:
            del self._sessions.opened[stream]


class Logged:
    """ASGI middleware: one line for each request; what it held is nobody's business."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
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
        finally:
            entry: Entry = scope.get(ENTRY, Entry())
            requests.info(
                "%s %s", scope["method"], scope["path"],
                extra={"request": {
                    "status": status, "ms": round(1000 * (time.perf_counter() - began), 1),
                    "workspace": entry.workspace.name if entry.workspace else None,
                    "token": entry.grant.principal or None,
                }},
            )  # fmt: skip
