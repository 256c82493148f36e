"""The one write path: every kind of record is added, changed and deleted here, inside the caller's transaction."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memoryd.model import GENERAL, Kind, Record
from memoryd.store.base import Queries, Row, Vector


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one text: (chunks, dim), unit length, by the model of that name."""

    model: str
    vectors: Vector


def new_id() -> str:
    """An id for a record: a random UUID, made by the client."""
    return str(uuid.uuid4())


def text_of(kind: str, name: str | None, type_: str, body: str) -> str:
    """What a record says by itself: this is embedded, read by the cross-encoder and compared."""
    if kind == Kind.ENTITY:
        return f"{name} ({type_}): {body}" if body else f"{name} ({type_})"
    return f"{name}: {body}" if name else body


def said(record: Record) -> str:
    """What a record says by itself."""
    return text_of(record.kind, record.name, record.type, record.body)


def add(queries: Queries, record: Record, embedded: Embedded | None, now: str) -> None:
    """Write a new record, with its vectors where they are there already. It is made now, unless it says when."""
    queries.run(
        "records.add", id=record.id, kind=str(record.kind), name=record.name, type=record.type, body=record.body,
        tags=json.dumps(record.tags, ensure_ascii=False), scope=record.scope, session_id=record.session_id,
        now=record.created_at or now,
    )  # fmt: skip
    embed(queries, record.id, GENERAL, embedded)
    event(queries, "create", [record.id], now)


def change(
    queries: Queries, record_id: str, body: str, tags: Sequence[str], embedded: Embedded | None, now: str
) -> None:
    """Give a record another text and other tags; its old vectors go with its old text."""
    queries.run("embeddings.clear", id=record_id)
    queries.run("records.change", id=record_id, body=body, tags=json.dumps(tags, ensure_ascii=False), now=now)
    embed(queries, record_id, GENERAL, embedded)
    event(queries, "update", [record_id], now)


def retag(queries: Queries, record_id: str, tags: Sequence[str], now: str) -> None:
    """Give a record other tags; its text stays verbatim."""
    queries.run("records.retag", id=record_id, tags=json.dumps(tags, ensure_ascii=False), now=now)
    event(queries, "update", [record_id], now)


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
    return {row["id"]: _record(row) for row in rows}


def _record(row: Row) -> Record:
    return Record(**row | {"kind": Kind(row["kind"]), "tags": tuple(json.loads(row["tags"]))})
