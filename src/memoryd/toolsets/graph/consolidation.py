"""Where the graph needs attention: backed by figures and quotes, for the model to judge."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from memoryd.core import consolidate, pages
from memoryd.core.consolidate import Report
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Tool, Toolset

# get_consolidation_report --------------------------------------------------------------------------------------------


class ReportArguments(Arguments):
    """How long its lists may be."""

    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most items of each list.")] = 20


class StaleSummary(Result):
    """A node whose summary is older than its last observation, or missing."""

    name: str
    entity_type: str
    last_modified: str
    observation_count: int
    draft_summary: str | None


class Candidate(Result):
    """Two nodes that may want a relation."""

    node_a: str
    node_b: str
    similarity_score: float
    rationale: str | None


class Orphan(Result):
    """A node without relations."""

    name: str
    entity_type: str
    updated_at: str


class Cluster(Result):
    """Nodes that belong together; of many, the first are named."""

    cluster_id: int
    node_names: list[str]
    node_count: int
    centroid_label: str | None


class EventSummary(Result):
    """How often the graph was changed since then."""

    since: str
    creates: int
    updates: int
    deletes: int


class LeftOut(Result):
    """How many of each list there are beyond those told."""

    stale_summaries: int
    relation_candidates: int
    orphaned_nodes: int
    cluster_summary: int


class ReportResult(Result):
    """What needs attention."""

    stale_summaries: list[StaleSummary]
    relation_candidates: list[Candidate]
    orphaned_nodes: list[Orphan]
    cluster_summary: list[Cluster]
    event_summary: EventSummary
    omitted: LeftOut


def report(call: Call, arguments: ReportArguments) -> Answer:
    """get_consolidation_report."""
    return Answer(ReportResult.model_validate(_told(consolidate.report(graph_of(call), arguments.limit))))


def _told(found: Report) -> dict[str, Any]:
    """A report in c's words."""
    return {
        "stale_summaries": [
            asdict(one.node) | {"last_modified": one.node.updated_at, "draft_summary": one.draft_summary}
            for one in found.stale_summaries
        ],
        "relation_candidates": [
            {"node_a": one.pair.one.name, "node_b": one.pair.other.name, "similarity_score": one.pair.similarity,
             "rationale": one.rationale}
            for one in found.relation_candidates
        ],
        "orphaned_nodes": [pages.brief(one) for one in found.orphaned_nodes],
        "cluster_summary": [asdict(one) for one in found.cluster_summary],
        "event_summary": asdict(found.event_summary),
        "omitted": asdict(found.omitted),
    }  # fmt: skip


# get_pending_consolidation -------------------------------------------------------------------------------------------


class Pending(Result):
    """A node that was observed since it was last summarized."""

    name: str
    entity_type: str
    observation_count: int
    last_observation_at: str
    summary_updated_at: str | None


class PendingResult(shapes.Listed[Pending]):
    """The nodes, the last observed first."""


def pending(call: Call, arguments: shapes.ListArguments) -> Answer:
    """get_pending_consolidation."""
    told = pages.listed(map(asdict, consolidate.pending(graph_of(call))), arguments.token_budget)
    return Answer(PendingResult.model_validate(asdict(told)))


# get_stats -----------------------------------------------------------------------------------------------------------


class StatsResult(Result):
    """How large the graph is."""

    node_count: int
    observation_count: int
    relation_count: int
    embedding_coverage: float
    """The share of observations with embeddings; 1 where there are no observations."""
    workspace: str


def stats(call: Call, _: shapes.NoArguments) -> Answer:
    """get_stats."""
    return Answer(StatsResult(**asdict(consolidate.stats(graph_of(call)))))


TOOLS: Toolset = (
    Tool(
        name="get_consolidation_report", title="Consolidation report", capability="read", needs="project",
        description="Where the graph needs attention: stale summaries with drafts, candidates for relations, orphans, "
        "clusters, and how much changed in 30 days. Candidates are computed: judge them.",
        arguments=ReportArguments, result=ReportResult, handler=report,
    ),
    Tool(
        name="get_pending_consolidation", title="Nodes to summarize", capability="read", needs="project",
        description="Nodes that have gained observations since their summary was last set, or have none.",
        arguments=shapes.ListArguments, result=PendingResult, handler=pending,
    ),
    Tool(
        name="get_stats", title="Graph statistics", capability="read", needs="project",
        description="How many nodes, observations and relations there are, and the share of observations embedded.",
        arguments=shapes.NoArguments, result=StatsResult, handler=stats,
    ),
)  # fmt: skip
