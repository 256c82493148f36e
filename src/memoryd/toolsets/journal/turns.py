"""Turns: add_memory, get_session_memories, query_raw_memories."""

import uuid
from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.toolsets.journal.shapes import (
    CamelArguments,
    CamelResult,
    CamelSearched,
    Limit,
    Memory,
    Offset,
    SessionId,
    journal,
    own_session,
    told,
)
from memoryd.toolsets.registry import Answer, Call, Query, Tool, Toolset

TEXT = 1_000_000

Verbatim = Annotated[str, StringConstraints(min_length=1, max_length=TEXT, pattern=r"\S")]


class AddArguments(CamelArguments):
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
    session = arguments.session_id or own_session(call) or f"session_{uuid.uuid4()}"
    added = journal(call).add(arguments.prompt, arguments.thought, arguments.response, session)
    return Answer(Added(
        id=added.id, session_id=added.session_id, timestamp=added.created_at, message="Memory successfully added."
    ))  # fmt: skip


class SessionArguments(CamelArguments):
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
    page, total = journal(call).kept.of_session(arguments.session_id, arguments.limit, arguments.offset)
    memories = list(map(Memory.of, page))
    return Answer(SessionMemories(session_id=arguments.session_id, count=len(memories), total=total, memories=memories))


class QueryArguments(CamelArguments):
    """What to find."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    session_id: Annotated[SessionId | None, Field(description="An optional session ID to scope the search.")] = None


class FoundMemory(Memory):
    """A turn that was found; its score is 1 at most."""

    score: float


class FoundMemories(CamelSearched):
    """The turns that were found, best first."""

    query: str
    count: int
    results: list[FoundMemory]


def query_raw_memories(call: Call, arguments: QueryArguments) -> Answer:
    """query_raw_memories."""
    found = journal(call).kept.find(arguments.query, arguments.n_results, arguments.session_id or "")
    results = [FoundMemory.of(turn, score=round(score, 4)) for turn, score in found.best]
    return Answer(FoundMemories(
        query=arguments.query, count=len(results), results=results, degraded=found.degraded
    ))  # fmt: skip


TOOLS: Toolset = (
    Tool(
        name="add_memory", title="Add a memory",
        description="Store a new agent interaction (prompt, thought, response) as a memory.",
        arguments=AddArguments, result=Added, capability="write", handler=add_memory, error_text=told,
    ),
    Tool(
        name="get_session_memories", title="Memories of a session",
        description="All memories of a session, in chronological order.",
        arguments=SessionArguments, result=SessionMemories, capability="read", handler=get_session_memories,
        error_text=told,
    ),
    Tool(
        name="query_raw_memories", title="Search raw memories",
        description="Search all raw memories by meaning and by words.",
        arguments=QueryArguments, result=FoundMemories, capability="read", handler=query_raw_memories, error_text=told,
    ),
)  # fmt: skip
