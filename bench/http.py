"""Calls over stdio and HTTP compared with an empty tool on the same SDK: CPU of the server process per call.

    python -m bench.http

Both eras of the protocol; over HTTP with 1 and with 16 clients. The clients write raw requests: the SDK's client would
cost more than the server.
"""

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]

from bench.service import HELLO, Client
from bench.speed import question
from bench.tables import show
from memoryd.environment import current

LEGACY, MODERN = "2025-11-25", "2026-07-28"
CALLS = 400
WORKSPACE = {"X-Memory-Workspace": "bench"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
Json = dict[str, Any]


# over HTTP -----------------------------------------------------------------------------------------------------------


@contextmanager
def serving(*command: str, port: int, environment: dict[str, str]) -> Iterator[psutil.Process]:
    """Run a server process that answers on a port, and yield it."""
    process = subprocess.Popen([sys.executable, "-m", *command], env=current() | environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < deadline:
        time.sleep(0.05)
    yield psutil.Process(process.pid)
    process.terminate()
    process.wait(30)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Remote:
    """One client of one era."""

    def __init__(self, client: httpx2.AsyncClient, url: str, era: str) -> None:
        self._client = client
        self._url = url
        self._era = era
        self._headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": era} | WORKSPACE

    async def begin(self) -> "Remote":
        if self._era == LEGACY:
            answer = await self._post("initialize", HELLO)
            self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return self

    async def call(self, tool: str, arguments: Json) -> Json:
        """Return the result of a tool call that must succeed."""
        params: Json = {"name": tool, "arguments": arguments}
        named = {}
        if self._era == MODERN:
            params |= {"_meta": META}
            named = {"mcp-method": "tools/call", "mcp-name": tool}
        answer = await self._post("tools/call", params, **named)
        result: Json = answer.json()["result"]
        assert not result.get("isError"), result
        return result

    async def _post(self, method: str, params: Json, **headers: str) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self._client.post(self._url, json=body, headers=self._headers | headers)
        assert answer.status_code == 200, answer.text
        return answer


async def remote_calls(port: int, era: str, clients: int, tool: str, process: psutil.Process) -> float:
    """Return the microseconds of the server's CPU per call."""
    async with httpx2.AsyncClient(timeout=60) as client:
        every = [await Remote(client, f"http://127.0.0.1:{port}/mcp", era).begin() for _ in range(clients)]

        async def work(one: Remote, count: int) -> None:
            for number in range(count):
                await one.call(tool, {"query": question(number)} if tool == "echo" else {})

        await asyncio.gather(*(work(one, 5) for one in every))
        before = cpu(process)
        await asyncio.gather(*(work(one, CALLS // clients) for one in every))
        return 1e6 * (cpu(process) - before) / (CALLS // clients * clients)


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


# over stdio ----------------------------------------------------------------------------------------------------------


def local_calls(era: str, tool: str, command: tuple[str, ...], environment: dict[str, str]) -> float:
    """Return the same over stdio, with one client."""
    with Client(current() | environment, [sys.executable, "-m", *command]) as client:
        if era == LEGACY:
            client.ask("initialize", HELLO)
        call: Json = {"name": tool, "arguments": {"query": "a question"} if tool == "echo" else {}}
        call |= {"_meta": META} if era == MODERN else {}
        for _ in range(20):
            client.ask("tools/call", call)
        watched = psutil.Process(client.process.pid)
        before = cpu(watched)
        for _ in range(CALLS):
            client.ask("tools/call", call)
        return 1e6 * (cpu(watched) - before) / CALLS


# what is measured ----------------------------------------------------------------------------------------------------


def calls() -> None:
    """Measure `get_current_project`, which only resolves its workspace and session."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        alone = {"MEMORY_SERVICE": "off", "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
        ours = {"MEMORY_DATA_DIR": directory, **alone}
        made(directory)
        for era in (LEGACY, MODERN):
            echo = local_calls(era, "echo", ("bench.echo",), {})
            here = local_calls(era, "get_current_project", ("memoryd", "--toolsets", "projects"), ours)
            rows.append([f"stdio, {era}, 1 client", f"{echo:,.0f}", f"{here:,.0f}", f"{here / echo:.2f}"])
        for era in (LEGACY, MODERN):
            for clients in (1, 16):
                found = []
                for tool, command in (
                    ("echo", ("bench.echo", "{port}")),
                    (
                        "get_current_project",
                        ("memoryd", "serve", "--transport", "http", "--toolsets", "projects", "--port", "{port}"),
                    ),
                ):
                    port = free_port()
                    given = [part.format(port=port) for part in command]
                    with serving(*given, port=port, environment=ours) as process:
                        found.append(asyncio.run(remote_calls(port, era, clients, tool, process)))
                echo, here = found
                label = f"HTTP, {era}, {clients} client{'s' if clients > 1 else ''}"
                rows.append([label, f"{echo:,.0f}", f"{here:,.0f}", f"{here / echo:.2f}"])
    show("CPU of the server a call, us", ["", "empty echo", "memoryd", "ratio"], rows)


def made(directory: str) -> None:
    command = [sys.executable, "-m", "memoryd", "--data-dir", directory, "workspace", "create", "bench"]
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    calls()
