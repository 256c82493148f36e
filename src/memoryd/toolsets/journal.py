"""Seed e's toolset: turns of agents, session by session, and what each session was about."""

import uuid
from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from memoryd.core.base.limits import TURN_TEXT
from memoryd.core.journal import journal as journals
from memoryd.core.journal import view
from memoryd.core.journal.journal import Journal
from memoryd.core.journal.metadata import CollectionName
from memoryd.core.journal.view import (
    AddedTurn,
    ChangedDatabase,
    DatabaseOutcome,
    DeletedSummaries,
    ExportedJournal,
    FoundSummaries,
    FoundTurns,
    ImportedJournal,
    JournalDatabase,
    JournalHealth,
    SessionTurns,
    SummarizedSessions,
    SummaryPage,
)
from memoryd.core.records.derived_ids import usable_session
from memoryd.core.transfer import journal_file, jsonl
from memoryd.core.transfer.journal_file import ExportDirectory
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.errors import (
    BusyError,
    InvalidInputError,
    MemorydError,
    NotFoundError,
    StoreAwayError,
    StoreError,
    TimedOutError,
)
from memoryd.settings import SESSION_LENGTH
from memoryd.toolsets.registry import Answer, Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments, Query

LIMIT, OFFSET = 1_000, 1_000_000_000

SessionId = Annotated[str, StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=LIMIT)]
Offset = Annotated[int, Field(ge=0, le=OFFSET)]
TurnText = Annotated[str, StringConstraints(min_length=1, max_length=TURN_TEXT, pattern=r"\S")]
Category = Annotated[str, StringConstraints(min_length=1, max_length=100)]

ERRORS: Mapping[type[MemorydError], str] = {
    InvalidInputError: "Invalid arguments",
    NotFoundError: "Not found",
    StoreAwayError: "Database connection failed",
    StoreError: "Database operation failed",
    BusyError: "Server busy",
    TimedOutError: "Timed out",
    MemorydError: "Operation failed",
}
"""What went wrong, by error class; the first class that matches counts."""


class CamelArguments(Arguments):
    """Arguments in the seed's spelling."""

    model_config = ConfigDict(alias_generator=to_camel)


def _error_text(error: MemorydError) -> str:
    """Return an error in e's wording: `Tool Error: <what>. Message: <why>`."""
    what = next(text for kind, text in ERRORS.items() if isinstance(error, kind))
    return f"Tool Error: {what}. Message: {error}"


def _own_session(call: Call) -> str:
    """Return the id that is generated once for all turns of a connection (seed e); '' without a connection."""
    return usable_session(f"session_{call.session_id}") if call.session_id else ""


TOOLS = Toolset(error_text=_error_text, base=CamelArguments)


# the database --------------------------------------------------------------------------------------------------------


@TOOLS.tool("Check health", "read")
def healthcheck(call: Call) -> JournalHealth:
    """Confirm that the server is running and can write to and read from its database."""
    kept = Journal(call.scope).kept
    if not call.engine.settings.read_only:
        kept.try_out()
    numbers = kept.numbers()
    return {"status": "healthy", "database": _database(call), "collections": numbers}


@TOOLS.tool("Start the database", "write", needs="nothing", idempotent=True)
def start_database(call: Call) -> ChangedDatabase:
    """Start the database as a background process, if it is a server of memoryd's own."""
    outcome: DatabaseOutcome = "started" if journals.database(call.engine).start() else "already_running"
    return view.changed(outcome, _database(call))


@TOOLS.tool("Stop the database", "admin", needs="nothing", destructive=True, idempotent=True)
def stop_database(call: Call) -> ChangedDatabase:
    """Stop the database, if it is a server of memoryd's own."""
    outcome: DatabaseOutcome = "stopped" if journals.database(call.engine).stop() else "already_stopped"
    return view.changed(outcome, _database(call))


def _database(call: Call) -> JournalDatabase:
    return view.database_of(journals.database(call.engine), discreet=bool(call.principal))


@TOOLS.tool("Export to a file", "write", lasting=True)
def export_database(
    call: Call,
    *,
    include: Annotated[
        list[CollectionName], Field(min_length=1, max_length=2, description="Collections to export.")
    ] = ["memories", "summaries"],
) -> ExportedJournal:
    """Export the journal to a JSONL file: all turns and session summaries, but no other memories."""
    wanted = [name for name in ("memories", "summaries") if name in include]
    directory = _directory(call)
    with directory.discreetly():
        path = directory.new(call.engine.clock.now())
        written, counts = journal_file.export(
            Journal(call.scope).kept, path, wanted, lambda done: call.progress(done, 1)
        )
    file = directory.shown(written.path)
    return {
        "file": file,
        "bytes": written.size,
        **counts,
        "message": f"Exported {counts['memories']} memories and {counts['summaries']} summaries to {file}.",
    }


@TOOLS.tool("Import a file", "write", destructive=True, idempotent=True, lasting=True)
def import_database(
    call: Call,
    *,
    file: Annotated[
        str,
        StringConstraints(min_length=1, max_length=4_096, pattern=r"\S"),
        Field(description="The path to the JSONL backup file, within the directory of exports."),
    ],
    mode: Annotated[ImportMode, Field(description="merge adds what is missing; replace first removes what exists.")] = (
        "merge"
    ),
) -> Answer[ImportedJournal]:
    """Import a previously exported JSONL file: add what is missing, or replace what exists."""
    directory = _directory(call)
    with directory.discreetly(), jsonl.opened(directory.find(file)) as source:
        done = journal_file.load(
            Journal(call.scope).kept, source, mode, lambda part: call.progress(part, 1), call.engine.secrets
        )
    new = done.new["memories"] + done.new["summaries"]
    messages = {"merge": "; existing ones are unchanged", "replace": " in place of the existing ones"}
    result: ImportedJournal = {
        "file": file,
        "mode": mode,
        **done.read,
        "newMemories": done.new["memories"],
        "newSummaries": done.new["summaries"],
        "message": f"Imported {new}{messages[mode]}.",
    }
    return Answer(result, masked=done.masked)


def _directory(call: Call) -> ExportDirectory:
    return ExportDirectory(call.engine.settings.data_dir, call.workspace.id, discreet=bool(call.principal))


# turns ---------------------------------------------------------------------------------------------------------------


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
    session = session_id or _own_session(call) or f"session_{uuid.uuid4()}"
    turn = Journal(call.scope).add(prompt, thought, response, session)
    return {
        "id": turn.id,
        "sessionId": turn.session_id,
        "timestamp": turn.created_at,
        "message": "Memory successfully added.",
    }


@TOOLS.tool("Memories of a session", "read")
def get_session_memories(
    call: Call,
    *,
    session_id: Annotated[SessionId, Field(description="The session to retrieve memories for.")],
    limit: Annotated[Limit, Field(description="Maximum memories to return.")] = 100,
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0,
) -> SessionTurns:
    """All memories of a session, in chronological order."""
    found = Journal(call.scope).kept.of_session(session_id, limit, offset)
    page = list(map(view.shown_turn, found.page))
    return {"sessionId": session_id, "count": len(page), "total": found.total, "memories": page}


@TOOLS.tool("Search raw memories", "read")
def query_raw_memories(
    call: Call,
    *,
    query: Annotated[Query, Field(description="The natural language search query.")],
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10,
    session_id: Annotated[SessionId | None, Field(description="An optional session ID to scope the search.")] = None,
) -> FoundTurns:
    """Search all raw memories by meaning and by words."""
    return view.found_turns(query, Journal(call.scope).kept.find(query, n_results, session_id or ""))


# summaries -----------------------------------------------------------------------------------------------------------


@TOOLS.tool("All session summaries", "read")
def get_all_summaries(
    call: Call,
    *,
    limit: Annotated[Limit, Field(description="Maximum summaries to return.")] = 50,
    offset: Annotated[Offset, Field(description="Pagination offset.")] = 0,
    category: Annotated[Category | None, Field(description="Filter by category (bugfix, feature, etc.).")] = None,
) -> SummaryPage:
    """All session summaries, newest first, page by page."""
    found = Journal(call.scope).kept.summaries(limit, offset, category or "")
    page = list(map(view.shown_summary, found.page))
    return {"count": len(page), "total": found.total, "summaries": page}


@TOOLS.tool("Search session summaries", "read")
def query_summaries(
    call: Call,
    *,
    query: Annotated[Query, Field(description="The natural language search query.")],
    n_results: Annotated[Limit, Field(description="Number of results to return.")] = 10,
    category: Annotated[Category | None, Field(description="Filter by category.")] = None,
) -> FoundSummaries:
    """Search session summaries by meaning and by words."""
    return view.found_summaries(query, Journal(call.scope).kept.find_summaries(query, n_results, category or ""))


@TOOLS.tool("Delete all summaries", "write", destructive=True, idempotent=True)
def delete_all_summaries(call: Call) -> DeletedSummaries:
    """Delete all session summaries; raw memories are preserved."""
    number = Journal(call.scope).kept.delete_summaries()
    return {"deleted": number, "message": f"Deleted {number} summaries. Raw memories are preserved."}


# sessions ------------------------------------------------------------------------------------------------------------


@TOOLS.tool("Summarize sessions", "write", idempotent=True, lasting=True)
def summarize_sessions(
    call: Call,
    *,
    session_id: Annotated[
        SessionId | None,
        Field(
            description="Only this session; else all that have no summary or have grown since, except the present one."
        ),
    ] = None,
) -> SummarizedSessions:
    """Summarize sessions: one, or all that have no summary or have grown since their last one."""
    turns = Journal(call.scope)
    if session_id:
        return view.summarized([turns.summarize(session_id)])
    return view.summarized(turns.summarize_all(_own_session(call), call.progress))
