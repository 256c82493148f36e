"""Two versions side by side: the same calls on the same records, through clients over stdio, alternately.

    python -m bench.beside CHECKOUT [RECORDS]

CHECKOUT is an older checkout of this repository: its server is filled with RECORDS memories (10,000 by default), a
fifth as many turns of conversations and a tenth as many nodes, and this version gets a copy. No models are used.
Figures are the median milliseconds of a server's CPU per call (Linux).
"""

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.speed import fact, question
from bench.tables import show
from memoryd.environment import current

HERE = Path(__file__).parents[1]
ROUNDS, WARM = 60, 20
AT_ONCE = 16  # concurrent calls while a server is filled
OFF = {
    "MEMORY_EMBEDDER": "none",
    "MEMORY_RERANKER": "none",
    "MEMORY_SERVICE": "off",
    "MEMORY_TOOLSETS": "all",
    "MEMORY_WORKSPACE": "default",
}
PROJECT = "beside"
Given = dict[str, Any]

CALLS: dict[str, Callable[[int], Given]] = {
    "memory_store": lambda n: {"content": fact(10**7 + n)},
    "memory_recall": lambda n: {"query": question(n)},
    "memory_context": lambda n: {"task": question(n)},
    "search_memories": lambda n: {"query": question(n)},
    "query_raw_memories": lambda n: {"query": question(n)},
    "search_nodes": lambda n: {"query": question(n)},
    "open_nodes": lambda n: {"names": [f"node {n % 10}", "node 3"]},
    "get_neighborhood": lambda n: {"name": f"node {n % 10}", "depth": 2},
    "get_current_project": lambda _: {},
}


class Server:
    """A server process and its client."""

    def __init__(self, client: Client, pid: int) -> None:
        self._client = client
        self._pid = pid
        self._threads: dict[str, int] = {}

    async def ask(self, tool: str, given: Given) -> None:
        answer = await self._client.call_tool(tool, given)
        assert not answer.is_error, (tool, answer.content)

    async def measure(self, tool: str, given: Given) -> float:
        """Return the milliseconds of CPU of a call."""
        before = self._spent()
        await self.ask(tool, given)
        return (self._spent() - before) / 1e6

    async def fill(self, records: int) -> None:
        await self.ask("create_project", {"name": PROJECT})
        await self.ask("switch_project", {"name": PROJECT})
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(tool: str, given: Given) -> None:
            async with limit:
                await self.ask(tool, given)

        nodes = [
            {"name": f"node {n}", "entityType": "thing", "observations": [fact(10**6 + 5 * n + k) for k in range(5)]}
            for n in range(records // 10)
        ]
        for begin in range(0, len(nodes), 50):
            await one("create_entities", {"entities": nodes[begin : begin + 50]})
        beside = [
            {"from": f"node {n}", "to": f"node {(7 * n + k) % len(nodes)}", "relationType": "beside"}
            for n in range(len(nodes))
            for k in range(3)
        ]
        for begin in range(0, len(beside), 200):
            await one("create_relations", {"relations": beside[begin : begin + 200]})
        async with asyncio.TaskGroup() as tasks:
            for n in range(records):
                tasks.create_task(one("memory_store", {"content": fact(n)}))
                if n % 10 == 0:
                    tasks.create_task(
                        one("commit_memory", {"scope": "vault", "key": f"key {n}", "content": fact(2 * 10**6 + n)})
                    )
                if n % 5 == 0:
                    tasks.create_task(one("add_memory", turn(n)))

    def _spent(self) -> int:
        """Return the nanoseconds of CPU of all its threads so far, including those that have ended."""
        for thread in Path(f"/proc/{self._pid}/task").iterdir():
            with suppress(FileNotFoundError):
                self._threads[thread.name] = int((thread / "schedstat").read_text().split()[0])
        return sum(self._threads.values())


def turn(number: int) -> Given:
    return {"prompt": fact(3 * 10**6 + number), "thought": "I look.", "response": fact(4 * 10**6 + number)}


@asynccontextmanager
async def running(checkout: Path, directory: Path, module: str = "memoryd") -> AsyncIterator[Server]:
    environment = current() | OFF | {"MEMORY_DATA_DIR": str(directory), "PYTHONPATH": str(checkout / "src")}
    server = StdioServerParameters(command=sys.executable, args=["-m", module], env=environment, cwd=checkout)
    before = children()
    async with Client(stdio_client(server)) as client:
        (pid,) = children() - before
        yield Server(client, int(pid))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


async def beside(checkout: Path, records: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        old, new = Path(directory) / "old", Path(directory) / "new"
        async with running(checkout, old) as server:
            await server.fill(records)
        shutil.copytree(old, new)
        async with AsyncExitStack() as stack:
            empty = await stack.enter_async_context(running(HERE, new, "bench.echo"))
            servers = [
                await stack.enter_async_context(running(place, data)) for place, data in ((checkout, old), (HERE, new))
            ]
            for server in servers:
                await server.ask("switch_project", {"name": PROJECT})
            rows = []
            for tool, given in CALLS.items():
                times: list[list[float]] = [[], [], []]
                for n in range(WARM + ROUNDS):
                    for server, spent in zip(servers, times, strict=False):
                        spent.append(await server.measure(tool, given(n)))
                    times[2].append(await empty.measure("echo", {"query": question(n)}))
                before, now, least = (statistics.median(spent[WARM:]) for spent in times)
                rows.append([tool, f"{before:.2f}", f"{now:.2f}", f"{now / before:.2f}", f"{now / least:.1f}"])
    show(f"{records:,} memories, CPU ms of the server a call", ["", "before", "now", "ratio", "in empty calls"], rows)


if __name__ == "__main__":
    asyncio.run(beside(Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["10000"])[0])))
