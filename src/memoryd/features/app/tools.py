"""The tools of the app within a client: browse, correct, undo. Clients that show no apps do not see them."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.features.app import browsing
from memoryd.features.app.browsing import BrowsedMemories, WantedMemories
from memoryd.toolsets.registry import Answer, Call, Toolset
from memoryd.toolsets.registry.arguments import MemoryId, Query, Tags, Time

IDS = 100

ChangingTool = Literal["memory_correct", "memory_forget", "memory_restore"]
CHANGES: tuple[ChangingTool, ...] = ("memory_correct", "memory_forget", "memory_restore")
"""The tools with which the app changes memories, including recall's memory_forget."""

TOOLS = Toolset()


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
    wanted = WantedMemories(ids=ids, query=query or "", meaning=meaning, tags=tuple(tags), after=after)
    may = [name for name in CHANGES if call.grant.allows(name, "write")]
    may = [] if call.engine.settings.read_only else may
    return Answer({**browsing.browse(call.scope, wanted), "may": may}, marked=True)


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
    return {**browsing.browse(call.scope, WantedMemories(ids=done.ids)), "at": done.at}


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
