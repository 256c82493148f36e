"""The history of records: deletions, changes, merges, supersessions, compactions; and how to undo them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryd.core.base.clock import FOREVER, moment, timestamp
from memoryd.core.graph import relations, renaming
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.memories import correction
from memoryd.core.records import records, short_ids
from memoryd.core.records.client_names import client_name
from memoryd.core.records.records import Origin
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from memoryd.store.base import Queries, Row, of_row
from memoryd.text import containing


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A change to a record or a relation."""

    at: str
    what: str
    """`deleted`, `changed`, `merged`, `superseded`, `compacted`, which can be undone; `restored`, `purged`."""
    id: str
    kind: str
    """The kind of the record, or `relation`."""
    text: str
    """The text before the change; '' if it was purged."""
    successor: str | None
    """The id of the record that replaced it."""
    now: str | None
    """The current text of the successor, or of the record itself."""
    reason: str
    client: str
    tool: str
    """The tool that made the change; like the client, '' if it is unknown."""

    @property
    def undoable(self) -> bool:
        """Whether `restore` can undo it."""
        return self.what not in DONE.values()

    @property
    def mark(self) -> tuple[str, str]:
        """The entry's place in the history."""
        return (self.at, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFilter:
    """The changes to list; '' means all. Raise InvalidInputError for a malformed time."""

    what: str = ""
    """A `what` of HistoryEntry; '' for all changes that can be undone."""
    with_done: bool = False
    """Whether '' includes the changes that leave nothing to undo: `restored` and `purged`."""
    kind: str = ""
    by: str = ""
    """A part of the name of the client or tool that made the change."""
    words: str = ""
    """A part of the text before or after the change."""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for time in filter(None, (self.since, self.until)):
            moment(time)

    def statements(self) -> Iterator[str]:
        """Yield the names of the statements that list matching changes."""
        if self.what not in ("changed", *DONE.values()) and self.kind != "relation":
            yield "history.ended"
        if self.what in ("", "changed") and self.kind != "relation":
            yield "history.changed"
        if self.what in ("", "deleted") and self.kind in ("", "relation"):
            yield "history.cut"
        if self.what in DONE.values() or (self.with_done and not self.what):
            yield "acts.done"

    def parameters(self) -> dict[str, str]:
        """Return the filter as parameters of the statements."""
        verbs = [verb for verb, what in DONE.items() if self.what in ("", what)]
        kinds = [self.kind] if self.kind else [*Kind, "relation"]
        return {
            "operations": json.dumps([f"{verb}_{kind}" for verb in verbs for kind in kinds]),
            "what": self.what,
            "kind": self.kind,
            "by": containing(self.by),
            "words": containing(self.words),
            "since": timestamp(moment(self.since)) if self.since else "",
            "until": timestamp(moment(self.until)) if self.until else FOREVER,
        }


DONE = {"restore": "restored", "purge": "purged"}
"""The changes that leave nothing to undo, by their verb in operations."""
EVERYTHING = HistoryFilter()
BEGINNING = (FOREVER, "")
"""The mark before the latest change."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A record or relation that was undeleted, or whose earlier text was restored."""

    id: str
    kind: str
    text: str
    along: int = 0
    """The number of records restored with it: the originals of a summary, the observations of an entity."""


def entries(
    graph: Graph, limit: int, wanted: HistoryFilter = EVERYTHING, after: tuple[str, str] = BEGINNING
) -> list[HistoryEntry]:
    """Return the latest changes that match a filter, newest first, starting after a mark."""
    parameters = wanted.parameters() | {"at": after[0], "id": after[1], "limit": limit}
    rows = graph.read(lambda q: [row for statement in wanted.statements() for row in q.all(statement, **parameters)])
    return sorted(map(_entry, rows), key=lambda entry: entry.mark, reverse=True)[:limit]


def _entry(row: Row) -> HistoryEntry:
    if "operation" in row:
        verb, _, kind = row["operation"].partition("_")
        row = row | {"what": DONE[verb], "kind": kind, "successor": None, "now_body": None, "reason": ""}
    text = row["body"] if row["name"] is None else _text(row)
    now = row["now_body"]
    if row["kind"] == Kind.ENTITY and now is not None:
        now = records.text_of(row["kind"], row["now_name"], row["now_type"], now)
    return of_row(HistoryEntry, row, text=text, now=now, client=client_name(row["client"]))


def _text(row: Row) -> str:
    return records.text_of(row["kind"], row["name"], row["type"], row["body"])


def restore(graph: Graph, ids: Sequence[str], at: str | None = None, seen: str = "") -> list[Restored]:
    """Undo the last change of each id, of all or none; return what was restored.

    A deleted record is undeleted, a living one gets its previous text (with `at`, its text at that time), a summary is
    replaced by its originals. Raise NotFoundError if there is nothing to restore, InvalidInputError for an invalid time
    or a conflict, ChangedMeanwhileError if a record was changed or deleted after it was `seen`.
    """
    until = "" if at is None else timestamp(moment(at))

    def work(change: Change) -> list[Restored]:
        named = short_ids.resolve(change.queries, "ID", ids, graph.scope.session, "ids.ever")
        return _restore_all(change, list(dict.fromkeys(named)), until, seen)

    return graph.change(work)


def _restore_all(change: Change, ids: Sequence[str], until: str, seen: str) -> list[Restored]:
    """Undo the last change first, because it may have built on an earlier one.

    Of what was deleted together restore entities first and relations last; skip what was restored or deleted along with
    another one.
    """
    found = {key: change.queries.one("history.record", id=key) for key in ids}
    for row in filter(None, found.values()):
        records.demand_unchanged(row["deleted_at"] or row["updated_at"], seen)
    kinds = {key: row["kind"] if row else "relation" for key, row in found.items()}
    by_kind = sorted(ids, key=lambda one: (kinds[one] != Kind.ENTITY, kinds[one] == "relation"))
    order = sorted(by_kind, key=lambda one: _changed_at(change.queries, one, found[one]), reverse=True)
    settled: set[str] = set()
    return [_restore(change, key, until, settled) for key in order if key not in settled]


def _changed_at(queries: Queries, key: str, row: Row | None) -> str:
    """Return the time of the last change of a record, or if there is no `row` of the relation with this id."""
    row = row or queries.one("history.relation", id=key) or {"deleted_at": ""}
    return str(row["updated_at"] if row["deleted_at"] is None else row["deleted_at"])


def _restore(change: Change, key: str, until: str, settled: set[str]) -> Restored:
    row = change.queries.one("history.record", id=key)
    if row is None:
        return _relation(change, key)
    if row["deleted_at"] is None:
        return _originals(change, row, settled) or _version(change, row, until)
    if until not in ("", row["deleted_at"]):
        raise InvalidInputError(
            f"{short_ids.short(change.queries, key)} was deleted at {row['deleted_at']}. Nothing was restored; restore "
            "it without a time first, then its earlier text."
        )
    _demand_room(change.queries, row)
    observed = {"id": key, "at": row["deleted_at"]}
    rows = change.queries.all("history.observed", **observed) if row["kind"] == Kind.ENTITY else []
    along = [one["id"] for one in rows]
    if row["kind"] == Kind.OBSERVATION:
        change.touch([row["entity_id"]])
    if row["ending"] == "merged":
        _release(change.queries, row)
    _revive(change, [key, *along])
    settled.update(along)
    if row["kind"] == Kind.OBSERVATION:
        change.queries.run("entities.rename", ids=json.dumps([key]), name=row["entity_name"], **records.origin())
    if row["kind"] == Kind.ENTITY:
        _take_back(change, row)
        settled.update(_relate(change, row))
    if row["ending"] == "compacted" and not change.queries.one("history.originals", id=row["superseded_by"]):
        records.delete(change.queries, [row["superseded_by"]], change.now)
        settled.add(row["superseded_by"])
    return Restored(key, row["kind"], _text(row), len(along))


def _revive(change: Change, ids: Sequence[str]) -> None:
    change.queries.run("records.restore", ids=json.dumps(ids))
    change.queries.run("memories.restore", ids=json.dumps(ids))
    records.act(change.queries, "restore", ids, change.now)
    change.lacking.update(ids)


def _demand_room(queries: Queries, row: Row) -> None:
    """Raise InvalidInputError if a living record already has the name, or an observation's entity is deleted."""
    if row["kind"] == Kind.OBSERVATION and row["entity_deleted_at"]:
        named = short_ids.shorten(queries, [row["id"], row["entity_id"]])
        raise InvalidInputError(
            f"{named[row['id']]} belongs to {row['entity_name']!r}, which is deleted. Nothing was restored; restore "
            f"{named[row['entity_id']]} first."
        )
    if row["kind"] in (Kind.MEMORY, Kind.ENTITY) and row["name"] is not None:
        holder = queries.one("history.holder", kind=row["kind"], name=row["name"])
        if holder and holder["id"] != row["id"]:
            noun = "key" if row["kind"] == Kind.MEMORY else "name"
            named = short_ids.shorten(queries, [row["id"], holder["id"]])
            raise InvalidInputError(
                f"{named[row['id']]} was not restored: its {noun} {row['name'][:100]!r} now belongs to "
                f"{named[holder['id']]}. Nothing was restored; delete that one first."
            )


# records that are restored together ----------------------------------------------------------------------------------


def _originals(change: Change, row: Row, settled: set[str]) -> Restored | None:
    """Replace a summary by its originals; return None if the record is not a summary."""
    originals = [one["id"] for one in change.queries.all("history.originals", id=row["id"])]
    if not originals:
        return None
    _revive(change, originals)
    settled.update(originals)
    records.delete(change.queries, [row["id"]], change.now)
    return Restored(row["id"], row["kind"], _text(row), len(originals))


def _version(change: Change, row: Row, until: str) -> Restored:
    """Give a living record its previous text, or its text at a time."""
    if until:
        before = change.queries.one("history.before", id=row["id"], until=until)
    else:
        before = change.queries.one("history.version", id=row["id"])
    if before is None:
        which = f"version until {until}" if until else "earlier version"
        named = short_ids.short(change.queries, row["id"])
        raise NotFoundError(f"{named} is not deleted, and no {which} of it is known. Nothing was restored.")
    tags = json.loads(before["tags"])
    change.queries.run("versions.keep_whole", id=row["id"], now=change.now)
    records.act(change.queries, "revert", [row["id"]], change.now)
    if row["kind"] == Kind.ENTITY and before["name"] != row["name"]:
        _demand_room(change.queries, row | {"name": before["name"]})
        renaming.call(change, row["id"], before["name"])
    if before["body"] == row["body"]:
        records.retag(change.queries, row["id"], tags, change.now)
    else:
        author = Origin(before["client"], before["tool"])
        records.change(change.queries, row["id"], before["body"], tags, None, change.now, by=author)
        change.lacking.add(row["id"])
        if row["kind"] == Kind.ENTITY:
            change.queries.run("entities.summarized", id=row["id"], now=change.now if before["body"] else None)
    if row["kind"] == Kind.MEMORY:
        correction.follow(change.queries, row["id"], row["name"], before["body"], before["importance"])
    if row["kind"] == Kind.ENTITY:
        for field in ("summary", "tags"):
            change.reads_differently([row["id"]], field)
    if row["kind"] == Kind.OBSERVATION:
        change.touch([row["entity_id"]])
    return Restored(row["id"], row["kind"], _text(row | {"body": before["body"], "name": before["name"]}))


def _release(queries: Queries, row: Row) -> None:
    """Remove a merged memory's tags, importance and recalls from the memory into which it was merged."""
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


def _take_back(change: Change, row: Row) -> None:
    """Remove from a node what it gained by a merge that is being undone."""
    found = change.queries.all("history.gained", id=row["node"], at=row["deleted_at"]) if row["node"] else []
    change.relate({one[end] for one in found for end in ("source", "target")})
    relations.remove(change, [one["id"] for one in found if one["kind"] == "relation"])
    records.delete(change.queries, [one["id"] for one in found if one["kind"] != "relation"], change.now)


def _relate(change: Change, row: Row) -> list[str]:
    """Restore the relations that were deleted with an entity and whose other end exists; return their ids."""
    found = change.queries.all("history.related", id=row["id"], at=row["deleted_at"])
    change.relate({one[end] for one in found for end in ("from_entity", "to_entity")})
    ids = [one["id"] for one in found]
    change.queries.run("relations.restore", ids=json.dumps(ids))
    return ids


def _relation(change: Change, key: str) -> Restored:
    row = change.queries.one("history.relation", id=key)
    if row is None:
        raise NotFoundError(
            f"There is nothing to restore under the id {key[:100]!r}: it never existed, or it was purged. "
            "List what can be restored with `memoryd history`."
        )
    text = f"{row['source']} {row['relation_type']} {row['target']}"
    if not row["possible"] or row["again"]:
        reason = "it exists again" if row["again"] else "one of its entities is deleted; restore that first"
        named = short_ids.short(change.queries, key)
        raise InvalidInputError(f"The relation {named} ({text}) was not restored: {reason}.")
    change.relate([row["from_entity"], row["to_entity"]])
    change.queries.run("relations.restore", ids=json.dumps([key]))
    change.note("restore_relation", key)
    change.sign("restore_relation", key)
    return Restored(key, "relation", text)
