"""Whether new memories are found by meaning at once, and the cost of checking that nothing lacks a vector.

    python -m bench.fresh asked [RUNS]     a new server stores sixteen facts and is asked five paraphrased questions
    python -m bench.fresh check [ROWS...]  the check before a search of the index, at this many memories

Each needs only this checkout and the bundled models.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.speed import clustered, median_ms
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.records import records
from memoryd.core.records.backlog import Backlog
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.environment import current
from memoryd.model import Filter, Kind, Record
from memoryd.settings import Settings
from memoryd.store.base import Queries

FACTS = (
    "The staging database listens on port 5433.",
    "Maria Lopez leads the billing team.",
    "We deploy on Tuesday mornings after the stand-up.",
    "The mobile app is written in Kotlin.",
    "Invoices are archived for ten years.",
    "The office dog is called Biscuit.",
    "Our error budget for the API is 0.1 percent.",
    "Tom is allergic to peanuts.",
    "The test suite takes eleven minutes.",
    "Passwords are rotated every ninety days.",
    "The customer in Oslo pays in kroner.",
    "Backups are copied to a vault in Frankfurt.",
    "The new logo is a blue heron.",
    "Anna moves to the Lisbon office in May.",
    "Meetings are never held on Fridays.",
    "The coffee machine is cleaned by the interns.",
)
ASKED = {
    "Who heads accounting?": FACTS[1],
    "Which programming language runs on the phone?": FACTS[3],
    "What is the name of the pet at work?": FACTS[5],
    "How often must credentials be changed?": FACTS[9],
    "Which weekday has no appointments?": FACTS[14],
}
"""Questions that share no word with their answer."""


def asked(runs: int = 5) -> None:
    """Show how many of the five are answered at once and a second later, and how long that took, in `runs` servers."""
    rows = []
    for _ in range(runs):
        now, seconds, later = asyncio.run(_asked())
        rows.append([f"{now} of {len(ASKED)}", f"{seconds:.2f}", f"{later} of {len(ASKED)}"])
    show("asked at once, in a fresh process", ["found", "seconds for all", "found a second later"], rows)


async def _asked() -> tuple[int, float, int]:
    with tempfile.TemporaryDirectory() as directory:
        environment = {"MEMORY_DATA_DIR": directory, "MEMORY_MODEL_DIR": str(Settings.read().models)}
        server = StdioServerParameters(command=sys.executable, args=["-m", "memoryd"], env=current() | environment)
        async with Client(stdio_client(server)) as client:
            for fact in FACTS:
                await client.call_tool("memory_store", {"content": fact})
            before = time.perf_counter()
            now = sum(await asyncio.gather(*(_found(client, question) for question in ASKED)))
            seconds = time.perf_counter() - before
            await asyncio.sleep(1)
            return now, seconds, sum([await _found(client, question) for question in ASKED])


async def _found(client: Client, question: str) -> bool:
    """Return whether the answer of a question is found."""
    answer = await client.call_tool("memory_recall", {"query": question})
    return ASKED[question] in answer.content[0].text  # type: ignore[union-attr]


def check(*sizes: int) -> None:
    """Show the milliseconds of the check for missing vectors, on SQLite."""
    rows = []
    for size in sizes or (10_000, 100_000):
        with (
            tempfile.TemporaryDirectory() as directory,
            Engine(Settings.read(data_dir=directory, embedder="none")) as engine,
        ):
            rows.append([f"{size:,}", *(f"{took:.2f}" for took in _checked(engine, size))])
    show("the look before a search, median ms", ["memories", "first", "nothing new", "one new", "64 lacking"], rows)


def _checked(engine: Engine, size: int) -> list[float]:
    workspace = engine.workspaces.ensure("default")
    backlog = Backlog()
    vectors = clustered(size)

    def work(queries: Queries) -> None:
        for number, vector in enumerate(vectors):
            record = Record(id=records.new_id(), kind=Kind.MEMORY, body=f"memory {number}")
            records.add(queries, record, Embedded("bench", vector[None, :]), engine.clock.now())

    engine.store.write(workspace, work)
    memories = Memories(Scope(engine, workspace, "bench"))

    def look(_: int) -> None:
        engine.store.read(workspace, lambda q: backlog.lacking(q, "bench", Filter()))

    def first(_: int) -> None:
        engine.store.read(workspace, lambda q: Backlog().lacking(q, "bench", Filter()))

    steps: list[tuple[Callable[[int], object], int]] = [(first, 10), (look, 1_000)]
    took = [median_ms(step, rounds)[0] for step, rounds in steps]
    after = []
    for number in range(64):
        memories.store(f"new {number}")
        after.append(median_ms(look, 1)[0])
    return [*took, after[0], median_ms(look, 50)[0]]


def main() -> None:
    benches: dict[str, Callable[..., None]] = {"asked": asked, "check": check}
    if len(sys.argv) < 2 or sys.argv[1] not in benches:
        sys.exit(__doc__)
    benches[sys.argv[1]](*map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
