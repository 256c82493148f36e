"""Speed, as ratios measured side by side in one run.

    python -m bench.speed start            spawn to tools/list: seconds and memory
    python -m bench.speed calls            store and recall at 100, 1,000 and 10,000 memories, and one embedding
    python -m bench.speed words [SIZE ...] by words alone: recall, the vault, the index compared with one pass of FTS5
    python -m bench.speed served           memory_recall in a server process, an empty tool, and one embedding
    python -m bench.speed vectors [ROWS]   nearest neighbours against an exact scan: CPU, recall, catching up, deletes
    python -m bench.speed writes           commits per second: one and sixteen callers, durability full and normal

Times are medians. Each needs only this checkout and, for `calls` and `served`, the bundled models.
"""

import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from numpy.typing import NDArray

from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.environment import current
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.query_syntax import parse_query
from memoryd.settings import Settings
from memoryd.store.base import Queries, Scored
from memoryd.text import STOP_WORDS

SIZES = (100, 1_000, 10_000)
DIM, TOP = 384, 10
Floats = NDArray[np.float32]


def median_ms(work: Callable[[int], object], rounds: int) -> tuple[float, float]:
    """Return the median wall and CPU milliseconds of `work(round)`."""
    wall, cpu = [], []
    for number in range(rounds):
        before, before_cpu = time.perf_counter(), time.process_time()
        work(number)
        wall.append(time.perf_counter() - before)
        cpu.append(time.process_time() - before_cpu)
    return 1e3 * statistics.median(wall), 1e3 * statistics.median(cpu)


# start ---------------------------------------------------------------------------------------------------------------


def start() -> None:
    """Measure a server process from its start to its answer to tools/list, ten times."""
    seconds, peaks = [], []
    for _ in range(10):
        before = time.perf_counter()
        peak = asyncio.run(_tools_listed())
        seconds.append(time.perf_counter() - before)
        peaks.append(peak)
    rows = [["spawn to tools/list, s", f"{min(seconds):.2f}", f"{statistics.median(seconds):.2f}"]]
    rows.append(["resident memory then, MB", f"{min(peaks):.0f}", f"{statistics.median(peaks):.0f}"])
    show("start", ["", "least", "median"], rows)


async def _tools_listed() -> float:
    with tempfile.TemporaryDirectory() as directory:
        environment = current() | {"MEMORY_DATA_DIR": directory}
        server = StdioServerParameters(command=sys.executable, args=["-m", "memoryd"], env=environment)
        async with Client(stdio_client(server)) as client:
            await client.list_tools()
            return _resident_mb()


def _resident_mb() -> float:
    """Return the memory of this process's youngest child (Linux)."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    status = Path(f"/proc/{children[-1]}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


# calls ---------------------------------------------------------------------------------------------------------------

WORDS = np.array(re.findall(r"[A-Za-z]{2,}", " ".join(topics.values())))
"""The words of Python's documentation in order, so that common and rare ones are as frequent as in English."""


COMMON = " ".join(word for word, _ in Counter(w.lower() for w in WORDS if w.lower() not in STOP_WORDS).most_common(5))


def fact(number: int) -> str:
    """Return a text of fourteen words; all are different."""
    return f"{' '.join(np.random.default_rng(number).choice(WORDS, 14))}, ticket {number}"


def question(number: int) -> str:
    """Return eight words."""
    return " ".join(np.random.default_rng(10**9 + number).choice(WORDS, 8))


def calls() -> None:
    """Measure store and recall through the core, at growing sizes, with the real models, and the growth."""
    rows, first = [], None
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings.read(data_dir=directory, model_dir=Settings.read().models, reranker="none")
        with Engine(settings) as engine:
            embedder = engine.helpers.embedder
            embedder.start()
            model = embedder.get(60)
            assert model is not None, "run `memoryd models pull` first"
            workspace = engine.workspaces.ensure("default")
            memories = Memories(Scope(engine, workspace, "bench"))
            embed, _ = median_ms(lambda n: model.embed_query(question(n)), 50)
            stored = 0
            for size in SIZES:
                fill(engine, workspace, stored, size)
                stored = size
                store, _ = median_ms(lambda n: memories.store(fact(10**6 + size + n)), 50)  # noqa: B023
                recall, _ = median_ms(lambda n: memories.recall(question(n), 500), 50)
                first = first or (store, recall)
                rows.append(
                    [
                        f"{size:,}",
                        f"{store:.1f}",
                        f"{store / first[0]:.2f}",
                        f"{recall:.1f}",
                        f"{recall / first[1]:.2f}",
                        f"{recall / embed:.2f}",
                    ]
                )
    show(
        f"calls, median ms (one query embedding: {embed:.1f} ms)",
        ["memories", "store", "growth", "recall", "growth", "recall / embedding"],
        rows,
    )


def words(*sizes: int) -> None:
    """Measure calls without models, and the index in memory against one pass of FTS5, whose ten best it must find.

    Questions differ but share some words; `again` are the same questions once more.
    """
    rows = []
    for size in sizes or SIZES:
        with tempfile.TemporaryDirectory() as directory:
            settings = Settings.read(db_path=f"{directory}/one.db", embedder="none", reranker="none")
            with Engine(settings) as engine:
                scope = Scope(engine, engine.workspaces.ensure("default"))
                scope.write(partial(_named, size, engine.clock.now()))
                memories, vault = Memories(scope), Vault(scope)
                times = [
                    median_ms(work, 100)[1]
                    for work in (
                        lambda n: _found(scope, question(n)),  # noqa: B023
                        lambda n: _found(scope, question(n)),  # noqa: B023
                        lambda n: _found(scope, question(n), one_pass=True),  # noqa: B023
                        lambda _: _found(scope, COMMON),  # noqa: B023
                        lambda _: _found(scope, COMMON, one_pass=True),  # noqa: B023
                        lambda n: memories.recall(question(n), 500),  # noqa: B023
                        lambda n: vault.search(question(n)),  # noqa: B023
                    )
                ]
                both = [(_found(scope, question(n)), _found(scope, question(n), one_pass=True)) for n in range(200)]
                kept = [_kept(one[:10], all_) for one, all_ in both if all_]
        rows.append([f"{size:,}", *(f"{time:.2f}" for time in times), f"{statistics.mean(kept):.3f}"])
    show(
        "words, median ms of CPU",
        [
            "memories",
            "question",
            "again",
            "in one pass",
            "five common words",
            "in one pass",
            "recall",
            "vault",
            "of the ten best",
        ],
        rows,
    )


def _kept(ten: Scored, best: Scored) -> float:
    """Return the share of the ten best that is found; others with the same score count too."""
    scores, least = dict(best), best[:10][-1][1] - 1e-6
    return sum(scores.get(key, 0.0) >= least for key, _ in ten) / len(best[:10])


def _named(size: int, now: str, queries: Queries) -> None:
    """Store facts, every second one with a key."""
    for number in range(size):
        name = f"key {number}" if number % 2 else None
        record = Record(id=str(uuid.uuid4()), kind=Kind.MEMORY, body=fact(number), name=name)
        records.add(queries, record, None, now)
        queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=1)


def _found(scope: Scope, text: str, *, one_pass: bool = False) -> Scored:
    parsed = parse_query(text)
    assert parsed
    asked = replace(parsed, syntax=True) if one_pass else parsed  # FTS5 itself evaluates expressions
    return scope.read(lambda q: scope.index.words(q, asked, Filter(), 100))


def fill(engine: Engine, workspace: Workspace, start: int, end: int) -> None:
    """Store facts with artificial vectors: real ones would take a minute and not change the measurements."""
    texts = [fact(number) for number in range(start, end)]
    vectors = clustered(end - start, start)
    name = engine.helpers.embedder.get(60).name  # type: ignore[union-attr]

    def work(queries: Queries) -> None:
        for text, vector in zip(texts, vectors, strict=True):
            record = Record(id=str(uuid.uuid4()), kind=Kind.MEMORY, body=text)
            records.add(queries, record, Embedded(name, vector[None, :]), engine.clock.now())
            queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=0)

    engine.store.write(workspace, work)


# served --------------------------------------------------------------------------------------------------------------


def served() -> None:
    """Measure a recall through client and server process at 10,000 memories, as a multiple of the minimal cost."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings.read(data_dir=directory, model_dir=Settings.read().models, reranker="none")
        with Engine(settings) as engine:
            engine.helpers.embedder.start()
            model = engine.helpers.embedder.get(60)
            assert model is not None, "run `memoryd models pull` first"
            fill(engine, engine.workspaces.ensure("default"), 0, SIZES[-1])
            embed, _ = median_ms(lambda n: model.embed_query(question(n)), 50)
        environment = {
            "MEMORY_DATA_DIR": directory,
            "MEMORY_MODEL_DIR": str(settings.models),
            "MEMORY_RERANKER": "none",
        }
        echo = asyncio.run(_called("bench.echo", "echo", {}))
        recall = asyncio.run(_called("memoryd", "memory_recall", environment))
    least = echo + embed
    rows = [
        ["an empty tool", f"{echo:.2f}"],
        ["one query embedding", f"{embed:.2f}"],
        ["memory_recall", f"{recall:.2f}"],
        ["its multiple of both", f"{recall / least:.2f}"],
    ]
    show(f"served, {SIZES[-1]:,} memories, no reranker, median ms", ["", ""], rows)


async def _called(module: str, tool: str, environment: dict[str, str]) -> float:
    """Return the median milliseconds of a call."""
    server = StdioServerParameters(command=sys.executable, args=["-m", module], env=current() | environment)
    async with Client(stdio_client(server)) as client:
        times = []
        for number in range(60):
            before = time.perf_counter()
            await client.call_tool(tool, {"query": question(number)})
            times.append(time.perf_counter() - before)
    return 1e3 * statistics.median(times[10:])


# vectors -------------------------------------------------------------------------------------------------------------


def clustered(rows: int, seed: int = 0) -> Floats:
    """Return unit vectors like embeddings: 2,000 topics in 64 dimensions, lifted to 384, with noise."""
    shape = np.random.default_rng(0)
    topics = shape.standard_normal((2000, 64), dtype=np.float32)
    lift = shape.standard_normal((64, DIM), dtype=np.float32) / 8
    draw = np.random.default_rng(seed + 1)
    latent = topics[draw.integers(0, 2000, rows)] + 0.7 * draw.standard_normal((rows, 64), dtype=np.float32)
    vectors = latent @ lift + 0.15 * draw.standard_normal((rows, DIM), dtype=np.float32)
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def vectors(rows: int = 100_000) -> None:
    """Measure vector search through the store: cold load, steady state, after one insert, after deletes."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Engine(Settings.read(data_dir=directory, embedder="none")) as engine,
    ):
        workspace = engine.workspaces.ensure("default")
        base, queries = clustered(rows), clustered(50, seed=99)
        ids = _insert(engine, workspace, base)
        out = []
        load, _ = median_ms(lambda _: _nearest(engine, workspace, queries[0]), 1)
        out.append(["first query (loads the index)", f"{load:.0f}", "", ""])
        out.append(["exact scan in numpy, float32", *_exact_row(base, queries)])
        out.append(["memoryd", *_measured(engine, workspace, base, ids, queries)])
        one = clustered(1, seed=5)
        caught, cpu = median_ms(
            lambda n: (_insert(engine, workspace, one), _nearest(engine, workspace, queries[n])), 20
        )
        plain, plain_cpu = median_ms(lambda _: _insert(engine, workspace, one), 20)
        out.append(["insert elsewhere + query - insert", f"{caught - plain:.2f}", f"{cpu - plain_cpu:.2f}", ""])
        gone = set(ids[::10])
        engine.store.write(workspace, lambda q: records.delete(q, list(gone), engine.clock.now()))
        kept = np.array([number for number, key in enumerate(ids) if key not in gone])
        out.append(
            ["after deleting a tenth", *_measured(engine, workspace, base[kept], [ids[n] for n in kept], queries)]
        )
    show(f"vector search, {rows:,} x {DIM}, median ms", ["", "wall", "CPU", f"recall@{TOP}"], out)


def _insert(engine: Engine, workspace: Workspace, vectors: Floats) -> list[str]:
    ids = [str(uuid.uuid4()) for _ in vectors]
    for start in range(0, len(ids), 50_000):

        def work(queries: Queries, start: int = start) -> None:
            now = engine.clock.now()
            for key, vector in zip(ids[start : start + 50_000], vectors[start : start + 50_000], strict=False):
                record = Record(id=key, kind=Kind.MEMORY, body=f"row {key[:8]}")
                records.add(queries, record, Embedded("bench", vector[None, :]), now)

        engine.store.write(workspace, work)
    return ids


def _nearest(engine: Engine, workspace: Workspace, query: Floats) -> list[str]:
    index, sets = engine.store.index, [VectorSet(GENERAL, "bench")]
    (found,) = engine.store.read(workspace, lambda q: index.nearest(q, sets, query, Filter(), TOP))
    return [key for key, _ in found]


def _exact_row(base: Floats, queries: Floats) -> list[str]:
    wall, cpu = median_ms(lambda n: np.argpartition(-(base @ queries[n]), TOP), len(queries))
    return [f"{wall:.2f}", f"{cpu:.2f}", "1.000"]


def _measured(engine: Engine, workspace: Workspace, base: Floats, ids: list[str], queries: Floats) -> list[str]:
    _nearest(engine, workspace, queries[0])
    wall, cpu = median_ms(lambda n: _nearest(engine, workspace, queries[n]), len(queries))
    hits = 0
    for query in queries:
        truth = {ids[n] for n in np.argsort(-(base @ query))[:TOP]}
        hits += len(truth & set(_nearest(engine, workspace, query)))
    return [f"{wall:.2f}", f"{cpu:.2f}", f"{hits / TOP / len(queries):.3f}"]


# writes --------------------------------------------------------------------------------------------------------------


def writes() -> None:
    """Measure stores per second without a model; each is durable before it returns."""
    rows = [
        [durability, str(callers), f"{_rate(durability, callers):,.0f}"]
        for durability in ("full", "normal")
        for callers in (1, 16)
    ]
    show("writes", ["durability", "callers", "stores a second"], rows)


def _rate(durability: str, callers: int, number: int = 1_600) -> float:
    with (
        tempfile.TemporaryDirectory() as directory,
        Engine(Settings.read(data_dir=directory, embedder="none", durability=durability)) as engine,
    ):
        memories = Memories(Scope(engine, engine.workspaces.ensure("default"), "bench"))
        memories.store("warm")
        before = time.perf_counter()
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(lambda n: memories.store(fact(n)), range(number)))
        return number / (time.perf_counter() - before)


def main() -> None:
    benches: dict[str, Callable[..., None]] = {
        "start": start,
        "calls": calls,
        "words": words,
        "served": served,
        "vectors": vectors,
        "writes": writes,
    }
    if len(sys.argv) < 2 or sys.argv[1] not in benches:
        sys.exit(__doc__)
    benches[sys.argv[1]](*map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
