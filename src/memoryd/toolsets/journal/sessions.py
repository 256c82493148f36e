"""Sessions: summarize_sessions."""

from typing import Annotated

from pydantic import Field

from memoryd.toolsets.journal.shapes import (
    CamelArguments,
    CamelResult,
    SessionId,
    Summary,
    journal,
    own_session,
    told,
)
from memoryd.toolsets.registry import Answer, Call, Tool, Toolset


class SummarizeArguments(CamelArguments):
    """Which session."""

    session_id: Annotated[
        SessionId | None,
        Field(description="Only this session; else all that have no summary or have grown since, but the present one."),
    ] = None


class Summarized(CamelResult):
    """What was summarized; of many sessions the first SHOWN."""

    processed: int
    sessions: list[Summary]


SHOWN = 50


def summarize_sessions(call: Call, arguments: SummarizeArguments) -> Answer:
    """summarize_sessions."""
    turns = journal(call)
    if arguments.session_id:
        made = [turns.summarize(arguments.session_id)]
    else:
        made = turns.summarize_all(own_session(call), call.progress)
    return Answer(Summarized(processed=len(made), sessions=list(map(Summary.of, made[:SHOWN]))))


TOOLS: Toolset = (
    Tool(
        name="summarize_sessions", title="Summarize sessions",
        description="Summarize sessions: one, or all that have no summary or have grown since.",
        arguments=SummarizeArguments, result=Summarized, capability="write", handler=summarize_sessions,
        idempotent=True, lasting=True, error_text=told,
    ),
)  # fmt: skip
