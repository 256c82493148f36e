"""What the arguments and results of several journal tools are made of, in the seed's spelling."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from memoryd.core.journal.journal import Journal
from memoryd.errors import (
    BusyError,
    InvalidInputError,
    MemorydError,
    NotFoundError,
    StoreAwayError,
    StoreError,
    TimedOutError,
)
from memoryd.model import Interaction, SessionSummary
from memoryd.settings import SESSION_LENGTH
from memoryd.toolsets.registry import Arguments, Call, Result, Searched

LIMIT, OFFSET = 1_000, 1_000_000_000

SessionId = Annotated[str, StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=LIMIT)]
Offset = Annotated[int, Field(ge=0, le=OFFSET)]
Category = Annotated[str, StringConstraints(min_length=1, max_length=100)]

SAID: Mapping[type[MemorydError], str] = {
    InvalidInputError: "Invalid arguments", NotFoundError: "Not found", StoreAwayError: "Database connection failed",
    StoreError: "Database operation failed", BusyError: "Server busy", TimedOutError: "Timed out",
    MemorydError: "Operation failed",
}  # fmt: skip
"""The first that fits tells what went wrong."""


class CamelArguments(Arguments):
    """Arguments in the seed's spelling."""

    model_config = ConfigDict(alias_generator=to_camel)


class CamelResult(Result):
    """A result in the seed's spelling."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class CamelSearched(CamelResult, Searched):
    """What a search gives, in the seed's spelling."""


class Memory(CamelResult):
    """One turn of an agent."""

    id: str
    session_id: str
    timestamp: str
    prompt: str
    thought: str
    response: str
    type: Literal["agent-interaction"] = "agent-interaction"

    @classmethod
    def of(cls, turn: Interaction, **more: Any) -> Self:
        """A turn, and more where it was found."""
        fields: dict[str, Any] = asdict(turn)
        return cls(timestamp=fields.pop("created_at"), **fields, **more)


class Summary(CamelResult):
    """What a session was about; scores are 0 to 100, or null where nobody judged."""

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

    @classmethod
    def of(cls, summary: SessionSummary, **more: Any) -> Self:
        """A summary, and more where it was found."""
        fields: dict[str, Any] = asdict(summary) | {"technologies": list(summary.technologies)}
        return cls(timestamp=fields.pop("created_at"), **fields, **more)


def journal(call: Call) -> Journal:
    """The journal of the workspace in force."""
    return Journal(call.engine, call.workspace, call.session)


def told(error: MemorydError) -> str:
    """e: `Tool Error: <what>. Message: <why>`."""
    what = next(said for kind, said in SAID.items() if isinstance(error, kind))
    return f"Tool Error: {what}. Message: {error}"


def own_session(call: Call) -> str:
    """e: without a sessionId a connection keeps one generated id for all its turns; '' where there is no connection."""
    return f"session_{call.session_id}" if call.session_id else ""
