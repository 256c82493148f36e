"""Turns: add_memory, get_session_memories, query_raw_memories."""

import uuid
from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.core.base.limits import TURN_TEXT
from memoryd.core.journal import view
from memoryd.core.journal.view import AddedTurn, FoundTurns, SessionTurns
from memoryd.toolsets.journal.shapes import JournalTools, Limit, Offset, SessionId, journal, own_session
from memoryd.toolsets.registry import Call
from memoryd.toolsets.registry.arguments import Query

TurnText = Annotated[str, StringConstraints(min_length=1, max_length=TURN_TEXT, pattern=r"\S")]

TOOLS = JournalTools()


@TOOLS.tool("Add a memory", "write")
def add_memory(
    call: Call,
    *,
    prompt: Annotated[TurnText, Field(description="The user's verbatim prompt.")],
    thought: Annotated[TurnText, Field(description="The agent's internal reasoning.")],
    response: Annotated[TurnText, Field(description="The agent's final response.")],
    session_id: Annotated[SessionId | None, Field(description="The session ID. If not provided, one is generated.")] = (
        None
    ),
) -> AddedTurn:
    """Store a new agent interaction (prompt, thought, response) as a memory."""
    session = session_id or own_session(call) or f"session_{uuid.uuid4()}"
    return view.added(journal(call).add(prompt, thought, response, session))


@TOOLS.tool("Memories of a session", "read")
def get_session_memories(
    call: Call,
    *,
    session_id: Annotated[SessionId, Field(description="The session to retrieve memories for.")],
    limit: Annotated[Limit, Field(description="Maximum memories to return.")] = 100,
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0,
) -> SessionTurns:
    """All memories of a session, in chronological order."""
    return view.turns_of(session_id, journal(call).kept.of_session(session_id, limit, offset))


@TOOLS.tool("Search raw memories", "read")
def query_raw_memories(
    call: Call,
    *,
    query: Annotated[Query, Field(description="The natural language search query.")],
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10,
    session_id: Annotated[SessionId | None, Field(description="An optional session ID to scope the search.")] = None,
) -> FoundTurns:
    """Search all raw memories by meaning and by words."""
    return view.found_turns(query, journal(call).kept.find(query, n_results, session_id or ""))
