"""The one write path: every kind of record is added, changed and deleted here, inside the caller's transaction."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from memoryd.core.records.access_counts import Access
from memoryd.core.records.client_names import client_name
from memoryd.errors import ChangedMeanwhileError
from memoryd.model import GENERAL, Ending, Kind, Record, Tie
from memoryd.store.base import Queries, Row, Vector
from memoryd.text import spaced


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one text: (chunks, dim), unit length, by the model of that name."""

    model: str
    vectors: Vector


@dataclass(frozen=True, slots=True)
class Origin:
    """The writer: the client's name, and the tool or the command; '' if unknown."""

    client: str = ""
    tool: str = ""


RELATED = 8  # relations of an entity that its embedded text names: the oldest, so that further ones do not change it
UNKNOWN = Origin()
_KINDS = {str(kind): kind for kind in Kind}
_ORIGIN: ContextVar[Origin] = ContextVar("origin", default=UNKNOWN)


@contextmanager
def written_by(client: str, tool: str) -> Iterator[None]:
    """Record this origin in everything that is written inside the `with` block."""
    token = _ORIGIN.set(Origin(client, tool))
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def origin(by: Origin | None = None) -> dict[str, str]:
    """Return the client and the tool to record for what is written now, those of `by` if given."""
    noted = by or _ORIGIN.get()
    return {"client": noted.client, "tool": noted.tool}


ITEM = "storeitem"
"""The type of a memory whose key, such as an id in a folder, a program has made up: that is no part of the text. Types
are searched as words, so it is one that no question has."""
FILE = "storefile"
"""The type of a memory that is a program's file: its key is the path. Tags of files and items are the program's own."""


def new_id() -> str:
    """Return an id for a new record: a random UUID."""
    return str(uuid.uuid4())


def text_of(kind: str, name: str | None, type_: str, body: str) -> str:
    """Return the text of a record without context: this is embedded, reranked and compared."""
    if kind == Kind.ENTITY:
        return f"{name} ({type_}): {body}" if body else f"{name} ({type_})"
    is_item = kind == Kind.MEMORY and type_ == ITEM
    return f"{name}: {body}" if name and not is_item else body


def labels(record: Record) -> tuple[str, ...]:
    """Return the tags that say what a text is about."""
    return () if record.type in (FILE, ITEM) else tuple(record.tags)


def full_text(record: Record) -> str:
    """Return the text of a record with its name, type and first relations, as it is searched and embedded."""
    return with_related(text_of(record.kind, record.name, record.type, record.body), record.name or "", record.related)


def with_related(text: str, name: str, ties: Sequence[Tie]) -> str:
    """Return the text of an entity followed by its first relations as sentences, such as `Ann works at Acme.`."""
    sentences = [f"{tie.source or name} {spaced(tie.type)} {tie.target or name}." for tie in ties[:RELATED]]
    return " ".join([text, *sentences])


def ties_of(related: str) -> tuple[Tie, ...]:
    """Return the relations of an entity, as the store lists them."""
    return tuple(Tie(*parts) for parts in json.loads(related)) if related != "[]" else ()


def add(queries: Queries, record: Record, embedded: Embedded | None, now: str) -> None:
    """Write a new record, with its vectors if it has any yet; `now` is its time of creation unless it has one."""
    queries.run(
        "records.add",
        id=record.id,
        kind=str(record.kind),
        name=record.name,
        type=record.type,
        body=record.body,
        tags=json.dumps(record.tags, ensure_ascii=False),
        scope=record.scope,
        session_id=record.session_id,
        now=record.created_at or now,
        **origin(),
    )
    embed(queries, record.id, GENERAL, embedded)
    event(queries, "create", [record.id], now)


def change(
    queries: Queries,
    record_id: str,
    body: str,
    tags: Sequence[str],
    embedded: Embedded | None,
    now: str,
    by: Origin | None = None,
) -> None:
    """Set the text and tags of a record; drop its old vectors and verdicts, and keep its old text as a version.

    `by` is the author of the text if that is not the current writer: of a version that is restored.
    """
    queries.run("embeddings.clear", id=record_id)
    values = {"id": record_id, "body": body, "tags": json.dumps(tags, ensure_ascii=False), "now": now}
    queries.run("versions.keep", **values)
    queries.run("records.change", **values, **origin(by))
    queries.run("acts.reconsider", id=record_id)
    embed(queries, record_id, GENERAL, embedded)
    event(queries, "update", [record_id], now)


def retag(queries: Queries, record_id: str, tags: Sequence[str], now: str) -> None:
    """Set the tags of a record; its text stays verbatim."""
    values = {"id": record_id, "tags": json.dumps(tags, ensure_ascii=False), "now": now}
    queries.run("versions.keep_tags", **values, importance=0.0)
    queries.run("records.retag", **values)
    event(queries, "update", [record_id], now)


def demand_unchanged(changed: str, seen: str) -> None:
    """Raise ChangedMeanwhileError if a record was last `changed` at another time than `seen`; '' accepts any time.

    Call this in the transaction that changes the record.
    """
    if seen not in ("", changed):
        raise ChangedMeanwhileError(
            "It was changed again since it was read, so this call changed nothing. Look at it, and try again."
        )


def supersede(queries: Queries, ids: Sequence[str], by: str, ending: Ending, reason: str, now: str) -> None:
    """Soft-delete memories that another record replaces; they are not purged while that record exists."""
    queries.run("memories.supersede", ids=json.dumps(ids), by=by, ending=ending, reason=reason)
    delete(queries, ids, now)


def delete(queries: Queries, ids: Sequence[str], now: str, successor: str = "") -> int:
    """Soft-delete records, at once out of every index, purged after the retention; return how many were deleted.

    `successor` is the id of the node that a deleted node was merged into.
    """
    count = queries.changed("records.delete", ids=json.dumps(ids), now=now)
    act(queries, "delete", ids, now, successor)
    return count


def erase(queries: Queries, ids: Sequence[str], now: str) -> int:
    """Delete volatile records permanently; return how many were deleted."""
    event(queries, "delete", ids, now)
    return queries.changed("records.erase", ids=json.dumps(ids))


def embed(queries: Queries, record_id: str, perspective: str, embedded: Embedded | None) -> None:
    """Write the vectors of a record from one perspective."""
    if embedded is not None:
        queries.many(
            "embeddings.add",
            [
                {
                    "id": record_id,
                    "chunk": chunk,
                    "perspective": perspective,
                    "model": embedded.model,
                    "dim": len(vector),
                    "vector": vector.astype(np.float16),
                }
                for chunk, vector in enumerate(embedded.vectors)
            ],
        )


def act(queries: Queries, verb: str, ids: Sequence[str], now: str, other: str = "") -> None:
    """Note what was done to records, and by whom, if their writer stays the same; the note outlives the records."""
    queries.run("acts.of_records", verb=verb, ids=json.dumps(ids), now=now, other=other, **origin())
    event(queries, verb, ids, now)


def sign(queries: Queries, operation: str, subject: str, now: str, other: str = "") -> None:
    """Note what was done, and by whom, to something that is not a record."""
    queries.run("acts.add", operation=operation, subject=subject, now=now, other=other, **origin())


def event(queries: Queries, verb: str, ids: Sequence[str], now: str) -> None:
    """Note what happened to records; events outlive their subjects."""
    queries.run("events.of_records", verb=verb, ids=json.dumps(ids), now=now)


def fetch(
    queries: Queries, ids: Sequence[str], session: str, accesses: Mapping[str, Access] = MappingProxyType({})
) -> dict[str, Record]:
    """Return the living records among `ids` that `session` may see, by id, with the recalls not yet written."""
    rows = queries.all("records.fetch", ids=json.dumps(ids), session=session)
    for row in rows:
        if access := accesses.get(row["id"]):
            row.update(access.added_to(row["access_count"]))
    return {row["id"]: record_of(row) for row in rows}


def listed(
    queries: Queries, ids: Sequence[str], session: str, accesses: Mapping[str, Access] = MappingProxyType({})
) -> list[Record]:
    """Return what `fetch` does, in the order of `ids`."""
    found = fetch(queries, ids, session, accesses)
    return [found[key] for key in ids if key in found]


def numbers(queries: Queries, session: str = "") -> Counter[str]:
    """Return how many living records of each kind there are, most frequent first."""
    return Counter({row["kind"]: row["number"] for row in queries.all("records.kinds", session=session)})


def record_of(row: Row) -> Record:
    """Build a Record from a row with all its fields."""
    tags = tuple(json.loads(row["tags"])) if row["tags"] != "[]" else ()
    fields = {"kind": _KINDS[row["kind"]], "tags": tags, "client": client_name(row["client"])}
    return Record(**{**row, **fields, "related": ties_of(row.get("related", "[]"))})
