"""Export and import of a workspace: rows per second, wall time and CPU, and peak memory.

    python -m bench.exports [RECORDS ...]

RECORDS are 10,000 and 100,000 by default. Half of them are memories, a tenth entities, the others their observations;
each has an event, each entity a relation. Every step runs in its own process, whose peak resident memory is shown: it
should hardly grow with RECORDS.
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.speed import fact
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.transfer import export as exports
from memoryd.core.transfer import jsonl, restore
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.model import Kind, Record
from memoryd.settings import Settings
from memoryd.store import rows
from memoryd.store.base import Queries

BATCH = 2_000  # records per transaction while filling
SIZES = (10_000, 100_000)


def opened(place: str) -> Engine:
    """Return an engine without models."""
    return Engine(Settings.read(data_dir=place, embedder="none", reranker="none"), fetch=False)


def fill(place: str, count: int) -> int:
    """Create a workspace of `count` records; return `count`."""
    with opened(place) as engine:
        workspace = engine.workspaces.ensure("default")
        for start in range(0, count, BATCH):
            now = engine.clock.now()
            engine.store.write(workspace, lambda q: _batch(q, range(start, min(start + BATCH, count)), now))  # noqa: B023
    return count


def _batch(queries: Queries, numbers: range, now: str) -> None:
    """Add records: of ten, five are memories, the sixth is an entity, and four are its observations."""
    for number in numbers:
        place, entity = number % 10, f"{number // 10:09}"
        kind = Kind.MEMORY if place < 5 else Kind.ENTITY if place == 5 else Kind.OBSERVATION
        name = None if kind is Kind.MEMORY else f"entity {entity}"
        key = f"e{entity}" if kind is Kind.ENTITY else f"r{number:09}"
        records.add(queries, Record(id=key, kind=kind, name=name, body=fact(number)), None, now)
        if kind is Kind.MEMORY:
            queries.run("memories.add", id=key, fingerprint=f"print {number}", importance=0.5, consolidated=0)
        elif kind is Kind.ENTITY:
            rows.put(queries, "entity_details", [{"id": key, "summary_updated_at": None, "next_ordinal": 4}])
            queries.run("relations.add", id=key, source=key, target=key, type="is", now=now)
        else:
            queries.run("observations.add", id=key, entity=f"e{entity}", ordinal=place - 6)


def export(place: str, file: str) -> int:
    """Export, and return the number of rows in the file."""
    with opened(place) as engine:
        _, numbers = exports.export(engine, Path(file), [engine.workspaces.find("default")], _quiet)
    return numbers["default"].total()


def load(place: str, file: str, mode: ImportMode) -> int:
    """Import, and return the number of rows in the file."""
    with opened(place) as engine, jsonl.opened(Path(file)) as source:
        (outcome,) = restore.load(engine, source, None, mode, _quiet)
    return outcome.read.total()


def _quiet(_what: str, _done: float) -> None:
    pass


def _measured(work: str, *arguments: object) -> tuple[float, float, float]:
    """Run a function in its own process; return rows per second, rows per CPU second, and peak memory in MB."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_measure, work, arguments).result()


def _measure(work: str, arguments: tuple[object, ...]) -> tuple[float, float, float]:
    before, before_cpu = time.perf_counter(), time.process_time()
    number = globals()[work](*arguments)
    rate, a_cpu = number / (time.perf_counter() - before), number / (time.process_time() - before_cpu)
    status = Path(f"/proc/{os.getpid()}/status").read_text(encoding="ascii")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return rate, a_cpu, peak / 1024


def main() -> None:
    """Measure every step at every size."""
    for count in map(int, sys.argv[1:] or SIZES):
        with tempfile.TemporaryDirectory() as directory:
            source, target, file = (f"{directory}/{name}" for name in ("source", "target", "file"))
            _measured("fill", source, count)
            steps = {
                "export": _measured("export", source, file),
                "import, nothing there": _measured("load", target, file, "merge"),
                "import again": _measured("load", target, file, "merge"),
                "import, replacing": _measured("load", target, file, "replace"),
            }
            size = Path(file).stat().st_size / 1e6
        table = [[what, f"{rate:,.0f}", f"{a_cpu:,.0f}", f"{peak:.0f}"] for what, (rate, a_cpu, peak) in steps.items()]
        show(f"{count:,} records, {size:.1f} MB", ["step", "rows a second", "a CPU second", "peak memory, MB"], table)


if __name__ == "__main__":
    main()
