"""The consolidation report: figures and quotes from the graph, reworded by a language model if there is one."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from typing_extensions import TypedDict

from memoryd.core.graph import clustering, keywords, observations, similarity, traversal
from memoryd.core.graph.clustering import Nearest
from memoryd.core.graph.keywords import Rarity, Terms
from memoryd.core.graph.names import by_id
from memoryd.core.graph.similarity import Means, SimilarPair
from memoryd.core.graph.transaction import Graph
from memoryd.core.llm import generation
from memoryd.core.records import records
from memoryd.errors import ModelError
from memoryd.excerpts import cut
from memoryd.model import GENERAL, Entity, Kind
from memoryd.store.base import Queries, Row, number_of

EVENT_DAYS = 30
CANDIDATES = 0.75  # minimum rescaled cosine of two unrelated nodes to be a candidate for a relation
TOGETHER = 0.6  # ... and for two nodes to be linked within a cluster
MEMBERS = 50  # nodes of a cluster that are named, and read for its label
READ = 200  # latest observations of a node that are read
SHOWN, SENT = 8, 50  # ... that are sent to a language model, and maximum tokens of each
SAME_NAME = (
    "their names differ only in case, blanks, dashes, _ or what no reader sees: perhaps one node, recorded twice"
)
VERBS = {"create": "creates", "update": "updates", "delete": "deletes"}
KINDS = (Kind.ENTITY, Kind.OBSERVATION, "relation")


class GraphStats(TypedDict):
    """The size of the graph."""

    node_count: int
    observation_count: int
    relation_count: int
    embedding_coverage: float
    """The share of observations that have vectors of the most used model; 1.0 without observations."""
    workspace: str


class PendingSummary(TypedDict):
    """A node without a summary, or with observations newer than its summary."""

    name: str
    entity_type: str
    observation_count: int
    last_observation_at: str | None
    """None if the node has no observations."""
    summary_updated_at: str | None


class StaleSummary(TypedDict):
    """A node whose summary is older than its last observation, or missing; the draft is None without observations."""

    name: str
    entity_type: str
    last_modified: str
    observation_count: int
    draft_summary: str | None


class CandidatePair(TypedDict):
    """Two nodes that may lack a relation, or be one."""

    node_a: str
    node_b: str
    similarity_score: float
    rationale: str | None


class OrphanedNode(TypedDict):
    """A node without relations."""

    name: str
    entity_type: str
    updated_at: str


class NodeCluster(TypedDict):
    """Nodes that belong together."""

    cluster_id: int
    node_names: list[str]
    node_count: int
    """The number of nodes; the first MEMBERS are named."""
    centroid_label: str


class GraphChanges(TypedDict):
    """The numbers of changes to the graph since a time."""

    since: str
    creates: int
    updates: int
    deletes: int


class ReportOmitted(TypedDict):
    """The number of items left out of each list."""

    stale_summaries: int
    relation_candidates: int
    orphaned_nodes: int
    cluster_summary: int


class ConsolidationReport(TypedDict):
    """The parts of the graph that need attention."""

    stale_summaries: list[StaleSummary]
    relation_candidates: list[CandidatePair]
    orphaned_nodes: list[OrphanedNode]
    cluster_summary: list[NodeCluster]
    event_summary: GraphChanges
    omitted: ReportOmitted


def stats(graph: Graph) -> GraphStats:
    """Return the size of the graph, and the share of its observations that have vectors."""

    def work(queries: Queries) -> GraphStats:
        counts = records.numbers(queries)
        number = counts[Kind.OBSERVATION]
        return GraphStats(
            node_count=counts[Kind.ENTITY],
            observation_count=number,
            relation_count=number_of(queries, "relations.count"),
            embedding_coverage=_embedded(queries) / number if number else 1.0,
            workspace=graph.workspace.name,
        )

    return graph.read(work)


def _embedded(queries: Queries) -> int:
    """Return the number of observations that have vectors of the most used model."""
    models = queries.all("embeddings.models", perspective=GENERAL)
    if not models:
        return 0
    serving = max(models, key=lambda row: row["number"])["model"]
    return number_of(queries, "observations.embedded", perspective=GENERAL, model=serving)


def pending(graph: Graph, limit: int) -> tuple[list[Row], int]:
    """Return the nodes whose summary is missing or stale, the last observed first, and their total number.

    A row has the fields of PendingSummary, `id` and `updated_at`.
    """
    rows = graph.read(lambda q: q.all("entities.pending", limit=limit))
    return rows, rows[0]["total"] if rows else 0


def report(graph: Graph, limit: int = 20) -> ConsolidationReport:
    """Return the parts of the graph that need attention, at most `limit` of each kind."""
    (waiting, stale), lone = pending(graph, limit), traversal.orphans(graph)
    means = similarity.means_of(graph)
    pairs, candidates, groups = _surveyed(graph, means, limit)
    writer = _Writer(graph)
    found: ConsolidationReport = {
        "stale_summaries": writer.stale(waiting),
        "relation_candidates": writer.candidates(pairs),
        "orphaned_nodes": [
            {"name": one["name"], "entity_type": one["entity_type"], "updated_at": one["updated_at"]}
            for one in lone[:limit]
        ],
        "cluster_summary": writer.clusters(groups[:limit]),
        "event_summary": _events(graph),
        "omitted": {
            "stale_summaries": stale - len(waiting),
            "relation_candidates": candidates - len(pairs),
            "orphaned_nodes": max(0, len(lone) - limit),
            "cluster_summary": max(0, len(groups) - limit),
        },
    }
    writer.reword(found, waiting, pairs)
    return found


def _surveyed(graph: Graph, means: Means, limit: int) -> tuple[list[SimilarPair], int, list[list[str]]]:
    """Return the best unrelated pairs, their total number, and the clusters, from one pass over the vectors.

    Pairs whose names differ only in spelling come first.
    """
    twins, number = similarity.of_same_name(graph, limit)
    if not means.ids:
        ids, found = graph.read(clustering.by_relations)
        return twins, number, [[ids[place] for place in cluster] for cluster in found]
    best = similarity.best_pairs(means, limit - len(twins), CANDIDATES, similarity.ids_of(twins))
    nearest = Nearest(len(means.ids), TOGETHER * (1 - means.unrelated) + means.unrelated)
    for tile in similarity.tiles(means.vectors):
        nearest.offer(tile)
        best.offer(tile)
    found = clustering.joined(nearest.links())
    pairs = [*twins, *similarity.pairs_of(graph, means, best)]
    return pairs, number + best.total, [[means.ids[place] for place in each] for each in found]


class _Writer:
    """Puts the findings into words: quotes from the observations, or a language model's text if there is one (c)."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._rare: Rarity = graph.read(keywords.rarity)

    def stale(self, nodes: Sequence[Row]) -> list[StaleSummary]:
        """Return pending nodes with the most typical sentences of their observations."""
        texts = self._texts([node["id"] for node in nodes])
        return [
            {
                "name": node["name"],
                "entity_type": node["entity_type"],
                "last_modified": node["updated_at"],
                "observation_count": node["observation_count"],
                "draft_summary": keywords.draft(texts[node["id"]], self._rare) or None,
            }
            for node in nodes
        ]

    def candidates(self, pairs: Sequence[SimilarPair]) -> list[CandidatePair]:
        nodes = {node.id: node for pair in pairs for node in (pair.one, pair.other)}
        about = self._about(list(nodes.values()))
        return [
            {
                "node_a": pair.one.name,
                "node_b": pair.other.name,
                "similarity_score": pair.similarity,
                "rationale": self._rationale(pair, about),
            }
            for pair in pairs
        ]

    def _rationale(self, pair: SimilarPair, about: dict[str, Terms]) -> str:
        if pair.same_name:
            return SAME_NAME
        if common := keywords.shared(about[pair.one.id], about[pair.other.id], self._rare):
            return f"both mention {', '.join(common)}"
        return "close in meaning, without a word in common"

    def clusters(self, groups: Sequence[Sequence[str]]) -> list[NodeCluster]:
        nodes = self._graph.read(lambda q: by_id(q, [key for group in groups for key in group]))
        living = [[nodes[key] for key in group if key in nodes] for group in groups]
        return [self._cluster(number, group) for number, group in enumerate(g for g in living if len(g) > 1)]

    def _cluster(self, number: int, nodes: Sequence[Entity]) -> NodeCluster:
        named = sorted(nodes, key=lambda node: node.name)[:MEMBERS]
        about = self._about(named)
        common = keywords.typical([about[node.id] for node in named], self._rare)
        (usual, _), *_ = Counter(node.type for node in named).most_common(1)
        return NodeCluster(
            cluster_id=number,
            node_names=[node.name for node in named],
            node_count=len(nodes),
            centroid_label=", ".join(common) or usual,
        )

    def reword(self, found: ConsolidationReport, nodes: Sequence[Row], pairs: Sequence[SimilarPair]) -> None:
        """Put a language model's texts in place of the quotes, where it writes any."""
        stale, candidates, clusters = found["stale_summaries"], found["relation_candidates"], found["cluster_summary"]
        llm = self._graph.engine.helpers.writer() if stale or candidates or clusters else None
        drafts: dict[str, dict[int, str]] = {}
        if llm is not None:
            with suppress(ModelError):  # then the quotes stay
                drafts = generation.drafts(llm, self._asked(nodes, pairs, clusters))
        summaries, rationales, labels = (drafts.get(name, {}) for name in ("summaries", "rationales", "labels"))
        for at, node in enumerate(stale):
            node["draft_summary"] = summaries.get(at, node["draft_summary"])
        for at, (pair, shown) in enumerate(zip(pairs, candidates, strict=True)):
            if not pair.same_name:
                shown["rationale"] = rationales.get(at, shown["rationale"])
        for at, cluster in enumerate(clusters):
            cluster["centroid_label"] = labels.get(at, cluster["centroid_label"])

    def _asked(
        self, nodes: Sequence[Row], pairs: Sequence[SimilarPair], clusters: Sequence[NodeCluster]
    ) -> dict[str, list[dict[str, object]]]:
        texts = self._texts(
            [node["id"] for node in nodes] + [end.id for pair in pairs for end in (pair.one, pair.other)]
        )
        quotes = {key: [cut(text, SENT) for text in of[-SHOWN:]] for key, of in texts.items()}
        return {
            "summaries": [{"node": node["name"], "observations": quotes[node["id"]]} for node in nodes],
            "rationales": [
                {
                    "a": pair.one.name,
                    "of_a": quotes[pair.one.id],
                    "b": pair.other.name,
                    "of_b": quotes[pair.other.id],
                }
                for pair in pairs
            ],
            "labels": [{"nodes": one["node_names"]} for one in clusters],
        }

    def _about(self, nodes: Sequence[Entity]) -> dict[str, Terms]:
        texts = self._texts([node.id for node in nodes])
        return {node.id: keywords.terms([node.name, *texts[node.id]]) for node in nodes}

    def _texts(self, ids: Sequence[str]) -> dict[str, list[str]]:
        found = self._graph.read(lambda q: {key: observations.latest(q, key, READ) for key in ids})
        return {key: [one.content for one in of] for key, of in found.items()}


def _events(graph: Graph) -> GraphChanges:
    since = graph.engine.clock.ago(timedelta(days=EVENT_DAYS))
    counts = dict.fromkeys(VERBS.values(), 0)
    for row in graph.read(lambda q: q.all("events.since", since=since)):
        verb, _, kind = row["operation"].partition("_")
        if kind in KINDS and verb in VERBS:
            counts[VERBS[verb]] += row["number"]
    return {"since": since, "creates": counts["creates"], "updates": counts["updates"], "deletes": counts["deletes"]}
