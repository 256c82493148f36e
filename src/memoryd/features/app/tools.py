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
from memoryd.toolsets.registry import Answer, Arguments, Call, MemoryId, Query, Tags, Time, Tool, Toolset

IDS = 100

ChangingTool = Literal["memory_correct", "memory_forget", "memory_restore"]
CHANGES: tuple[ChangingTool, ...] = ("memory_correct", "memory_forget", "memory_restore")
"""The tools with which the app changes memories, including recall's memory_forget."""


# memory_browse -------------------------------------------------------------------------------------------------------


class MemoryBrowseArguments(Arguments):
    """The memories to list."""

    ids: Annotated[list[MemoryId], Field(max_length=IDS, description="Only these memories.")] = []
    query: Annotated[Query | None, Field(description="Words, the last of which may be half typed.")] = None
    meaning: Annotated[bool, Field(description="Search by meaning too.")] = False
    tags: Annotated[Tags, Field(description="Only memories with ALL of these tags.")] = []
    after: Annotated[str, Field(max_length=1_000, description="Where the previous page ended.")] = ""


class MemoriesToBrowse(BrowsedMemories):
    """Memories, and the tools that may change them."""

    may: list[ChangingTool]


def _browse(call: Call, arguments: MemoryBrowseArguments) -> Answer[MemoriesToBrowse]:
    wanted = WantedMemories(
        ids=arguments.ids, query=arguments.query or "", meaning=arguments.meaning, tags=tuple(arguments.tags),
        after=arguments.after,
    )  # fmt: skip
    may = [name for name in CHANGES if call.grant.allows(name, "write")]
    may = [] if call.engine.settings.read_only else may
    return Answer({**browsing.browse(call.scope, wanted), "may": may}, marked=True)


# memory_correct ------------------------------------------------------------------------------------------------------


class MemoryCorrectArguments(Arguments):
    """The memory to correct, and its new fields; omitted ones stay."""

    id: Annotated[MemoryId, Field(description="The memory.")]
    content: Annotated[str | None, Field(description="Its text.")] = None
    tags: Annotated[Tags | None, Field(description="Its tags.")] = None
    importance: Annotated[float | None, Field(ge=0, le=1, description="0 to 1.")] = None
    seen: Annotated[Time | None, Field(description="Its updated_at as shown: refused if it has changed since.")] = None


class CorrectedMemories(BrowsedMemories):
    """The memory after the correction."""

    at: str
    """The time that memory_restore takes to undo this; '' if nothing differed."""


def _correct(call: Call, arguments: MemoryCorrectArguments) -> Answer[CorrectedMemories]:
    tags = None if arguments.tags is None else tuple(arguments.tags)
    wanted = Correction(
        id=arguments.id, content=arguments.content, tags=tags, importance=arguments.importance,
        seen=arguments.seen or "",
    )  # fmt: skip
    done = correction.correct(call.scope, wanted)
    return Answer({**browsing.browse(call.scope, WantedMemories(ids=done.ids)), "at": done.at})


# memory_restore ------------------------------------------------------------------------------------------------------


class MemoryRestoreArguments(Arguments):
    """The memories whose change to undo."""

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=IDS, description="The memories.")]
    at: Annotated[Time | None, Field(description="Time of a correction; default: the last change.")] = None
    seen: Annotated[Time | None, Field(description="Time of that change: refused if another followed.")] = None


class RestoredMemories(TypedDict):
    """The ids of the restored memories."""

    restored: list[str]


def _restore(call: Call, arguments: MemoryRestoreArguments) -> Answer[RestoredMemories]:
    done = history.restore(Graph(call.scope), arguments.ids, arguments.at, arguments.seen or "")
    return Answer({"restored": [one.id for one in done]})


TOOLS: Toolset = (
    Tool(
        name="memory_browse", title="Browse memories", description="List memories for the app.",
        arguments=MemoryBrowseArguments, result=MemoriesToBrowse, capability="read", handler=_browse,
    ),
    Tool(
        name="memory_correct", title="Correct a memory", description="Change a memory in place, for the app.",
        arguments=MemoryCorrectArguments, result=CorrectedMemories, capability="write", handler=_correct,
        idempotent=True,
    ),
    Tool(
        name="memory_restore", title="Undo", description="Undo a correction or a deletion, for the app.",
        arguments=MemoryRestoreArguments, result=RestoredMemories, capability="write", handler=_restore,
    ),
)  # fmt: skip
