"""The graph as it was at a time: nodes with their observations and relations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoryd.core.graph.names import composed
from memoryd.core.graph.observations import observation
from memoryd.core.graph.relations import relation
from memoryd.core.graph.transaction import Graph, entity
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries
from memoryd.text import containing


@dataclass(frozen=True, slots=True)
class Nodes:
    """Entities as they were at a time by the name asked for, their observations by entity id, their relations."""

    entities: Mapping[str, Entity]
    observations: Mapping[str, Sequence[Observation]]
    relations: Sequence[Relation]


def nodes(queries: Queries, names: Sequence[str], time: str) -> Nodes:
    """Return the entities that had these names at a time, with their observations and relations of that time."""
    wanted = json.dumps([*names, *map(composed, names)], ensure_ascii=False)
    there = {row["name"]: entity(row) for row in queries.all("past.entities", names=wanted, at=time)}
    meant = {name: there.get(name) or there.get(composed(name)) for name in names}
    entities = {name: one for name, one in meant.items() if one}
    ids = json.dumps([one.id for one in entities.values()])
    observed: dict[str, list[Observation]] = {one.id: [] for one in entities.values()}
    for row in queries.all("past.observations", entities=ids, at=time):
        observed[row["entity_id"]].append(observation(row))
    return Nodes(entities, observed, [relation(row) for row in queries.all("past.relations", entities=ids, at=time)])


def page(graph: Graph, time: str, words: str, start: str, limit: int) -> list[Entity]:
    """Return the entities as they were at a time whose name, type or summary contains a text, by name from `start`."""
    parameters = {"at": time, "words": containing(words), "start": start, "limit": limit}
    return [entity(row) for row in graph.read(lambda q: q.all("past.nodes", **parameters))]


def beginning(graph: Graph) -> str:
    """Return the creation time of the oldest entity that is still known; '' if there is none."""
    row = graph.read(lambda q: q.one("past.beginning"))
    return (row and row["at"]) or ""
