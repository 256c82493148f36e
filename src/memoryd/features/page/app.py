"""The routes of the page, and the checks before each: session, origin, grant, workspace, headers."""

import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit, urlunsplit

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.access.tokens import Grant
from memoryd.core.engine import Engine
from memoryd.core.memories import listing
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope as CoreScope
from memoryd.core.security.secrets import noted
from memoryd.core.workspaces.registry import usable
from memoryd.errors import InvalidInputError, MemorydError, NotFoundError, StoreError
from memoryd.features.page import (
    audit,
    correcting,
    graph,
    history,
    journal,
    memories,
    recall,
    state,
    transfer,
    upkeep,
    vault,
)
from memoryd.features.page.access import COOKIE, PageAccess, cookie_of, is_elsewhere, is_own
from memoryd.features.page.transfer import received
from memoryd.features.page.visit import CLIENT, Kept, Right, View, Visit
from memoryd.model import Workspace
from memoryd.server import html
from memoryd.server.calls import Calls
from memoryd.server.html import ROOT, SAFE, render
from memoryd.server.http.bodies import Rate, body_of, sender_of
from memoryd.text import storable

log = logging.getLogger(__name__)

STATIC = Path(__file__).with_name("static")
THREADS = 8  # concurrent requests; each blocks a thread
BODY = 256 * 1024  # bytes of a form
ATTEMPTS = "20/minute"  # refused keys from one address
HEADERS = {
    **html.HEADERS,
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
IN_TOAST = {"HX-Retarget": "#toast", "HX-Reswap": "innerHTML"}
"""The headers with which htmx shows an error."""
ENDED = "Your session has ended, and nothing was stored. Your text is still here: log in, then try again."
STATUS: Mapping[type[MemorydError], int] = {NotFoundError: 404, InvalidInputError: 400, StoreError: 503}


_ROOMS = (memories, correcting, recall, graph, vault, journal, history, upkeep, audit, state)
VIEWS = [view for room in (*_ROOMS, transfer) for view in room.VIEWS]
"""The views of a workspace."""


def routes(calls: Calls) -> list[BaseRoute]:
    """Return the routes of a server's page, to which its address leads."""
    page = Page(calls.engine)
    calls.ending.append(page.end)
    return [Route("/", _front), *page.routes()]


async def _front(_request: Request) -> Response:
    """Lead a browser from the server's address to the page, and name the other paths. No token is needed."""
    text = f"This is memoryd: MCP at /mcp, the page for people at {ROOT}/, tools over plain HTTP in /openapi.json.\n"
    return PlainTextResponse(text, 307, {"Location": f"{ROOT}/"})


class Page:
    """The page of one engine."""

    def __init__(self, engine: Engine) -> None:
        self.access = PageAccess(engine.credentials)
        self._engine = engine
        self._kept = Kept()
        self._ended = Event()
        self._threads = CapacityLimiter(THREADS)
        self._attempts = Rate(ATTEMPTS)

    def routes(self) -> list[BaseRoute]:
        """Return the routes, all below ROOT."""
        views = [View("/", _workspaces), *(replace(one, path=f"/w/{{workspace}}{one.path}") for one in VIEWS)]
        lost = View("/w/{workspace}/{rest:path}", _lost)
        routes: list[BaseRoute] = [
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/login", self._login_form, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/w/{workspace}/events", self._news, methods=["GET"]),
            *(Route(view.path, self._endpoint(view), methods=[view.method]) for view in (*views, lost)),
        ]
        return [Mount(ROOT, WithHeaders(Router(routes, default=_refused(404, "There is no such page."))))]

    def end(self) -> None:
        """End the endless streams, so that the server can stop."""
        self._ended.set()

    # requests --------------------------------------------------------------------------------------------------------

    def _endpoint(self, view: View) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            if is_elsewhere(request):
                return _refused(403, "This page is not for other sites.")
            if request.method not in SAFE and not (is_own(request) and "hx-request" in request.headers):
                return _refused(403, "Changes can be made only from the page itself.")
            try:
                if view.takes_file:
                    return await self._with_file(request, view)
                form = parse_qs((await body_of(request, BODY)).decode(errors="replace"), keep_blank_values=True)
                return await to_thread.run_sync(self._answered, request, view, form, limiter=self._threads)
            except MemorydError as error:
                return await to_thread.run_sync(self._failed, request, error, limiter=self._threads)

        return answer

    async def _with_file(self, request: Request, view: View) -> Response:
        """Answer a form with a file, which is received only from those who may use the view."""
        sender = await to_thread.run_sync(self._admitted, request, view.right, limiter=self._threads)
        if isinstance(sender, Response):
            return sender
        async with received(request) as (form, file):
            return await to_thread.run_sync(self._answered, request, view, form, file, limiter=self._threads)

    def _admitted(self, request: Request, right: Right, **more: Any) -> Visit | Response:
        """Return the visit of somebody who has a right; to others, the answer that refuses them."""
        grant = self.access.grant(_session(request))
        if grant is None:
            return _to_login(request)
        visit = Visit(request, self._engine, grant, self._place(request, grant), self._kept, **more)
        return visit if _allowed(visit, right) else _refused(403, "Your session is read-only here.")

    def _failed(self, request: Request, error: MemorydError) -> Response:
        """Answer with an error: in a toast for htmx, else in the frame of the page, from which people go on."""
        grant = self.access.grant(_session(request))
        if grant is None or "hx-request" in request.headers:
            return _failed(request, error)
        try:
            place = self._place(request, grant)
        except MemorydError:
            place = None
        visit = Visit(request, self._engine, grant, place, self._kept)
        return visit.page("failed.html", "", _status(request, error), text=str(error))

    def _answered(
        self, request: Request, view: View, form: Mapping[str, list[str]], file: Path | None = None
    ) -> Response:
        with noted() as masked, written_by(CLIENT, f"ui.{view.path.rpartition('/')[2] or 'page'}"):
            visit = self._admitted(request, view.right, form=form, masked=masked, file=file)
            return view.handler(visit) if isinstance(visit, Visit) else visit

    def _place(self, request: Request, grant: Grant) -> Workspace | None:
        """Return the workspace of the URL. Raise NotFoundError, also if the grant does not cover it."""
        if (given := request.path_params.get("workspace")) is None:
            return None
        name = storable(unquote(given))
        found = self._engine.workspaces.get(name)
        if found is None or grant.workspace not in ("", found.id):
            raise NotFoundError(f"There is no workspace {name[:100]!r}, or you may not see it.")
        return usable(found)

    async def _news(self, request: Request) -> Response:
        """Answer with a stream of the changes in a workspace, made by any process."""
        if is_elsewhere(request):
            return _refused(403, "This page is not for other sites.")
        try:
            return await to_thread.run_sync(self._stream, request, limiter=self._threads)
        except MemorydError as error:
            return _failed(request, error)

    def _stream(self, request: Request) -> Response:
        session = _session(request)
        grant = self.access.grant(session)
        if grant is None or not grant.allows("memory_inspect", "read"):
            return Response(status_code=204)  # tells the browser not to reconnect
        place = self._place(request, grant)
        assert place is not None, "the route names one"
        scope = CoreScope(self._engine, place)
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(
            stream(scope, after, lambda: self._ended.is_set() or self.access.grant(session) is None, self._threads),
            media_type="text/event-stream",
        )

    # sessions --------------------------------------------------------------------------------------------------------

    async def _login_form(self, request: Request) -> Response:
        return _login_page("", _next(request.query_params.get("next", "")), 200)

    async def _login(self, request: Request) -> Response:
        """Open a session. The key is proof enough from any origin: the private file of `memoryd ui` posts one too."""
        form = parse_qs((await body_of(request, BODY)).decode(errors="replace"))
        key, target = form.get("key", [""])[0].strip(), _next(form.get("next", [""])[0])
        sender = sender_of(request)
        if not self._attempts.allows(sender):
            return _login_page("Too many attempts. Wait a minute.", target, 429)
        session = await to_thread.run_sync(self.access.enter, key, limiter=self._threads) if key else None
        if session is None:
            self._attempts.hit(sender)
            return _login_page("This key is unknown, already used, or expired.", target, 403)
        # A redirect would still count as the other site's request, and the strict cookie would not be sent.
        answer = HTMLResponse(render("entered.html", next=target))
        answer.set_cookie(
            cookie_of(request),
            session,
            max_age=COOKIE,
            path=ROOT,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def _logout(self, request: Request) -> Response:
        if not is_own(request):
            return _refused(403, "Changes can be made only from the page itself.")
        self.access.leave(_session(request))
        answer = RedirectResponse(f"{ROOT}/login", 303)
        answer.delete_cookie(cookie_of(request), path=ROOT, httponly=True, samesite="strict")
        return answer


def _session(request: Request) -> str:
    """Return the session that a request's cookie names, or ''."""
    return request.cookies.get(cookie_of(request), "")


def _allowed(visit: Visit, right: Right) -> bool:
    """Return whether the visitor has a right; none without seeing, because previews and errors show texts, too."""
    rights: Mapping[Right, bool] = {
        "see": True,
        "correct": visit.writes,
        "forget": visit.forgets,
        "import": visit.imports,
        "administer": visit.administers,
        "admit": visit.admits,
    }
    return visit.grant.allows("memory_inspect", "read") and rights[right]


def _next(given: str) -> str:
    """Return the page to go to after a login; only this page's own URLs are accepted."""
    return given if given.startswith(f"{ROOT}/") and "\\" not in given and "//" not in given else f"{ROOT}/"


def _workspaces(visit: Visit) -> Response:
    """Show the workspaces that the sender may see; if there is only one, redirect to it."""
    grant = visit.grant
    every = [one for one in visit.engine.workspaces.all("active") if grant.sees(one.id)]
    if not every and visit.writes and not grant.workspace:
        every = [visit.engine.workspace(make=True)]
    visits = [replace(visit, place=one) for one in every]
    if len(visits) == 1:
        return RedirectResponse(visits[0].base, 303)
    listed = [(one, one.kept.get(one.scope, "kinds", partial(listing.kinds, one.scope))) for one in visits]
    return visit.page("workspaces.html", "workspaces", listed=listed)


def _lost(_visit: Visit) -> Response:
    """Refuse a path of a workspace that leads nowhere, within the frame of the page. Raise NotFoundError."""
    raise NotFoundError("There is no such page.")


# answers -------------------------------------------------------------------------------------------------------------


def _login_page(problem: str, target: str, status: int) -> Response:
    return HTMLResponse(render("login.html", problem=problem, next=target), status)


def _to_login(request: Request) -> Response:
    """Redirect a request without a session to the login and back, except from a form, which contains unsaved text."""
    if request.method not in SAFE:
        return HTMLResponse(render("toast.html", status=401, text=ENDED, undo=None, login=True), 401, IN_TOAST)
    wanted = urlsplit(request.headers.get("hx-current-url", str(request.url)))
    place = urlunsplit(("", "", wanted.path, wanted.query, ""))
    login = f"{ROOT}/login?{urlencode({'next': place})}"
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": login})
    return RedirectResponse(login, 303)


def _refused(status: int, text: str) -> Response:
    return HTMLResponse(render("problem.html", status=status, text=text), status, IN_TOAST)


def _status(request: Request, error: MemorydError) -> int:
    """Return the status of an error; log it if it is not the sender's."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    if status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    return status


def _failed(request: Request, error: MemorydError) -> Response:
    status = _status(request, error)
    template = "toast.html" if "hx-request" in request.headers else "problem.html"
    return HTMLResponse(render(template, status=status, text=str(error), undo=None), status, IN_TOAST)


class WithHeaders:
    """ASGI middleware that adds the security headers to every answer of the page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = HEADERS | ({"Cache-Control": "no-cache"} if "/static/" in scope["path"] else {})
        fixed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *fixed]}
            await send(message)

        await self._app(scope, receive, guarded)


# news: the changes in a workspace, as a stream of server-sent events -------------------------------------------------


PAUSE = 1.0  # seconds between looks: each is an indexed read of the new events
QUIET = 15  # looks without news after which a comment keeps the connection alive
SHOWN = 100  # ids of one message
NUMBER = re.compile("[0-9]{1,18}")


async def stream(
    scope: CoreScope, after: str, ended: Callable[[], bool], threads: CapacityLimiter
) -> AsyncGenerator[str]:
    """Yield an event for each look that finds something, until the session or the server ends.

    `after`: the number of the last event that the browser has seen, which it also sends when it reconnects; with any
    other value the news begin now.
    """
    last = int(after) if NUMBER.fullmatch(after) else await to_thread.run_sync(listing.latest, scope, limiter=threads)
    quiet = 0
    yield "retry: 3000\n\n"
    while True:
        await anyio.sleep(PAUSE)
        if await to_thread.run_sync(ended, limiter=threads):
            return
        try:
            news = await to_thread.run_sync(listing.news, scope, last, limiter=threads)
        except MemorydError:  # the next request shows why; the browser reconnects by itself
            return
        last, quiet = news.last, 0 if news.ids else quiet + 1
        if news.ids:
            yield f"id: {last}\ndata: {json.dumps({'ids': news.ids[:SHOWN], 'graph': news.graph})}\n\n"
        elif quiet % QUIET == 0:
            yield ":\n\n"
