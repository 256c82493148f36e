"""Many clients that use everything at once, with the bundled models: throughput, latency, memory.

    python -m bench.load [--minutes 10] [--clients 64] [--store sqlite|postgres] [--processes 1] [--every 30]
    python -m bench.load --store postgres --processes 1 2 4        # one after the other, each with a new database
    python -m bench.load --stored 5000 --reading                  # what searches keep in memory, if nothing is added

Half of the clients speak each era of MCP, every eighth calls tools over plain HTTP. Four workspaces are shared. Several
processes are behind HAProxy, configured as in docs/scale.md, or behind a minimal proxy if it is not installed. A client
that is asked to try again waits as long as the server says. The clients begin once all models are loaded; rates count
from then to the last answer. The cores of Postgres are counted if `--store postgres` starts it.
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
from prometheus_client.parser import text_string_to_metric_families

from bench.http import LEGACY, META, MODERN, Json, free_port, serving
from bench.service import HELLO
from bench.speed import fact, fill, question
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.server.app import RETRY_AFTER
from memoryd.settings import Settings
from memoryd.store.postgres.managed_server import ManagedServer
from tests.proxies import balanced, installed

WORKSPACES = 4
Processes = dict[str, list[psutil.Process]]
"""The processes whose CPU is counted, by role."""
PLAIN = "plain HTTP"
ERAS = LEGACY, MODERN, PLAIN
WRITING = "memory_store", "create_entities", "add_memory"
HEADS = [
    "processes",
    "calls a second",
    "p50, p99, ms",
    "cores",
    "connections",
    "PSS at start, middle, end, MB",
    "to be tried again",
    "failed",
]


def asked(chance: random.Random, number: int, *, reading: bool) -> tuple[str, Json]:
    """Return a random tool call, weighted as in agents' use; with `reading` one that stores nothing."""
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
    kinds = [kind for kind in kinds if not reading or kind[1] not in WRITING]
    _, tool, arguments = chance.choices(kinds, [weight for weight, *_ in kinds])[0]
    return tool, arguments


@dataclass
class Seen:
    """What the clients measured."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds of the answered calls, by tool and by era."""
    refused: Counter[str] = field(default_factory=Counter)
    """Calls to be tried again, by the form of the refusal."""
    failed: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    """Megabytes of all servers (PSS), at each sample."""
    connections: int = 0
    """The maximum number of connections to Postgres."""
    seconds: float = 0.0
    cores: dict[str, float] = field(default_factory=dict)

    @property
    def all(self) -> list[float]:
        return [one for era in ERAS for one in self.times[era]]


class AgainError(Exception):
    """The server asks to try again after some seconds."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.seconds = seconds


class FailedError(Exception):
    """The call failed."""


class LoadClient:
    """One client."""

    def __init__(self, http: httpx2.AsyncClient, url: str, token: str, number: int, *, reading: bool) -> None:
        self._http, self._url, self._reading = http, url, reading
        self._era = PLAIN if number % 8 == 7 else (LEGACY, MODERN)[number % 2]
        self._chance = random.Random(number)
        self._numbers = itertools.count(number * 10**6)
        self._headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
        self._headers |= {"x-memory-workspace": f"bench{number % WORKSPACES}"}
        if self._era != PLAIN:
            self._headers |= {"mcp-protocol-version": self._era}

    async def begin(self) -> None:
        if self._era == LEGACY:
            answer = await self._post("/mcp", _message("initialize", HELLO))
            self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]

    async def work(self, seen: Seen, end: float) -> None:
        """Call one tool after another."""
        while time.monotonic() < end:
            tool, arguments = asked(self._chance, next(self._numbers), reading=self._reading)
            before = time.perf_counter()
            try:
                await self._call(tool, arguments)
                for what in (tool, self._era):
                    seen.times[what].append(time.perf_counter() - before)
            except AgainError as error:
                seen.refused[str(error)] += 1
                await asyncio.sleep(error.seconds)
            except (FailedError, httpx2.HTTPError) as error:
                seen.failed[f"{type(error).__name__}: {error}"[:90]] += 1

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


async def load(given: argparse.Namespace, url: str, token: str, processes: Processes, database: str) -> Seen:
    """Run many clients for some minutes, and return what they measured."""
    seen, seconds = Seen(), 60 * given.minutes
    async with httpx2.AsyncClient(timeout=180, limits=httpx2.Limits(max_connections=given.clients)) as http:
        each = [LoadClient(http, url, token, number, reading=given.reading) for number in range(given.clients)]
        await asyncio.gather(*(one.begin() for one in each))
        begun, used = time.monotonic(), cpu(processes)
        watching = asyncio.create_task(_watch(seen, processes["servers"], begun, given.every, database))
        await asyncio.gather(*(one.work(seen, begun + seconds) for one in each))
        seen.seconds = time.monotonic() - begun
        seen.cores = {who: (now - used[who]) / seen.seconds for who, now in cpu(processes).items()}
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        _look(seen, processes["servers"], seen.seconds, database)
    return seen


async def _watch(seen: Seen, servers: Sequence[psutil.Process], begun: float, every: float, database: str) -> None:
    while True:
        _look(seen, servers, time.monotonic() - begun, database)
        await asyncio.sleep(every)


def _look(seen: Seen, servers: Sequence[psutil.Process], passed: float, database: str) -> None:
    infos = [server.memory_full_info() for server in servers]
    rss, pss = (sum(getattr(info, name) for info in infos) / 1e6 for name in ("rss", "pss"))
    threads, others = sum(server.num_threads() for server in servers), seen.refused.total() + seen.failed.total()
    seen.memory.append(pss)
    seen.connections = max(seen.connections, connections(database))
    print(
        f"{passed:5.0f} s  {rss:5.0f} MB RSS  {pss:5.0f} MB PSS  {threads:4} threads {len(seen.all):7,} calls "
        f"{others:6,} refused or failed",
        flush=True,
    )


def cpu(processes: Processes) -> dict[str, float]:
    """Return the CPU seconds so far by role, including ended children."""
    return {who: sum(map(_cpu, some)) for who, some in processes.items()}


def _cpu(process: psutil.Process) -> float:
    """Return the CPU seconds of a process; for Postgres including its children, one per connection."""
    every = [process, *process.children()] if process.name() == "postgres" else [process]
    used = 0.0
    for one in every:
        with contextlib.suppress(psutil.NoSuchProcess):  # a worker of Postgres has ended
            used += sum(one.cpu_times()[:4])
    return used


def connections(database: str) -> int:
    """Return the number of other connections to a Postgres database; 0 for SQLite."""
    if not database:
        return 0
    statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
    with psycopg.connect(database) as connection:
        found: int = connection.execute(statement).fetchall()[0][0]
    return found


# the servers ---------------------------------------------------------------------------------------------------------


def prepared(directory: str, database: str, stored: int) -> tuple[dict[str, str], str]:
    """Create the workspaces with `stored` memories each; return the environment of the servers, and a token."""
    ours = {"MEMORY_RATE_LIMIT": "none"}
    ours |= {"MEMORY_DATA_DIR": directory, "MEMORY_MODEL_DIR": str(Settings.read().models)}
    ours |= {"MEMORY_DATABASE_URL": database} if database else {}
    with Engine(Settings.read(ours), fetch=False) as engine:
        engine.helpers.embedder.start()
        for number in range(WORKSPACES):
            workspace = engine.workspaces.ensure(f"bench{number}")
            if stored:
                fill(engine, workspace, stored * number, stored * (number + 1))
        return ours, engine.tokens.create("bench")


def running(servers: Sequence[psutil.Process], data: Path) -> Processes:
    """Return the processes whose CPU is counted: the servers, the clients with their proxy, and a managed Postgres."""
    proxies = [child for child in psutil.Process().children() if child.name() == "haproxy"]
    found = {"servers": list(servers), "clients": [psutil.Process(), *proxies]}
    if (pid := data / "postgres" / "postmaster.pid").exists():
        found["Postgres"] = [psutil.Process(int(pid.read_text(encoding="ascii").split()[0]))]
    return found


def wait_for_models(url: str, token: str) -> None:
    """Return once a server has loaded its models."""
    while any(": " in state and not state.endswith(": ready") for state in _models(url, token)):
        time.sleep(0.2)


def _models(url: str, token: str) -> list[str]:
    answer = httpx2.get(f"{url}/health", headers={"authorization": f"Bearer {token}"}, timeout=60)
    return list(answer.json()["models"].values())


def kept(url: str, token: str) -> list[str]:
    """Return what a server keeps in memory, by its own metrics."""
    answer = httpx2.get(f"{url}/metrics", headers={"authorization": f"Bearer {token}"}, timeout=60)
    families = text_string_to_metric_families(answer.text)
    samples = [one for each in families for one in each.samples if one.name == "memoryd_memory_bytes"]
    return [f"{one.labels['what']}: {one.value / 1e6:.1f} MB" for one in samples]


def tried(given: argparse.Namespace, number: int) -> Seen:
    """Run the clients against `number` processes on a new database, and return what they measured."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as ends:
        database = "" if given.store == "sqlite" else given.store
        if given.store == "postgres":
            database = ends.enter_context(closing(ManagedServer(Path(directory)))).url()
        ours, token = prepared(directory, database, given.stored)
        ports = [free_port() for _ in range(number)]
        command = ("memoryd", "serve", "--transport", "http", "--toolsets", "recall,graph,journal")
        servers = [
            ends.enter_context(serving(*command, "--port", str(port), port=port, environment=ours)) for port in ports
        ]
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        for one in urls:
            wait_for_models(one, token)
        url = urls[0]
        if number > 1:
            url = ends.enter_context(
                installed("haproxy", ports, Path(directory)) if which("haproxy") else balanced(ports, sticky=True)
            )
        processes = running(servers, Path(directory))
        seen = asyncio.run(load(given, url, token, processes, database))
        print(", ".join(kept(urls[0], token)))
        return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgres (a managed server), or a URL")
    parser.add_argument("--processes", type=int, nargs="+", default=[1])
    parser.add_argument("--every", type=float, default=30, help="seconds between samples of the memory")
    parser.add_argument("--stored", type=int, default=0, help="initial memories in each of the four workspaces")
    parser.add_argument("--reading", action="store_true", help="the clients store nothing")
    given = parser.parse_args()
    rows = []
    for number in given.processes:
        seen = tried(given, number)
        report(seen, f"{given.clients} clients, {given.store}, processes: {number}")
        rows.append([str(number), *summary(seen)])
    print(f"{given.clients} clients, {given.store}, minutes: {given.minutes:g}\n")
    for row in [HEADS, ["---"] * len(HEADS), *rows]:  # in the format of the documentation
        print(f"| {' | '.join(row)} |")


def report(seen: Seen, title: str) -> None:
    """Print the figures of each tool and era, and what was refused or failed."""
    rows = []
    eras = [(era, seen.times.pop(era, [])) for era in ERAS]
    for what, times in [*sorted(seen.times.items()), *eras, ("all", [one for _, of in eras for one in of])]:
        if times:
            rate = len(times) / seen.seconds
            rows.append([what, f"{len(times):,}", f"{rate:,.1f}", *_tails(times), f"{max(times):,.1f}"])
    seen.times |= dict(eras)
    show(title, ["", "calls", "a second", "p50 ms", "p99 ms", "longest s"], rows)
    for what, number in [*seen.refused.most_common(), *seen.failed.most_common(10)]:
        print(f"{number:7,}  {what}")


def summary(seen: Seen) -> list[str]:
    """Return the figures of a run in the format of docs/scale.md and docs/benchmarks.md."""
    answered, refused = len(seen.all), seen.refused.total()
    middle = seen.memory[len(seen.memory) // 2]
    return [
        f"{answered / seen.seconds:.1f}",
        ", ".join(_tails(seen.all)),
        ", ".join(f"{who} {cores:.2f}" for who, cores in seen.cores.items()),
        str(seen.connections),
        ", ".join(f"{value:.0f}" for value in (seen.memory[0], middle, seen.memory[-1])),
        f"{refused:,} ({refused / max(answered + refused, 1):.0%})",
        f"{seen.failed.total():,}",
    ]


def _tails(times: Sequence[float]) -> list[str]:
    """Return the median and the 99th percentile, in milliseconds."""
    cuts = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else [*times] * 99
    return [f"{1e3 * cuts[place]:,.0f}" for place in (49, 98)]


if __name__ == "__main__":
    main()
