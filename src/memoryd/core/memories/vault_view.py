"""What the tools for memories with a key answer."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.base.results import Placed, Searched, placed, without_empty
from memoryd.core.memories.vault import Match
from memoryd.model import Findings

DIGITS = 3  # of a relevance: vectors are kept as float16, which costs a cosine of 1 up to .0005


class CommittedMemory(TypedDict):
    """The key and the scope of a memory that is kept."""

    committed: bool
    key: str
    scope: str


class FoundMemory(TypedDict):
    """A memory that was found."""

    key: str
    content: str
    tags: list[str]
    scope: str
    relevance: Annotated[float, Field(description="Score in [0,1]; 1.0 = exact match.")]


class FoundMemories(TypedDict):
    """The memories that were found, best first, and among how many."""

    results: list[FoundMemory]
    total_searched: int


class PlacedMemory(FoundMemory, Placed):
    """A memory that was found where several workspaces are read; the tool's schema is a's, which names no workspace."""


class SearchedMemories(FoundMemories, Searched):
    """What was found while an included workspace is archived."""


class PrunedMemories(TypedDict):
    """How many memories were deleted."""

    pruned_count: int


class NamedSession(TypedDict):
    """The session of the connection from now on."""

    session_id: str


def found(matches: Findings[Match], total: int) -> FoundMemories:
    """Return the matches of a search among `total` memories, in their order."""
    result: SearchedMemories = {
        "degraded": matches.degraded, "results": list(map(_found, matches.best)), "total_searched": total,
    }  # fmt: skip
    return without_empty(result, "degraded")


def _found(match: Match) -> FoundMemory:
    record = match.record
    fields: PlacedMemory = {
        "key": record.name or "", "content": record.body, "tags": list(record.tags),
        "scope": "session" if record.scope else "vault", "relevance": round(min(1.0, match.relevance), DIGITS),
        **placed(match.workspace),
    }  # fmt: skip
    return fields
