"""Lists of records of every kind for people, last changed first, filtered by facets and by words as they are typed."""

import heapq
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryd.core.base.clock import FOREVER, moment, timestamp
from memoryd.core.records import records, short_ids
from memoryd.core.records.client_names import client_name
from memoryd.core.scope import Scope
from memoryd.core.search.pipeline import Search
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Filter, Findings, Kind, Record
from memoryd.query_syntax import literal_query, typed_query
from memoryd.store.base import Queries, Row, number_of
from memoryd.text import shortened

PAGE = 50  # records on a page
FOUND = 100  # maximum records that a search by words lists
COUNTED = 200  # maximum values of a facet
REPLACED = 20  # maximum predecessors of a record that are shown
BULK = 10_000  # maximum records that one action may change
FEW = 500  # matching records with given tags that are read by id and sorted; more are found quickly by reading the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The filter of a list; '' and () mean all. Raise InvalidInputError for a malformed time."""

    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    """A record must have all of them."""
    client: str = ""
    """The name of a client, with or without a version: `codex 0.169.0` and `codex-mcp-client` mean `codex`."""
    tool: str = ""
    session: str = ""
    since: str = ""
    """Only records created at this time or later."""
    until: str = ""
    """Only records created before this time."""
    least: float = 0.0
    """Only memories with at least this importance."""
    deleted: bool = False

    def __post_init__(self) -> None:
        for time in filter(None, (self.since, self.until)):
            moment(time)
        object.__setattr__(self, "client", client_name(self.client))

    @property
    def narrow(self) -> bool:
        """Whether the filter excludes anything."""
        return self != Facets(deleted=self.deleted)

    def parameters(self) -> dict[str, Any]:
        """Return the filter as parameters of the statements of `listing`."""
        return {
            "kinds": json.dumps(self.kinds or tuple(Kind)),
            "tags": json.dumps(self.tags),
            "tag_count": len(self.tags),
            "client": self.client,
            "tool": self.tool,
            "session": self.session,
            "least": self.least,
            "since": timestamp(moment(self.since)) if self.since else "",
            "until": timestamp(moment(self.until)) if self.until else FOREVER,
        }

    def admit(self, record: Record) -> bool:
        """Return whether a living record matches the filter."""
        parameters = self.parameters()
        return (
            (not self.kinds or record.kind in self.kinds)
            and set(self.tags) <= set(record.tags)
            and self.client in ("", record.client)
            and self.tool in ("", record.tool)
            and self.session in ("", record.session_id)
            and (not self.least or (record.kind is Kind.MEMORY and record.importance >= self.least))
            and parameters["since"] <= record.created_at < parameters["until"]
        )


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record, and how it was deleted if it is."""

    record: Record
    deleted_at: str | None = None
    ending: str = ""
    """`merged`, `superseded` or `compacted`; '' if it was forgotten or is living."""
    successor: str | None = None
    """The id of the record that replaced it."""
    reason: str = ""

    @property
    def mark(self) -> tuple[str, str]:
        """The record's place in a list."""
        return (self.deleted_at or self.record.updated_at, self.record.id)


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list, and the mark after which the next one begins; None at the end."""

    records: Sequence[ListedRecord]
    after: tuple[str, str] | None = None

    @property
    def following(self) -> str:
        """The mark of the next page as text, for `mark_of`; '' at the end."""
        return "~".join(self.after or ())


BEGINNING = (FOREVER, "")


def mark_of(text: str) -> tuple[str, str]:
    """Parse the text of a mark; return BEGINNING for ''."""
    time, _, record_id = text.partition("~")
    return (time, record_id) if time else BEGINNING


def page(scope: Scope, facets: Facets, after: tuple[str, str] = BEGINNING, limit: int = PAGE) -> ListPage:
    """Return the records that match the facets, last changed or deleted first, after a mark."""

    def work(queries: Queries) -> list[ListedRecord]:
        parameters = _parameters(queries, facets) | {"time": after[0], "id": after[1], "limit": limit + 1}
        if facets.deleted:
            return list(map(_listed, queries.all("listing.deleted", **parameters)))
        if (few := _few(queries, facets)) is not None:
            return sorted((one for one in few if one.mark < after), key=lambda one: one.mark, reverse=True)
        by_kind = [
            map(_listed, queries.all("listing.page", kind=str(kind), **parameters))
            for kind in facets.kinds or tuple(Kind)
        ]
        return list(heapq.merge(*by_kind, key=lambda one: one.mark, reverse=True))

    found = scope.read(work)
    return ListPage(found[:limit], found[limit - 1].mark if len(found) > limit else None)


def ids(scope: Scope, facets: Facets) -> list[str]:
    """Return the ids of the living records that match the facets; raise InvalidInputError if there are too many."""

    def work(queries: Queries) -> list[str]:
        if (few := _few(queries, facets)) is not None:
            return sorted(one.record.id for one in few)
        return [row["id"] for row in queries.all("listing.ids", **_parameters(queries, facets), limit=BULK + 1)]

    found = scope.read(work)
    if len(found) > BULK:
        raise InvalidInputError(f"More than {BULK:,} records match. Narrow the list first.")
    return found


def _parameters(queries: Queries, facets: Facets) -> dict[str, Any]:
    """Return the parameters of a filter, with all names under which records of its client are stored."""
    rows = queries.all("listing.clients") if facets.client else []
    stored = [row["client"] for row in rows if client_name(row["client"]) == facets.client]
    return facets.parameters() | {"clients": json.dumps(stored)}


def _few(queries: Queries, facets: Facets) -> list[ListedRecord] | None:
    """Return the living records that match the facets; None without tags, or if more than FEW records have the tags."""
    if not facets.tags:
        return None
    rows = queries.all("listing.tagged", tag=facets.tags[0], tags=json.dumps(facets.tags), limit=FEW + 1)
    if len(rows) > FEW:
        return None
    return [one for one in _by_id(queries, [row["id"] for row in rows]).values() if facets.admit(one.record)]


def typed(scope: Scope, text: str, facets: Facets) -> list[ListedRecord]:
    """Return the best living records with all words of a text, the last possibly incomplete; if none, with any word.

    Of those with all words, facts come before turns.
    """

    def work(queries: Queries) -> list[ListedRecord]:
        allowed = _allowed(queries, facets)
        searched, cut = shortened(text)
        literal = literal_query(searched)
        for query in (None if cut else typed_query(text), literal):
            scored = scope.index.words(queries, query, allowed, FOUND) if query else []
            if found := _by_id(queries, [key for key, _ in scored]):
                admitted = [one for one in found.values() if facets.admit(one.record)]
                return sorted(admitted, key=_repeats) if query is not literal else admitted
        return []

    return scope.read(work)


def meant(scope: Scope, text: str, facets: Facets) -> Findings[ListedRecord]:
    """Return the living records that bear on a text by words and by meaning: facts first, of each the best first."""
    hits = Search(scope).hits(text, scope.read(lambda q: _allowed(q, facets)))
    admitted = [(hit.bears, ListedRecord(hit.record)) for hit in hits.best if facets.admit(hit.record)]
    best = sorted(admitted, key=lambda one: (not one[0], _repeats(one[1])))
    return Findings([listed for _, listed in best], hits.degraded)


def _repeats(listed: ListedRecord) -> int:
    """Return how far a record repeats others that match as well: facts come first, then turns, then their summaries."""
    return {Kind.INTERACTION: 1, Kind.SUMMARY: 2}.get(listed.record.kind, 0)


def _allowed(queries: Queries, facets: Facets) -> Filter:
    """Return the facets as a filter of a search: by ids, where an index cannot tell, unless too many records match."""
    allowed = Filter(kinds=facets.kinds, tags=facets.tags)
    if facets == Facets(kinds=facets.kinds, tags=facets.tags):
        return allowed
    rows = queries.all("listing.ids", **_parameters(queries, facets), limit=BULK + 1)
    return allowed if len(rows) > BULK else replace(allowed, among=tuple(row["id"] for row in rows))


def counts(scope: Scope) -> dict[str, dict[str, int]]:
    """Return the number of living records of each kind, tag, client and tool, most frequent first."""

    def work(queries: Queries) -> dict[str, dict[str, int]]:
        tags = queries.all("records.tags", session="", limit=COUNTED)
        rows = queries.all("listing.origins")
        of = {facet: _summed(rows, facet) for facet in ("kind", "client", "tool")}
        return of | {"tag": {row["tag"]: row["number"] for row in tags}}

    return scope.read(work)


def kinds(scope: Scope) -> dict[str, int]:
    """Return the number of living records of each kind."""
    return scope.read(records.numbers)


def latest(scope: Scope) -> int:
    """Return the number of the last event in a workspace's database, which increases with every change."""
    return scope.read(lambda q: number_of(q, "events.latest"))


def _summed(rows: Sequence[Row], facet: str) -> dict[str, int]:
    """Return the number of records for each value of a facet, most frequent first, without the empty value."""
    found = Counter[str]()
    for row in rows:
        found[client_name(row[facet]) if facet == "client" else row[facet]] += row["number"]
    del found[""]
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0]))[:COUNTED])


@dataclass(frozen=True, slots=True)
class News:
    """The changes after an event."""

    last: int
    """The number of the last event."""
    ids: Sequence[str]
    """The ids of the changed records, without duplicates."""
    graph: bool
    """Whether nodes or relations changed."""


def news(scope: Scope, after: int) -> News:
    """Return the changes after an event."""
    rows = scope.read(lambda q: q.all("listing.news", after=after, limit=BULK))
    ids = list(dict.fromkeys(row["subject"] for row in rows if row["subject"]))
    graph = any(row["operation"].endswith(("_entity", "_relation")) for row in rows)
    return News(rows[-1]["seq"] if rows else after, ids, graph)


def some(scope: Scope, ids: Sequence[str]) -> list[ListedRecord]:
    """Return records by id, in the order given, without unknown ids."""
    return scope.read(lambda q: list(_by_id(q, ids).values()))


# one record ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """An earlier text of a record, who wrote it, and when it was replaced."""

    until: str
    name: str | None
    body: str
    tags: tuple[str, ...]
    importance: float
    client: str
    tool: str
    undone: "RecordAct | None"
    """The restoration that replaced this version, if one did."""


@dataclass(frozen=True, slots=True)
class RecordAct:
    """An operation on a record other than a change of its text, and who performed it, as far as that is known."""

    at: str
    verb: str
    """`delete`, `restore`, `revert`, `refuse` or `unrefuse`."""
    client: str
    tool: str


@dataclass(frozen=True, slots=True)
class RecordStory:
    """A record with its earlier texts, its predecessors and its successor."""

    now: ListedRecord
    versions: Sequence[RecordVersion]
    """Its earlier texts, latest first."""
    replaced: Sequence[ListedRecord]
    successor: ListedRecord | None
    acts: Sequence[RecordAct]
    """The other operations on it, latest first."""


def one(scope: Scope, given: str) -> ListedRecord:
    """Return a record, given by its id or the beginning of it. Raise NotFoundError."""
    return scope.read(lambda q: _one(scope, q, given))


def _one(scope: Scope, queries: Queries, given: str) -> ListedRecord:
    (record_id,) = short_ids.resolve(queries, "id", [given], scope.session, "ids.ever")
    found = _by_id(queries, [record_id]).get(record_id)
    if found is None:
        raise NotFoundError(f"There is no record {given[:100]!r}, or it was purged.")
    return found


def story(scope: Scope, given: str) -> RecordStory:
    """Return the story of a record, given by its id or the beginning of it. Raise NotFoundError."""

    def work(queries: Queries) -> RecordStory:
        now = _one(scope, queries, given)
        record_id = now.record.id
        kept = queries.all("versions.of_record", id=record_id, limit=COUNTED)
        before = [row["id"] for row in queries.all("listing.replaced", id=record_id, limit=REPLACED)]
        others = _by_id(queries, [*before, *filter(None, [now.successor])])
        acts = [_act(row) for row in queries.all("acts.of", id=record_id, kind=now.record.kind, limit=COUNTED)]
        reverts = {act.at: act for act in acts if act.verb == "revert"}
        versions = [_version(row, reverts.get(row["until"])) for row in kept]
        replaced = [others[key] for key in before if key in others]
        return RecordStory(now, versions, replaced, others.get(now.successor or ""), acts)

    return scope.read(work)


def _version(row: Row, undone: RecordAct | None) -> RecordVersion:
    fields = {"tags": tuple(json.loads(row["tags"])), "client": client_name(row["client"]), "undone": undone}
    return RecordVersion(**row | fields)


def _act(row: Row) -> RecordAct:
    return RecordAct(row["at"], row["operation"].partition("_")[0], client_name(row["client"]), row["tool"])


def alike(scope: Scope, record: Record, limit: int = 8) -> Findings[ListedRecord]:
    """Return the records nearest in meaning to a given one, best first."""
    text = record.body[:2_000]
    found = Search(scope).hits(text, Filter()) if text.strip() else Findings([])
    return Findings(
        [ListedRecord(hit.record) for hit in found.best if hit.record.id != record.id][:limit], found.degraded
    )


def _by_id(queries: Queries, ids: Sequence[str]) -> Mapping[str, ListedRecord]:
    rows = {row["id"]: _listed(row) for row in queries.all("listing.records", ids=json.dumps(list(ids)))}
    return {key: rows[key] for key in ids if key in rows}


def _listed(row: Row) -> ListedRecord:
    own = {"deleted_at", "superseded_by", "ending", "reason"}
    record = records.record_of({name: value for name, value in row.items() if name not in own})
    return ListedRecord(record, row["deleted_at"], row["ending"], row["superseded_by"], row["reason"])
