"""Answers of the tools for memories with a key."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.base.results import Placed, Searched, placed, without_empty
from memoryd.model import Findings, Hit

DIGITS = 3  # decimals of a relevance: storing vectors as float16 changes a cosine of 1 by up to .0005


class CommittedMemory(TypedDict):
    """The key and the scope of a stored memory."""

    committed: bool
    key: str
    scope: str


class FoundMemory(TypedDict):
    """A found memory."""

    key: str
    content: str
    tags: list[str]
    scope: str
    relevance: Annotated[float, Field(description="Score in [0,1]; 1.0 = exact match.")]


class FoundMemories(TypedDict):
    """The found memories, best first, and the number that were searched."""

    results: list[FoundMemory]
    total_searched: int


class PlacedMemory(FoundMemory, Placed):
    """A memory found where several workspaces are read; the tool's schema is a's, which has no workspace."""


class SearchedMemories(FoundMemories, Searched):
    """The found memories, if an included workspace is archived."""


class PrunedMemories(TypedDict):
    """The number of deleted memories."""

    pruned_count: int


class NamedSession(TypedDict):
    """The session of the connection from now on."""

    session_id: str


def found(matches: Findings[Hit], total: int) -> FoundMemories:
    """Return the matches of a search among `total` memories, in their order."""
    result: SearchedMemories = {
        "degraded": matches.degraded,
        "results": list(map(_found, matches.best)),
        "total_searched": total,
    }
    return without_empty(result, "degraded")


def _found(match: Hit) -> FoundMemory:
    record = match.record
    fields: PlacedMemory = {
        "key": record.name or "",
        "content": record.body,
        "tags": list(record.tags),
        "scope": "session" if record.scope else "vault",
        "relevance": round(min(1.0, match.score), DIGITS),
        **placed(match.workspace),
    }
    return fields
