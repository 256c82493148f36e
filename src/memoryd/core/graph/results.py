"""Nodes, observations and relations as the tools show them: c's JSON."""

from collections.abc import Iterable
from typing import Literal

from typing_extensions import TypedDict

from memoryd.core.base.results import Searched, without_empty
from memoryd.core.graph import relations
from memoryd.core.graph.entities import CreatedEntity
from memoryd.core.graph.observations import ShownObservation
from memoryd.core.graph.relations import ShownRelation
from memoryd.core.graph.report import GraphChanges, GraphReport, NodeCluster, PendingNode, ReportOmitted, StaleNode
from memoryd.core.graph.search import MatchingObservation
from memoryd.core.graph.similarity import SimilarPair
from memoryd.core.graph.traversal import Path
from memoryd.core.search.pipeline import Mode
from memoryd.model import Entity, Findings, Relation

# nodes ---------------------------------------------------------------------------------------------------------------


class BriefNode(TypedDict):
    """A node in a list."""

    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    updated_at: str


class BriefNodes(TypedDict):
    """Nodes in a list that no budget limits."""

    result: list[BriefNode]


class ShownNode(TypedDict):
    """A node with its observations."""

    id: str
    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    observations: list[ShownObservation]
    created_at: str
    updated_at: str


class CreatedNode(TypedDict):
    """A node that was created or already existed."""

    id: str
    name: str
    entity_type: str
    created_at: str
    already_existed: bool


class CreatedNodes(TypedDict):
    """Nodes that were created or already existed, in the order of the arguments."""

    result: list[CreatedNode]


class SummarizedNode(TypedDict):
    """The new summary of a node."""

    name: str
    summary: str | None
    updated_at: str


class TaggedNode(TypedDict):
    """The new tags of a node."""

    name: str
    tags: list[str]


def node(of: Entity) -> ShownNode:
    """Return a node without its observations, which are added later."""
    return {
        "id": of.id,
        "name": of.name,
        "entity_type": of.type,
        "summary": of.summary,
        "tags": list(of.tags),
        "observations": [],
        "created_at": of.created_at,
        "updated_at": of.updated_at,
    }


def brief(of: Entity) -> BriefNode:
    """Return a node as an item of a list."""
    return {
        "name": of.name,
        "entity_type": of.type,
        "summary": of.summary,
        "tags": list(of.tags),
        "updated_at": of.updated_at,
    }


def briefs(nodes: Iterable[Entity]) -> BriefNodes:
    """Return nodes as items of a list."""
    return {"result": list(map(brief, nodes))}


def created_nodes(made: Iterable[CreatedEntity]) -> CreatedNodes:
    """Return what `entities.create` made."""
    return {
        "result": [
            {
                "id": one.entity.id,
                "name": one.entity.name,
                "entity_type": one.entity.type,
                "created_at": one.entity.created_at,
                "already_existed": one.already_existed,
            }
            for one in made
        ]
    }


def summarized(of: Entity) -> SummarizedNode:
    """Return the summary of a node."""
    return {"name": of.name, "summary": of.summary, "updated_at": of.updated_at}


def tagged(of: Entity) -> TaggedNode:
    """Return the tags of a node."""
    return {"name": of.name, "tags": list(of.tags)}


# observations --------------------------------------------------------------------------------------------------------


class ScoredObservation(ShownObservation):
    """An observation that was found."""

    score: float


class FoundObservations(Searched):
    """The observations of a node that were found, best first."""

    result: list[ScoredObservation]
    mode: Literal["embedding", "text"]
    """The search mode used: text if there are no vectors to compare."""


def found_observations(found: Findings[MatchingObservation], mode: Mode) -> FoundObservations:
    """Return the observations of a node that match a query."""
    seen: list[ScoredObservation] = [
        {"ordinal": one.ordinal, "content": one.content, "score": round(one.score, 4)} for one in found.best
    ]
    result: FoundObservations = {
        "degraded": found.degraded,
        "result": seen,
        "mode": "text" if mode == "text" else "embedding",
    }
    return without_empty(result, "degraded")


# relations -----------------------------------------------------------------------------------------------------------


class RelationList(TypedDict):
    """Relations between two nodes."""

    result: list[ShownRelation]


class ShownPath(TypedDict):
    """The names on a path in order, and the relations of each hop."""

    found: bool
    path: list[str]
    relations: list[ShownRelation]


def relation_list(those: Iterable[Relation]) -> RelationList:
    """Return relations with the names of their ends."""
    return {"result": list(map(relations.shown, those))}


def path(of: Path) -> ShownPath:
    """Return a path between two nodes."""
    return {"found": of.found, "path": list(of.names), "relations": list(map(relations.shown, of.relations))}


# parts that need attention -------------------------------------------------------------------------------------------


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
    """Two nodes that may lack a relation."""

    node_a: str
    node_b: str
    similarity_score: float
    rationale: str | None


class OrphanedNode(TypedDict):
    """A node without relations."""

    name: str
    entity_type: str
    updated_at: str


class ConsolidationReport(TypedDict):
    """The parts of the graph that need attention."""

    stale_summaries: list[StaleSummary]
    relation_candidates: list[CandidatePair]
    orphaned_nodes: list[OrphanedNode]
    cluster_summary: list[NodeCluster]
    event_summary: GraphChanges
    omitted: ReportOmitted


class NodePair(TypedDict):
    """Two similar nodes without a relation."""

    node_a: str
    node_b: str
    similarity: float
    node_a_type: str
    node_b_type: str


class SimilarNodes(Searched):
    """Pairs of similar nodes, most similar first."""

    result: list[NodePair]


def consolidation(found: GraphReport) -> ConsolidationReport:
    """Return a report, with the fields of nodes and pairs that its readers need."""
    return {
        "stale_summaries": list(map(_stale, found.stale_summaries)),
        "relation_candidates": [
            {
                "node_a": one.pair.one.name,
                "node_b": one.pair.other.name,
                "similarity_score": one.pair.similarity,
                "rationale": one.rationale,
            }
            for one in found.relation_candidates
        ],
        "orphaned_nodes": [
            {"name": one.name, "entity_type": one.type, "updated_at": one.updated_at} for one in found.orphaned_nodes
        ],
        "cluster_summary": list(found.cluster_summary),
        "event_summary": found.event_summary,
        "omitted": found.omitted,
    }


def _stale(one: StaleNode) -> StaleSummary:
    return {
        "name": one.node.name,
        "entity_type": one.node.entity_type,
        "last_modified": one.node.updated_at,
        "observation_count": one.node.observation_count,
        "draft_summary": one.draft_summary,
    }


def pending(one: PendingNode) -> PendingSummary:
    """Return a node that waits for a summary."""
    return {
        "name": one.name,
        "entity_type": one.entity_type,
        "observation_count": one.observation_count,
        "last_observation_at": one.last_observation_at,
        "summary_updated_at": one.summary_updated_at,
    }


def similar(found: Findings[SimilarPair]) -> SimilarNodes:
    """Return pairs of similar nodes."""
    pairs: list[NodePair] = [
        {
            "node_a": pair.one.name,
            "node_b": pair.other.name,
            "similarity": pair.similarity,
            "node_a_type": pair.one.type,
            "node_b_type": pair.other.type,
        }
        for pair in found.best
    ]
    result: SimilarNodes = {"degraded": found.degraded, "result": pairs}
    return without_empty(result, "degraded")
