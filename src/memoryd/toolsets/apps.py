"""The tools of the app within a client: browse, correct, undo. Clients that show no apps never hear of them."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.memories import browsing, correction
from memoryd.core.memories.browsing import BrowsedMemories, WantedMemories
from memoryd.core.memories.correction import Correction
from memoryd.toolsets.registry import Answer, Arguments, Call, MemoryId, Query, Tags, Time, Tool, Toolset

IDS = 100

ChangingTool = Literal["memory_correct", "memory_forget", "memory_restore"]
CHANGES: tuple[ChangingTool, ...] = ("memory_correct", "memory_forget", "memory_restore")
"""The tools by which the app changes memories; recall's memory_forget is among them."""


# memory_browse -------------------------------------------------------------------------------------------------------


class MemoryBrowseArguments(Arguments):
    """Which memories to list."""

    ids: Annotated[list[MemoryId], Field(max_length=IDS, description="These memories alone.")] = []
    query: Annotated[Query | None, Field(description="Words, the last of which may be half typed.")] = None
    meaning: Annotated[bool, Field(description="Search by meaning too.")] = False
    tags: Annotated[Tags, Field(description="Only memories with ALL of these tags.")] = []
    after: Annotated[str, Field(max_length=1_000, description="What the page before ended with.")] = ""


class MemoriesToBrowse(BrowsedMemories):
    """Memories, and which tools may change them."""

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
    """What a memory is to say; what is left out stays."""

    id: Annotated[MemoryId, Field(description="The memory.")]
    content: Annotated[str | None, Field(description="Its text.")] = None
    tags: Annotated[Tags | None, Field(description="Its tags.")] = None
    importance: Annotated[float | None, Field(ge=0, le=1, description="0 to 1.")] = None
    seen: Annotated[Time | None, Field(description="Its updated_at as it was shown: refused if it has another.")] = None


class CorrectedMemories(BrowsedMemories):
    """The memory as it is now."""

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
    """What to undo."""

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=IDS, description="The memories.")]
    at: Annotated[Time | None, Field(description="The time of a correction; without it the last change.")] = None
    seen: Annotated[Time | None, Field(description="When that change was made: refused if another followed.")] = None


class RestoredMemories(TypedDict):
    """The ids of what is back."""

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
