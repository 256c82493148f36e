"""The endpoints that clients call themselves, to register and to get and revoke tokens."""

import base64
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from memoryd.core.access.tokens import LEVELS, Level
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.login.forms import UNSTORED, OAuthProblem, count, demand_resource, form_of, json_of
from memoryd.features.login.logins import ACCESS_TIME, Issued, logins_of
from memoryd.features.login.metadata import METHODS, REGISTER, REVOKE, TOKEN, resource_of
from memoryd.features.login.oauth_clients import EDITORS, OAuthClient, acceptable, clients_of
from memoryd.server.http.bodies import Rate
from memoryd.server.http.gate import scope_of
from memoryd.text import unstorable

log = logging.getLogger(__name__)

REDIRECTS = 20  # redirect URIs of a client
FETCHES, REGISTRATIONS = "120/minute", "30/hour"  # from one address
AWAY = "The database does not allow this now. Try again later; the server's log says why."

Work = Callable[[], Response]


class Endpoints:
    """The endpoints of one engine."""

    def __init__(self, engine: Engine, issuer: str) -> None:
        self._engine = engine
        self._resource = resource_of(issuer)
        self._fetching, self._registering = Rate(FETCHES), Rate(REGISTRATIONS)

    def routes(self) -> list[BaseRoute]:
        return [
            Route(path, _answered(endpoint), methods=["POST"])
            for path, endpoint in ((TOKEN, self._token), (REGISTER, self._register), (REVOKE, self._revoke))
        ]

    # tokens ----------------------------------------------------------------------------------------------------------

    async def _token(self, request: Request) -> Work:
        count(self._fetching, request)
        form = await form_of(request)
        demand_resource(form.get("resource"), self._resource)

        def work() -> Response:
            client = self._client(request, form)
            try:
                issued = self._issued(client, form)
            except InvalidInputError as error:
                raise OAuthProblem("invalid_grant", str(error)) from None
            body = {
                "access_token": issued.access,
                "token_type": "Bearer",
                "expires_in": int(ACCESS_TIME.total_seconds()),
                "refresh_token": issued.refresh,
                "scope": scope_of(issued.level),
            }
            return JSONResponse(body, headers=UNSTORED)

        return work

    def _issued(self, client: OAuthClient, form: Mapping[str, str]) -> Issued:
        match form.get("grant_type"):
            case "authorization_code":
                code, verifier = _needed(form, "code"), _needed(form, "code_verifier")
                return logins_of(self._engine).exchange(client.id, code, verifier, form.get("redirect_uri"))
            case "refresh_token":
                return logins_of(self._engine).refresh(client.id, _needed(form, "refresh_token"))
            case None:
                raise OAuthProblem("invalid_request", "The parameter grant_type is missing.")
        raise OAuthProblem("unsupported_grant_type", "Use authorization_code or refresh_token.")

    async def _revoke(self, request: Request) -> Work:
        count(self._fetching, request)
        form = await form_of(request)

        def work() -> Response:
            client = self._client(request, form)
            logins_of(self._engine).revoke_token(client.id, _needed(form, "token"))
            return Response(headers=UNSTORED)

        return work

    def _client(self, request: Request, form: Mapping[str, str]) -> OAuthClient:
        """Return the client that sent a form. Raise OAuthProblem if it cannot prove its identity."""
        name, secret = _basic(request) or (form.get("client_id", ""), form.get("client_secret", ""))
        if form.get("client_id", name) != name:
            raise _unknown()
        if name.startswith("https://"):  # its document declares that it has no secret
            return OAuthClient(id=name, name="", redirect_uris=())
        known = clients_of(self._engine).get(name) if name else None
        if known is None or not known.proves(secret):
            raise _unknown()
        return known

    # registration ----------------------------------------------------------------------------------------------------

    async def _register(self, request: Request) -> Work:
        count(self._registering, request)
        given = await json_of(request)

        def work() -> Response:
            redirects = redirects_in(given)
            method = given.get("token_endpoint_auth_method") or "client_secret_basic"  # RFC 7591, 2
            method = method if method in METHODS else "none"
            client, secret = clients_of(self._engine).register(name_in(given), redirects, method)
            body: dict[str, Any] = {
                "client_id": client.id,
                "client_id_issued_at": int(time.time()),
                "client_name": client.name,
                "redirect_uris": client.redirect_uris,
                "token_endpoint_auth_method": client.method,
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "scope": scope_of(LEVELS[-1]),
            }
            if secret:
                body |= {"client_secret": secret, "client_secret_expires_at": 0}
            return JSONResponse(body, 201, UNSTORED)

        return work


def redirects_in(given: Mapping[str, Any]) -> list[str]:
    """Return the redirect URIs of a client's metadata that are acceptable. Raise OAuthProblem if there is none.

    A client may name several for its editions: an unacceptable one does not affect the others.
    """
    named = given.get("redirect_uris")
    every = named if isinstance(named, list) else []
    found = [uri for uri in every[:REDIRECTS] if isinstance(uri, str) and acceptable(uri)]
    if not found:
        raise OAuthProblem(
            "invalid_redirect_uri",
            "None of redirect_uris is an https URL, one of this machine, or an application's scheme: a reversed domain "
            f"name such as com.example.app:, or one of {', '.join(sorted(EDITORS))}.",
        )
    return list(dict.fromkeys(found))


def name_in(given: Mapping[str, Any]) -> str:
    """Return a client's name for itself, '' without one."""
    name = given.get("client_name")
    return name if isinstance(name, str) else ""


def level_of(scope: str | None) -> Level:
    """Return the level that scopes ask for, ignoring unknown ones; `write` if there is none."""
    asked = [level for level in LEVELS if level in (scope or "").split()]
    return asked[-1] if asked else "write"


def _answered(endpoint: Callable[[Request], Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            return await to_thread.run_sync(await endpoint(request))
        except OAuthProblem as problem:
            return problem.response
        except StoreError as error:
            log.warning("The database: %s", error)
            return OAuthProblem("temporarily_unavailable", AWAY, 503, **{"Retry-After": "5"}).response

    return answer


def _needed(form: Mapping[str, str], name: str) -> str:
    if not (value := form.get(name)):
        raise OAuthProblem("invalid_request", f"The parameter {name} is missing.")
    return value


def _unknown() -> OAuthProblem:
    text = "The client is unknown, or its secret is wrong. Register again."
    return OAuthProblem("invalid_client", text, 401, **{"WWW-Authenticate": 'Basic realm="memoryd"'})


def _basic(request: Request) -> tuple[str, str] | None:
    """Return the client's id and secret from the Authorization header; None without one."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        raise _unknown() from None
    if unstorable(unquote_plus(name)):
        raise _unknown()
    return unquote_plus(name), unquote_plus(secret)
