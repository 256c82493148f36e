"""The page on this machine only: its own server, and a browser opened on it with a one-time ticket."""

import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memoryd import disk
from memoryd.core.engine import Engine
from memoryd.daemon import started
from memoryd.features.page.access import origin_of
from memoryd.features.page.app import Page
from memoryd.features.page.visit import address_of
from memoryd.loopback import LOCAL_NAME
from memoryd.server.html import ROOT
from memoryd.server.http.app import Logged, life_of, serve
from memoryd.server.http.entry import name_of
from memoryd.settings import Settings

HOST = "127.0.0.1"
NAMES = frozenset({HOST, "localhost", LOCAL_NAME})
TYPED = 600.0  # seconds for which a typed key is valid


def show(settings: Settings, say: Callable[[str], None], *, browser: bool = True) -> None:
    """Serve the page on this machine until SIGTERM or SIGINT, and open it in the browser.

    `say` prints a line. Without `browser`, or if none opens, it prints a key to type.
    """
    settings = settings.model_copy(update={"host": HOST, "port": _free(settings.port)})
    engine = Engine(settings)
    page = Page(engine)

    with tempfile.TemporaryDirectory(prefix="memoryd-ui-") as private:

        def lead_in(home: str) -> None:
            way_in = Path(private) / "open.html"
            if browser and _opened(way_in, home, page.access.ticket(), _first(engine)):
                return
            say(f"Open it on this machine, and log in with this key, once and within {TYPED / 60:.0f} minutes:")
            say(page.access.ticket(TYPED))

        def announce(address: str) -> None:
            home = address.replace(HOST, own_name())
            say(f"The page is at {home}{ROOT}/ until this ends (Ctrl-C).")
            started(partial(lead_in, home), "memoryd-browser")  # some browsers run for as long as this waits for them

        serve(engine, made=lambda _: application(engine, page), announce=announce)


def own_name() -> str:
    """Return the page's host name: LOCAL_NAME, or `localhost` if Safari, which asks the system, cannot resolve that."""
    if sys.platform == "darwin":  # until version 26; other browsers resolve the name themselves
        try:
            socket.getaddrinfo(LOCAL_NAME, None)
        except OSError:
            return "localhost"
    return LOCAL_NAME


def _first(engine: Engine) -> str:
    """Return the name of the workspace to show first."""
    choice = engine.choice()
    found = choice.known(engine.workspaces) if choice.keys else None
    return found.name if found else choice.name


def _free(port: int) -> int:
    """Return the port, or 0 (any free one) if it is in use."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError:
            return 0
    return port


def _opened(way_in: Path, home: str, ticket: str, workspace: str) -> bool:
    """Open a private file that posts the ticket, so that no other user, process list or browser history reveals it."""
    disk.make_file(way_in)
    way_in.write_text(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><title>memoryd</title>"
        f'<form method=post action="{escape(home)}{ROOT}/login"><input type=hidden name=key value="{escape(ticket)}">'
        f'<input type=hidden name=next value="{escape(address_of(workspace))}">'
        "<noscript><button>Open memoryd</button></noscript></form><script>document.forms[0].submit()</script>",
        encoding="utf-8",
    )
    return webbrowser.open(way_in.as_uri())


def application(engine: Engine, page: Page) -> Starlette:
    """Return the application with only the page; its lifespan is the engine's."""
    routes = [Route("/", lambda _: RedirectResponse(f"{ROOT}/")), *page.routes()]
    app = Starlette(routes=routes, middleware=[Middleware(Logged), Middleware(OwnNames)], lifespan=life_of(engine))
    app.state.ending = [page.end]
    return app


class OwnNames:
    """ASGI middleware: a protection against DNS rebinding, and against other sites.

    The private file of `show` has the origin `null`; it may log in, since it has a ticket.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            if name_of(request.headers.get("host", "")) not in NAMES:
                await PlainTextResponse("Invalid Host header", 421)(scope, receive, send)
                return
            origin = request.headers.get("origin", origin_of(request))
            entering = origin == "null" and scope["path"] == f"{ROOT}/login"
            if origin != origin_of(request) and not entering:
                await PlainTextResponse("Invalid Origin header", 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)
