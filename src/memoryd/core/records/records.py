"""The one write path: every kind of record is added, changed and deleted here, inside the caller's transaction."""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from memoryd.model import GENERAL, Ending, Kind, Record
from memoryd.store.base import Queries, Row, Vector


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one text: (chunks, dim), unit length, by the model of that name."""

    model: str
    vectors: Vector


@dataclass(frozen=True, slots=True)
class Origin:
    """Who writes: the client's name and version, and the tool or the command; '' where nobody said."""

    client: str = ""
    tool: str = ""


NOBODY = Origin()
_ORIGIN: ContextVar[Origin] = ContextVar("origin", default=NOBODY)


@contextmanager
def written_by(client: str, tool: str) -> Iterator[None]:
    """Every record that is written inside notes that it came from there."""
    token = _ORIGIN.set(Origin(client, tool))
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def _origin() -> dict[str, str]:
    origin = _ORIGIN.get()
    return {"client": origin.client, "tool": origin.tool}


def new_id() -> str:
    """An id for a record: a random UUID, made by the client."""
    return str(uuid.uuid4())


def text_of(kind: str, name: str | None, type_: str, body: str) -> str:
    """What a record says by itself: this is embedded, read by the cross-encoder and compared."""
    if kind == Kind.ENTITY:
        return f"{name} ({type_}): {body}" if body else f"{name} ({type_})"
    return f"{name}: {body}" if name else body


def full_text(record: Record) -> str:
    """Return the text of a record with its name and type, as it is searched and embedded."""
    return text_of(record.kind, record.name, record.type, record.body)


def add(queries: Queries, record: Record, embedded: Embedded | None, now: str) -> None:
    """Write a new record, with its vectors where they are there already. It is made now, unless it says when."""
    queries.run(
        "records.add", id=record.id, kind=str(record.kind), name=record.name, type=record.type, body=record.body,
        tags=json.dumps(record.tags, ensure_ascii=False), scope=record.scope, session_id=record.session_id,
        now=record.created_at or now, **_origin(),
    )  # fmt: skip
    embed(queries, record.id, GENERAL, embedded)
    event(queries, "create", [record.id], now)


def change(
    queries: Queries, record_id: str, body: str, tags: Sequence[str], embedded: Embedded | None, now: str
) -> None:
    """Give a record another text and other tags; its old vectors go with its old text, which is kept as a version."""
    queries.run("embeddings.clear", id=record_id)
    said = {"id": record_id, "body": body, "tags": json.dumps(tags, ensure_ascii=False), "now": now}
    queries.run("versions.keep", **said)
    queries.run("records.change", **said, **_origin())
    embed(queries, record_id, GENERAL, embedded)
    event(queries, "update", [record_id], now)


def retag(queries: Queries, record_id: str, tags: Sequence[str], now: str) -> None:
    """Give a record other tags; its text stays verbatim."""
    said = {"id": record_id, "tags": json.dumps(tags, ensure_ascii=False), "now": now}
    queries.run("versions.keep_tags", **said, importance=0.0)
    queries.run("records.retag", **said)
    event(queries, "update", [record_id], now)


def supersede(queries: Queries, ids: Sequence[str], by: str, ending: Ending, reason: str, now: str) -> int:
    """Delete memories softly whose place another record takes; it keeps them from being purged while it lives."""
    queries.run("memories.supersede", ids=json.dumps(ids), by=by, ending=ending, reason=reason)
    return delete(queries, ids, now)


def delete(queries: Queries, ids: Sequence[str], now: str) -> int:
    """Delete softly: out of every index at once, purged after the retention. Returns how many there were."""
    count = queries.run("records.delete", ids=json.dumps(ids), now=now)
    event(queries, "delete", ids, now)
    return count


def erase(queries: Queries, ids: Sequence[str], now: str) -> int:
    """Delete at once and for good: what was volatile. Returns how many there were."""
    event(queries, "delete", ids, now)
    return queries.run("records.erase", ids=json.dumps(ids))


def embed(queries: Queries, record_id: str, perspective: str, embedded: Embedded | None) -> None:
    """Write the vectors of a record from one perspective."""
    if embedded is not None:
        queries.many(
            "embeddings.add",
            [
                {"id": record_id, "chunk": chunk, "perspective": perspective, "model": embedded.model,
                 "dim": len(vector), "vector": vector.astype(np.float16)}
                for chunk, vector in enumerate(embedded.vectors)
            ],
        )  # fmt: skip


def event(queries: Queries, verb: str, ids: Sequence[str], now: str) -> None:
    """Note that something happened to records; events outlive their subjects."""
    queries.run("events.of_records", verb=verb, ids=json.dumps(ids), now=now)


def fetch(queries: Queries, ids: Sequence[str], session: str) -> dict[str, Record]:
    """The living records among `ids` that `session` may see."""
    rows = queries.all("records.fetch", ids=json.dumps(ids), session=session)
    return {row["id"]: record_of(row) for row in rows}


def record_of(row: Row) -> Record:
    """From a row of all that a record says."""
    return Record(**row | {"kind": Kind(row["kind"]), "tags": tuple(json.loads(row["tags"]))})
