"""Many clients that use everything at once, with the bundled models: how fast, how late, how large.

    python -m bench.load [--minutes 10] [--clients 64] [--store sqlite|postgres] [--processes 1] [--every 30]

Half of the clients speak each era of MCP, every eighth calls tools over plain HTTP. Four workspaces are shared. Before
several processes stands HAProxy as docs/scale.md configures it, or a proxy of a few lines where it is not installed. A
client that is told to try again waits as long as it was told.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg

from bench.http import LEGACY, META, MODERN, Json, free_port, serving
from bench.speed import fact, question, show
from memoryd.core.engine import Engine
from memoryd.server.answers import RETRY_AFTER
from memoryd.settings import Settings
from memoryd.store.postgres.managed_server import ManagedServer
from tests.proxies import balanced, installed

WORKSPACES = 4
PLAIN = "plain"
INFO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}


def asked(chance: random.Random, number: int) -> tuple[str, Json]:
    """A call of a tool, as agents mix them."""
    name = f"thing {chance.randrange(200)}"
    kinds: list[tuple[int, str, Json]] = [
        (30, "memory_store", {"content": fact(number)}),
        (30, "memory_recall", {"query": question(number)}),
        (5, "memory_context", {"task": question(number)}),
        (10, "memory_inspect", {"view": "recent"}),
        (5, "create_entities", {"entities": [{"name": name, "entity_type": "thing", "observations": [fact(number)]}]}),
        (10, "search_nodes", {"query": question(number)}),
        (5, "add_memory", {"prompt": question(number), "thought": question(number + 1), "response": fact(number)}),
        (5, "query_raw_memories", {"query": question(number)}),
    ]
    _, tool, arguments = chance.choices(kinds, [weight for weight, *_ in kinds])[0]
    return tool, arguments


@dataclass
class Seen:
    """What the clients saw."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    """The most that a Postgres database had."""


class AgainError(Exception):
    """The server asks to try again after so many seconds."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.seconds = seconds


class FailedError(Exception):
    """The call failed."""


class LoadClient:
    """One client."""

    def __init__(self, http: httpx2.AsyncClient, url: str, token: str, number: int) -> None:
        self._http, self._url = http, url
        self._era = PLAIN if number % 8 == 7 else (LEGACY, MODERN)[number % 2]
        self._chance = random.Random(number)
        self._numbers = itertools.count(number * 10**6)
        self._headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
        self._headers |= {"x-memory-workspace": f"bench{number % WORKSPACES}"}
        if self._era != PLAIN:
            self._headers |= {"mcp-protocol-version": self._era}

    async def begin(self) -> None:
        if self._era == LEGACY:
            answer = await self._post("/mcp", _message("initialize", INFO))
            self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]

    async def work(self, seen: Seen, end: float) -> None:
        """Call one tool after another."""
        while time.monotonic() < end:
            tool, arguments = asked(self._chance, next(self._numbers))
            before = time.perf_counter()
            try:
                await self._call(tool, arguments)
                seen.times[tool].append(time.perf_counter() - before)
            except AgainError as error:
                seen.errors[str(error)] += 1
                await asyncio.sleep(error.seconds)
            except (FailedError, httpx2.HTTPError) as error:
                seen.errors[f"{type(error).__name__}: {error}"[:90]] += 1

    async def _call(self, tool: str, arguments: Json) -> None:
        if self._era == PLAIN:
            await self._post(f"/tools/{tool}", arguments)
            return
        params: Json = {"name": tool, "arguments": arguments}
        named = {}
        if self._era == MODERN:
            params |= {"_meta": META}
            named = {"mcp-method": "tools/call", "mcp-name": tool}
        answer: Json = (await self._post("/mcp", _message("tools/call", params), **named)).json()
        if "error" in answer:
            raise FailedError(answer["error"]["message"])
        result = answer["result"]
        if RETRY_AFTER in result.get("_meta", {}):
            raise AgainError("refused over MCP", result["_meta"][RETRY_AFTER])
        if result.get("isError"):
            raise FailedError(result["content"][0]["text"])

    async def _post(self, path: str, body: Json, **headers: str) -> httpx2.Response:
        answer = await self._http.post(self._url + path, json=body, headers=self._headers | headers)
        if answer.status_code in (429, 503):
            raise AgainError(f"refused with {answer.status_code}", float(answer.headers.get("retry-after", 1)))
        if answer.status_code != 200:
            raise FailedError(f"{self._era} {answer.status_code} {answer.text}")
        return answer


def _message(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def load(
    url: str, token: str, clients: int, seconds: float, processes: Sequence[psutil.Process], every: float, database: str
) -> Seen:
    """What many clients see in so many seconds."""
    seen = Seen()
    async with httpx2.AsyncClient(timeout=180, limits=httpx2.Limits(max_connections=clients)) as http:
        each = [LoadClient(http, url, token, number) for number in range(clients)]
        await asyncio.gather(*(one.begin() for one in each))
        begun = time.monotonic()
        watching = asyncio.create_task(_watch(seen, processes, begun, every, database))
        await asyncio.gather(*(one.work(seen, begun + seconds) for one in each))
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    return seen


async def _watch(seen: Seen, processes: Sequence[psutil.Process], begun: float, every: float, database: str) -> None:
    while True:
        infos = [process.memory_full_info() for process in processes]
        rss, pss = (sum(getattr(info, name) for info in infos) / 1e6 for name in ("rss", "pss"))
        calls, threads = sum(map(len, seen.times.values())), sum(process.num_threads() for process in processes)
        seen.connections = max(seen.connections, connections(database))
        passed, others = time.monotonic() - begun, sum(seen.errors.values())
        print(f"{passed:5.0f} s  {rss:5.0f} MB RSS  {pss:5.0f} MB PSS  {threads:4} threads {calls:7,} calls "
              f"{others:6,} refused or failed", flush=True)  # fmt: skip
        await asyncio.sleep(every)


def connections(database: str) -> int:
    """How many a Postgres database has beside this one; 0 of SQLite."""
    if not database:
        return 0
    statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
    with psycopg.connect(database) as connection:
        found: int = connection.execute(statement).fetchall()[0][0]
    return found


# the servers ---------------------------------------------------------------------------------------------------------


def prepared(directory: str, database: str) -> tuple[dict[str, str], str]:
    """The environment of a memory with the workspaces of this bench, and a token."""
    ours = {"MEMORY_RATE_LIMIT": "none"}
    ours |= {"MEMORY_DATA_DIR": directory, "MEMORY_MODEL_DIR": str(Settings.read().models)}
    ours |= {"MEMORY_DATABASE_URL": database} if database else {}
    with Engine(Settings.read(ours), fetch=False) as engine:
        for number in range(WORKSPACES):
            engine.workspaces.ensure(f"bench{number}")
        return ours, engine.tokens.create("bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgres (a server of its own), or a URL")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--every", type=float, default=30, help="seconds between looks at the memory")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as ends:
        database = "" if given.store == "sqlite" else given.store
        if given.store == "postgres":
            database = ends.enter_context(closing(ManagedServer(Path(directory)))).url()
        ours, token = prepared(directory, database)
        ports = [free_port() for _ in range(given.processes)]
        command = ("memoryd", "serve", "--transport", "http", "--toolsets", "recall,graph,journal")
        servers = [
            ends.enter_context(serving(*command, "--port", str(port), port=port, environment=ours)) for port in ports
        ]
        url = f"http://127.0.0.1:{ports[0]}"
        if given.processes > 1:
            url = ends.enter_context(
                installed("haproxy", ports, Path(directory)) if which("haproxy") else balanced(ports, sticky=True)
            )
        began = [sum(server.cpu_times()[:2]) for server in servers]
        seen = asyncio.run(load(url, token, given.clients, 60 * given.minutes, servers, given.every, database))
        used = sum(sum(server.cpu_times()[:2]) for server in servers) - sum(began)
    report(seen, given.clients, 60 * given.minutes, used)


def report(seen: Seen, clients: int, seconds: float, used: float) -> None:
    """Print the figures."""
    rows = []
    every = [one for times in seen.times.values() for one in times]
    for tool, times in [*sorted(seen.times.items()), ("all", every)]:
        cuts = statistics.quantiles(times, n=100) if len(times) > 1 else times * 99
        middle, late = (f"{1e3 * cuts[place]:,.0f}" for place in (49, 98))
        rows.append([tool, f"{len(times):,}", f"{len(times) / seconds:,.1f}", middle, late, f"{max(times):,.1f}"])
    title = (
        f"{clients} clients for {seconds:.0f} s; the servers used {used / seconds:.2f} cores and "
        f"{seen.connections} connections"
    )
    show(title, ["", "calls", "a second", "p50 ms", "p99 ms", "longest s"], rows)
    show("refused, and failed", ["", ""], [[what, f"{number:,}"] for what, number in seen.errors.most_common(10)])


if __name__ == "__main__":
    main()
