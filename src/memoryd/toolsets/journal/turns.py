"""Turns: add_memory, get_session_memories, query_raw_memories."""

import uuid
from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.core.base.limits import TURN_TEXT
from memoryd.core.journal import view
from memoryd.core.journal.view import AddedTurn, FoundTurns, SessionTurns
from memoryd.toolsets.journal.shapes import (
    CamelArguments,
    Limit,
    Offset,
    SessionId,
    error_text,
    journal,
    own_session,
)
from memoryd.toolsets.registry import Answer, Call, Query, Tool, Toolset

TurnText = Annotated[str, StringConstraints(min_length=1, max_length=TURN_TEXT, pattern=r"\S")]


class AddMemoryArguments(CamelArguments):
    """The turn to store."""

    prompt: Annotated[TurnText, Field(description="The user's verbatim prompt.")]
    thought: Annotated[TurnText, Field(description="The agent's internal reasoning.")]
    response: Annotated[TurnText, Field(description="The agent's final response.")]
    session_id: Annotated[SessionId | None, Field(description="The session ID. If not provided, one is generated.")] = (
        None
    )


class SessionMemoriesArguments(CamelArguments):
    """The session to read, and the page."""

    session_id: Annotated[SessionId, Field(description="The session to retrieve memories for.")]
    limit: Annotated[Limit, Field(description="Maximum memories to return.")] = 100
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0


class QueryRawMemoriesArguments(CamelArguments):
    """The query, and its filter."""

    query: Annotated[Query, Field(description="The natural language search query.")]
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10
    session_id: Annotated[SessionId | None, Field(description="An optional session ID to scope the search.")] = None


def _add(call: Call, arguments: AddMemoryArguments) -> Answer[AddedTurn]:
    session = arguments.session_id or own_session(call) or f"session_{uuid.uuid4()}"
    return Answer(view.added(journal(call).add(arguments.prompt, arguments.thought, arguments.response, session)))


def _of_session(call: Call, arguments: SessionMemoriesArguments) -> Answer[SessionTurns]:
    session = arguments.session_id
    return Answer(view.turns_of(session, journal(call).kept.of_session(session, arguments.limit, arguments.offset)))


def _query(call: Call, arguments: QueryRawMemoriesArguments) -> Answer[FoundTurns]:
    found = journal(call).kept.find(arguments.query, arguments.n_results, arguments.session_id or "")
    return Answer(view.found_turns(arguments.query, found))


TOOLS: Toolset = (
    Tool(
        name="add_memory",
        title="Add a memory",
        description="Store a new agent interaction (prompt, thought, response) as a memory.",
        arguments=AddMemoryArguments,
        result=AddedTurn,
        capability="write",
        handler=_add,
        error_text=error_text,
    ),
    Tool(
        name="get_session_memories",
        title="Memories of a session",
        description="All memories of a session, in chronological order.",
        arguments=SessionMemoriesArguments,
        result=SessionTurns,
        capability="read",
        handler=_of_session,
        error_text=error_text,
    ),
    Tool(
        name="query_raw_memories",
        title="Search raw memories",
        description="Search all raw memories by meaning and by words.",
        arguments=QueryRawMemoriesArguments,
        result=FoundTurns,
        capability="read",
        handler=_query,
        error_text=error_text,
    ),
)
