"""The methods that no toolset has: functions whose signatures validate the arguments, as a tool's do."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.core.base.results import WholeList
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.view import AddedTurn
from memoryd.core.maintenance import history as changes
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.search.briefing import BUDGET
from memoryd.core.search.hits import whole
from memoryd.errors import NotFoundError
from memoryd.model import Hit, Kind
from memoryd.toolsets.journal import SessionId, TurnText, add_memory
from memoryd.toolsets.projects import project
from memoryd.toolsets.recall import Importance, Verbatim
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import MemoryId, Query, Tags, Time
from memoryd.toolsets.vault import MemoryKey

RECALLED, LIMIT = 2_000, 100_000
"""The default tokens of a recall: a program has more room than a model. The largest `limit`."""

ListLimit = Annotated[int, Field(ge=1, le=LIMIT)]
TOOLS = Toolset()


class RecordFields(TypedDict):
    """A record, in plain types."""

    id: str
    kind: str
    """memory, entity, observation, interaction or summary."""
    key: str | None
    type: str
    content: str
    tags: list[str]
    importance: float
    session_id: str | None
    client: str
    """The program that stored it."""
    created_at: str
    updated_at: str
    relations: NotRequired[list[str]]
    """The relations of an entity, as an answer names them; absent if it has none."""
    reads_like: NotRequired[str]
    """A description of the content if it seems to give orders; absent if it does not."""


class RecalledHit(RecordFields):
    """A record that bears on a question."""

    score: float
    """0 to 1."""
    changed_by: NotRequired[str]
    """The id of the newer record that changes what it states; absent if none does."""
    related: NotRequired[bool]
    """True if it does not bear on the question itself; absent if it does."""
    workspace: NotRequired[str]
    """Its workspace, if several are read together."""
    why: NotRequired[dict[str, float]]
    """The parts of the score, on request."""


@TOOLS.tool("Recall", "read")
def recall(
    call: Call,
    *,
    query: Query,
    token_budget: Annotated[int, Field(ge=1, le=BUDGET)] = RECALLED,
    limit: ListLimit = LIMIT,
    tags: Tags = [],
    kinds: list[Kind] = [],
    after: Time | None = None,
    before: Time | None = None,
    as_of: Time | None = None,
    why: bool = False,
) -> WholeList[Any]:
    """Return the hits of a question."""
    memories = Memories(call.scope)
    hits = memories.hits(query, token_budget, limit, tags, kinds, as_of, after=after, before=before)
    dropped = {"tool", "accessed_at", "access_count", *(() if why else ("why",))}
    return {"result": [_plain(whole(hit), dropped) for hit in hits]}


@TOOLS.tool("Get", "read")
def get(call: Call, *, id: MemoryId) -> RecordFields:  # noqa: A002 - the tools' name
    """Return one record."""
    found = Memories(call.scope).get([id])
    if not found:
        raise NotFoundError(f"There is no living record {id[:100]!r}. history() lists deleted ones.")
    fields: RecordFields = _plain(whole(found[0]), _UNASKED)
    return fields


@TOOLS.tool("Edit", "write")
def edit(
    call: Call,
    *,
    id: MemoryId,  # noqa: A002 - the tools' name
    content: Verbatim | None = None,
    tags: Tags | None = None,
    importance: Importance | None = None,
) -> RecordFields:
    """Change a memory in place; return it."""
    changed = Correction(id=id, content=content, tags=None if tags is None else tuple(tags), importance=importance)
    (record_id,) = correction.correct(call.scope, changed).ids
    return get(call, id=record_id)


@TOOLS.tool("List", "read")
def list_records(call: Call, *, kinds: list[Kind] = [], tags: Tags = [], limit: ListLimit = 100) -> WholeList[Any]:
    """Return records, last changed first."""
    page = listing.page(call.scope, Facets(kinds=tuple(kinds), tags=tuple(tags)), limit=limit)
    return {"result": [_plain(whole(Hit(record=one.record, score=0.0)), _UNASKED) for one in page.records]}


@TOOLS.tool("History", "read")
def history(call: Call, *, limit: ListLimit = 50) -> WholeList[Any]:
    """Return the latest changes that can be undone, newest first."""
    return {"result": list(map(asdict, changes.entries(Graph(call.scope), limit)))}


@TOOLS.tool("Restore", "write")
def restore(call: Call, *, ids: list[MemoryId], at: Time | None = None) -> WholeList[Any]:
    """Undo the last change of records."""
    done = changes.restore(Graph(call.scope), ids, at)
    return {"result": [{"id": one.id, "kind": one.kind, "text": one.text, "along": one.along} for one in done]}


@TOOLS.tool("Workspaces", "read", needs="nothing")
def workspaces(call: Call) -> WholeList[Any]:
    """Return the workspaces."""
    known = call.engine.workspaces.all() if call.engine.store.placement.exists() else []
    return {"result": list(map(project, known))}


@TOOLS.tool("Add a turn", "write")
def add_turn(
    call: Call,
    *,
    prompt: TurnText,
    response: TurnText,
    thought: TurnText | Literal[""] = "",
    session_id: SessionId | None = None,
) -> AddedTurn:
    """Store one turn, which may be without a thought."""
    return add_memory(call, prompt=prompt, thought=thought, response=response, session_id=session_id)


@TOOLS.tool("Get by key", "read")
def vault_get(call: Call, *, key: MemoryKey) -> WholeList[Any]:
    """Return the memory with a key, alone in a list."""
    try:
        record = Vault(call.scope).get(key)
    except NotFoundError:
        return {"result": []}
    return {"result": [_plain(whole(Hit(record=record, score=0.0)), _UNASKED)]}


@TOOLS.tool("Keys", "read")
def vault_keys(call: Call, *, begins: str = "", after: str = "", limit: ListLimit = 1_000) -> WholeList[Any]:
    """Return keys in order."""
    return {"result": Vault(call.scope).keys(begins, after, limit)}


_UNASKED = {"tool", "accessed_at", "access_count", "why", "score"}
"""The fields of a record that a program did not ask for."""


def _plain(fields: Mapping[str, Any], dropped: Collection[str]) -> Any:
    """Return the fields of a record without some, and its kind as a text."""
    return {name: value for name, value in fields.items() if name not in dropped} | {"kind": str(fields["kind"])}
