"""Summaries of sessions: get_all_summaries, query_summaries, delete_all_summaries."""

from typing import Annotated

from pydantic import Field

from memoryd.toolsets.journal.shapes import (
    CamelArguments,
    CamelResult,
    CamelSearched,
    Category,
    Limit,
    Offset,
    Summary,
    journal,
    told,
)
from memoryd.toolsets.registry import Answer, Call, NoArguments, Query, Tool, Toolset


class ListArguments(CamelArguments):
    """Which summaries."""

    limit: Annotated[Limit, Field(description="Maximum summaries to return.")] = 50
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0
    category: Annotated[Category | None, Field(description="Filter by category (bugfix, feature, etc.).")] = None


class Summaries(CamelResult):
    """Summaries, the newest first."""

    count: int
    total: int
    summaries: list[Summary]


def get_all_summaries(call: Call, arguments: ListArguments) -> Answer:
    """get_all_summaries."""
    page, total = journal(call).kept.summaries(arguments.limit, arguments.offset, arguments.category or "")
    summaries = list(map(Summary.of, page))
    return Answer(Summaries(count=len(summaries), total=total, summaries=summaries))


class QueryArguments(CamelArguments):
    """What to find."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    category: Annotated[Category | None, Field(description="Filter by category.")] = None


class FoundSummary(Summary):
    """A summary that was found; its score is 1 at most."""

    score: float


class FoundSummaries(CamelSearched):
    """The summaries that were found, best first."""

    query: str
    count: int
    results: list[FoundSummary]


def query_summaries(call: Call, arguments: QueryArguments) -> Answer:
    """query_summaries."""
    found = journal(call).kept.find_summaries(arguments.query, arguments.n_results, arguments.category or "")
    results = [FoundSummary.of(summary, score=round(score, 4)) for summary, score in found.best]
    return Answer(FoundSummaries(
        query=arguments.query, count=len(results), results=results, degraded=found.degraded
    ))  # fmt: skip


class Deleted(CamelResult):
    """How many are gone."""

    deleted: int
    message: str


def delete_all_summaries(call: Call, _: NoArguments) -> Answer:
    """delete_all_summaries."""
    gone = journal(call).kept.delete_summaries()
    return Answer(Deleted(deleted=gone, message=f"Deleted {gone} summaries. Raw memories are preserved."))


TOOLS: Toolset = (
    Tool(
        name="get_all_summaries", title="All session summaries",
        description="All session summaries, the newest first, page by page.",
        arguments=ListArguments, result=Summaries, capability="read", handler=get_all_summaries, error_text=told,
    ),
    Tool(
        name="query_summaries", title="Search session summaries",
        description="Search session summaries by meaning and by words.",
        arguments=QueryArguments, result=FoundSummaries, capability="read", handler=query_summaries, error_text=told,
    ),
    Tool(
        name="delete_all_summaries", title="Delete all summaries",
        description="Delete all session summaries; raw memories are preserved.",
        arguments=NoArguments, result=Deleted, capability="write", handler=delete_all_summaries, destructive=True,
        idempotent=True, error_text=told,
    ),
)  # fmt: skip
