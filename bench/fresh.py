"""The cost of checking before a search that no record lacks a vector, on SQLite, at some numbers of memories.

python -m bench.fresh [ROWS ...]
"""

import sys
import tempfile
from collections.abc import Callable

from bench.speed import clustered, median_ms
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.records import records
from memoryd.core.records.backlog import Backlog
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.model import Filter, Kind, Record
from memoryd.settings import Settings
from memoryd.store.base import Queries


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
        engine.store.read(workspace, lambda q: backlog.lacking(q, {"model": "bench", "other": "bench"}, Filter()))

    def first(_: int) -> None:
        engine.store.read(workspace, lambda q: Backlog().lacking(q, {"model": "bench", "other": "bench"}, Filter()))

    steps: list[tuple[Callable[[int], object], int]] = [(first, 10), (look, 1_000)]
    took = [median_ms(step, rounds)[0] for step, rounds in steps]
    after = []
    for number in range(64):
        memories.store(f"new {number}")
        after.append(median_ms(look, 1)[0])
    return [*took, after[0], median_ms(look, 50)[0]]


if __name__ == "__main__":
    check(*map(int, sys.argv[1:]))
