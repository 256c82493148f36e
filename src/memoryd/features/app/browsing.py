"""Memories as the app within a client lists them: complete, with invisible characters spelled out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

from memoryd.core.base.results import Searched, without_empty
from memoryd.core.memories import listing, view
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.hidden import spelled_out
from memoryd.model import Findings, Hit, Kind
from memoryd.text import shortened

PAGE = 20  # memories on a page: an app is a small frame in a conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMemories:
    """The memories to list: those with given ids, those that a query finds, or all, last changed first."""

    ids: Sequence[str] = ()
    query: str = ""
    meaning: bool = False
    """Whether to search by meaning too; otherwise the query is taken as still being typed."""
    tags: tuple[str, ...] = ()
    """A memory must have all of them."""
    after: str = ""
    """The mark at which the previous page ended."""


class BrowsedMemories(Searched):
    """Memories, and how to show them."""

    workspace: str
    memories: list[dict[str, Any]]
    spelled: dict[str, str]
    """For each text with invisible characters, the text with these spelled out as `<U+202E>`."""
    after: NotRequired[str]
    """The mark after which the next page begins; absent at the end."""


def browse(scope: Scope, wanted: WantedMemories) -> BrowsedMemories:
    """Return a page of memories, without unknown ids. This does not count as a recall."""
    found, after = _found(scope, wanted)
    memories = view.fields(found.best)
    result: BrowsedMemories = {
        "degraded": found.degraded,
        "workspace": scope.workspace.name,
        "memories": memories,
        "spelled": _spelled([scope.workspace.name], *map(_texts, memories)),
        "after": after,
    }
    return without_empty(result, "degraded", "after")


def _found(scope: Scope, wanted: WantedMemories) -> tuple[Findings[Hit], str]:
    """Return the memories of a page, and the mark of the next one."""
    if wanted.ids:
        return Findings(Memories(scope).get(wanted.ids)), ""
    facets = Facets(kinds=(Kind.MEMORY,), tags=wanted.tags)
    if wanted.query and wanted.meaning:
        meant = listing.meant(scope, wanted.query, facets)
        return Findings(_hits(meant.best), meant.degraded), ""
    if wanted.query:
        return Findings(_hits(listing.typed(scope, wanted.query, facets)), shortened(wanted.query)[1]), ""
    page = listing.page(scope, facets, listing.mark_of(wanted.after), PAGE)
    return Findings(_hits(page.records)), page.following


def _hits(records: Sequence[listing.ListedRecord]) -> list[Hit]:
    return [Hit(record=one.record, score=0.0) for one in records]


def _texts(memory: dict[str, Any]) -> Iterable[str]:
    """Return every text of a memory."""
    return [*(value for value in memory.values() if isinstance(value, str)), *memory["tags"]]


def _spelled(*groups: Iterable[str]) -> dict[str, str]:
    pairs = ((text, spelled_out(text)) for group in groups for text in group)
    return {text: spelled for text, spelled in pairs if spelled != text}
