"""What became of records: deleted, changed, merged, superseded, compacted; and how to undo it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.records import records, short_ids
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from memoryd.store.base import Queries, Row

LISTED = ("history.ended", "history.changed", "history.cut")


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened to a record or a relation, and can be undone."""

    at: str
    what: str
    """`deleted`, `changed`, `merged`, `superseded` or `compacted`."""
    id: str
    kind: str
    """Of the record; `relation`."""
    text: str
    """What it said."""
    successor: str | None
    """The id of what has taken its place."""
    now: str | None
    """What that says, or what the record itself says now."""
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there again, or says again what it said before."""

    id: str
    kind: str
    text: str
    along: int = 0
    """How much came back together with it: of a summary its originals, of an entity what was observed of it."""


def entries(graph: Graph, limit: int) -> list[Entry]:
    """What happened last, the latest first."""
    rows = graph.read(lambda q: [row for statement in LISTED for row in q.all(statement, limit=limit)])
    return sorted(map(_entry, rows), key=lambda entry: (entry.at, entry.id), reverse=True)[:limit]


def _entry(row: Row) -> Entry:
    text = row["body"] if row["kind"] == "relation" else _said(row)
    return Entry(
        row["at"], row["what"], row["id"], row["kind"], text, row["successor"], row["successor_body"], row["reason"]
    )  # fmt: skip


def _said(row: Row) -> str:
    return records.text_of(row["kind"], row["name"], row["type"], row["body"])


def restore(graph: Graph, ids: Sequence[str], at: str | None = None) -> list[Restored]:
    """Undo what happened last to each: all of them, or none and an error.

    What is gone is there again; what lives says what it said before, or, with a time, what it said until `at`; a
    summary gives way to its originals. Raises NotFoundError where there is nothing to restore, InvalidInputError for
    what is no time, or where something else stands in the way.
    """
    until = timestamp(moment(at)) if at else ""

    def work(change: Change) -> list[Restored]:
        named = short_ids.resolve(change.queries, "ID", ids, graph.scope.session, "ids.ever")
        return _restore_all(change, list(dict.fromkeys(named)), until)

    return graph.change(work)


def _restore_all(change: Change, ids: Sequence[str], until: str) -> list[Restored]:
    """Whatever their order: entities first, relations last. What came back, or went, with another one is done."""
    found = {key: change.queries.one("history.record", id=key) for key in ids}
    kinds = {key: row["kind"] if row else "relation" for key, row in found.items()}
    order = sorted(ids, key=lambda one: (kinds[one] != Kind.ENTITY, kinds[one] == "relation"))
    settled: set[str] = set()
    return [_restore(change, key, until, settled) for key in order if key not in settled]


def _restore(change: Change, key: str, until: str, settled: set[str]) -> Restored:
    row = change.queries.one("history.record", id=key)
    if row is None:
        return _relation(change, key)
    if row["deleted_at"] is None:
        return _originals(change, row, settled) or _version(change, row, until)
    _demand_room(change.queries, row)
    along = _with_entity(change, row) if row["kind"] == Kind.ENTITY else []
    if row["kind"] == Kind.OBSERVATION:
        change.touch([row["entity_id"]])
    if row["ending"] == "merged":
        _release(change.queries, row)
    _revive(change, [key, *along])
    settled.update(along)
    if row["kind"] == Kind.ENTITY:
        settled.update(_relate(change, row))
    if row["ending"] == "compacted" and not change.queries.one("history.originals", id=row["superseded_by"]):
        records.delete(change.queries, [row["superseded_by"]], change.now)
        settled.add(row["superseded_by"])
    return Restored(key, row["kind"], _said(row), len(along))


def _revive(change: Change, ids: Sequence[str]) -> None:
    change.queries.run("records.restore", ids=json.dumps(ids))
    change.queries.run("memories.restore", ids=json.dumps(ids))
    records.event(change.queries, "restore", ids, change.now)
    change.lacking.update(ids)


def _demand_room(queries: Queries, row: Row) -> None:
    """Raise InvalidInputError where a living record has the name, or the entity of an observation is deleted."""
    if row["kind"] == Kind.OBSERVATION and row["entity_deleted_at"]:
        raise InvalidInputError(
            f"{row['id']} was observed of {row['entity_name']!r}, which is deleted. Nothing was restored; restore "
            f"{row['entity_id']} first."
        )
    if row["kind"] in (Kind.MEMORY, Kind.ENTITY) and row["name"] is not None:
        holder = queries.one("history.holder", kind=row["kind"], name=row["name"])
        if holder:
            noun = "key" if row["kind"] == Kind.MEMORY else "name"
            raise InvalidInputError(
                f"The {noun} {row['name'][:100]!r} of {row['id']} is taken meanwhile, by {holder['id']}. Nothing was "
                "restored; delete that one first."
            )


# what belongs together -----------------------------------------------------------------------------------------------


def _originals(change: Change, row: Row, settled: set[str]) -> Restored | None:
    """The originals of a summary, which goes; None of another record."""
    found = [one["id"] for one in change.queries.all("history.originals", id=row["id"])]
    if not found:
        return None
    _revive(change, found)
    settled.update(found)
    records.delete(change.queries, [row["id"]], change.now)
    return Restored(row["id"], row["kind"], _said(row), len(found))


def _version(change: Change, row: Row, until: str) -> Restored:
    """What a living record said before, or until a time."""
    if until:
        before = change.queries.one("history.before", id=row["id"], until=until)
    else:
        before = change.queries.one("history.version", id=row["id"])
    if before is None:
        what = f"what it said until {until}" if until else "that it said something else before"
        raise NotFoundError(f"{row['id']} lives, and it is not known {what}. Nothing was restored.")
    tags = json.loads(before["tags"])
    if before["body"] == row["body"]:
        records.retag(change.queries, row["id"], tags, change.now)
    else:
        records.change(change.queries, row["id"], before["body"], tags, None, change.now)
        change.lacking.add(row["id"])
    if row["kind"] == Kind.MEMORY:
        change.queries.run("memories.release", id=row["id"], importance=before["importance"], times=0)
    if row["kind"] == Kind.ENTITY:
        change.reads_differently([row["id"]], "summary")
    if row["kind"] == Kind.OBSERVATION:
        change.touch([row["entity_id"]])
    return Restored(row["id"], row["kind"], _said(row | {"body": before["body"]}))


def _release(queries: Queries, row: Row) -> None:
    """Take from the memory that has absorbed another one what it has from there: tags, importance, recalls."""
    kept = queries.one("history.record", id=row["superseded_by"])
    before = queries.one("history.before", id=row["superseded_by"], until=row["deleted_at"])
    if kept is None or kept["deleted_at"]:
        return
    importance = kept["importance"]
    if before:
        had, absorbed = json.loads(before["tags"]), json.loads(row["tags"])
        tags = [tag for tag in json.loads(kept["tags"]) if tag in had or tag not in absorbed]
        queries.run("maintenance.retag", id=kept["id"], tags=json.dumps(tags, ensure_ascii=False), at="")
        if importance == row["importance"]:
            importance = before["importance"]
    queries.run("memories.release", id=kept["id"], importance=importance, times=row["access_count"])


def _with_entity(change: Change, row: Row) -> list[str]:
    """What was observed of an entity when it was deleted."""
    found = change.queries.all("history.observed", id=row["id"], at=row["deleted_at"])
    return [one["id"] for one in found]


def _relate(change: Change, row: Row) -> list[str]:
    """The relations that an entity had when it was deleted, as far as the others live."""
    found = change.queries.all("history.related", id=row["id"], at=row["deleted_at"])
    change.relate({one[end] for one in found for end in ("from_entity", "to_entity")})
    ids = [one["id"] for one in found]
    change.queries.run("relations.restore", ids=json.dumps(ids))
    return ids


def _relation(change: Change, key: str) -> Restored:
    row = change.queries.one("history.relation", id=key)
    if row is None:
        raise NotFoundError(
            f"There is nothing to restore with the id {key[:100]!r}: it was never there, or it was purged. "
            "`memoryd history` lists what can be restored."
        )
    text = f"{row['source']} {row['relation_type']} {row['target']}"
    if not row["possible"] or row["again"]:
        reason = "the same one was made meanwhile" if row["again"] else "one of its ends is deleted; restore that first"
        raise InvalidInputError(f"The relation {key} ({text}) was not restored: {reason}.")
    change.relate([row["from_entity"], row["to_entity"]])
    change.queries.run("relations.restore", ids=json.dumps([key]))
    change.note("restore_relation", key)
    return Restored(key, "relation", text)
