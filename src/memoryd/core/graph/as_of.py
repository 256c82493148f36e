"""The graph at a time: its nodes with what was about them then."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoryd.core.graph.observations import observation
from memoryd.core.graph.relations import relation
from memoryd.core.graph.transaction import entity
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries


@dataclass(frozen=True, slots=True)
class Nodes:
    """Entities as they were, by name; what was observed of each, by id; the relations of them all."""

    entities: Mapping[str, Entity]
    observations: Mapping[str, Sequence[Observation]]
    relations: Sequence[Relation]


def nodes(queries: Queries, names: Sequence[str], time: str) -> Nodes:
    """The entities of some names at a time, with what was about them."""
    rows = queries.all("past.entities", names=json.dumps(list(names), ensure_ascii=False), at=time)
    entities = {row["name"]: entity(row) for row in rows}
    ids = json.dumps([one.id for one in entities.values()])
    observed: dict[str, list[Observation]] = {one.id: [] for one in entities.values()}
    for row in queries.all("past.observations", entities=ids, at=time):
        observed[row["entity_id"]].append(observation(row))
    return Nodes(entities, observed, [relation(row) for row in queries.all("past.relations", entities=ids, at=time)])
