"""How fast the graph answers, compared with one of a tenth of the size.

    python -m bench.graph [ENTITIES] [real]    10,000, each with five observations and three relations

Times are medians in milliseconds; the ratio is that of CPU times. Vectors are random and clustered like embeddings;
with `real` the bundled model makes them, which takes a hundredth of a second each.
"""

import resource
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.speed import DIM, WORDS, Floats, median_ms
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.graph import missing_relations, report, similarity, traversal, view
from memoryd.core.graph.transaction import Graph
from memoryd.core.records import records
from memoryd.core.records.perspectives import DEFAULTS
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.core.search.pipeline import Mode
from memoryd.model import GENERAL, Kind, Record
from memoryd.models.embedders import Embedder
from memoryd.settings import Settings
from memoryd.store.base import Queries

OBSERVATIONS, RELATIONS = 5, 3
BUDGET = 20_000  # tokens of an answer
COMMUNITY = 40  # entities that are mostly related with each other
HUBS = 0.1  # of the relations lead to a few central entities
MENTIONS = 0.2  # of the observations name another entity
SUMMARIES = 0.3  # of the entities have one
LONE = 0.05  # of the entities have no relations
OTHERS = [name for name in DEFAULTS if name != GENERAL]
TYPES = ("person", "project", "service", "place", "decision")


@dataclass(frozen=True)
class Node:
    """An entity that the benchmark has created."""

    id: str
    name: str


def build(graph: Graph, count: int, embedder: Embedder, *, real: bool) -> list[Node]:
    """Create a graph with communities and hubs, the same in each run except for ids; return its nodes."""
    dice = np.random.default_rng(count)
    nodes = [Node(str(uuid.uuid4()), name(number, dice)) for number in range(count)]
    communities = noise(dice, 1) + 0.45 * noise(dice, count // COMMUNITY + 1)
    now = graph.engine.clock.now()

    def work(queries: Queries) -> None:
        for number, node in enumerate(nodes):
            summary = "What is known of it" if dice.random() < SUMMARIES else ""
            entity = Record(id=node.id, kind=Kind.ENTITY, name=node.name, type=TYPES[number % 5], body=summary)
            records.add(queries, entity, None, now)
            queries.run("entities.add", id=node.id, summary_updated_at=now if summary else None)
            for ordinal, vector in enumerate(around(communities[number // COMMUNITY], dice)):
                record = Record(
                    id=str(uuid.uuid4()), kind=Kind.OBSERVATION, name=node.name, body=observation(nodes, dice)
                )
                rows = embedder.embed_passage(records.full_text(record)) if real else vector[None, :]
                records.add(queries, record, Embedded(embedder.name, rows), now)
                queries.run("observations.add", entity=node.id, ordinal=ordinal, id=record.id)
                for perspective in OTHERS:  # close to the first, as the same fact in another perspective
                    shifted = rows + 0.02 * noise(dice, 1)
                    unit = Embedded(embedder.name, shifted / np.linalg.norm(shifted))
                    records.embed(queries, record.id, perspective, unit)
        for source, target in edges(count, dice):
            ends = {"source": nodes[source].id, "target": nodes[target].id}
            queries.run("relations.add", id=str(uuid.uuid4()), **ends, type="knows", now=now)

    graph.engine.store.write(graph.workspace, work)
    return nodes


def name(number: int, dice: np.random.Generator) -> str:
    """Return a unique name: one to three words and a number."""
    words = " ".join(str(word).capitalize() for word in dice.choice(WORDS, dice.integers(1, 4)))
    return f"{words} {number}"


def observation(nodes: list[Node], dice: np.random.Generator) -> str:
    """Return fourteen words in two sentences; some observations name another entity."""
    words = [str(word) for word in dice.choice(WORDS, 14)]
    if dice.random() < MENTIONS:
        words[3] = nodes[dice.integers(len(nodes))].name
    return f"{' '.join(words[:7])}. {' '.join(words[7:])}."


def around(community: Floats, dice: np.random.Generator) -> Floats:
    """Return vectors for the observations of one entity, with cosines like those of the bundled model."""
    vectors = community + 0.3 * noise(dice, 1) + 0.3 * noise(dice, OBSERVATIONS)
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def noise(dice: np.random.Generator, rows: int) -> Floats:
    """Return vectors in random directions, of about unit length."""
    drawn: Floats = dice.standard_normal((rows, DIM), dtype=np.float32) / np.float32(DIM**0.5)
    return drawn


def edges(count: int, dice: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield distinct pairs of related entities."""
    seen: set[tuple[int, int]] = set()
    related = int(count * (1 - LONE))
    while len(seen) < RELATIONS * count:
        source = int(dice.integers(related))
        home = source - source % COMMUNITY
        target = int(dice.zipf(1.5)) if dice.random() < HUBS else home + int(dice.integers(COMMUNITY))
        if target < related and (source, target) not in seen:
            seen.add((source, target))
            yield source, target


def works(graph: Graph, nodes: list[Node]) -> dict[str, Callable[[int], object]]:
    """Return the measured calls by name: each gets the number of its round."""
    dice = np.random.default_rng(1)
    names = [nodes[number].name for number in dice.integers(len(nodes), size=100)]
    questions = [f"What about {name}: {' '.join(dice.choice(WORDS, 6))}?" for name in names]

    def search(number: int, mode: Mode) -> None:
        view.matched(graph, questions[number], 10, mode, BUDGET)

    return {
        "neighborhood, depth 1": lambda n: traversal.neighborhood(graph, names[n], 1),
        "neighborhood, depth 2": lambda n: traversal.neighborhood(graph, names[n], 2),
        "neighborhood, depth 3": lambda n: traversal.neighborhood(graph, names[n], 3),
        "path": lambda n: traversal.path(graph, names[n], names[n + 50]),
        "open_nodes": lambda n: view.opened(graph, names[n : n + 3], BUDGET),
        "search_nodes, text": lambda n: search(n, "text"),
        "search_nodes, embedding": lambda n: search(n, "embedding"),
        "search_nodes, auto": lambda n: search(n, "auto"),
        "orphans": lambda _: traversal.orphans(graph),
        "stats": lambda _: report.stats(graph),
        "pending": lambda _: report.pending(graph, BUDGET),
        "gaps": lambda _: missing_relations.gaps(graph),
        "similar": lambda _: similarity.similar(graph),
        "report": lambda _: report.report(graph),
    }


def measured(count: int, *, real: bool) -> dict[str, tuple[float, float]]:
    """Return the median wall and CPU time of each call on a graph of `count` entities."""
    with tempfile.TemporaryDirectory() as directory:
        with graph_in(directory) as graph:
            nodes = build(graph, count, model(graph), real=real)
        print(f"{count:,} entities, {(Path(directory) / 'memory.db').stat().st_size / 2**20:,.0f} MB")
        with graph_in(directory) as graph:  # opened again, as in normal use
            model(graph)
            return {what: median_ms(work, 5) for what, work in works(graph, nodes).items()}


@contextmanager
def graph_in(directory: str) -> Iterator[Graph]:
    settings = Settings.read(data_dir=directory, model_dir=Settings.read().models, reranker="none")
    with Engine(settings) as engine:
        yield Graph(Scope(engine, engine.workspaces.ensure("default")))


def model(graph: Graph) -> Embedder:
    graph.engine.helpers.embedder.start()
    embedder = graph.engine.helpers.embedder.get(60)
    assert embedder is not None, "run `memoryd models pull` first"
    return embedder


def main() -> None:
    real = "real" in sys.argv[1:]
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), 10_000)
    small, large = measured(count // 10, real=real), measured(count, real=real)
    rows = [
        [what, f"{small[what][0]:.1f}", f"{wall:.1f}", f"{cpu:.1f}", f"{cpu / small[what][1]:.1f}"]
        for what, (wall, cpu) in large.items()
    ]
    show("graph, median ms", ["", f"{count // 10:,} entities", f"{count:,}", "CPU", "ratio"], rows)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB resident")


if __name__ == "__main__":
    main()
