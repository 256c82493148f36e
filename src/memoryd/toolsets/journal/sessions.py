"""Sessions: summarize_sessions."""

from typing import Annotated

from pydantic import Field

from memoryd.core.journal import view
from memoryd.core.journal.view import SummarizedSessions
from memoryd.toolsets.journal.shapes import CamelArguments, SessionId, error_text, journal, own_session
from memoryd.toolsets.registry import Answer, Call, Tool, Toolset


class SummarizeSessionsArguments(CamelArguments):
    """The session to summarize."""

    session_id: Annotated[
        SessionId | None,
        Field(
            description="Only this session; else all that have no summary or have grown since, except the present one."
        ),
    ] = None


def _summarize(call: Call, arguments: SummarizeSessionsArguments) -> Answer[SummarizedSessions]:
    turns = journal(call)
    if arguments.session_id:
        return Answer(view.summarized([turns.summarize(arguments.session_id)]))
    return Answer(view.summarized(turns.summarize_all(own_session(call), call.progress)))


TOOLS: Toolset = (
    Tool(
        name="summarize_sessions", title="Summarize sessions",
        description="Summarize sessions: one, or all that have no summary or have grown since their last one.",
        arguments=SummarizeSessionsArguments, result=SummarizedSessions, capability="write", handler=_summarize,
        idempotent=True, lasting=True, error_text=error_text,
    ),
)  # fmt: skip
