"""The one write path: every kind of record is added, changed and deleted here, inside the caller's transaction."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memoryd.model import GENERAL, Kind, Memory, Record
from memoryd.store.base import Queries, Row, Vector


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one text: (chunks, dim), unit length, by the model of that name."""

    model: str
    vectors: Vector


def new_id() -> str:
    """An id for a record: a random UUID, made by the client."""
    return str(uuid.uuid4())


def text_of(name: str | None, body: str) -> str:
    """What is embedded of a record."""
    return f"{name}: {body}" if name else body


def add(queries: Queries, record: Record, embedded: Embedded | None, now: str) -> None:
    """Write a new record, with its vectors where they are there already."""
    queries.run(
        "records.add", id=record.id, kind=str(record.kind), name=record.name, type=record.type, body=record.body,
        tags=json.dumps(record.tags, ensure_ascii=False), scope=record.scope, session_id=record.session_id, now=now,
    )  # fmt: skip
    embed(queries, record.id, embedded)
    event(queries, f"create_{record.kind}", record.id, now)


def change(
    queries: Queries, record_id: str, body: str, tags: Sequence[str], embedded: Embedded | None, now: str
) -> None:
    """Give a record another text and other tags; its old vectors go with its old text."""
    queries.run("embeddings.clear", id=record_id)
    queries.run("records.change", id=record_id, body=body, tags=json.dumps(tags, ensure_ascii=False), now=now)
    embed(queries, record_id, embedded)
    event(queries, "update", record_id, now)


def retag(queries: Queries, record_id: str, tags: Sequence[str], now: str) -> None:
    """Give a record other tags; its text stays verbatim."""
    queries.run("records.retag", id=record_id, tags=json.dumps(tags, ensure_ascii=False), now=now)
    event(queries, "update", record_id, now)


def delete(queries: Queries, ids: Sequence[str], now: str) -> int:
    """Delete softly: out of every index at once, purged after the retention. Returns how many there were."""
    count = queries.run("records.delete", ids=json.dumps(ids), now=now)
    for record_id in ids:
        event(queries, "delete", record_id, now)
    return count


def embed(queries: Queries, record_id: str, embedded: Embedded | None) -> None:
    """Write the vectors of a record."""
    if embedded is not None:
        queries.many(
            "embeddings.add",
            [
                {"id": record_id, "chunk": chunk, "perspective": GENERAL, "model": embedded.model, "dim": len(vector),
                 "vector": vector.astype(np.float16)}
                for chunk, vector in enumerate(embedded.vectors)
            ],
        )  # fmt: skip


def event(queries: Queries, operation: str, subject: str | None, now: str) -> None:
    """Note what happened; events outlive their subject."""
    queries.run("events.add", operation=operation, subject=subject, now=now)


def fetch(queries: Queries, ids: Sequence[str], session: str) -> dict[str, Memory]:
    """The living records among `ids` that `session` may see."""
    rows = queries.all("memories.fetch", ids=json.dumps(ids), session=session)
    return {row["id"]: _memory(row) for row in rows}


def _memory(row: Row) -> Memory:
    record = Record(
        id=row["id"], kind=Kind(row["kind"]), body=row["body"], name=row["name"], type=row["type"],
        tags=tuple(json.loads(row["tags"])), scope=row["scope"], session_id=row["session_id"],
        created_at=row["created_at"], updated_at=row["updated_at"],
    )  # fmt: skip
    return Memory(
        record=record,
        importance=row["importance"],
        access_count=row["access_count"],
        accessed_at=row["accessed_at"],
    )
