"""Reports of where the graph needs attention, with figures and quotes for the model to judge."""

from typing import Annotated

from pydantic import Field

from memoryd.core.graph import report, view
from memoryd.core.graph.report import ConsolidationReport, GraphStats, PendingSummary
from memoryd.core.graph.view import BudgetedList
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Call, Toolset

TOOLS = Toolset(needs="project")


@TOOLS.tool("Consolidation report", "read")
def get_consolidation_report(
    call: Call, *, limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most items of each list.")] = 20
) -> ConsolidationReport:
    """Where the graph needs attention: stale summaries with drafts, candidates for relations, orphans, clusters, and
    how much changed in 30 days. Candidates are computed: judge them.
    """  # noqa: D205 - one sentence
    return report.report(graph_of(call), limit)


@TOOLS.tool("Nodes to summarize", "read")
def get_pending_consolidation(
    call: Call, *, token_budget: shapes.TokenBudget = shapes.BUDGET
) -> BudgetedList[PendingSummary]:
    """Nodes that have no summary, or have gained observations since it was last set."""
    return view.pending_summaries(graph_of(call), token_budget)


@TOOLS.tool("Graph statistics", "read")
def get_stats(call: Call) -> GraphStats:
    """Numbers of nodes, observations and relations, and the share of observations that are embedded."""
    return report.stats(graph_of(call))
