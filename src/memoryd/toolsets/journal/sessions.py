"""Sessions: summarize_sessions."""

from typing import Annotated

from pydantic import Field

from memoryd.core.journal import view
from memoryd.core.journal.view import SummarizedSessions
from memoryd.toolsets.journal.shapes import JournalTools, SessionId, journal, own_session
from memoryd.toolsets.registry import Call

TOOLS = JournalTools()


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
    turns = journal(call)
    if session_id:
        return view.summarized([turns.summarize(session_id)])
    return view.summarized(turns.summarize_all(own_session(call), call.progress))
