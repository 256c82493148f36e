"""Add what a file has and a workspace lacks, in atomic batches; overwrite nothing.

Existing rows are recognized by id, by the name of an entity, the key or text of a memory, the text of an observation.
So an interrupted merge can simply be repeated.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import Progress
from memoryd.core.engine import Engine
from memoryd.core.graph import observations
from memoryd.core.graph.names import named
from memoryd.core.records import perspectives
from memoryd.core.records.records import act
from memoryd.core.records.records import event as note_event
from memoryd.core.transfer import reader
from memoryd.core.transfer.export import NOUNS, Numbers
from memoryd.core.transfer.reader import Part, listed
from memoryd.core.transfer.schema import UNKNOWN
from memoryd.errors import InvalidInputError
from memoryd.model import CLIENT, GENERAL, Entity, Kind, Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from memoryd.store.columns import DETAILS

T = TypeVar("T")

TABLE = {kind: table for table, kind in DETAILS.items()}


@dataclass(frozen=True, slots=True)
class Bundle:
    """A record with its details and vectors."""

    record: Row
    detail: Row
    vectors: Sequence[Row]

    @property
    def id(self) -> str:
        """The id of the record."""
        return str(self.record["id"])

    @property
    def kind(self) -> Kind:
        """The kind of the record."""
        return Kind(self.record["kind"])

    @property
    def is_deleted(self) -> bool:
        """Whether the record is deleted, and kept only for the record that replaced it."""
        return self.record["deleted_at"] is not None


@dataclass(slots=True)
class Put:
    """The result of a batch. It is valid only after the commit: a store may run a batch twice."""

    added: list[Bundle] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    """The ids of the workspace's records that stand for records of the file, by the ids in the file."""
    old: set[int] = field(default_factory=set)
    """Hashes of the ids of entities that existed under the same id."""
    gone: set[str] = field(default_factory=set)
    """The ids of deleted records that are erased so that imported rows can use them."""


class Merging:
    """A merge of one workspace of a file into a workspace of the store.

    Only the ids of entities and memories that existed before are kept in memory.
    """

    def __init__(self, engine: Engine, workspace: Workspace, file: str, part: Part, report: Progress) -> None:
        self._engine, self._workspace = engine, workspace
        self._file, self._part, self._report = file, part, report
        self.new = Numbers()
        self.remarks: list[str] = []
        self._moved: dict[str, str] = {}
        self._old = set[int]()
        self._usable = frozenset[str]()
        self._done, self._size = 0, part.size()

    def run(self) -> None:
        """Add what is missing. Raise MemorydError; what was already added stays."""
        # perspectives first: they decide which of the file's vectors are valid here
        self._usable, kept = self._write(self._perspectives)
        self.remarks += kept
        # entities before observations: only then is it known which of them have another id here, or existed before
        later_or_never = {Kind.OBSERVATION, *((Kind.INTERACTION,) if self._part.turns_elsewhere else ())}
        self._put(self._place, self._bundles(lambda r: r["kind"] not in later_or_never and r["deleted_at"] is None))
        later: list[tuple[str, int, str]] = []  # (entity, ordinal, id) of the observations for _again
        if self._part.numbers[NOUNS[Kind.OBSERVATION]]:
            # given ordinals before new ones, in their order; `later` is complete once the whole file is read
            self._put(self._observe, self._of_known(later))
            self._put(self._observe_moved, self._again(sorted(later)))
        # deleted records after living ones: what replaced them may have another id here
        self._put(self._place, self._bundles(lambda r: r["deleted_at"] is not None))
        # relations after all entities, under the ids that these have here
        for relations in batches(self._rows("relations"), reader.BATCH):
            self.new[NOUNS["relations"]] += self._write(partial(self._relate, relations))
        # events last: if the merge is interrupted, none is about a record that is not here
        for events in _by_time(self._rows("events")):
            self.new[NOUNS["events"]] += self._write(partial(_happen, events))

    # reading ---------------------------------------------------------------------------------------------------------

    def _rows(self, table: str) -> Iterator[Row]:
        for page in rows.pages(self._part.queries, table):
            for row in page:
                self._step()
                yield row

    def _step(self) -> None:
        self._done += 1
        self._report(min(self._done / max(self._size, 1), 1.0))

    def _bundles(self, wanted: Callable[[Row], bool]) -> Iterator[Bundle]:
        """Yield the records that are wanted, each with its details and vectors."""
        for page in rows.pages(self._part.queries, "records"):
            records = [record for record in page if wanted(record)]
            vectors = defaultdict[str, list[Row]](list)
            for vector in rows.of(self._part.queries, "embeddings", [record["id"] for record in records]):
                vectors[vector["id"]].append(vector)
            details: dict[str, Row] = {}
            for kind, table in TABLE.items():
                ids = [record["id"] for record in records if record["kind"] == kind]
                details |= {row["id"]: row for row in rows.of(self._part.queries, table, ids)} if ids else {}
            for record in records:
                self._step()
                yield Bundle(record, details[record["id"]], vectors[record["id"]])

    def _of_known(self, later: list[tuple[str, int, str]]) -> Iterator[Bundle]:
        """Yield the observations of entities that have the same id here; append the others to `later`."""
        for bundle in self._bundles(lambda record: record["kind"] == Kind.OBSERVATION):
            entity, ordinal = bundle.detail["entity_id"], bundle.detail["ordinal"]
            if entity in self._moved:
                later.append((entity, ordinal, bundle.id))
            else:
                yield bundle

    def _again(self, later: Iterable[tuple[str, int, str]]) -> Iterator[Bundle]:
        """Yield the observations of entities that have another id here, without vectors, which are recomputed."""
        for batch in batches(later, reader.BATCH):
            records = {row["id"]: row for row in rows.of(self._part.queries, "records", [key for *_, key in batch])}
            for entity, ordinal, key in batch:
                yield Bundle(records[key], {"id": key, "entity_id": entity, "ordinal": ordinal}, ())

    # writing ---------------------------------------------------------------------------------------------------------

    def _write(self, work: Callable[[Queries], T]) -> T:
        return self._engine.write(self._workspace, work)

    def _put(self, place: Callable[[Queries, Sequence[Bundle], Put], None], bundles: Iterable[Bundle]) -> None:
        def put_batch(batch: Sequence[Bundle], queries: Queries) -> Put:
            put = Put()  # inside, because each try of a transaction needs an empty one
            place(queries, batch, put)
            self._add(queries, put)
            return put

        for batch in batches(bundles, reader.BATCH, lambda bundle: reader.weight(bundle.record)):
            put = self._write(partial(put_batch, batch))
            self._moved |= put.moved
            self._old |= put.old
            self.remarks += put.remarks
            self.new.update(NOUNS[bundle.kind] for bundle in put.added)
            self.new[NOUNS["embeddings"]] += sum(len(self._vectors(bundle)) for bundle in put.added)

    def _add(self, queries: Queries, put: Put) -> None:
        added, now = [bundle.id for bundle in put.added], self._engine.clock.now()
        # deleted rows first give their ids away
        back = [bundle for bundle in put.added if bundle.id in put.gone]
        kept = _cleared(queries, back, now) if back else {}
        # records before everything that refers to them
        rows.put(queries, "records", [bundle.record for bundle in put.added])
        for table, kind in DETAILS.items():
            rows.put(queries, table, [bundle.detail for bundle in put.added if bundle.kind is kind])
        # then what is kept of erased rows, and the next ordinals, which are beyond those that come back
        for table, found in kept.items():
            rows.put(queries, table, found)
        places = kept.get("observation_details", ())
        queries.many("imports.reserve", [{"id": row["entity_id"], "next": row["ordinal"] + 1} for row in places])
        rows.put(queries, "embeddings", [vector for bundle in put.added for vector in self._vectors(bundle)])
        # a record that came back is always an event here, a new one only if the file has no events
        act(queries, "restore", [bundle.id for bundle in back], now)
        if not self._part.tells_events:
            note_event(queries, "create", [key for key in added if key not in put.gone], now)

    def _vectors(self, bundle: Bundle) -> list[Row]:
        """Return the vectors that stay valid: those with context do not if the entity existed here before."""
        usable = self._usable
        if bundle.kind is Kind.OBSERVATION and hash(bundle.detail["entity_id"]) in self._old:
            usable &= {GENERAL, CLIENT}
        return [vector | {"id": bundle.id} for vector in bundle.vectors if vector["perspective"] in usable]

    def _perspectives(self, queries: Queries) -> tuple[frozenset[str], list[str]]:
        """Return the perspectives of the file that equal those of the workspace, and remarks."""
        theirs = self._part.queries.all("perspectives.all")
        if theirs and queries.one("imports.empty"):  # so that all vectors of the file stay valid
            rows.put(queries, "perspectives", theirs)
            self.new[NOUNS["perspectives"]] = len(theirs)
        wanted, ours = perspectives.templates(self._part.queries), perspectives.templates(queries)
        same = {name: template for name, template in ours.items() if wanted.get(name) == template}
        remark = "The workspace keeps its perspectives, which differ from those of the file."
        return usable(same, self._part, self._workspace), [] if ours == wanted else [remark]

    # records ---------------------------------------------------------------------------------------------------------

    def _place(self, queries: Queries, batch: Sequence[Bundle], put: Put) -> None:
        """Add new records of all kinds except observations, without duplicates."""
        # ids before names and texts: what has the same id is the same record, however it was renamed or edited
        new = self._unknown(queries, batch, put)
        by_kind = {kind: [bundle for bundle in new if bundle.kind is kind] for kind in Kind}
        self._place_memories(queries, by_kind[Kind.MEMORY], put)
        entities = [bundle for bundle in batch if bundle.kind is Kind.ENTITY]
        found = named(queries, [str(bundle.record["name"]) for bundle in entities])
        typed = [
            {"id": there.id, "type": bundle.record["type"], "placeholder": UNKNOWN}
            for bundle in entities
            if not bundle.is_deleted and (there := found.get(bundle.record["name"]))
            if there.type == UNKNOWN != bundle.record["type"]
        ]
        queries.many("imports.type", typed)
        perspectives.drop(queries, [one["id"] for one in typed], "related")
        # of all entities, known ones too: a repeated import has the same remarks
        put.remarks += filter(None, (_other_type(b.record, found.get(b.record["name"])) for b in entities))
        for bundle in by_kind[Kind.ENTITY]:
            if there := found.get(bundle.record["name"]):
                put.moved[bundle.id] = there.id
            else:
                put.added.append(bundle)
        put.added += by_kind[Kind.INTERACTION]
        sessions = json.dumps([bundle.record["session_id"] for bundle in by_kind[Kind.SUMMARY]])
        summarized = {row["id"] for row in queries.all("imports.summarized", sessions=sessions)}
        put.added += [b for b in by_kind[Kind.SUMMARY] if b.record["session_id"] not in summarized]

    def _unknown(self, queries: Queries, batch: Sequence[Bundle], put: Put) -> list[Bundle]:
        """Return the bundles whose ids no living record has."""
        ids = listed(bundle.id for bundle in batch)
        known = {row["id"]: row for row in queries.all("imports.known", ids=ids)}
        turns = {row["id"] for row in queries.all("journal.some", ids=ids)} if self._part.turns_by_id else set()
        new, there = [], []
        for bundle in batch:
            found = known.get(bundle.id)
            if bundle.id in turns:  # a hook stored it
                continue
            if found is None:
                new.append(bundle)
            elif found["kind"] != bundle.kind:
                raise InvalidInputError(
                    f"The record {bundle.id!r} is a {found['kind']} in the workspace, but a {bundle.kind} in "
                    f"{self._file}. Import it into another workspace."
                )
            elif found["deleted_at"] and not found["original"] and not bundle.is_deleted:  # forgotten, not replaced
                put.gone.add(bundle.id)
                new.append(bundle)
            elif bundle.kind is Kind.INTERACTION and _differs(bundle, found):
                new += _renamed(queries, bundle)
            elif not found["deleted_at"]:
                there.append(bundle)
        entities = [bundle for bundle in there if bundle.kind is Kind.ENTITY]
        put.old.update(hash(bundle.id) for bundle in entities)
        # numbers that the file has given away, even to deleted observations, are not given again
        queries.many("imports.reserve", [{"id": b.id, "next": b.detail["next_ordinal"]} for b in entities])
        return new

    def _place_memories(self, queries: Queries, bundles: Sequence[Bundle], put: Put) -> None:
        keys = json.dumps([b.record["name"] for b in bundles if b.record["name"] is not None], ensure_ascii=False)
        held = {row["name"]: row for row in queries.all("imports.named", names=keys)}
        prints = json.dumps([bundle.detail["fingerprint"] for bundle in bundles if bundle.detail["fingerprint"]])
        same = {row["fingerprint"]: row["id"] for row in queries.all("imports.same", fingerprints=prints)}
        for bundle in bundles:
            key, after = bundle.record["name"], bundle.detail["superseded_by"]
            if bundle.is_deleted:  # kept for what replaced it; its key and text are free
                detail = bundle.detail | {"superseded_by": self._moved.get(after, after)}
                put.added.append(replace(bundle, detail=detail))
            elif key in held:  # keys before texts: a key exists once, a text under any number of keys
                put.moved[bundle.id] = held[key]["id"]
                if (held[key]["body"], held[key]["tags"]) != (bundle.record["body"], bundle.record["tags"]):
                    put.remarks.append(f"The key {key[:100]!r} already exists and stays unchanged.")
            elif key is None and bundle.detail["fingerprint"] in same:
                put.moved[bundle.id] = same[bundle.detail["fingerprint"]]
            else:
                put.added.append(bundle)

    # observations ----------------------------------------------------------------------------------------------------

    def _observe(self, queries: Queries, batch: Sequence[Bundle], put: Put) -> None:
        """Add observations of entities with the same id; they keep their ordinals unless those are taken."""
        new = _as_named_here(queries, self._unknown(queries, batch, put))
        entities = listed(bundle.detail["entity_id"] for bundle in new)
        ordinals = listed(bundle.detail["ordinal"] for bundle in new)
        given = queries.all("imports.ordinals", entities=entities, ordinals=ordinals)
        taken = {(row["entity_id"], row["ordinal"]): row["id"] for row in given}
        free = [b for b in new if taken.get((b.detail["entity_id"], b.detail["ordinal"]), b.id) == b.id]
        grown = [bundle for bundle in free if hash(bundle.detail["entity_id"]) in self._old]
        # those with free ordinals first: a new ordinal must not take one of theirs
        put.added += free
        kept = {bundle.id for bundle in free}
        others = self._numbered(queries, [bundle for bundle in new if bundle.id not in kept])
        put.added += others
        queries.many(
            "imports.touch",
            [{"id": b.detail["entity_id"], "at": b.record["created_at"]} for b in (*grown, *others)],
        )

    def _observe_moved(self, queries: Queries, batch: Sequence[Bundle], put: Put) -> None:
        """Add observations of entities with another id here, with new ordinals in the same order."""
        new = self._unknown(queries, batch, put)
        ours = [replace(b, detail=b.detail | {"entity_id": self._moved[b.detail["entity_id"]]}) for b in new]
        put.added += self._numbered(queries, ours)
        touched = listed(bundle.detail["entity_id"] for bundle in put.added)
        queries.run("entities.touch", ids=touched, now=self._engine.clock.now())

    def _numbered(self, queries: Queries, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Return the observations with new texts, with the next ordinals of their entities."""
        entities = list(dict.fromkeys(bundle.detail["entity_id"] for bundle in bundles))
        existing = observations.same(queries, entities, [bundle.record["body"] for bundle in bundles])
        found = []
        for bundle in bundles:
            entity, text = bundle.detail["entity_id"], bundle.record["body"]
            if text not in existing[entity]:
                existing[entity].add(text)
                ordinal = observations.next_ordinal(queries, entity)
                found.append(replace(bundle, detail=bundle.detail | {"ordinal": ordinal}))
        return found

    # relations -------------------------------------------------------------------------------------------------------

    def _relate(self, batch: Sequence[Row], queries: Queries) -> int:
        """Add the missing relations and drop the vectors that they make stale; return how many were added."""
        ours = [
            row | {end: self._moved.get(row[end], row[end]) for end in ("from_entity", "to_entity")} for row in batch
        ]
        ids = listed(row["id"] for row in ours)
        living = {row["id"] for row in queries.all("imports.relations", ids=ids) if not row["deleted_at"]}
        sources, targets = (listed(row[end] for row in ours) for end in ("from_entity", "to_entity"))
        there = {_edge(row) for row in queries.all("relations.find", sources=sources, targets=targets)}
        new = [row for row in ours if row["id"] not in living and _edge(row) not in there]
        # a deleted relation gives its id away
        queries.run("imports.cut", ids=listed(row["id"] for row in new))
        old = self._ends_that_were_there(batch, new)
        # compare the texts before and after: a relation beyond those that a text names makes no vector stale
        before = perspectives.related(queries, list(old))
        rows.put(queries, "relations", new)
        after = perspectives.related(queries, list(old))
        perspectives.drop(queries, [entity for entity in old if before[entity] != after[entity]], "related")
        queries.many("imports.touch", [{"id": entity, "at": at} for entity, at in old.items()])
        return len(new)

    def _ends_that_were_there(self, batch: Sequence[Row], new: Sequence[Row]) -> dict[str, str]:
        """Return the entities of new relations that existed before this run, and when they changed."""
        added, now, found = {row["id"] for row in new}, self._engine.clock.now(), dict[str, str]()
        for row in batch:
            for end in (row["from_entity"], row["to_entity"]) if row["id"] in added else ():
                if end in self._moved:
                    found[self._moved[end]] = now
                elif hash(end) in self._old:
                    found[end] = max(found.get(end, ""), row["created_at"])
        return found


# helpers -------------------------------------------------------------------------------------------------------------


def usable(same: dict[str, str], part: Part, workspace: Workspace) -> frozenset[str]:
    """Return the perspectives whose vectors stay valid in a workspace, which may have another name."""
    renamed = perspectives.naming(same, "workspace") if part.name != workspace.name else []
    return frozenset({*same, GENERAL, CLIENT}.difference(renamed))


def _cleared(queries: Queries, back: Sequence[Bundle], now: str) -> dict[str, Sequence[Row]]:
    """Erase deleted records whose ids imported records use; return the rows to put back afterwards, by table.

    These are the ordinals of deleted observations, the deleted relations of entities, and the earlier texts of the
    records, including their last text before deletion if it differs from the file.
    """
    ids = [bundle.id for bundle in back]
    importance = {row["id"]: row["importance"] for row in rows.of(queries, "memory_details", ids)}
    file = {bundle.id: _content(bundle.record) for bundle in back}
    last = [
        row | {"until": now, "importance": importance.get(row["id"], 0.5)}
        for row in rows.of(queries, "records", ids)
        if _content(row) != file[row["id"]]
    ]
    kept: dict[str, Sequence[Row]] = {
        "observation_details": queries.all("imports.observed", entities=json.dumps(ids)),
        "relations": queries.all("imports.related", entities=json.dumps(ids)),
        "versions": [*rows.of(queries, "versions", ids), *last],
    }
    queries.run("records.erase", ids=json.dumps(ids))
    return kept


def _content(record: Row) -> tuple[str, str, str | None]:
    return record["body"], record["tags"], record["name"]


def _as_named_here(queries: Queries, bundles: Sequence[Bundle]) -> list[Bundle]:
    """Return observations with the present names of their entities; without vectors if the name has changed."""
    ids = listed(bundle.detail["entity_id"] for bundle in bundles)
    names = {row["id"]: row["name"] for row in queries.all("records.fetch", ids=ids, session="")}
    found = []
    for bundle in bundles:
        name = names.get(bundle.detail["entity_id"], bundle.record["name"])
        is_same = name == bundle.record["name"]
        found.append(bundle if is_same else replace(bundle, record=bundle.record | {"name": name}, vectors=()))
    return found


def _by_time(events: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield events in lists of BATCH or more; events with the same time stay together."""
    batch: list[Row] = []
    for event in events:
        if len(batch) >= reader.BATCH and batch[-1]["at"] != event["at"]:
            yield batch
            batch = []
        batch.append(event)
    if batch:
        yield batch


def _happen(events: Sequence[Row], queries: Queries) -> int:
    """Add the events that occur more often in the file than here; return how many."""
    stored = queries.all("imports.events", times=listed(event["at"] for event in events))
    there = Counter({(row["at"], row["operation"], row["subject"]): row["number"] for row in stored})
    new = []
    for event in events:
        key = (event["at"], event["operation"], event["subject"])
        there[key] -= 1  # events have no ids: equal ones are counted
        if there[key] < 0:
            new.append(event)
    rows.put(queries, "events", new)
    return len(new)


def _other_type(record: Row, there: Entity | None) -> str:
    """Return a remark if an entity here keeps another type than that of the file; '' if not."""
    if there is None or record["deleted_at"] or UNKNOWN in (there.type, record["type"]) or record["type"] == there.type:
        return ""
    kept = f"keeps the type {there.type[:100]!r}, instead of {record['type'][:100]!r}"
    return f"The entity {record['name'][:100]!r} already exists and {kept}."


def _differs(bundle: Bundle, there: Row) -> bool:
    return (bundle.record["body"], bundle.record["session_id"]) != (there["body"], there["session_id"])


def _renamed(queries: Queries, bundle: Bundle) -> list[Bundle]:
    """Return a turn whose id is taken, with the next free id; nothing if an equal turn already has such an id."""
    number = 2
    while known := queries.one("journal.known", id=f"{bundle.id}-{number}"):
        if not known["deleted_at"] and not _differs(bundle, known):
            return []
        number += 1
    name = {"id": f"{bundle.id}-{number}"}
    return [replace(bundle, record=bundle.record | name, detail=bundle.detail | name)]


def _edge(row: Row) -> tuple[str, str, str]:
    return row["from_entity"], row["to_entity"], row["relation_type"]
