"""The pages where a person logs in and decides about a client."""

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from memoryd.core.access.hashes import derived
from memoryd.core.access.tokens import LEVELS
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, MemorydError, NotFoundError, ProviderAwayError, StoreError
from memoryd.features.login.accounts import Person, accounts_of
from memoryd.features.login.documents import ClientDocuments
from memoryd.features.login.endpoints import AWAY, level_of
from memoryd.features.login.forms import OAuthProblem, Pace, count, demand_resource, form_of, once
from memoryd.features.login.logins import REQUEST_TIME, Asked, Authorization, LetInError, logins_of
from memoryd.features.login.metadata import AUTHORIZE, CALLBACK, resource_of
from memoryd.features.login.oauth_clients import OAuthClient, clients_of, host_of, is_local, is_this_machine, matching
from memoryd.model import Workspace
from memoryd.server import html
from memoryd.server.html import SAFE, render
from memoryd.server.http.bodies import Rate, sender_of

if TYPE_CHECKING:
    from memoryd.features.login.identities import Identities

log = logging.getLogger(__name__)

LOGIN, CONSENT = "/oauth/login", "/oauth/consent"
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # base64url of a SHA-256
KEY = re.compile(r"[A-Za-z0-9_-]{43}")
STATE = 4_000  # characters of a client's state
REQUESTS, ATTEMPTS = "60/minute", "10/minute"  # from one address
ALL_ATTEMPTS = "120/minute"  # from all addresses: many together must not guess a password
KNOWN = timedelta(days=365)  # for which a browser that logged in has a share of attempts of its own
PASSWORDS = 2  # concurrent password checks: each takes 32 MB and a processor
HEADERS = {
    **html.HEADERS,
    # No form-action: a form finally redirects to the client, and browsers apply form-action to redirects too.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
}
"""No Cross-Origin-Opener-Policy either: web clients open these pages in a window that reports back to its opener."""


class LoginPages:
    """The pages of one engine."""

    def __init__(
        self,
        engine: Engine,
        issuer: str,
        documents: ClientDocuments | None,
        identities: "Identities | None",
        *,
        every_workspace: bool,
    ) -> None:
        self._engine, self._logins, self._accounts = engine, logins_of(engine), accounts_of(engine)
        self._identities = identities
        """The people of a provider, if they log in there."""
        self._issuer = issuer
        self._documents = documents
        self._every_workspace = every_workspace
        """Whether a client may be granted all workspaces, because something else chooses one of them."""
        self._asking, self._trying, self._tries = Rate(REQUESTS), Rate(ATTEMPTS), Pace(ALL_ATTEMPTS)
        self._returning = Rate(ATTEMPTS)
        """The attempts of browsers that logged in before, as the same person."""
        self._passwords = CapacityLimiter(PASSWORDS)
        secure = issuer.startswith("https:")
        self._cookie = "__Host-memoryd_login" if secure else f"memoryd_login_{urlsplit(issuer).port}"
        self._known = f"{self._cookie}_known"
        self._secure = secure

    def routes(self) -> list[BaseRoute]:
        return [
            Route(AUTHORIZE, self._guarded(self._authorize), methods=["GET", "POST"]),
            *(
                [Route(CALLBACK, self._guarded(self._callback), methods=["GET"])]
                if self._identities
                else [Route(LOGIN, self._guarded(self._login), methods=["POST"])]
            ),
            Route(LOGIN, self._guarded(self._login_form), methods=["GET"]),
            Route(CONSENT, self._guarded(self._consent_form), methods=["GET"]),
            Route(CONSENT, self._guarded(self._consent), methods=["POST"]),
        ]

    def _guarded(self, handler: Callable[[Request], object]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            try:
                answer: Response = await handler(request)  # type: ignore[misc]
            except OAuthProblem as problem:
                answer = _problem(problem.text, problem.response.status_code)
            except StoreError as error:
                log.warning("The database: %s", error)
                answer = _problem(AWAY, 503)
            except ProviderAwayError as error:
                log.warning("%s", error)
                answer = _problem(str(error), 503)
            except LetInError as error:
                answer = _problem(str(error), 404, "Already admitted")
            except MemorydError as error:
                answer = _problem(str(error), 404 if isinstance(error, NotFoundError) else 400)
            answer.headers.update(HEADERS)
            return answer

        return answer

    # the client's request --------------------------------------------------------------------------------------------

    async def _authorize(self, request: Request) -> Response:
        """Check a client's request. A problem is shown to the person unless the client is known, or on this machine."""
        count(self._asking, request)
        given = once(request.query_params.multi_items()) if request.method in SAFE else await form_of(request)
        client = await self._client(given.get("client_id", ""))
        redirect = given.get("redirect_uri") or (client.redirect_uris[0] if len(client.redirect_uris) == 1 else "")
        if not matching(client.redirect_uris, redirect):
            raise InvalidInputError(f"{client.name} names a redirect URI that it has not registered. Register it.")
        state = given.get("state", "")
        try:
            asked = _asked(client, redirect, given, resource_of(self._issuer))
        except OAuthProblem as problem:
            back = self._back(redirect, state=state[:STATE], error=problem.error, error_description=problem.text)
            # a browser may be sent to a client before its person saw a page only there (RFC 9700, 4.11.2)
            if is_this_machine(redirect) or await to_thread.run_sync(self._logins.admitted, client.id):
                return back
            # so that the person, and not the sender of a link, goes back to the client
            return _problem(problem.text, 400, back=back.headers["location"], host=host_of(redirect))
        key = await to_thread.run_sync(self._logins.begin, asked)
        return RedirectResponse(f"{LOGIN}?{urlencode({'request': key})}", 302)

    async def _client(self, client_id: str) -> OAuthClient:
        if self._documents and client_id.startswith("https://"):
            return await self._documents.get(client_id)
        known = await to_thread.run_sync(clients_of(self._engine).get, client_id) if client_id else None
        if known is None:
            raise NotFoundError("This client is not known here. Remove the server from the client, and add it again.")
        return known

    def _back(self, redirect: str, **answer: str) -> Response:
        """Send the browser back to the client, with the issuer (RFC 9207)."""
        named = {name: value for name, value in answer.items() if value} | {"iss": self._issuer}
        sign = "&" if urlsplit(redirect).query else "?"
        return RedirectResponse(f"{redirect}{sign}{urlencode(named)}", 303)

    # login -----------------------------------------------------------------------------------------------------------

    async def _login_form(self, request: Request) -> Response:
        key = _key(request.query_params)
        found = await to_thread.run_sync(self._logins.pending, key)
        if self._identities:
            browser = self._browser(request) or secrets.token_urlsafe(32)
            address = await to_thread.run_sync(self._identities.begin, key, browser)
            return self._remembering(browser, RedirectResponse(address, 303))
        return await to_thread.run_sync(self._login_page, request, key, found)

    def _login_page(
        self, request: Request, key: str, found: Authorization, problem: str = "", status: int = 200
    ) -> Response:
        browser = self._browser(request) or secrets.token_urlsafe(32)
        accounts = self._accounts.all()
        page = render(
            "oauth_login.html",
            key=key,
            sign=derived(browser, key),
            problem=problem,
            named=len(accounts) > 1,
            no_one=not accounts,
            **_about(found.asked),
        )
        return self._remembering(browser, HTMLResponse(page, status))

    def _remembering(self, browser: str, answer: Response) -> Response:
        """Give the browser its key for the duration of a login."""
        self._set(answer, self._cookie, browser, REQUEST_TIME)
        return answer

    def _set(self, answer: Response, cookie: str, value: str, time: timedelta) -> None:
        seconds = int(time.total_seconds())
        answer.set_cookie(cookie, value, seconds, path="/", secure=self._secure, httponly=True, samesite="lax")

    async def _login(self, request: Request) -> Response:
        key, browser, form = await self._own_form(request)
        found = await to_thread.run_sync(self._logins.pending, key)
        name, mark = await to_thread.run_sync(self._account, form.get("name", ""))
        if mark and hmac.compare_digest(request.cookies.get(self._known, "").encode(), mark.encode()):
            wait = self._returning.hit(name)
        else:
            wait = self._trying.hit(sender_of(request)) or await self._tries.wait()
        if wait:
            text = f"Too many attempts. Wait {wait} s."
            return await to_thread.run_sync(self._login_page, request, key, found, text, 429)
        given = name, form.get("password", "")
        person = await to_thread.run_sync(self._accounts.check, *given, limiter=self._passwords)
        if person is None:
            await to_thread.run_sync(self._logins.refuse, name, sender_of(request))
            text = "The name or the password is wrong."
            return await to_thread.run_sync(self._login_page, request, key, found, text, 403)
        await to_thread.run_sync(self._logins.identify, key, browser, person)
        answer = RedirectResponse(f"{CONSENT}?{urlencode({'request': key})}", 303)
        self._set(answer, self._known, mark, KNOWN)
        return answer

    def _account(self, name: str) -> tuple[str, str]:
        """Return the account that a form is for, which need not name the only one, and the mark of its browsers."""
        every = self._accounts.all()
        only = every[0].name if len(every) == 1 else name
        return only, self._accounts.mark(only)

    async def _callback(self, request: Request) -> Response:
        """Handle the return of a person from the provider."""
        count(self._asking, request)
        given = once(request.query_params.multi_items())
        key, browser = _key({"request": given.get("state", "")}), self._browser(request)
        await to_thread.run_sync(self._logins.pending, key)
        if not browser or "code" not in given:
            raise OAuthProblem("access_denied", f"You are not logged in: {given.get('error', 'no code')[:100]}.", 403)
        assert self._identities is not None, "the route exists only with a provider"
        try:
            person = await to_thread.run_sync(self._identities.finish, key, browser, given["code"])
        except NotFoundError as error:
            await to_thread.run_sync(self._logins.refuse, str(error), sender_of(request))
            raise OAuthProblem("access_denied", str(error), 403) from None
        await to_thread.run_sync(self._logins.identify, key, browser, person)
        return RedirectResponse(f"{CONSENT}?{urlencode({'request': key})}", 303)

    # consent ---------------------------------------------------------------------------------------------------------

    async def _consent_form(self, request: Request) -> Response:
        return await to_thread.run_sync(self._consent_page, _key(request.query_params), self._browser(request))

    def _consent_page(self, key: str, browser: str) -> Response:
        found = self._logins.decided(key, browser)
        assert found.person is not None, "a request with a browser has its person"
        workspaces = self._workspaces(found.person)
        if not workspaces:
            why = "The workspace to which you may admit clients is archived or deleted. Ask who runs this server."
            raise OAuthProblem("access_denied", why, 403)
        levels = LEVELS[: LEVELS.index(found.person.level) + 1]
        level = found.asked.level if found.asked.level in levels else levels[-1]
        page = render(
            "oauth_consent.html",
            key=key,
            sign=derived(browser, key),
            person=found.person.name,
            levels=levels,
            level=level,
            workspaces=workspaces,
            every=self._every_workspace and not found.person.workspace,
            **_about(found.asked),
        )
        return HTMLResponse(page)

    def _workspaces(self, person: Person) -> list[Workspace]:
        return [one for one in self._engine.workspaces.all("active") if person.workspace in ("", one.id)]

    async def _consent(self, request: Request) -> Response:
        key, browser, form = await self._own_form(request)
        if form.get("answer") == "allow":
            return await to_thread.run_sync(self._allowed, key, browser, form)
        asked = await to_thread.run_sync(self._logins.deny, key, browser)
        return self._back(asked.redirect_uri, error="access_denied", state=asked.state)

    def _allowed(self, key: str, browser: str, form: Mapping[str, str]) -> Response:
        level = next((level for level in LEVELS if level == form.get("level")), None)
        workspace = form.get("workspace", "")
        found = self._logins.decided(key, browser)
        assert found.person is not None, "a request with a browser has its person"
        there = {one.id for one in self._workspaces(found.person)} | ({"*"} if self._every_workspace else set())
        if level is None or workspace not in there:
            raise InvalidInputError("Choose a level and a workspace.")
        code, asked = self._logins.consent(key, browser, level, "" if workspace == "*" else workspace)
        return self._back(asked.redirect_uri, code=code, state=asked.state)

    # the browser -----------------------------------------------------------------------------------------------------

    def _browser(self, request: Request) -> str:
        """Return the key of the browser, '' if it has none."""
        found = request.cookies.get(self._cookie, "")
        return found if KEY.fullmatch(found) else ""

    async def _own_form(self, request: Request) -> tuple[str, str, dict[str, str]]:
        """Return the key of the request, the key of the browser, and a form that came from this browser's own page."""
        form, browser = await form_of(request), self._browser(request)
        key = _key(form)
        site, origin = request.headers.get("sec-fetch-site", "same-origin"), request.headers.get("origin")
        own = site == "same-origin" and origin in (None, self._issuer)
        if own and not browser:
            minutes = int(REQUEST_TIME.total_seconds() // 60)
            why = f"This took longer than {minutes} minutes, or your browser accepts no cookies."
            raise OAuthProblem("access_denied", f"{why} Begin again in your client.", 403)
        # only a page shown to this browser contains the sign
        if not own or not hmac.compare_digest(derived(browser, key).encode(), form.get("sign", "").encode()):
            raise OAuthProblem("access_denied", "This form does not belong to this browser. Begin again.", 403)
        return key, browser, form


def _asked(client: OAuthClient, redirect: str, given: Mapping[str, str], resource: str) -> Asked:
    """Return the request of a client. Raise OAuthProblem."""
    if given.get("response_type") != "code":
        raise OAuthProblem("unsupported_response_type", "response_type must be code.")
    challenge = given.get("code_challenge", "")
    if given.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(challenge):
        raise OAuthProblem("invalid_request", "PKCE is required, with code_challenge_method=S256.")
    if len(given.get("state", "")) > STATE:
        raise OAuthProblem("invalid_request", f"state is longer than {STATE:,} characters.")
    demand_resource(given.get("resource"), resource)
    return Asked(
        client=client.id,
        client_name=client.name,
        redirect_uri=redirect,
        challenge=challenge,
        state=given.get("state", ""),
        level=level_of(given.get("scope")),
    )


def _about(asked: Asked) -> dict[str, object]:
    """Return what a page shows about a client."""
    by_document = urlsplit(asked.client).hostname if asked.client.startswith("https://") else ""
    return {
        "client": asked.client_name,
        "publisher": by_document,
        "host": host_of(asked.redirect_uri),
        "address": asked.redirect_uri,
        "local": is_local(asked.redirect_uri),
    }


def _key(given: Mapping[str, str]) -> str:
    key = given.get("request", "")
    if not KEY.fullmatch(key):
        raise NotFoundError("This URL belongs to no login. Begin again in your client.")
    return key


def _problem(text: str, status: int, heading: str = "This did not work", **link: str) -> Response:
    return HTMLResponse(render("oauth_problem.html", heading=heading, text=text, **link), status)
