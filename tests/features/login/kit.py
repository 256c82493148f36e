"""A server with a public address, a browser, and the MCP SDK's own OAuth client."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from starlette.applications import Starlette

from memoryd.core.access.tokens import Level
from memoryd.core.engine import Engine
from memoryd.features.login.accounts import accounts_of
from tests.clients import PATIENCE, Agent
from tests.http import NO_AUTHORITIES, HttpServer, HttpThread, bearer, beside, free_port, serving

PASSWORD = "correct horse battery"
CHALLENGE, VERIFIER = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""PKCE, the example of RFC 7636, appendix B."""
BACK = "http://127.0.0.1:41234/callback"


@contextmanager
def published(
    home: Path, *arguments: str, made: Callable[[Engine], Starlette] | None = None, **settings: str
) -> Iterator[HttpThread]:
    """A server with a public address, one person and two workspaces."""
    port = int(settings.pop("port", free_port()))
    with serving(
        home,
        "--port",
        str(port),
        *arguments,
        made=made,
        **{"MEMORY_PUBLIC_URL": f"http://127.0.0.1:{port}", **settings},
    ) as server:
        with beside(server) as engine:
            for name in ("default", "team"):
                engine.workspaces.ensure(name)
            if not accounts_of(engine).all():
                accounts_of(engine).set("owner", PASSWORD)
        yield server


def hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of a form."""
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))


def options(page: str, select: str) -> dict[str, str]:
    """Return the options of a select: their texts and values."""
    _, _, rest = page.partition(f'<select id="{select}"')
    found = re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)', rest.partition("</select>")[0])
    return {text: value for value, text in found}


class Browser:
    """A browser that goes through the pages as a person does."""

    def __init__(
        self, server: HttpServer, workspace: str = "team", level: Level = "write", password: str = PASSWORD
    ) -> None:
        self.server = server
        self.workspace, self.level, self.password = workspace, level, password
        self.cookies = httpx2.Cookies()
        self.visits: list[str] = []
        self.pages: list[str] = []
        self.landed = ""

    def asks(self, method: str, url: str, **options: Any) -> httpx2.Response:
        with self.server.connect() as http:
            http.cookies = self.cookies
            answer = http.request(method, url, **options)
            self.cookies = http.cookies
            return answer

    def opens(self, url: str) -> httpx2.Response:
        """Open the URL of a client, up to the first page."""
        self.visits.append(url)
        answer = self.asks("GET", url)
        return self.asks("GET", answer.headers["location"]) if answer.is_redirect else answer

    def logs_in(self, page: httpx2.Response, **fields: str) -> httpx2.Response:
        form = hidden(page.text) | {"password": self.password} | fields
        answer = self.asks("POST", "/oauth/login", data=form)
        return self.asks("GET", answer.headers["location"]) if answer.is_redirect else answer

    def allows(self, page: httpx2.Response, **fields: str) -> httpx2.Response:
        self.pages.append(page.text)
        choice = {"workspace": options(page.text, "workspace").get(self.workspace, ""), "level": self.level}
        return self.asks("POST", "/oauth/consent", data=hidden(page.text) | choice | {"answer": "allow"} | fields)

    def goes(self, url: str) -> dict[str, str]:
        """Go the whole way; return the parameters that the client finally gets."""
        answer = self.allows(self.logs_in(self.opens(url)))
        assert answer.status_code == 303, answer.text
        self.landed = answer.headers["location"]
        return parameters_of(self.landed)


def parameters_of(address: str) -> dict[str, str]:
    """Return the parameters of a redirect."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


class Storage:
    """The storage of the SDK's client."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def provider(server: HttpServer, storage: Storage, browser: Browser, **metadata: Any) -> OAuthClientProvider:
    """Return the SDK's client, with a browser."""
    document = metadata.pop("document", None)
    given = OAuthClientMetadata(**{"client_name": "a test", "redirect_uris": [BACK], **metadata})

    async def go(url: str) -> None:
        browser.goes(url)

    async def back() -> AuthorizationCodeResult:
        answer = parameters_of(browser.landed)
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    return OAuthClientProvider(f"{server.url}/mcp", given, storage, go, back, client_metadata_url=document)


@contextmanager
def let_in(server: HttpServer, auth: httpx2.Auth, mode: str = "auto") -> Iterator[Agent]:
    """Return an agent whose client logs in by itself."""
    with start_blocking_portal() as portal:
        http = httpx2.AsyncClient(auth=auth, timeout=PATIENCE, verify=NO_AUTHORITIES)
        with portal.wrap_async_context_manager(http) as connected:
            client = Client(streamable_http_client(f"{server.url}/mcp", http_client=connected), mode=mode)
            with portal.wrap_async_context_manager(client) as ready:
                yield Agent(portal, ready, server.environ)


class Plain:
    """A client without a library: each step on the wire."""

    def __init__(self, server: HttpServer, **metadata: Any) -> None:
        self.server = server
        given = {"client_name": "plain", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"} | metadata
        answer = server.request("POST", "/oauth/register", json=given)
        assert answer.status_code == 201, answer.text
        self.registered: dict[str, Any] = answer.json()

    def asks(self, **changed: str | None) -> str:
        """Return the URL that it opens in the browser; None omits a parameter."""
        given: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.registered["client_id"],
            "redirect_uri": self.registered["redirect_uris"][0],
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s",
            "scope": "read write",
        }
        named = {name: value for name, value in (given | changed).items() if value is not None}
        return str(httpx2.URL(f"{self.server.url}/oauth/authorize", params=named))

    def posts(self, **fields: str) -> httpx2.Response:
        return self.server.request("POST", "/oauth/token", data={"client_id": self.registered["client_id"]} | fields)

    def exchanges(self, code: str, **fields: str) -> httpx2.Response:
        given = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": BACK}
        return self.posts(**given | fields)

    def refreshes(self, token: str, **fields: str) -> httpx2.Response:
        return self.posts(**{"grant_type": "refresh_token", "refresh_token": token} | fields)

    def revokes(self, token: str) -> httpx2.Response:
        ended = {"client_id": self.registered["client_id"], "token": token}
        return self.server.request("POST", "/oauth/revoke", data=ended)

    def logs_in(self, browser: Browser | None = None) -> dict[str, Any]:
        """Go the whole way; return the answer of the token endpoint."""
        answer = (browser or Browser(self.server)).goes(self.asks())
        issued: dict[str, Any] = self.exchanges(answer["code"]).json()
        return issued


def works(server: HttpServer, token: str) -> bool:
    """Return whether a token lets its bearer call a tool."""
    return server.tool("memory_inspect", bearer(token)).status_code == 200
