"""Parts of the arguments of several journal tools, in the seed's spelling."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from memoryd.core.journal.journal import Journal
from memoryd.core.records.derived_ids import usable_session
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
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments

LIMIT, OFFSET = 1_000, 1_000_000_000

SessionId = Annotated[str, StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=LIMIT)]
Offset = Annotated[int, Field(ge=0, le=OFFSET)]
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


class JournalTools(Toolset):
    """Tools in the seed's spelling, with the seed's errors."""

    def __init__(self) -> None:
        super().__init__(error_text=error_text, base=CamelArguments)


def journal(call: Call) -> Journal:
    """Return the journal of the workspace in force."""
    return Journal(call.scope)


def error_text(error: MemorydError) -> str:
    """Return an error in e's wording: `Tool Error: <what>. Message: <why>`."""
    what = next(text for kind, text in ERRORS.items() if isinstance(error, kind))
    return f"Tool Error: {what}. Message: {error}"


def own_session(call: Call) -> str:
    """Return the id that is generated once for all turns of a connection (seed e); '' without a connection."""
    return usable_session(f"session_{call.session_id}") if call.session_id else ""
