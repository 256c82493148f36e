"""Where the graph needs attention: backed by figures and quotes, for the model to judge."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from memoryd.core.base.token_budget import Budget
from memoryd.core.graph import report as consolidate
from memoryd.core.graph.report import Report
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.graph.shown import Json
from memoryd.toolsets.registry import Answer, Arguments, Call, NoArguments, Result, Tool, Toolset

# get_consolidation_report --------------------------------------------------------------------------------------------


class ReportArguments(Arguments):
    """How long its lists may be."""

    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most items of each list.")] = 20


class StaleSummary(Result):
    """A node whose summary is older than its last observation, or missing; the draft is None without observations."""

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


class Omitted(Result):
    """How many of each list there are beyond those shown."""

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
    omitted: Omitted


def report(call: Call, arguments: ReportArguments) -> Answer:
    """get_consolidation_report."""
    return Answer(ReportResult.model_validate(_shown(consolidate.report(graph_of(call), arguments.limit))))


def _shown(found: Report) -> Json:
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
        "orphaned_nodes": [shown.brief(one) for one in found.orphaned_nodes],
        "cluster_summary": [asdict(one) for one in found.cluster_summary],
        "event_summary": asdict(found.event_summary),
        "omitted": found.omitted,
    }  # fmt: skip


# get_pending_consolidation -------------------------------------------------------------------------------------------


class Pending(Result):
    """A node without a summary, or that was observed since it was last summarized."""

    name: str
    entity_type: str
    observation_count: int
    last_observation_at: str | None
    """None where it has no observations."""
    summary_updated_at: str | None


LEAST_PENDING = dict.fromkeys(Pending.model_fields, 0)


class PendingResult(shapes.Listed[Pending]):
    """The nodes, the last observed first."""


def pending(call: Call, arguments: shapes.BudgetArguments) -> Answer:
    """get_pending_consolidation."""
    tokens = arguments.token_budget
    found, total = consolidate.pending(graph_of(call), Budget(tokens).at_most(LEAST_PENDING))
    return Answer(PendingResult.model_validate(shown.listed([_pending(one) for one in found], tokens, total)))


def _pending(one: consolidate.Pending) -> Json:
    return {
        "name": one.name, "entity_type": one.entity_type, "observation_count": one.observation_count,
        "last_observation_at": one.last_observation_at, "summary_updated_at": one.summary_updated_at,
    }  # fmt: skip


# get_stats -----------------------------------------------------------------------------------------------------------


class StatsResult(Result):
    """How large the graph is."""

    node_count: int
    observation_count: int
    relation_count: int
    embedding_coverage: float
    """The share of observations with embeddings; 1 where there are no observations."""
    workspace: str


def stats(call: Call, _: NoArguments) -> Answer:
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
        description="Nodes that have no summary, or have gained observations since it was last set.",
        arguments=shapes.BudgetArguments, result=PendingResult, handler=pending,
    ),
    Tool(
        name="get_stats", title="Graph statistics", capability="read", needs="project",
        description="How many nodes, observations and relations there are, and the share of observations embedded.",
        arguments=NoArguments, result=StatsResult, handler=stats,
    ),
)  # fmt: skip
