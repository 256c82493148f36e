"""Summaries of sessions: get_all_summaries, query_summaries, delete_all_summaries."""

from typing import Annotated

from pydantic import Field

from memoryd.core.journal import view
from memoryd.core.journal.view import DeletedSummaries, FoundSummaries, SummaryPage
from memoryd.toolsets.journal.shapes import Category, JournalTools, Limit, Offset, journal
from memoryd.toolsets.registry import Call
from memoryd.toolsets.registry.arguments import Query

TOOLS = JournalTools()


@TOOLS.tool("All session summaries", "read")
def get_all_summaries(
    call: Call,
    *,
    limit: Annotated[Limit, Field(description="Maximum summaries to return.")] = 50,
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0,
    category: Annotated[Category | None, Field(description="Filter by category (bugfix, feature, etc.).")] = None,
) -> SummaryPage:
    """All session summaries, newest first, page by page."""
    return view.summary_page(journal(call).kept.summaries(limit, offset, category or ""))


@TOOLS.tool("Search session summaries", "read")
def query_summaries(
    call: Call,
    *,
    query: Annotated[Query, Field(description="The natural language search query.")],
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10,
    category: Annotated[Category | None, Field(description="Filter by category.")] = None,
) -> FoundSummaries:
    """Search session summaries by meaning and by words."""
    return view.found_summaries(query, journal(call).kept.find_summaries(query, n_results, category or ""))


@TOOLS.tool("Delete all summaries", "write", destructive=True, idempotent=True)
def delete_all_summaries(call: Call) -> DeletedSummaries:
    """Delete all session summaries; raw memories are preserved."""
    return view.deleted(journal(call).kept.delete_summaries())
