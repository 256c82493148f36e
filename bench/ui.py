"""The cost of the web page for the server: processor time of lists, searches and graphs, small and large, in one run.

python -m bench.ui [MEMORIES] [NODES]
"""

import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.maintenance.history import HistoryFilter
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.records import records
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.scope import Scope
from memoryd.features.page.picture import communities, layout
from memoryd.features.page.visit import Kept
from memoryd.model import Kind, Record
from memoryd.settings import Settings
from memoryd.store.base import Queries

WORDS = "ledger billing checkout backup replica queue deploy schema index cache token region shard batch retry".split()
VOCABULARY = 5_000
ROUNDS = 5
BATCH = 5_000


def fill(scope: Scope, number: int) -> None:
    """Store memories of eight words, a few of them frequent, as in any language, and two tags."""
    chance = np.random.default_rng(1)
    words = [*WORDS, *(f"word{rank}" for rank in range(VOCABULARY - len(WORDS)))]
    shares = 1 / np.arange(3, VOCABULARY + 3)
    shares /= shares.sum()
    for start in range(0, number, BATCH):

        def work(queries: Queries, start: int = start) -> None:
            for place in range(start, min(start + BATCH, number)):
                body = " ".join([*chance.choice(words, 7, p=shares), f"w{place}"])
                tags = tuple(str(tag) for tag in chance.choice(WORDS, 2, replace=False))
                record = Record(id=records.new_id(), kind=Kind.MEMORY, body=body, tags=tags)
                records.add(queries, record, None, scope.engine.clock.now())
                queries.run("memories.add", id=record.id, fingerprint=fingerprint(body), importance=0.5, consolidated=1)

        scope.write(work)


def cost(work: Callable[[], object]) -> float:
    """Return the minimal processor time of some rounds, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(1000 * (time.process_time() - began))
    return min(times)


def lists(number: int) -> dict[str, float]:
    """Return the cost of lists in a workspace of this many memories."""
    variables = {"MEMORY_DATA_DIR": tempfile.mkdtemp(), "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
    with Engine(Settings.read(variables), fetch=False) as engine:
        scope = Scope(engine, engine.workspaces.ensure("default"))
        fill(scope, number)
        kept = Kept()
        Memories(scope).forget(Criteria(tags=("ledger",)), confirm=True)
        return {
            "first page": cost(lambda: listing.page(scope, Facets())),
            "first page of a tag that nothing has": cost(lambda: listing.page(scope, Facets(tags=("ledger",)))),
            "search of one word as typed": cost(lambda: listing.typed(scope, "ledg", Facets())),
            "search of three words as typed": cost(lambda: listing.typed(scope, "ledger backup queu", Facets())),
            "counts of all facets, after a write": cost(lambda: listing.counts(scope)),
            "the same until the next write": cost(lambda: kept.get(scope, "facets", lambda: listing.counts(scope))),
            "first page of the history, filtered by words": cost(
                lambda: history.entries(Graph(scope), 101, HistoryFilter(words="ledger"))
            ),
        }


def graphs(number: int) -> dict[str, float]:
    """Return the cost of the layout of a graph of this many nodes and three times as many relations."""
    chance = np.random.default_rng(2)
    ends = chance.integers(0, number, (3 * number, 2))
    near = np.stack([ends[:, 0], (ends[:, 0] + chance.integers(1, 12, 3 * number)) % number], 1)
    ends = np.where(chance.random((3 * number, 1)) < 0.8, near, ends)
    began = time.process_time()
    groups = communities(number, ends)
    middle = time.process_time()
    places = layout(number, ends, groups)
    done = time.process_time()
    edge = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1).mean()
    pairs = chance.integers(0, number, ends.shape)
    return {
        "communities": 1000 * (middle - began),
        "layout": 1000 * (done - middle),
        "mean length of a relation / of a random pair": float(
            edge / np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1).mean()
        ),
    }


def main(memories: int = 100_000, nodes: int = 10_000) -> None:
    """Print both tables."""
    for noun, small, large, of in (("memories", 100, memories, lists), ("nodes", 1_000, nodes, graphs)):
        few, many = of(small), of(large)
        print(f"| ms of processor | {small:,} {noun} | {large:,} {noun} |\n| --- | --- | --- |")
        for name in few:
            print(f"| {name} | {few[name]:.2f} | {many[name]:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
