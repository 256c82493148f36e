"""A server over real HTTP, and clients of it: the SDK's over each transport, and plain requests."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.clients import Agent, environment, until

WORKSPACE = "X-Memory-Workspace"


class HttpServer:
    """A server process on a free port."""

    def __init__(self, environ: Mapping[str, str], *arguments: str, log: Path) -> None:
        self.environ = dict(environ)
        self._log = log
        with log.open("a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "memoryd", "serve", "--transport", "http", "--port", "0", *arguments],
                stdout=subprocess.PIPE, stderr=errors, text=True, env=self.environ,
            )  # fmt: skip
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith("memoryd serves "), self.told()
        self.url = line.split()[2].removesuffix("/mcp")

    def told(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        with httpx2.Client(base_url=self.url, timeout=20) as client:
            return client.request(method, path, **options)

    def tool(self, name: str, headers: Mapping[str, str] | None = None, **arguments: Any) -> httpx2.Response:
        """POST /tools/{name}."""
        return self.request("POST", f"/tools/{name}", json=arguments, headers=headers)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()
        return code


@contextmanager
def serving(home: Path, *arguments: str, models: Path | None = None, **settings: str) -> Iterator[HttpServer]:
    """A server that is stopped at the end, cleanly; its log must hold no traceback."""
    server = HttpServer(environment(home, models, **settings), *arguments, log=home / "http.log")
    try:
        yield server
    finally:
        code = server.stop()
        sys.stdout.write(server.told())  # pytest shows it where the test fails
    assert "Traceback" not in server.told()
    assert code in (0, -9)


@contextmanager
def remote(server: HttpServer, mode: str = "auto", **headers: str) -> Iterator[Agent]:
    """An agent over HTTP: `mode` is the client's era, or `sse`. `X_Memory_Workspace` is a header's name here."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with start_blocking_portal() as portal:
        if mode == "sse":
            client = Client(sse_client(f"{server.url}/sse", headers=named), mode="legacy")
            with portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, server.environ)
            return
        with portal.wrap_async_context_manager(httpx2.AsyncClient(headers=named, timeout=30)) as http:
            client = Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode)
            with portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, server.environ)


def gone(server: HttpServer, count: int, workspace: str) -> None:
    """Wait until so many memories with a key are left of all sessions and the vault."""
    until(lambda: _number(server, workspace) == count, "the end of a session")


def _number(server: HttpServer, workspace: str) -> int:
    answer = server.tool("search_memories", {WORKSPACE: workspace}, query="", tags=["t"]).json()
    return int(answer["total_searched"])
