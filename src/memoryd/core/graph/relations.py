"""Relations: directed, typed edges between two entities, without duplicates."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

from typing_extensions import TypedDict

from memoryd.core.graph.names import Suggesting, demand, look_up
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.records.records import new_id
from memoryd.core.security.secrets import cleaned, matched
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Entity, Relation
from memoryd.store.base import Queries, Row, number_of, of_row

READ_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation, given by the names of its ends."""

    source: str
    target: str
    type: str


ShownRelation = TypedDict("ShownRelation", {"from": str, "to": str, "relation_type": str})
"""A relation, given by the names of its ends."""


class StoredRelation(ShownRelation):
    """A relation that exists."""

    id: str
    created_at: str


class CreatedRelations(Suggesting):
    """The new relations, those that already existed, and the names that were not found."""

    created: list[StoredRelation]
    already_existed: list[StoredRelation]
    not_found: list[str]


class DeletedRelations(Suggesting):
    """The numbers of relations that were deleted, and that were not found."""

    deleted: int
    not_found: int


class RetypedRelation(TypedDict):
    """A relation with its old and its new type."""

    from_entity: str
    to_entity: str
    old_type: str
    new_type: str


@cleaned
def create(graph: Graph, edges: Sequence[Edge]) -> CreatedRelations:
    """Create relations; leave out an edge with an unknown end, and return the names that were not found."""
    return graph.change(lambda change: put(change, edges))


def put(change: Change, edges: Sequence[Edge]) -> CreatedRelations:
    """Do the work of `create` within a change. The ends of existing relations are not touched."""
    known = look_up(change.queries, _ends(edges))
    found, edges = known.by_own_name(), _as_named(known.found, edges)
    existing = _find(change.queries, found, edges)
    new = [e for e in dict.fromkeys(edges) if e.source in found and e.target in found and e not in existing]
    change.relate(found[name].id for name in _ends(new))
    created = {edge: _put(change, found, edge, "create_relation") for edge in new}
    again = [edge for edge, number in Counter(edges).items() if number > 1 and edge in created]
    return {
        "created": list(map(_stored, created.values())),
        "already_existed": [*map(_stored, existing.values()), *(_stored(created[edge]) for edge in again)],
        "not_found": [name for name in dict.fromkeys(_ends(edges)) if name not in found],
        **known.suggested(),
    }


@matched
def delete(graph: Graph, edges: Sequence[Edge]) -> DeletedRelations:
    """Mark relations as deleted; return how many there were, each edge counted once."""

    def work(change: Change) -> DeletedRelations:
        known = look_up(change.queries, _ends(edges))
        found, wanted = known.by_own_name(), _as_named(known.found, edges)
        existing = _find(change.queries, found, wanted)
        change.relate(found[name].id for name in _ends(existing))
        remove(change, [relation.id for relation in existing.values()])
        return {"deleted": len(existing), "not_found": len(set(wanted)) - len(existing), **known.suggested()}

    gone = graph.change(work)
    graph.engine.purge_if_at_once(graph.workspace)
    return gone


def cut(change: Change, entity_ids: Sequence[str]) -> None:
    """Delete every relation of entities that are about to be deleted."""
    rows = change.queries.all("relations.of", ids=json.dumps(list(entity_ids)), limit=sys.maxsize)
    gone = set(entity_ids)
    change.relate({row[end] for row in rows for end in ("from_entity", "to_entity")} - gone)
    remove(change, [row["id"] for row in rows])


@cleaned
def rename(graph: Graph, edge: Edge, new_type: str) -> RetypedRelation:
    """Replace a relation by one of another type; return both types.

    Raise NotFoundError if it does not exist, InvalidInputError if a relation of the new type already exists.
    """

    def work(change: Change) -> None:
        source, target = demand(change.queries, edge.source, edge.target)
        found = {source.name: source, target.name: target}
        old, retyped = (Edge(source.name, target.name, kind) for kind in (edge.type, new_type))
        existing = _find(change.queries, found, [old, retyped])
        if old not in existing:
            raise NotFoundError(
                f"There is no relation {edge.source!r} {edge.type!r} {edge.target!r}. "
                "List the relations of the two nodes with get_relations_between."
            )
        if new_type == edge.type:
            return
        if retyped in existing:
            raise InvalidInputError(
                f"Relation {edge.source!r} {new_type!r} {edge.target!r} already exists. "
                "Delete one of the two with delete_relations instead."
            )
        change.relate([source.id, target.id])
        change.queries.run("relations.delete", ids=json.dumps([existing[old].id]), now=change.now)
        change.sign("update_relation", existing[old].id)
        _put(change, found, retyped, "update_relation")

    graph.change(work)
    return {"from_entity": edge.source, "to_entity": edge.target, "old_type": edge.type, "new_type": new_type}


def between(graph: Graph, one: str, other: str) -> list[Relation]:
    """Return the relations between two entities, in both directions; raise NotFoundError for an unknown name."""

    def work(queries: Queries) -> list[Relation]:
        first, second = demand(queries, one, other)
        return [relation(row) for row in queries.all("relations.between", one=first.id, other=second.id)]

    return graph.read(work)


def of(queries: Queries, entity_ids: Sequence[str], limit: int = sys.maxsize) -> list[Relation]:
    """Return the relations that begin or end at entities, ordered by creation."""
    return [relation(row) for row in queries.all("relations.of", ids=json.dumps(list(entity_ids)), limit=limit)]


def number(queries: Queries, entity_ids: Sequence[str]) -> int:
    """Return how many relations begin or end at entities."""
    return number_of(queries, "relations.number", ids=json.dumps(list(entity_ids)))


def each_onward(queries: Queries, entity_ids: Sequence[str]) -> dict[str, Iterator[Relation]]:
    """Return the relations that begin at each entity by its id, as `onward` yields them; the first together."""
    rows = queries.all("relations.first", entities=json.dumps(list(entity_ids)), limit=READ_AT_ONCE + 1)
    first = {key: list(of) for key, of in groupby(rows, key=itemgetter("from_entity"))}
    return {key: onward(queries, key, first=first.get(key, [])) for key in entity_ids}


def onward(
    queries: Queries, entity_id: str, made: str = "", relation_id: str = "", first: list[Row] | None = None
) -> Iterator[Relation]:
    """Yield the relations that begin at an entity, from a given one on or after the `first`, ordered by creation."""
    page = partial(queries.all, "relations.onward", entity=entity_id, limit=READ_AT_ONCE + 1)
    rows = page(made=made, relation=relation_id) if first is None else first
    while rows:
        yield from map(relation, rows[:READ_AT_ONCE])
        rows = page(made=rows[-1]["created_at"], relation=rows[-1]["id"]) if len(rows) > READ_AT_ONCE else []


def relation(row: Row) -> Relation:
    """Build a Relation from a row of id, source, target, relation_type and created_at."""
    return of_row(Relation, row, type=row["relation_type"])


def shown(of: Relation) -> ShownRelation:
    """Return a relation as tools show it: with the names of its ends."""
    return {"from": of.source, "to": of.target, "relation_type": of.type}


def _stored(of: Relation) -> StoredRelation:
    return {**shown(of), "id": of.id, "created_at": of.created_at}


def _as_named(found: Mapping[str, Entity], edges: Iterable[Edge]) -> list[Edge]:
    """Return edges with the names that the nodes of their ends have, as far as they were found."""
    own = {name: one.name for name, one in found.items()}
    return [replace(e, source=own.get(e.source, e.source), target=own.get(e.target, e.target)) for e in edges]


def _ends(edges: Iterable[Edge]) -> list[str]:
    return [name for edge in edges for name in (edge.source, edge.target)]


def _find(queries: Queries, found: Mapping[str, Entity], edges: Iterable[Edge]) -> dict[Edge, Relation]:
    """Return the existing relation of each edge that has one, in the order of the edges."""
    whole = [edge for edge in dict.fromkeys(edges) if edge.source in found and edge.target in found]
    ids = [(found[edge.source].id, found[edge.target].id, edge.type) for edge in whole]
    sources, targets = ({key[end] for key in ids} for end in (0, 1))
    rows = queries.all("relations.find", sources=json.dumps(list(sources)), targets=json.dumps(list(targets)))
    by_key = {(row["from_entity"], row["to_entity"], row["relation_type"]): row for row in rows}
    return {
        edge: Relation(**asdict(edge), id=by_key[key]["id"], created_at=by_key[key]["created_at"])
        for edge, key in zip(whole, ids, strict=True)
        if key in by_key
    }


def _put(change: Change, found: dict[str, Entity], edge: Edge, operation: str) -> Relation:
    """Write a relation, and an event with this operation."""
    made = Relation(**asdict(edge), id=new_id(), created_at=change.now)
    ends = {"source": found[edge.source].id, "target": found[edge.target].id}
    change.queries.run("relations.add", id=made.id, **ends, type=edge.type, now=change.now)
    change.note(operation, made.id)
    return made


def remove(change: Change, ids: Sequence[str]) -> None:
    """Mark relations as deleted, within a change that already has their ends in `relate`."""
    change.queries.run("relations.delete", ids=json.dumps(ids), now=change.now)
    for relation_id in ids:
        change.note("delete_relation", relation_id)
        change.sign("delete_relation", relation_id)
