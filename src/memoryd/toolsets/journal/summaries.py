"""Summaries of sessions: get_all_summaries, query_summaries, delete_all_summaries."""

from typing import Annotated

from pydantic import Field

from memoryd.core.journal import view
from memoryd.core.journal.view import DeletedSummaries, FoundSummaries, SummaryPage
from memoryd.toolsets.journal.shapes import CamelArguments, Category, Limit, Offset, error_text, journal
from memoryd.toolsets.registry import Answer, Call, NoArguments, Query, Tool, Toolset


class AllSummariesArguments(CamelArguments):
    """The page and the category of summaries."""

    limit: Annotated[Limit, Field(description="Maximum summaries to return.")] = 50
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0
    category: Annotated[Category | None, Field(description="Filter by category (bugfix, feature, etc.).")] = None


class QuerySummariesArguments(CamelArguments):
    """The query, and its filter."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    category: Annotated[Category | None, Field(description="Filter by category.")] = None


def _all(call: Call, arguments: AllSummariesArguments) -> Answer[SummaryPage]:
    summaries = journal(call).kept.summaries(arguments.limit, arguments.offset, arguments.category or "")
    return Answer(view.summary_page(summaries))


def _query(call: Call, arguments: QuerySummariesArguments) -> Answer[FoundSummaries]:
    found = journal(call).kept.find_summaries(arguments.query, arguments.n_results, arguments.category or "")
    return Answer(view.found_summaries(arguments.query, found))


def _delete_all(call: Call, _: NoArguments) -> Answer[DeletedSummaries]:
    return Answer(view.deleted(journal(call).kept.delete_summaries()))


TOOLS: Toolset = (
    Tool(
        name="get_all_summaries", title="All session summaries",
        description="All session summaries, newest first, page by page.",
        arguments=AllSummariesArguments, result=SummaryPage, capability="read", handler=_all, error_text=error_text,
    ),
    Tool(
        name="query_summaries", title="Search session summaries",
        description="Search session summaries by meaning and by words.",
        arguments=QuerySummariesArguments, result=FoundSummaries, capability="read", handler=_query,
        error_text=error_text,
    ),
    Tool(
        name="delete_all_summaries", title="Delete all summaries",
        description="Delete all session summaries; raw memories are preserved.",
        arguments=NoArguments, result=DeletedSummaries, capability="write", handler=_delete_all, destructive=True,
        idempotent=True, error_text=error_text,
    ),
)  # fmt: skip
