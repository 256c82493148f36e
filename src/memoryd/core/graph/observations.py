"""Observations: facts about an entity, each with an ordinal that is never changed or reused."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NotRequired

from typing_extensions import TypedDict

from memoryd.core.base.results import WholeList, without_empty
from memoryd.core.graph.names import LookedUp, demand, look_up
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.security.secrets import cleaned, matched
from memoryd.errors import NotFoundError
from memoryd.model import Entity, Kind, Observation, Record
from memoryd.store.base import Queries, Row, number_of, of_row

READ_AT_ONCE = 100


class ShownObservation(TypedDict):
    """An observation of a node."""

    ordinal: int
    content: str


class StoredObservation(ShownObservation):
    """A new observation."""

    id: str
    created_at: str


class NodeAdditions(TypedDict):
    """The observations added to a node; none if it was not found."""

    entity_name: str
    added: list[StoredObservation]
    already_existed: NotRequired[list[str]]
    """The texts that were left out because the node has equal ones; absent if none was."""
    not_found: bool
    did_you_mean: NotRequired[list[str]]
    """If it was not found, the nodes whose names differ only in case, blanks, `-` or `_`; absent if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Observations of one entity to delete, by ordinal or by text."""

    entity: str
    ordinals: tuple[int, ...] = ()
    contents: tuple[str, ...] = ()


class ReplacedObservation(TypedDict):
    """The old and the new text of an observation."""

    entity_name: str
    ordinal: int
    old_content: str
    new_content: str


class DeletedFromNode(TypedDict):
    """The observations deleted from a node, and those that were not found."""

    entity_name: str
    deleted_ordinals: list[int]
    not_found_ordinals: list[int]
    not_found_observations: list[str]


class DeletedObservations(TypedDict):
    """The deleted observations, in the order of the arguments."""

    deleted_count: int
    result: list[DeletedFromNode]


def of(queries: Queries, entity_ids: Sequence[str]) -> dict[str, list[Observation]]:
    """Return the observations of each entity by its id, ordered by ordinal."""
    found: dict[str, list[Observation]] = {key: [] for key in entity_ids}
    for row in queries.all("observations.of", entities=json.dumps(list(found))):
        found[row["entity_id"]].append(observation(row))
    return found


def each_onward(queries: Queries, entity_ids: Sequence[str]) -> dict[str, Iterator[Observation]]:
    """Return the observations of each entity by its id, as `onward` yields them; their first are read together."""
    rows = queries.all("observations.first", entities=json.dumps(list(entity_ids)), limit=READ_AT_ONCE)
    first = {key: list(of) for key, of in groupby(rows, key=itemgetter("entity_id"))}
    return {key: onward(queries, key, first=first.get(key, [])) for key in entity_ids}


def onward(
    queries: Queries, entity_id: str, ordinal: int = 0, at_once: int = READ_AT_ONCE, first: list[Row] | None = None
) -> Iterator[Observation]:
    """Yield the observations of an entity from an ordinal on, read `at_once` at a time, unless the `first` are."""
    page = partial(queries.all, "observations.onward", entity=entity_id, limit=at_once)
    rows = page(ordinal=ordinal) if first is None else first
    while rows:
        yield from map(observation, rows)
        rows = page(ordinal=rows[-1]["ordinal"] + 1) if len(rows) == at_once else []


def latest(queries: Queries, entity_id: str, limit: int) -> list[Observation]:
    """Return the last observations of an entity, ordered by ordinal."""
    rows = queries.all("observations.latest", entity=entity_id, limit=limit)
    return [observation(row) for row in reversed(rows)]


def counts(queries: Queries, entity_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of observations of each entity, by its id."""
    rows = queries.all("observations.count", entities=json.dumps(list(entity_ids)))
    return dict.fromkeys(entity_ids, 0) | {row["entity_id"]: row["number"] for row in rows}


def observation(row: Row) -> Observation:
    """Build an Observation from a row of id, ordinal, body and times."""
    return of_row(Observation, row, content=row["body"])


def shown(of: Observation) -> ShownObservation:
    """Return an observation as tools show it."""
    return {"ordinal": of.ordinal, "content": of.content}


def text(name: str, content: str) -> str:
    """Return the text from which an observation alone is embedded."""
    return records.text_of(Kind.OBSERVATION, name, "", content)


def append(
    change: Change, entity: Entity, contents: Sequence[str], vectors: Mapping[str, Embedded]
) -> list[Observation]:
    """Add observations at the next ordinals of an entity, within a change; return them."""
    if not contents:
        return []
    change.touch([entity.id])
    made = []
    for ordinal, content in enumerate(contents, next_ordinal(change.queries, entity.id, len(contents))):
        one = Observation(
            id=records.new_id(), ordinal=ordinal, content=content, created_at=change.now, updated_at=change.now
        )
        record = Record(id=one.id, kind=Kind.OBSERVATION, name=entity.name, body=content, session_id=change.session_id)
        change.write(record, vectors)
        change.queries.run("observations.add", entity=entity.id, ordinal=ordinal, id=one.id)
        made.append(one)
    return made


def next_ordinal(queries: Queries, entity_id: str, count: int = 1) -> int:
    """Take the next ordinals of an entity; return the first of them."""
    return number_of(queries, "observations.number", entity=entity_id, count=count)


def same(queries: Queries, entity_ids: Iterable[str], contents: Iterable[str]) -> dict[str, set[str]]:
    """Return which of these texts each entity already has as observations, by its id."""
    found: dict[str, set[str]] = {key: set() for key in entity_ids}
    texts = json.dumps(list(dict.fromkeys(contents)), ensure_ascii=False)
    for row in queries.all("observations.same", entities=json.dumps(list(found)), contents=texts):
        found[row["entity_id"]].add(row["body"])
    return found


@cleaned
def add(graph: Graph, wanted: Sequence[tuple[str, Sequence[str]]]) -> WholeList[NodeAdditions]:
    """Append the observations that entities lack; return them, the others, and the names that were not found.

    So a call can safely be repeated.
    """
    vectors = graph.passages(graph.read(lambda q: _texts(q, wanted)))

    def work(change: Change) -> list[NodeAdditions]:
        known, present = looked_up(change.queries, wanted)
        made = []
        for name, contents in wanted:
            one = known.found.get(name)
            before = present[one.id] if one else set()
            new = [content for content in dict.fromkeys(contents) if content not in before] if one else []
            added: NodeAdditions = {
                "entity_name": one.name if one else name,
                "added": [
                    {**shown(made), "id": made.id, "created_at": made.created_at}
                    for made in (append(change, one, new, vectors) if one else ())
                ],
                # each once, however often it was given
                "already_existed": list(Counter(contents) - Counter(new)) if one else [],
                "not_found": one is None,
                "did_you_mean": known.similar.get(name, []),
            }
            before.update(new)
            made.append(without_empty(added, "already_existed", "did_you_mean"))
        return made

    return {"result": graph.change(work)}


def looked_up(queries: Queries, wanted: Sequence[tuple[str, Sequence[str]]]) -> tuple[LookedUp, dict[str, set[str]]]:
    """Return the entities, and which of the texts each already has, by id."""
    known = look_up(queries, [name for name, _ in wanted])
    ids = [one.id for one in known.found.values()]
    return known, same(queries, ids, [content for _, contents in wanted for content in contents])


def _texts(queries: Queries, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the texts that `add` will embed."""
    known, present = looked_up(queries, wanted)
    found = ((known.found[name], contents) for name, contents in wanted if name in known.found)
    return [
        text(one.name, content) for one, contents in found for content in contents if content not in present[one.id]
    ]


@cleaned
def replace(graph: Graph, name: str, ordinal: int, content: str, seen: str = "") -> ReplacedObservation:
    """Replace the text of an observation; return the old and the new one.

    Raise NotFoundError for an unknown node or ordinal, ChangedMeanwhileError if it was changed after it was `seen`.
    """
    vectors = graph.passages([text(name, content)])

    def work(change: Change) -> ReplacedObservation:
        (entity,) = demand(change.queries, name)
        existing = next(onward(change.queries, entity.id, ordinal, at_once=1), None)
        if existing is None or existing.ordinal != ordinal:
            raise NotFoundError(
                f"Node {name!r} has no observation {ordinal}. List its observations and their ordinals with open_nodes."
            )
        records.demand_unchanged(existing.updated_at, seen)
        records.change(change.queries, existing.id, content, (), vectors.get(text(entity.name, content)), change.now)
        change.touch([entity.id])
        change.lacking.add(existing.id)
        return {"entity_name": entity.name, "ordinal": ordinal, "old_content": existing.content, "new_content": content}

    return graph.change(work)


@matched
def delete(graph: Graph, deletions: Sequence[Deletion]) -> DeletedObservations:
    """Mark observations as deleted, by ordinal or by text (all equal ones). Raise NotFoundError for an unknown node."""

    def work(change: Change) -> list[DeletedFromNode]:
        entities = demand(change.queries, *(deletion.entity for deletion in deletions))
        return [_remove(change, entity, deletion) for entity, deletion in zip(entities, deletions, strict=True)]

    gone = graph.change(work)
    graph.engine.purge_if_at_once(graph.workspace)
    return {"deleted_count": sum(len(one["deleted_ordinals"]) for one in gone), "result": gone}


def _remove(change: Change, entity: Entity, deletion: Deletion) -> DeletedFromNode:
    by_ordinal = {observation.ordinal: observation for observation in of(change.queries, [entity.id])[entity.id]}
    gone = [
        observation
        for observation in by_ordinal.values()
        if observation.ordinal in deletion.ordinals or observation.content in deletion.contents
    ]
    if gone:
        records.delete(change.queries, [observation.id for observation in gone], change.now)
        change.touch([entity.id])
    contents = {observation.content for observation in gone}
    return {
        "entity_name": entity.name,
        "deleted_ordinals": [observation.ordinal for observation in gone],
        "not_found_ordinals": [n for n in dict.fromkeys(deletion.ordinals) if n not in by_ordinal],
        "not_found_observations": [c for c in dict.fromkeys(deletion.contents) if c not in contents],
    }
