"""Seed d's toolset: memories that are stored, recalled within a token budget, briefed about, forgotten, inspected."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from memoryd.core.base.clock import moment
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.records import short_ids
from memoryd.core.search.briefing import BUDGET, CONTEXT_BUDGET, Briefing, Format, whole
from memoryd.model import Hit, Kind
from memoryd.prompts import TOOL_DESCRIPTIONS
from memoryd.text import cut
from memoryd.toolsets.registry import (
    Answer,
    Arguments,
    Call,
    LeftOut,
    Query,
    Result,
    Searched,
    Tags,
    Text,
    Tool,
    Toolset,
)

CONTENT, IDS, LIMIT = 10_000, 100, 1_000
PREVIEW = 25  # tokens of a memory that would be forgotten

Verbatim = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT, pattern=r"\S")]
Budget = Annotated[int, Field(ge=1, le=BUDGET)]
Short = Annotated[Text, Field(max_length=100)]
Id = Annotated[Text, Field(max_length=1_000)]  # of a turn that was imported


# memory_store --------------------------------------------------------------------------------------------------------


class StoreArguments(Arguments):
    """What to remember."""

    content: Annotated[Verbatim, Field(description="The memory. Store one fact per call.")]
    tags: Annotated[Tags, Field(description='For filtering, e.g. ["preference", "project:foo"].')] = []
    importance: Annotated[float, Field(ge=0, le=1, description="0 to 1: how much it must not fade.")] = 0.5
    supersedes: Annotated[
        list[Id], Field(max_length=IDS, description="Ids, or how they begin, of memories that it replaces.")
    ] = []


class StoreResult(Result):
    """Where it went."""

    id: str
    status: Literal["stored", "merged", "updated"]


def store(call: Call, arguments: StoreArguments) -> Answer:
    """memory_store."""
    stored = _memories(call).store(
        arguments.content, arguments.tags, arguments.importance, arguments.supersedes
    )  # fmt: skip
    texts = {
        "stored": "Stored memory {}.", "merged": "Merged with existing memory {} (duplicate detected).",
        "updated": "Stored memory {} in place of {}.",
    }  # fmt: skip
    text = texts[stored.status].format(stored.id, ", ".join(stored.superseded))
    return Answer(StoreResult(id=stored.id, status=stored.status), text)


# memory_recall and memory_context ------------------------------------------------------------------------------------


class RecallArguments(Arguments):
    """What to find."""

    query: Annotated[Query, Field(description="A question in natural language.")]
    token_budget: Annotated[Budget | None, Field(description="Most tokens of the answer (default 500).")] = None
    tags: Annotated[Tags, Field(description="Only memories with ALL of these tags.")] = []
    as_of: Annotated[Short | None, Field(description="What was believed at this ISO 8601 time.")] = None
    kinds: Annotated[list[Kind], Field(max_length=len(Kind), description="Only these kinds of records.")] = []
    format: Annotated[
        Format,
        Field(description="summary; list: with ids and dates; raw: JSON with all fields; answer: direct, or a list."),
    ] = "summary"


class Found(Result):
    """One memory that was found; in the format raw with all its fields, else its content is in the text."""

    model_config = ConfigDict(extra="allow")

    id: str
    kind: Kind
    key: str | None
    score: float


class RecallResult(Searched):
    """The found memories, best first, and what they cost."""

    format: Format
    text: Annotated[str, LeftOut] = ""
    memories: list[Found]
    omitted: int
    """Found, but did not fit into the budget."""
    tokens_used: int = 0


class ContextArguments(Arguments):
    """What the conversation is about."""

    task: Annotated[Query | None, Field(description="A short description of the current task.")] = None
    token_budget: Annotated[Budget, Field(description="Most tokens of the briefing.")] = CONTEXT_BUDGET


def recall(call: Call, arguments: RecallArguments) -> Answer:
    """memory_recall."""
    budget = arguments.token_budget or call.engine.settings.token_budget
    briefing = _memories(call).recall(
        arguments.query, budget, arguments.tags, arguments.kinds, arguments.format, arguments.as_of
    )
    return _briefed(briefing, arguments.format)


def context(call: Call, arguments: ContextArguments) -> Answer:
    """memory_context."""
    return _briefed(_memories(call).context(arguments.task, arguments.token_budget), "summary")


def _briefed(briefing: Briefing, form: Format) -> Answer:
    """Raw is data that marks what reads like orders; all else is a text. A budget too small for either gets ''."""
    if form == "raw" and briefing.text:
        memories = [Found.model_validate(whole(hit)) for hit in briefing.hits]
        degraded = briefing.degraded if briefing.degraded in briefing.text else ""  # there was no room for it
        return Answer(
            RecallResult(format=form, memories=memories, omitted=briefing.omitted, degraded=degraded), marked=True
        )
    memories = [_found(hit) for hit in briefing.hits]
    figures = {
        "tokens_used": briefing.tokens_used, "omitted": briefing.omitted, "ids": [memory.id for memory in memories],
        **({"degraded": briefing.degraded} if briefing.degraded else {}),
    }  # fmt: skip
    result = RecallResult(
        format=form,
        text=briefing.text,
        memories=memories,
        omitted=briefing.omitted,
        degraded=briefing.degraded,
        tokens_used=briefing.tokens_used,
    )
    return Answer(result, briefing.text, figures)


def _found(hit: Hit) -> Found:
    record = hit.record
    return Found(id=record.id, kind=record.kind, key=record.name, score=round(hit.score, 4))


# memory_forget -------------------------------------------------------------------------------------------------------


class ForgetArguments(Arguments):
    """What to forget; criteria combine with AND."""

    ids: Annotated[list[Id] | None, Field(max_length=IDS, description="Ids of memories, or how they begin.")] = None
    tags: Annotated[Tags, Field(description="Memories with ALL of these tags.")] = []
    query: Annotated[Query | None, Field(description="The ten best matches of this query.")] = None
    before: Annotated[Short | None, Field(description="Stored before this ISO 8601 time.")] = None
    confirm: Annotated[bool, Field(description="Required for anything but ids alone.")] = False
    dry_run: Annotated[bool, Field(description="Only show what would be forgotten.")] = False


class ForgetResult(Searched):
    """What is gone, or would be."""

    forgotten: int
    ids: list[str]
    dry_run: bool
    preview: Annotated[list[str], LeftOut] = []
    """How the memories begin that would be forgotten, in the order of `ids`."""
    message: Annotated[str, LeftOut] = ""
    """Why there is nothing to forget."""


def forget(call: Call, arguments: ForgetArguments) -> Answer:
    """memory_forget."""
    if arguments.before:
        moment(arguments.before)
    criteria = Criteria(
        ids=tuple(arguments.ids) if arguments.ids is not None else None,
        tags=tuple(arguments.tags),
        query=arguments.query,
        before=arguments.before,
    )
    found = _memories(call).forget(criteria, confirm=arguments.confirm, dry_run=arguments.dry_run)
    gone = found.best
    return Answer(
        ForgetResult(
            forgotten=0 if arguments.dry_run else len(gone),
            ids=[record.id for record in gone],
            dry_run=arguments.dry_run,
            preview=[cut(record.body, PREVIEW) for record in gone] if arguments.dry_run else [],
            message="" if gone else _none_forgotten(call, arguments),
            degraded=found.degraded,
        )
    )


def _none_forgotten(call: Call, arguments: ForgetArguments) -> str:
    """Why nothing was forgotten, where an id is the graph's."""
    found = _memories(call).get(arguments.ids or ())
    others = [hit.record for hit in found if hit.record.kind in (Kind.ENTITY, Kind.OBSERVATION)]
    hint = (
        f" {others[0].id} is of the kind {others[0].kind}, of {others[0].name!r}: the graph's tools delete that."
        if others
        else ""
    )
    return f"No memories match the criteria.{hint}"


# memory_inspect ------------------------------------------------------------------------------------------------------

View = Literal["stats", "recent", "important", "tags", "export"]


class InspectArguments(Arguments):
    """What to look at."""

    view: Annotated[View, Field(description="Which view.")] = "stats"
    ids: Annotated[list[Id], Field(max_length=IDS, description="Show these memories instead.")] = []
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Most items of a view.")] = 20


NotAsked = Field(exclude_if=lambda part: part is None)


class InspectResult(Result):
    """The view that was asked for; the other fields are left out."""

    view: Literal["stats", "recent", "important", "tags", "export", "ids"]
    stats: Annotated[dict[str, Any] | None, NotAsked] = None
    tags: Annotated[dict[str, int] | None, NotAsked] = None
    memories: Annotated[list[dict[str, Any]] | None, NotAsked] = None
    not_found: Annotated[list[str], LeftOut] = []


def inspect(call: Call, arguments: InspectArguments) -> Answer:
    """memory_inspect."""
    memories = _memories(call)
    if arguments.ids:
        found = memories.get(arguments.ids)
        missing = [one for one in arguments.ids if not any(short_ids.names(one, hit.record.id) for hit in found)]
        return Answer(InspectResult(view="ids", memories=_all_of(found), not_found=missing))
    match arguments.view:
        case "stats":
            return Answer(InspectResult(view="stats", stats=memories.stats()))
        case "tags":
            return Answer(InspectResult(view="tags", tags=memories.tags(arguments.limit)))
        case "important":
            return Answer(InspectResult(view="important", memories=_all_of(memories.important(arguments.limit))))
        case "recent" | "export":
            return Answer(InspectResult(view=arguments.view, memories=_all_of(memories.recent(arguments.limit))))


def _all_of(hits: list[Hit]) -> list[dict[str, Any]]:
    return [{name: value for name, value in whole(hit).items() if name not in ("score", "why")} for hit in hits]


def _memories(call: Call) -> Memories:
    return Memories(call.engine, call.workspace, call.session)


TOOLS: Toolset = (
    Tool(
        name="memory_store", title="Store a memory", description=TOOL_DESCRIPTIONS["memory_store"],
        arguments=StoreArguments, result=StoreResult, capability="write", handler=store, idempotent=True,
    ),
    Tool(
        name="memory_recall", title="Recall memories", description=TOOL_DESCRIPTIONS["memory_recall"],
        arguments=RecallArguments, result=RecallResult, capability="read", handler=recall, text=True,
    ),
    Tool(
        name="memory_context", title="Session briefing", description=TOOL_DESCRIPTIONS["memory_context"],
        arguments=ContextArguments, result=RecallResult, capability="read", handler=context, text=True,
    ),
    Tool(
        name="memory_forget", title="Forget memories", description=TOOL_DESCRIPTIONS["memory_forget"],
        arguments=ForgetArguments, result=ForgetResult, capability="write", handler=forget, destructive=True,
        idempotent=True,
    ),
    Tool(
        name="memory_inspect", title="Inspect the memory", description=TOOL_DESCRIPTIONS["memory_inspect"],
        arguments=InspectArguments, result=InspectResult, capability="read", handler=inspect,
    ),
)  # fmt: skip
