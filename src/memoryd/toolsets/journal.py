"""Seed e's toolset: turns of agents, session by session, and what each session was about."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from memoryd.core.journal import Journal
from memoryd.errors import InvalidInputError
from memoryd.model import Interaction, SessionSummary
from memoryd.settings import SESSION_LENGTH
from memoryd.toolsets.registry import Answer, Arguments, Call, NoArguments, Query, Result, Tool, Toolset

TEXT, LIMIT, OFFSET = 1_000_000, 1_000, 1_000_000_000

Verbatim = Annotated[str, StringConstraints(max_length=TEXT)]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=LIMIT)]
Offset = Annotated[int, Field(ge=0, le=OFFSET)]
Category = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class Camel(Arguments):
    """Arguments in the seed's spelling."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", defer_build=True)


class CamelResult(Result):
    """A result in the seed's spelling."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)


class Memory(CamelResult):
    """One turn of an agent."""

    id: str
    session_id: str
    timestamp: str
    prompt: str
    thought: str
    response: str
    type: Literal["agent-interaction"] = "agent-interaction"


class FoundMemory(Memory):
    """A turn that was found."""

    score: float


class Summary(CamelResult):
    """What a session was about."""

    id: str
    session_id: str
    timestamp: str
    title: str
    summary: str
    category: str
    memory_count: int
    quality: int | None
    productivity: int | None
    impact: int | None
    complexity: int | None
    technologies: list[str]


class FoundSummary(Summary):
    """A summary that was found."""

    score: float


# turns ---------------------------------------------------------------------------------------------------------------


class AddArguments(Camel):
    """One turn."""

    prompt: Annotated[Verbatim, Field(description="The user's verbatim prompt.")]
    thought: Annotated[Verbatim, Field(description="The agent's internal reasoning.")]
    response: Annotated[Verbatim, Field(description="The agent's final response.")]
    session_id: Annotated[SessionId | None, Field(description="The session ID. If not provided, one is generated.")] = (
        None
    )


class Added(CamelResult):
    """Where it went."""

    id: str
    session_id: str
    timestamp: str
    message: str


def add_memory(call: Call, arguments: AddArguments) -> Answer:
    """add_memory."""
    if not (arguments.prompt + arguments.thought + arguments.response).strip():
        raise InvalidInputError("Prompt, thought and response are all empty: there is nothing to remember.")
    added = _journal(call).add(
        arguments.prompt, arguments.thought, arguments.response, arguments.session_id or _own(call)
    )
    return Answer(Added(
        id=added.id, session_id=added.session_id, timestamp=added.created_at, message="Memory added."
    ))  # fmt: skip


class SessionArguments(Camel):
    """Which session."""

    session_id: Annotated[SessionId, Field(description="The session to retrieve memories for.")]
    limit: Annotated[Limit, Field(description="Maximum memories to return.")] = 100
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0


class SessionMemories(CamelResult):
    """The turns of a session, in the order of time."""

    session_id: str
    count: int
    total: int
    memories: list[Memory]


def get_session_memories(call: Call, arguments: SessionArguments) -> Answer:
    """get_session_memories."""
    found, total = _journal(call).of_session(arguments.session_id, arguments.limit, arguments.offset)
    memories = [Memory(**_turn(one)) for one in found]
    return Answer(SessionMemories(session_id=arguments.session_id, count=len(memories), total=total, memories=memories))


class QueryArguments(Camel):
    """What to find."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    session_id: Annotated[SessionId | None, Field(description="An optional session ID to scope the search.")] = None


class FoundMemories(CamelResult):
    """The turns that were found, best first."""

    query: str
    count: int
    results: list[FoundMemory]


def query_raw_memories(call: Call, arguments: QueryArguments) -> Answer:
    """query_raw_memories."""
    found = _journal(call).query(arguments.query, arguments.n_results, arguments.session_id or "")
    results = [FoundMemory(**_turn(one.interaction), score=round(one.score, 4)) for one in found]
    return Answer(FoundMemories(query=arguments.query, count=len(results), results=results))


# summaries -----------------------------------------------------------------------------------------------------------


class ListArguments(Camel):
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
    found, total = _journal(call).summaries(arguments.limit, arguments.offset, arguments.category or "")
    summaries = [Summary(**_summary(one)) for one in found]
    return Answer(Summaries(count=len(summaries), total=total, summaries=summaries))


class QuerySummariesArguments(Camel):
    """What to find."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    category: Annotated[Category | None, Field(description="Filter by category.")] = None


class FoundSummaries(CamelResult):
    """The summaries that were found, best first."""

    query: str
    count: int
    results: list[FoundSummary]


def query_summaries(call: Call, arguments: QuerySummariesArguments) -> Answer:
    """query_summaries."""
    found = _journal(call).query_summaries(arguments.query, arguments.n_results, arguments.category or "")
    results = [FoundSummary(**_summary(one.summary), score=round(one.score, 4)) for one in found]
    return Answer(FoundSummaries(query=arguments.query, count=len(results), results=results))


class Deleted(CamelResult):
    """How many are gone."""

    deleted: int
    message: str


def delete_all_summaries(call: Call, _: NoArguments) -> Answer:
    """delete_all_summaries."""
    gone = _journal(call).delete_summaries()
    return Answer(Deleted(deleted=gone, message=f"Deleted {gone} summaries. Raw memories are preserved."))


class SummarizeArguments(Camel):
    """Which session."""

    session_id: Annotated[
        SessionId | None,
        Field(description="Only this session; else all that have no summary or have grown since, but the present one."),
    ] = None


class Summarized(CamelResult):
    """What was summarized."""

    processed: int
    sessions: list[Summary]


def summarize_sessions(call: Call, arguments: SummarizeArguments) -> Answer:
    """summarize_sessions."""
    journal = _journal(call)
    wanted = [arguments.session_id] if arguments.session_id else journal.pending(but=_own(call))
    made = [Summary(**_summary(journal.summarize(session))) for session in wanted]
    return Answer(Summarized(processed=len(made), sessions=made))


def _journal(call: Call) -> Journal:
    return Journal(call.engine, call.workspace, call.session)


def _own(call: Call) -> str:
    """e: without a sessionId a connection keeps one generated id for all its turns."""
    return f"session_{call.session_id}" if call.session_id else "session_default"


def _turn(one: Interaction) -> dict[str, Any]:
    fields = asdict(one)
    fields["timestamp"] = fields.pop("created_at")
    return fields


def _summary(one: SessionSummary) -> dict[str, Any]:
    fields = asdict(one)
    fields["timestamp"] = fields.pop("updated_at")
    return fields | {"technologies": list(one.technologies)}


TOOLS: Toolset = (
    Tool(
        name="add_memory", title="Add a memory",
        description="Store a new agent interaction (prompt, thought, response) as a memory.",
        arguments=AddArguments, result=Added, capability="write", handler=add_memory,
    ),
    Tool(
        name="get_session_memories", title="Memories of a session",
        description="All memories of a session, in chronological order.",
        arguments=SessionArguments, result=SessionMemories, capability="read", handler=get_session_memories,
    ),
    Tool(
        name="query_raw_memories", title="Search raw memories",
        description="Search all raw memories by meaning and by words.",
        arguments=QueryArguments, result=FoundMemories, capability="read", handler=query_raw_memories,
    ),
    Tool(
        name="get_all_summaries", title="All session summaries",
        description="All session summaries, the newest first.",
        arguments=ListArguments, result=Summaries, capability="read", handler=get_all_summaries,
    ),
    Tool(
        name="query_summaries", title="Search session summaries",
        description="Search session summaries by meaning and by words.",
        arguments=QuerySummariesArguments, result=FoundSummaries, capability="read", handler=query_summaries,
    ),
    Tool(
        name="delete_all_summaries", title="Delete all summaries",
        description="Delete all session summaries; raw memories are preserved.",
        arguments=NoArguments, result=Deleted, capability="write", handler=delete_all_summaries, destructive=True,
        idempotent=True,
    ),
    Tool(
        name="summarize_sessions", title="Summarize sessions",
        description="Summarize sessions: one, or all that have no summary or have grown since.",
        arguments=SummarizeArguments, result=Summarized, capability="write", handler=summarize_sessions,
        idempotent=True,
    ),
)  # fmt: skip
