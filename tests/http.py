"""A server over real HTTP, and clients of it: the SDK's over each transport, and plain requests."""

import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import Any, Self

import httpx2
from anyio import BrokenResourceError
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.extension import ClientExtension
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from typer.testing import CliRunner, Result

from memoryd.cli import app
from memoryd.cli.frame import overrides
from memoryd.core.engine import Engine
from memoryd.server.http.app import prepared
from memoryd.settings import Settings
from tests.clients import LEGACY, MODERN, NO_MODELS, PATIENCE, Agent, Json, environment, given, until
from tests.forks import Fork, run
from tests.wires import envelope

WORKSPACE, SESSION = "X-Memory-Workspace", "X-Memory-Session"
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A TLS context without certificate authorities: loading them takes longer than most tests."""


def free_port() -> int:
    """Return a port of this machine on which nothing listens now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class HttpServer:
    """A server, in this process or another, and plain requests to it."""

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        self.url = url
        self.environ = dict(environ)
        self.client = httpx2.Client(timeout=PATIENCE, verify=NO_AUTHORITIES)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return self.client.request(method, f"{self.url}{path}", **options)

    def connect(self) -> httpx2.Client:
        """Return a new client."""
        return httpx2.Client(base_url=self.url, timeout=PATIENCE, verify=NO_AUTHORITIES)

    def tool(self, tool: str, headers: Mapping[str, str] | None = None, /, **arguments: Any) -> httpx2.Response:
        """Send POST /tools/{tool}."""
        return self.request("POST", f"/tools/{tool}", json=arguments, headers=headers)


class HttpThread(HttpServer):
    """A server in a thread of this process, on a free port, with arguments and environment as for a process."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *arguments: str,
        certificate: str | None = None,
        key: str | None = None,
        made: Callable[[Engine], Starlette] | None = None,
    ) -> None:
        super().__init__("", environ)
        options = given("--transport", "http", "--port", "0", *arguments)
        engine = Engine(Settings.read(self.environ, **overrides(**options)))
        self._server = prepared(engine, certificate, key, made)
        self.door = self._server.door
        self._thread = threading.Thread(target=self._server.run, name="memoryd-http")
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive(), "the server")
        assert self._server.started
        host, port = self._server.servers[0].sockets[0].getsockname()[:2]
        self.url = f"{'https' if self.door.tls else 'http'}://{host}:{port}"

    def running(self) -> int:
        """Return how many requests are still unanswered."""
        return len(self._server.server_state.tasks)

    def stop(self) -> None:
        """Stop as on SIGTERM."""
        self.client.close()
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


class HttpProcess(HttpServer):
    """A server process on a free port."""

    def __init__(self, environ: Mapping[str, str], *arguments: str, log: Path) -> None:
        super().__init__("", environ)
        self._log = log
        with log.open("a", encoding="utf-8") as errors:
            self.process = Fork[str](
                [sys.executable, "-m", "memoryd", "serve", "--transport", "http", "--port", "0", *arguments],
                stdout=PIPE,
                stderr=errors,
                text=True,
                env=self.environ,
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith("memoryd serves "), self.log()
        self.url = line.split()[2].removesuffix("/mcp")

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        if self.process.stdout:
            self.process.stdout.close()
        return code


@contextmanager
def serving(
    home: Path,
    *arguments: str,
    certificate: str | None = None,
    key: str | None = None,
    made: Callable[[Engine], Starlette] | None = None,
    **settings: str,
) -> Iterator[HttpThread]:
    """Yield a server in this process and stop it at the end, for tests that are not about processes.

    Its log is in `caplog` and must contain no traceback: see tests/conftest.py.
    """
    server = HttpThread(environment(home, None, **settings), *arguments, certificate=certificate, key=key, made=made)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def process_serving(home: Path, *arguments: str, **settings: Any) -> Iterator[HttpProcess]:
    """Yield a server process and stop it cleanly at the end; its log must contain no traceback."""
    server = HttpProcess(environment(home, **settings), *arguments, log=home / "http.log")
    try:
        yield server
    finally:
        code = server.stop()
        sys.stdout.write(server.log())  # pytest shows it if the test fails
    assert "Traceback" not in server.log()
    assert code in (0, -9)


@contextmanager
def _ignored_late_messages() -> Iterator[None]:
    """Ignore the error that the SDK's SSE client raises if a message comes while it closes."""
    try:
        yield
    except* BrokenResourceError:
        pass


@contextmanager
def remote(
    server: HttpServer, mode: str = "auto", extensions: Sequence[ClientExtension] = (), /, **headers: str
) -> Iterator[Agent]:
    """Yield an agent over HTTP. `mode` is the client's era, or `sse`; `X_Memory_Workspace=...` sets that header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with start_blocking_portal() as portal:
        if mode == "sse":
            stream = sse_client(f"{server.url}/sse", named, httpx_client_factory=_client)
            client = Client(stream, mode="legacy", extensions=extensions)
            with _ignored_late_messages(), portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, server.environ)
            return
        with portal.wrap_async_context_manager(_client(named)) as http:
            stream = streamable_http_client(f"{server.url}/mcp", http_client=http)
            client = Client(stream, mode=mode, extensions=extensions)
            with portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, server.environ)


def _client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers=headers, timeout=timeout or PATIENCE, auth=auth, verify=NO_AUTHORITIES)


def memoryd(environ: Mapping[str, str], *arguments: str, code: int = 0) -> Result:
    """Run a command in this process and return its result."""
    ended = CliRunner().invoke(app, arguments, env=environ)
    assert ended.exit_code == code, (ended.output, ended.exception)
    return ended


def refused(environ: Mapping[str, str], *arguments: str) -> str:
    """Return the stderr of a server process that refuses to start because of its arguments or settings."""
    command = [sys.executable, "-m", "memoryd", "serve", "--transport", "http", "--port", "0", *arguments]
    ended = run(command, env=dict(environ), capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    return ended.stderr


@contextmanager
def beside(server: HttpServer) -> Iterator[Engine]:
    """Yield a second engine on the server's data, as another process would have, without models."""
    with Engine(Settings.read(server.environ | NO_MODELS), fetch=False) as engine:
        yield engine


def granted(server: HttpServer, name: str, *arguments: Any, **more: Any) -> str:
    """Create a token and return it."""
    with beside(server) as engine:
        return engine.tokens.create(name, *arguments, **more)


def bearer(token: str, **headers: str) -> dict[str, str]:
    """Return the headers of a request with a token."""
    return {"Authorization": f"Bearer {token}"} | {name.replace("_", "-"): value for name, value in headers.items()}


class Ears:
    """A raw client whose stream stays open; it collects the messages that arrive."""

    def __init__(self, server: HttpServer, era: str, headers: Mapping[str, str], session: str = "") -> None:
        self._server = server
        self._meta = envelope() | ({"memoryd/session": session} if session else {})
        self._era = era
        self._headers = dict(headers)
        self._post_to = "/mcp"
        self._number = 0
        self.messages: list[Json] = []
        """The messages that came over the stream."""
        self.ended = threading.Event()
        self._sockets: list[socket.socket] = []
        self._client = server.connect()
        self._client.timeout = httpx2.Timeout(PATIENCE, read=None)
        if era == "sse":
            self._open("GET", "/sse")
            until(lambda: self._post_to != "/mcp", "the endpoint")
        if era == MODERN:
            return
        client = {"name": "t", "version": "1", "extra": {"sessionId": session}}
        self.request("initialize", protocolVersion=LEGACY, capabilities={}, clientInfo=client)
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if era != "sse":
            self._open("GET", "/mcp")

    def listen(self, *uris: str) -> Self:
        """Subscribe to changes of the resource list and of some resources."""
        if self._era == MODERN:
            wanted = {"resourcesListChanged": True, "resourceSubscriptions": list(uris)}
            body = self._body("subscriptions/listen", {"notifications": wanted})
            self._open("POST", "/mcp", json=body)
            until(lambda: self.messages, "the acknowledgement")
        else:
            for uri in uris:
                self.request("resources/subscribe", uri=uri)
        return self

    def _open(self, method: str, path: str, **options: Any) -> None:
        came = threading.Event()

        def read() -> None:
            opened = self._client.stream(method, path, headers=self.headers(options), **options)
            with suppress(httpx2.HTTPError, RuntimeError), opened as stream:  # it ends with the server, or the client
                assert stream.status_code == 200, stream.read()
                self._sockets.append(stream.extensions["network_stream"].get_extra_info("socket"))
                came.set()
                for line in stream.iter_lines():
                    self._hear(line)
            self.ended.set()

        threading.Thread(target=read, daemon=True).start()
        assert came.wait(PATIENCE)

    def _hear(self, line: str) -> None:
        data = line.removeprefix("data:").strip()
        if line.startswith("data: {"):
            self.messages.append(json.loads(data))
        elif line.startswith("data: /"):
            self._post_to = data

    def headers(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers of a request of the client's era."""
        accept = {"Accept": "application/json, text/event-stream"}
        body = options.get("json")
        if self._era == MODERN and body:
            accept |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": body["method"]}
            accept |= {"Mcp-Name": body["params"]["name"]} if "name" in body["params"] else {}
        return accept | self._headers

    def _body(self, method: str, params: Json) -> Json:
        self._number += 1
        params = params | ({"_meta": self._meta} if self._era == MODERN else {})
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    def post(self, body: Json, **headers: str) -> httpx2.Response:
        """Send one message, with `headers` on top of the usual ones, and return the response."""
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._server.request("POST", self._post_to, json=body, headers=self.headers({"json": body}) | changed)
        if session := answer.headers.get("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = session
        return answer

    def request(self, method: str, **params: Any) -> Json:
        """Send a request and return the complete answer."""
        body = self._body(method, params)
        answer = self.post(body)
        assert answer.is_success, (answer.status_code, answer.text)
        if self._era == "sse":
            found = until(lambda: [one for one in self.messages if one.get("id") == body["id"]], f"{method}'s answer")
            return found[0]
        received: Json = answer.json()
        return received

    def notices(self) -> list[str]:
        """Return the method or the resource of each notice so far."""
        return [
            str(one.get("params", {}).get("uri") or one["method"])
            for one in self.messages
            if str(one.get("method", "")).startswith("notifications/resources/")
        ]

    def close(self) -> None:
        for one in self._sockets:
            with suppress(OSError):  # the server has closed it already
                one.shutdown(socket.SHUT_RDWR)
        self._client.close()
