"""The memories app, after SEP-1865 of 2026-01-26: its page, its declaration to clients that show apps, and its tools.

The tools browse, correct and undo. Clients that show no apps do not see them.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from mcp import types
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.base.results import Searched, without_empty
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.memories import correction, listing, view
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.errors import NotFoundError
from memoryd.hidden import spelled_out
from memoryd.model import Findings, Hit, Kind
from memoryd.server.apps import ClientApp
from memoryd.server.connection import HELLO
from memoryd.text import shortened
from memoryd.toolsets.registry import Answer, Call, Toolset
from memoryd.toolsets.registry.arguments import MemoryId, Query, Tags, Time

IDS = 100
PAGE = 20  # memories on a page: an app is a small frame in a conversation

ChangingTool = Literal["memory_correct", "memory_forget", "memory_restore"]
CHANGES: tuple[ChangingTool, ...] = ("memory_correct", "memory_forget", "memory_restore")
"""The tools with which the app changes memories, including recall's memory_forget."""

TOOLS = Toolset()


class BrowsedMemories(Searched):
    """Memories, and how to show them."""

    workspace: str
    memories: list[dict[str, Any]]
    spelled: dict[str, str]
    """For each text with invisible characters, the text with these spelled out as `<U+202E>`."""
    after: NotRequired[str]
    """The mark after which the next page begins; absent at the end."""


class MemoriesToBrowse(BrowsedMemories):
    """Memories, and the tools that may change them."""

    may: list[ChangingTool]


class CorrectedMemories(BrowsedMemories):
    """The memory after the correction."""

    at: str
    """The time that memory_restore takes to undo this; '' if nothing differed."""


class RestoredMemories(TypedDict):
    """The ids of the restored memories."""

    restored: list[str]


@TOOLS.tool("Browse memories", "read")
def memory_browse(
    call: Call,
    *,
    ids: Annotated[list[MemoryId], Field(max_length=IDS, description="Only these memories.")] = [],
    query: Annotated[Query | None, Field(description="Words, the last of which may be half typed.")] = None,
    meaning: Annotated[bool, Field(description="Search by meaning too.")] = False,
    tags: Annotated[Tags, Field(description="Only memories with ALL of these tags.")] = [],
    after: Annotated[str, Field(max_length=1_000, description="Where the previous page ended.")] = "",
) -> Answer[MemoriesToBrowse]:
    """List memories for the app."""
    if ids:
        found, following = Findings(Memories(call.scope).get(ids)), ""
    else:
        facets = Facets(kinds=(Kind.MEMORY,), tags=tuple(tags))
        found, following = _found(call.scope, facets, query or "", after, meaning=meaning)
    may = [name for name in CHANGES if call.grant.allows(name, "write") and not call.engine.settings.read_only]
    return Answer({**_listed(call.scope, found, following), "may": may}, marked=True)


@TOOLS.tool("Correct a memory", "write", idempotent=True)
def memory_correct(
    call: Call,
    *,
    id: Annotated[MemoryId, Field(description="The memory.")],  # noqa: A002 - the tools' name
    content: Annotated[str | None, Field(description="Its text.")] = None,
    tags: Annotated[Tags | None, Field(description="Its tags.")] = None,
    importance: Annotated[float | None, Field(ge=0, le=1, description="0 to 1.")] = None,
    seen: Annotated[Time | None, Field(description="Its updated_at as shown: refused if it has changed since.")] = None,
) -> CorrectedMemories:
    """Change a memory in place, for the app."""
    wanted = Correction(
        id=id, content=content, tags=None if tags is None else tuple(tags), importance=importance, seen=seen or ""
    )
    done = correction.correct(call.scope, wanted)
    return {**_listed(call.scope, Findings(Memories(call.scope).get(done.ids))), "at": done.at}


@TOOLS.tool("Undo", "write")
def memory_restore(
    call: Call,
    *,
    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=IDS, description="The memories.")],
    at: Annotated[Time | None, Field(description="Time of a correction; default: the last change.")] = None,
    seen: Annotated[Time | None, Field(description="Time of that change: refused if another followed.")] = None,
) -> RestoredMemories:
    """Undo a correction or a deletion, for the app."""
    return {"restored": [one.id for one in history.restore(Graph(call.scope), ids, at, seen or "")]}


# memories as the app lists them: complete, with invisible characters spelled out --------------------------------------


def _listed(scope: Scope, found: Findings[Hit], after: str = "") -> BrowsedMemories:
    """Return a page of memories, and the mark of the next one. This does not count as a recall."""
    memories = view.fields(found.best)
    texts = [scope.workspace.name]
    for memory in memories:
        texts += [*(value for value in memory.values() if isinstance(value, str)), *memory["tags"]]
    result: BrowsedMemories = {
        "degraded": found.degraded,
        "workspace": scope.workspace.name,
        "memories": memories,
        "spelled": {text: spelled for text in texts if (spelled := spelled_out(text)) != text},
        "after": after,
    }
    return without_empty(result, "degraded", "after")


def _found(scope: Scope, facets: Facets, query: str, after: str, *, meaning: bool) -> tuple[Findings[Hit], str]:
    """Return the memories that a query finds, which may be half typed unless it is about `meaning`, or a page of all.

    With it comes the mark of the next page.
    """
    if query and meaning:
        meant = listing.meant(scope, query, facets)
        return Findings(_hits(meant.best), meant.degraded), ""
    if query:
        return Findings(_hits(listing.typed(scope, query, facets)), shortened(query)[1]), ""
    page = listing.page(scope, facets, listing.mark_of(after), PAGE)
    return Findings(_hits(page.records)), page.following


def _hits(records: Sequence[listing.ListedRecord]) -> list[Hit]:
    return [Hit(record=one.record, score=0.0) for one in records]


# the page ------------------------------------------------------------------------------------------------------------

URI = "ui://memoryd/memories.html"
OPENS_APP = "memory_inspect"
"""The tool whose result a client shows in the app: it is for looking. Recall is for answers, and used far more."""
LIST = "memory_browse"
"""The tool without which the app has nothing to show."""

RESOURCE = types.Resource(
    uri=URI,
    name="memories",
    title="Memories",
    description="Browse, correct and forget memories.",
    mime_type=APP_MIME_TYPE,
)
_META: dict[str, Any] = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
_OWN = {tool.name for tool in TOOLS}


def shown_by(ctx: Any) -> bool:
    """Return whether the sender of a request shows apps: whether it declares the extension and the pages' type."""
    declared = _capabilities(ctx)
    settings = ((declared.extensions if declared else None) or {}).get(EXTENSION_ID) or {}
    known = settings.get("mimeTypes")
    return isinstance(known, list) and APP_MIME_TYPE in known


def _capabilities(ctx: Any) -> types.ClientCapabilities | None:
    """Return the capabilities of a client; for `initialize` the SDK knows them only after its answer."""
    if ctx.method == HELLO:
        return types.InitializeRequestParams.model_validate(ctx.params, by_name=False).capabilities
    known: types.ClientCapabilities | None = ctx.session.client_capabilities
    return known


def declare(capabilities: dict[str, Any]) -> None:
    """Add the extension to a server's capabilities, and the resources that it needs."""
    capabilities["extensions"] = {**(capabilities.get("extensions") or {}), EXTENSION_ID: {}}
    capabilities.setdefault("resources", {})


def meta_of(tool: str) -> dict[str, Any] | None:
    """Return a tool's metadata for the app; None for a tool that does not belong to it."""
    if tool in _OWN:
        return {"ui": {"visibility": ["app"]}}
    return {"ui": {"resourceUri": URI}} if tool == OPENS_APP else None


def read(uri: str) -> types.ReadResourceResult:
    """Return the page. Raise NotFoundError for any other URI."""
    if uri != URI:
        raise NotFoundError(f"There is no resource {uri[:200]!r}. There is {URI}.")
    content = types.TextResourceContents(uri=uri, mime_type=APP_MIME_TYPE, text=_page(), _meta=_META)
    return types.ReadResourceResult(contents=[content])


@cache
def _page() -> str:
    return Path(__file__).with_name("memories.html").read_text(encoding="utf-8")


APP = ClientApp(
    uri=URI,
    resource=RESOURCE,
    opened_by=OPENS_APP,
    tools=TOOLS,
    lists=LIST,
    shown_by=shown_by,
    declare=declare,
    meta_of=meta_of,
    read=read,
)
