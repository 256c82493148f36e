"""Reports of where the graph needs attention, with figures and quotes for the model to judge."""

from typing import Annotated

from pydantic import Field

from memoryd.core.graph import report, results, view
from memoryd.core.graph.report import GraphStats
from memoryd.core.graph.results import ConsolidationReport, PendingSummary
from memoryd.core.graph.view import BudgetedList
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, NoArguments, Tool, Toolset


class ConsolidationReportArguments(Arguments):
    """The maximum length of each list."""

    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most items of each list.")] = 20


def _report(call: Call, arguments: ConsolidationReportArguments) -> Answer[ConsolidationReport]:
    return Answer(results.consolidation(report.report(graph_of(call), arguments.limit)))


def _pending(call: Call, arguments: shapes.BudgetArguments) -> Answer[BudgetedList[PendingSummary]]:
    return Answer(view.pending_summaries(graph_of(call), arguments.token_budget))


def _stats(call: Call, _: NoArguments) -> Answer[GraphStats]:
    return Answer(report.stats(graph_of(call)))


TOOLS: Toolset = (
    Tool(
        name="get_consolidation_report", title="Consolidation report", capability="read", needs="project",
        description="Where the graph needs attention: stale summaries with drafts, candidates for relations, orphans, "
        "clusters, and how much changed in 30 days. Candidates are computed: judge them.",
        arguments=ConsolidationReportArguments, result=ConsolidationReport, handler=_report,
    ),
    Tool(
        name="get_pending_consolidation", title="Nodes to summarize", capability="read", needs="project",
        description="Nodes that have no summary, or have gained observations since it was last set.",
        arguments=shapes.BudgetArguments, result=BudgetedList[PendingSummary], handler=_pending,
    ),
    Tool(
        name="get_stats", title="Graph statistics", capability="read", needs="project",
        description="Numbers of nodes, observations and relations, and the share of observations that are embedded.",
        arguments=NoArguments, result=GraphStats, handler=_stats,
    ),
)  # fmt: skip
