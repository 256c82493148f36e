"""Hits as JSON: with the fields that identify a record, or with all fields."""

from typing import NotRequired

from typing_extensions import TypedDict

from memoryd.core.base.results import placed, without_empty
from memoryd.core.search import related
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.model import Hit, Kind


class FoundRecord(TypedDict):
    """A found record."""

    id: str
    kind: Kind
    key: str | None
    score: float
    workspace: NotRequired[str]
    """Its workspace, if several are read together."""
    changed_by: NotRequired[str]
    """The id of the newer record that changes what it states; absent if none does."""
    related: NotRequired[bool]
    """True if it does not bear on the question itself; absent if it does."""


class WholeRecord(FoundRecord):
    """A record with all its fields."""

    type: str
    content: str
    tags: list[str]
    importance: float
    session_id: str | None
    client: str
    tool: str
    created_at: str
    updated_at: str
    accessed_at: str | None
    access_count: int
    why: dict[str, float]
    """The parts of the score."""
    relations: NotRequired[list[str]]
    """The relations of an entity, as its line names them."""
    reads_like: NotRequired[str]
    """A description of the content if it seems to give orders."""


def found(hit: Hit) -> FoundRecord:
    """Return the identifying fields of a hit, and its score."""
    record = hit.record
    fields: FoundRecord = {
        "id": record.id,
        "kind": record.kind,
        "key": record.name,
        "score": round(hit.score, 4),
        **placed(hit.workspace),
        "changed_by": hit.changed_by,
        "related": not hit.bears,
    }
    return without_empty(fields, "changed_by", "related")


def whole(hit: Hit) -> WholeRecord:
    """Return all fields of a hit."""
    record = hit.record
    fields: WholeRecord = {
        "id": record.id,
        "kind": record.kind,
        "key": record.name,
        "score": round(hit.score, 4),
        "type": record.type,
        "content": record.body,
        "tags": list(record.tags),
        "importance": record.importance,
        "session_id": record.session_id,
        "client": record.client,
        "tool": record.tool,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "accessed_at": record.accessed_at,
        "access_count": record.access_count,
        "why": {name: round(part, 4) for name, part in hit.why.items()},
        **placed(hit.workspace),
        "changed_by": hit.changed_by,
        "related": not hit.bears,
        "relations": related.lines(record),
        "reads_like": reads_like_instructions(record.body),
    }
    return without_empty(fields, "changed_by", "related", "relations", "reads_like")
