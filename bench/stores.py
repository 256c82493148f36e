"""Postgres and SQLite side by side: the same calls on the same records, in one run.

    python -m bench.stores [RECORDS] [--only PART] [--database-url URL]

RECORDS is 10,000 by default. The URL (or MEMORY_DATABASE_URL) names a Postgres database for this purpose only:
workspaces are added to it, and none is removed. PART is one of

    calls      bulk import, then store and recall with the bundled embedder and without the cross-encoder
    graph      search_nodes and neighbourhoods of a graph of RECORDS, each observation with five vectors
    vectors    nearest neighbours in all of RECORDS, and in a second workspace of a hundredth of them
    words      questions of rare and of common words in all of RECORDS, and in a workspace of a fiftieth
    writers    eight processes that write for ten seconds: stores per second, and how many of them are missing later

Times are medians of wall time: half of the work is in the server, whose CPU time this process does not see.
"""

import argparse
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped]
import psycopg

from bench import graph as graphs
from bench.speed import DIM, TOP, WORDS, Floats, clustered, fact, median_ms, question
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.graph import traversal, view
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories.memories import Memories
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.core.search.pipeline import Mode
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.query_syntax import parse_query
from memoryd.settings import Settings
from memoryd.store.base import Queries

BATCH = 2_000  # records per transaction of an import
SET = VectorSet(GENERAL, "bench")
WRITERS, SECONDS = 8, 10
ROUNDS = 60  # calls whose CPU is measured: that of a server is reported in hundredths of a second
COMMON = "value object string method class"
Column = dict[str, str]


def imported(engine: Engine, workspace: Workspace, count: int, model: str = SET.model) -> tuple[list[str], Floats]:
    """Store facts with vectors, the same in each store; return their ids and vectors."""
    vectors, ids = clustered(count), [str(uuid.UUID(int=number + 1)) for number in range(count)]
    texts = [" ".join(words) for words in np.random.default_rng(count).choice(WORDS, (count, 14))]

    def work(queries: Queries, batch: range) -> None:
        now = engine.clock.now()
        for n in batch:
            record = Record(id=ids[n], kind=Kind.MEMORY, body=f"{texts[n]}, ticket {n}")
            records.add(queries, record, Embedded(model, vectors[n : n + 1]), now)
            queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=0)

    for start in range(0, count, BATCH):
        batch = range(start, min(start + BATCH, count))
        engine.store.write(workspace, lambda q: work(q, batch))  # noqa: B023
    return ids, vectors


def calls(settings: Settings, count: int) -> Column:
    """Measure the calls of the core, as in `bench.speed calls`."""
    with opened(settings, real=True) as engine:
        embedder = engine.helpers.embedder.get(60)
        assert embedder is not None, "run `memoryd models pull` first"
        workspace = fresh(engine)
        before = time.perf_counter()
        imported(engine, workspace, count, embedder.name)
        rate = count / (time.perf_counter() - before)
        memories = Memories(Scope(engine, workspace, "bench"))
        recall = settled(engine, lambda n: memories.recall(question(n), 500))
        store, _ = median_ms(lambda n: memories.store(fact(10**6 + n)), 50)
        return {"imported, records a second": f"{rate:,.0f}", "store, ms": f"{store:.1f}", "recall, ms": recall}


def graph(settings: Settings, count: int) -> Column:
    """Measure a graph of `count` records: a sixth are entities, the others their observations."""
    with opened(settings, real=True) as engine:
        known = Graph(Scope(engine, fresh(engine)))
        nodes = graphs.build(known, count // 6, graphs.model(known), real=False)
        names = [nodes[n].name for n in np.random.default_rng(1).integers(len(nodes), size=100)]

        def search(n: int, mode: Mode) -> None:
            asked = f"What about {names[n % 100]}: {question(n)}?"
            view.matched(known, asked, 10, mode, graphs.BUDGET)

        return {
            "search_nodes, embedding, ms": settled(engine, lambda n: search(n, "embedding")),
            "search_nodes, text, ms": settled(engine, lambda n: search(n, "text")),
            "search_nodes, auto, ms": settled(engine, lambda n: search(n, "auto")),
            **{
                f"neighbourhood, depth {depth}, ms": settled(
                    engine,
                    lambda n, depth=depth: traversal.neighborhood(known, names[n % 100], depth),  # type: ignore[misc]
                )
                for depth in (1, 2, 3)
            },
        }


def vectors(settings: Settings, count: int) -> Column:
    """Measure the nearest neighbours of fifty questions."""
    with opened(settings) as engine:
        whole, part, asked = fresh(engine), fresh(engine), clustered(50, seed=99)
        found: Column = {}
        for what, workspace, size in (("all", whole, count), ("a hundredth", part, count // 100)):
            ids, base = imported(engine, workspace, size)

            def near(n: int, workspace: Workspace = workspace) -> list[str]:
                question = asked[n % 50]
                (near,) = engine.store.read(
                    workspace, lambda q: engine.store.index.nearest(q, [SET], question, Filter(), TOP)
                )
                return [key for key, _ in near]

            found[f"nearest {TOP} of {what}, ms"] = settled(engine, near)
            truth = [{ids[n] for n in np.argsort(-(base @ query))[:TOP]} for query in asked]
            hits = sum(len(truth[n].intersection(near(n))) for n in range(50))
            found[f"recall@{TOP} in {what}"] = f"{hits / TOP / 50:.3f}"
        return found


def words(settings: Settings, count: int) -> Column:
    """Measure questions of eight words from running text, and one of five words, each in an eighth of the records."""
    with opened(settings) as engine:
        whole, part = fresh(engine), fresh(engine)
        found: Column = {}
        for what, workspace, size in (("all", whole, count), ("a fiftieth", part, count // 50)):
            imported(engine, workspace, size)

            def search(query: str, workspace: Workspace = workspace) -> None:
                parsed = parse_query(query)
                assert parsed
                engine.store.read(workspace, lambda q: engine.store.index.words(q, parsed, Filter(), 100))

            found[f"eight words in {what} for the first time, CPU ms"] = spent(engine, lambda n: search(question(n)))
            found[f"eight words in {what}, ms"] = settled(engine, lambda n: search(question(n)))
            found[f"eight words in {what}, CPU ms"] = spent(engine, lambda n: search(question(n)))
            found[f"common words in {what}, ms"] = settled(engine, lambda _: search(COMMON))
            found[f"common words in {what}, CPU ms"] = spent(engine, lambda _: search(COMMON))
        return found


def spent(engine: Engine, work: Callable[[int], object]) -> str:
    """Return the mean CPU of a call, in this process and in a Postgres server on this machine."""
    servers = list[psutil.Process]()
    if url := engine.settings.database_url:
        with psycopg.connect(url) as connection:
            (directory,) = connection.execute("SHOW data_directory").fetchone() or ("",)
        server = psutil.Process(int((Path(directory) / "postmaster.pid").read_text().split()[0]))
        servers = server.children()
    before = taken(servers)
    for n in range(ROUNDS):
        work(n)
    return f"{1e3 * (taken(servers) - before) / ROUNDS:.1f}"


def taken(servers: Sequence[psutil.Process]) -> float:
    """Return the seconds of CPU so far."""
    seconds = time.process_time()
    for server in servers:
        with suppress(psutil.NoSuchProcess):
            seconds += sum(server.cpu_times()[:2])
    return seconds


def writers(settings: Settings, _count: int) -> Column:
    """Measure stores without a model, each durable before it is acknowledged."""
    with opened(settings) as engine:
        workspace = fresh(engine)
    chosen = settings.model_copy(update={"workspace": workspace.name, "embedder": "none"})
    with ProcessPoolExecutor(WRITERS, get_context("spawn")) as pool:
        acknowledged = [key for keys in pool.map(written, [chosen] * WRITERS, range(WRITERS)) for key in keys]
    with opened(settings) as engine:
        there = engine.store.read(workspace, lambda q: records.fetch(q, acknowledged, ""))
    rate = f"{len(acknowledged) / SECONDS:,.0f}"
    return {"eight processes, stores a second": rate, "of these lost": str(len(set(acknowledged)) - len(there))}


def written(settings: Settings, number: int) -> list[str]:
    """Store for some seconds; return the ids of the acknowledged memories."""
    ids: list[str] = []
    with Engine(settings) as engine:
        memories = Memories(Scope(engine, engine.workspace(make=True), f"writer {number}"))
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            ids.append(memories.store(fact(10**7 * (number + 1) + len(ids))).id)
    return ids


def settled(engine: Engine, work: Callable[[int], object]) -> str:
    """Return the median of a warmed-up call, with all indexes built."""
    for n in range(3):
        work(n)
    engine.store.upkeep.tend(engine.workspaces.all()[0])
    if url := engine.settings.database_url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")  # autovacuum does it within minutes of an import
    for n in range(50):  # fills the word counts that are cached for a minute
        work(n)
    return f"{median_ms(work, 50)[0]:.1f}"


@contextmanager
def opened(settings: Settings, *, real: bool = False) -> Iterator[Engine]:
    with Engine(settings.model_copy(update={} if real else {"embedder": "none"})) as engine:
        if real:
            engine.helpers.embedder.start()
        yield engine


def fresh(engine: Engine) -> Workspace:
    return engine.workspaces.ensure(f"bench-{uuid.uuid4().hex[:12]}")


PARTS: dict[str, Callable[[Settings, int], Column]] = {
    "calls": calls,
    "graph": graph,
    "vectors": vectors,
    "words": words,
    "writers": writers,
}


def run(parts: Sequence[str], count: int, url: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        base = Settings.read(model_dir=Settings.read().models, reranker="none")
        stores = {
            "SQLite": base.model_copy(update={"database_url": None, "db_path": Path(directory) / "memory.db"}),
            "Postgres": base.model_copy(update={"database_url": url}),
        }
        for part in parts:
            columns = {name: PARTS[part](settings, count) for name, settings in stores.items()}
            rows = [[what, *(column[what] for column in columns.values())] for what in columns["SQLite"]]
            show(f"{part}, {count:,} records of {DIM} dimensions", ["", *columns], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?", type=int, default=10_000)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--database-url", default=Settings.read().database_url)
    given = parser.parse_args()
    if not given.database_url:
        parser.error("name a Postgres database with --database-url or MEMORY_DATABASE_URL")
    run([given.only] if given.only else list(PARTS), given.records, given.database_url)


if __name__ == "__main__":
    main()
