"""Answers of the tools for memories: the JSON of what was stored, recalled, forgotten and inspected."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.base.results import Placed, Searched, counted, placed, without_empty
from memoryd.core.memories.memories import Criteria, Memories, Stored
from memoryd.core.records import short_ids
from memoryd.core.search.briefing import Briefing, Format
from memoryd.core.search.hits import FoundRecord, found, whole
from memoryd.excerpts import cut
from memoryd.model import Findings, Hit, Kind, Record

PREVIEW = 25  # tokens of a memory that would be forgotten
LISTED = 20  # forgotten memories that an answer names; memory_inspect shows as many
NAMED_IDS, NAMED_ID = 10, 100  # ids that a message repeats, and characters of each

STORED = {
    "stored": "Stored memory {}.",
    "merged": "Merged with existing memory {} (duplicate detected).",
    "updated": "Stored memory {} in place of {}.",
}
DIGITS = 3  # decimals of a relevance: storing vectors as float16 changes a cosine of 1 by up to .0005
REPLACING = "If it does, store it again with supersedes=[id]."

MemoryView = Literal["stats", "recent", "important", "tags", "export"]


class StoredMemory(TypedDict):
    """The id of a memory, and what was done with the text."""

    id: str
    status: Literal["stored", "merged", "updated"]
    may_replace: NotRequired[dict[str, str]]
    """Older memories that it may replace, by short id, long ones cut; absent if there are none."""
    hint: NotRequired[str]
    """What to do about them."""


class RecalledMemories(Searched):
    """The found memories, best first, and their cost."""

    format: Format
    text: NotRequired[str]
    """Absent in the format raw, where `memories` have all their fields."""
    memories: Sequence[FoundRecord]
    omitted: int
    """The number of found memories that did not fit into the budget."""
    tokens_used: int


class BriefingFigures(TypedDict):
    """The cost of a briefing, and the records in it."""

    tokens_used: int
    omitted: int
    ids: list[str]
    degraded: NotRequired[str]


class ForgottenMemories(Searched):
    """The memories that were forgotten, or would be."""

    forgotten: int
    ids: list[str]
    omitted: NotRequired[int]
    """The number of further memories, which `ids` does not list; absent if it lists all."""
    dry_run: bool
    preview: NotRequired[list[str]]
    """The beginnings of the memories that would be forgotten, in the order of `ids`."""
    message: NotRequired[str]
    """Why there is nothing to forget, or which ids were not found."""


class InspectedMemories(TypedDict):
    """The requested view; the fields of the others are absent."""

    view: Literal["stats", "recent", "important", "tags", "export", "ids"]
    stats: NotRequired[dict[str, Any]]
    tags: NotRequired[dict[str, int]]
    memories: NotRequired[list[dict[str, Any]]]
    not_found: NotRequired[list[str]]


def stored(done: Stored) -> StoredMemory:
    """Return what was done with a text, and what it may replace."""
    result: StoredMemory = {
        "id": done.id,
        "status": done.status,
        "may_replace": {one.id: one.text for one in done.may_replace},
        "hint": REPLACING,
    }
    return result if done.may_replace else {"id": done.id, "status": done.status}


def stored_sentence(done: Stored) -> str:
    """Return the same as a text."""
    lines = [STORED[done.status].format(done.id, ", ".join(done.superseded))]
    if done.may_replace:
        lines += ["It may replace:", *(f"- [{one.id}] {one.text}" for one in done.may_replace), REPLACING]
    return "\n".join(lines)


def raw(briefing: Briefing) -> RecalledMemories:
    """Return the memories of a briefing with all their fields, for readers of JSON."""
    result: RecalledMemories = {
        "degraded": briefing.degraded if briefing.noted else "",
        "format": "raw",
        "memories": list(map(whole, briefing.hits)),
        "omitted": briefing.omitted,
        "tokens_used": 0,
    }
    return counted(without_empty(result, "degraded"))


def recalled(briefing: Briefing, form: Format) -> RecalledMemories:
    """Return the text of a briefing and the ids in it; no text if the budget is too small for any."""
    result: RecalledMemories = {
        "degraded": briefing.degraded,
        "format": form,
        "text": briefing.text,
        "memories": list(map(found, briefing.hits)),
        "omitted": briefing.omitted,
        "tokens_used": briefing.tokens_used,
    }
    return without_empty(result, "degraded", "text")


def figures(briefing: Briefing) -> BriefingFigures:
    """Return the figures, for programs, of a briefing whose text is the answer."""
    ids = [hit.record.id for hit in briefing.hits]
    numbers: BriefingFigures = {
        "tokens_used": briefing.tokens_used,
        "omitted": briefing.omitted,
        "ids": ids,
        "degraded": briefing.degraded,
    }
    return without_empty(numbers, "degraded")


def forgotten(memories: Memories, criteria: Criteria, gone: Findings[Record], *, dry_run: bool) -> ForgottenMemories:
    """Return what was forgotten by these criteria, or would be if it was a `dry_run`."""
    result: ForgottenMemories = {
        "degraded": gone.degraded,
        "forgotten": 0 if dry_run else len(gone.best),
        "ids": [record.id for record in gone.best],
        "dry_run": dry_run,
        "preview": [cut(record.body, PREVIEW) for record in gone.best] if dry_run else [],
        "message": _not_forgotten(memories, criteria, gone.best),
    }
    return without_empty(result, "degraded", "preview", "message")


def shortened(gone: ForgottenMemories) -> ForgottenMemories:
    """Return what was or would be forgotten with the first LISTED ids only, and the number of the others."""
    short: ForgottenMemories = {**gone, "ids": gone["ids"][:LISTED], "omitted": len(gone["ids"][LISTED:])}
    if "preview" in gone:
        short["preview"] = gone["preview"][:LISTED]
    return without_empty(short, "omitted")


def _not_forgotten(memories: Memories, criteria: Criteria, gone: Sequence[Record]) -> str:
    """Return why nothing matches, or which ids were not found if only ids were given; '' if all were forgotten.

    If one of them belongs to the graph, say so, because the graph's tools delete it.
    """
    missing = short_ids.unnamed(criteria.ids or (), [record.id for record in gone])
    if gone and not (missing and criteria.ids_alone):
        return ""
    named = ", ".join(given[:NAMED_ID] for given in missing[:NAMED_IDS])
    why = f"No living memory has the id {named}." if gone else "No memories match the criteria."
    for one in (hit.record for hit in memories.get(missing)):
        if one.kind in (Kind.ENTITY, Kind.OBSERVATION):
            return f"{why} {one.id} is of the kind {one.kind}, of {one.name!r}: delete it with the graph's tools."
    return why


def inspected(memories: Memories, view: MemoryView, limit: int) -> InspectedMemories:
    """Return one view of the memories, of at most `limit` items."""
    match view:
        case "stats":
            return {"view": view, "stats": memories.stats()}
        case "tags":
            return {"view": view, "tags": memories.tags(limit)}
        case "important":
            return {"view": view, "memories": fields(memories.important(limit))}
        case "recent" | "export":
            return {"view": view, "memories": fields(memories.recent(limit))}


def inspected_by_id(memories: Memories, ids: Sequence[str]) -> InspectedMemories:
    """Return the records of any kind with these ids or beginnings of ids, and the ids that were not found."""
    hits = memories.get(ids)
    missing = short_ids.unnamed(ids, [hit.record.id for hit in hits])
    result: InspectedMemories = {"view": "ids", "memories": fields(hits), "not_found": missing}
    return without_empty(result, "not_found")


def fields(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return the fields of records that were not found by a search, without scores."""
    return [{name: value for name, value in whole(hit).items() if name not in ("score", "why")} for hit in hits]


# memories with a key -------------------------------------------------------------------------------------------------


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


def matches(hits: Findings[Hit], total: int) -> FoundMemories:
    """Return the matches of a search among `total` memories, in their order."""
    result: SearchedMemories = {
        "degraded": hits.degraded,
        "results": list(map(_match, hits.best)),
        "total_searched": total,
    }
    return without_empty(result, "degraded")


def _match(match: Hit) -> FoundMemory:
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
