"""The requests of real clients: how they register, and their redirect URIs."""

import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio import to_thread

from memoryd.errors import InvalidInputError
from memoryd.features.login import documents
from memoryd.features.login.app import Auth
from memoryd.features.login.documents import ClientDocuments, IpAddress, is_public
from memoryd.features.login.oauth_clients import acceptable
from memoryd.server.http.app import application
from tests.clients import PATIENCE
from tests.features.login.kit import BACK, Browser, Plain, Storage, let_in, parameters_of, provider, published
from tests.http import HttpServer, bearer

CLIENTS: dict[str, tuple[dict[str, Any], str]] = {
    "Claude.ai": (
        {
            "client_name": "Claude",
            "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
            "token_endpoint_auth_method": "none",
            "scope": "claudeai",
        },
        "https://claude.ai/api/mcp/auth_callback",
    ),
    "ChatGPT": (
        {
            "client_name": "ChatGPT",
            "redirect_uris": ["https://chatgpt.com/connector/oauth/a1B2"],
            "token_endpoint_auth_method": "client_secret_basic",
            "response_types": ["code"],
        },
        "https://chatgpt.com/connector/oauth/a1B2",
    ),
    "Claude Code": (
        {
            "client_name": "Claude Code (memory)",
            "redirect_uris": ["http://localhost:3118/callback"],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
        },
        "http://localhost:53411/callback",
    ),
    "VS Code": (
        {
            "client_name": "Visual Studio Code",
            "token_endpoint_auth_method": "none",
            "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"],
            "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        },
        "http://127.0.0.1:33418",
    ),
    "Cursor": (
        {
            "client_name": "Cursor",
            "application_type": "web",
            "token_endpoint_auth_method": "none",
            "redirect_uris": [
                "cursor://anysphere.cursor-mcp/oauth/callback",
                "https://www.cursor.com/agents/mcp/oauth/callback",
                "http://localhost:8787/callback",
            ],
        },
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ),
    "Codex CLI": (
        {
            "client_name": "Codex",
            "redirect_uris": ["http://127.0.0.1:54545/callback"],
            "scope": "openid profile email offline_access",
            "token_endpoint_auth_method": "none",
        },
        "http://127.0.0.1:60000/callback",
    ),
    "Gemini CLI": (
        {
            "client_name": "Gemini CLI MCP Client",
            "redirect_uris": ["http://localhost:7777/oauth/callback"],
            "code_challenge_method": ["S256"],
            "scope": "",
            "token_endpoint_auth_method": "none",
        },
        "http://localhost:7777/oauth/callback",
    ),
    "signs with a key": (
        {
            "client_name": "k",
            "redirect_uris": ["https://k.example/cb"],
            "token_endpoint_auth_method": "private_key_jwt",
            "client_uri": "",
            "logo_uri": None,
            "jwks": {"keys": []},
        },
        "https://k.example/cb",
    ),
}
"""By client name, the registration, and a redirect URI that it then uses."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with published(tmp_path_factory.mktemp("clients")) as server:
        yield server


@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_logs_in(server: HttpServer, name: str) -> None:
    metadata, redirect = CLIENTS[name]
    client = Plain(server, **metadata)
    kept = client.registered["redirect_uris"]
    assert kept == [uri for uri in metadata["redirect_uris"] if acceptable(uri)]
    scope = metadata.get("scope", "openid profile email offline_access")
    answer = Browser(server).goes(client.asks(redirect_uri=redirect, scope=scope))
    secret = {"client_secret": client.registered.get("client_secret", "")}
    issued = client.exchanges(answer["code"], redirect_uri=redirect, **secret).json()
    assert (answer["iss"], answer["state"], issued["scope"]) == (server.url, "s", "read write")
    assert server.tool("memory_inspect", bearer(issued["access_token"])).status_code == 200
    assert "refresh_token" in client.refreshes(issued["refresh_token"], **secret).json()


def test_the_page_names_the_client_and_the_host_of_its_redirect_uri(server: HttpServer) -> None:
    for name, host in (("Claude.ai", "claude.ai"), ("Cursor", "cursor: (an application"), ("Codex CLI", "127.0.0.1")):
        metadata, redirect = CLIENTS[name]
        browser = Browser(server)
        browser.goes(Plain(server, **metadata).asks(redirect_uri=redirect))
        assert metadata["client_name"] in browser.pages[0]
        assert host in browser.pages[0]
        assert ("on the machine of this browser" in browser.pages[0]) == (name != "Claude.ai")


def test_an_address_that_looks_like_a_secret_stays_as_it_is(server: HttpServer) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"
    client = Plain(server, client_name=f"key {secret}", redirect_uris=[f"https://chatgpt.com/connector/oauth/{secret}"])
    assert secret not in client.registered["client_name"]
    assert client.registered["redirect_uris"][0].endswith(secret)
    answer = Browser(server).goes(client.asks(state=secret))
    assert answer["state"] == secret


# documents -----------------------------------------------------------------------------------------------------------


class Publisher:
    """A web server with clients' documents, over TLS on this machine."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.tls = ssl.create_default_context()
        authority.configure_trust(self.tls)
        self.documents: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.asked.append(f"{self.headers['Host']}{self.path}")
                status, body = publisher.documents.get(self.path, (404, b""))
                self.send_response(status)
                self.send_header("Location", "https://elsewhere.example/")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def publishes(self, path: str, *redirects: str, **more: Any) -> str:
        url = f"{self.url}{path}"
        body = {"client_id": url, "client_name": "by document", "redirect_uris": redirects} | more
        self.documents[path] = 200, json.dumps(body).encode()
        return url


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    made = Publisher(tmp_path_factory.mktemp("publisher"))
    yield made
    made.server.shutdown()
    made.server.server_close()


def anywhere(_: IpAddress) -> bool:
    return True


def test_a_client_by_document(tmp_path: Path, publisher: Publisher) -> None:
    url = publisher.publishes("/oauth/client.json", "http://localhost/callback", "http://127.0.0.1/callback")
    documents = ClientDocuments(anywhere, publisher.tls)
    with published(tmp_path, made=partial(application, gate=partial(Auth, documents=documents))) as server:
        storage, browser = Storage(), Browser(server)
        auth = provider(server, storage, browser, document=url, redirect_uris=["http://localhost:53076/callback"])
        with let_in(server, auth) as agent:
            agent.store("stored by a client with a document")
        assert storage.client
        assert storage.client.client_id == url
        assert "published by <b>localhost</b>" in browser.pages[0]
        assert parameters_of(browser.landed)["iss"] == server.url
    assert publisher.asked == [f"localhost:{publisher.server.server_port}/oauth/client.json"], "once, by its name"


def test_a_client_registers_if_documents_cannot_be_fetched(tmp_path: Path, publisher: Publisher) -> None:
    url = publisher.publishes("/oauth/unread.json", "http://localhost/callback")
    with published(tmp_path, MEMORY_LOGIN_DOCUMENTS="off") as server:
        storage, browser = Storage(), Browser(server)
        with let_in(server, provider(server, storage, browser, document=url)) as agent:
            agent.store("stored by a client that registered")
        assert storage.client
        assert storage.client.client_id != url
        asked = {"client_id": url, "redirect_uri": BACK, "response_type": "code"}
        assert "not known here" in server.request("GET", "/oauth/authorize", params=asked).text
    assert not any("unread" in asked for asked in publisher.asked)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ((200, b"{}"), "does not describe this client"),
        ((200, b"not JSON"), "does not describe this client"),
        ((200, b"[" * 5_000), "does not describe this client"),
        ((200, b" " * 6_000), "larger than 5120 bytes"),
        ((302, b""), "answered with 302"),
        ((404, b""), "answered with 404"),
    ],
)
def test_invalid_documents(publisher: Publisher, document: tuple[int, bytes], why: str) -> None:
    publisher.documents["/wrong.json"] = document
    with pytest.raises(InvalidInputError, match=why):
        anyio.run(ClientDocuments(anywhere, publisher.tls).get, f"{publisher.url}/wrong.json")


def test_a_document_without_an_acceptable_redirect(publisher: Publisher) -> None:
    url = publisher.publishes("/redirects.json", "javascript:alert(1)")
    with pytest.raises(InvalidInputError, match="redirect_uris"):
        anyio.run(ClientDocuments(anywhere, publisher.tls).get, url)


def test_only_public_addresses_are_contacted(publisher: Publisher) -> None:
    url = publisher.publishes("/private.json", "https://x.example/cb")
    before = len(publisher.asked)
    with pytest.raises(InvalidInputError, match="could not be fetched"):
        anyio.run(ClientDocuments(is_public, publisher.tls).get, url)
    with pytest.raises(InvalidInputError, match="could not be fetched"):
        anyio.run(ClientDocuments(anywhere).get, url)  # a self-signed certificate
    assert len(publisher.asked) == before


def test_slow_name_servers_do_not_occupy_the_threads_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    end, asked = threading.Event(), list[str]()

    def slow(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        end.wait(PATIENCE)
        return []

    monkeypatch.setattr(documents, "SECONDS", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def ask(known: ClientDocuments, number: int) -> None:
        with pytest.raises(InvalidInputError, match="could not be fetched"):
            await known.get(f"https://{number}.example/c")

    async def main() -> None:
        known = ClientDocuments()
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(ask, known, number)
            await anyio.wait_all_tasks_blocked()
            assert to_thread.current_default_thread_limiter().borrowed_tokens == 0
        end.set()

    anyio.run(main)
    assert asked


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example/c",
        "https://x.example",
        "https://x.example/",
        "https://x.example/a/../c",
        "https://u@x.example/c",
        "https://x.example/c#f",
        "https://x.example:port/c",
        f"https://x.example/{'c' * 600}",
        "https://\u0445.example/c",
        "https:///c",
        "https://a..b/c",
        "https://.example/c",
        "https://x.example/\x7f",
        "https://x.exam\tple/c",
        f"https://{'c' * 64}.example/c",
    ],
)
def test_urls_that_cannot_be_documents(url: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a valid URL"):
        anyio.run(ClientDocuments(anywhere).get, url)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("255.255.255.255", False),
        ("192.0.2.1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) == public
