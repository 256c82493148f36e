"""What answers show of the graph: the seeds' JSON of nodes, observations and relations, as much as a budget holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.core.base.token_budget import LIST_FRAME, Budget
from memoryd.core.graph import observations, relations
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries

RELATIONS_SHARE = 0.25  # of what the nodes leave, at most, before observations are shown

Json = dict[str, Any]

LEAST_FACT: Json = {"ordinal": 0, "content": "x"}
LEAST_EDGE: Json = {"from": "x", "to": "x", "relation_type": "x"}
"""The shortest there can be: by them one knows how much there is to read at most."""


def head(of: Entity) -> Json:
    """A node itself."""
    return {
        "id": of.id, "name": of.name, "entity_type": of.type, "summary": of.summary, "tags": list(of.tags),
        "created_at": of.created_at, "updated_at": of.updated_at,
    }  # fmt: skip


def brief(of: Entity) -> Json:
    """A node in a list."""
    return {
        "name": of.name, "entity_type": of.type, "summary": of.summary, "tags": list(of.tags),
        "updated_at": of.updated_at,
    }  # fmt: skip


def fact(of: Observation) -> Json:
    """An observation."""
    return {"ordinal": of.ordinal, "content": of.content}


def edge(of: Relation) -> Json:
    """A relation."""
    return {"from": of.source, "to": of.target, "relation_type": of.type}


def listed(parts: Sequence[Json], tokens: int, total: int | None = None) -> Json:
    """A list, cut off where the budget ends; `total`: how long it is, where these are only its first parts."""
    budget = Budget(tokens, LIST_FRAME)
    shown = budget.fill(parts)
    return {"result": shown, "omitted": (len(parts) if total is None else total) - len(shown)}


@dataclass(frozen=True, slots=True)
class Ends:
    """The relations that begin or end at some nodes: where they go, and how many there are."""

    ids: Sequence[str]
    shown: list[Json]
    number: int

    @classmethod
    def of(cls, queries: Queries, ids: Sequence[str], shown: list[Json]) -> "Ends":
        """Counted, and none of them shown yet."""
        return cls(ids, shown, relations.number(queries, ids))

    def fill(self, queries: Queries, budget: Budget, share: float = 1.0) -> None:
        """Show more of them, as many as fit, in the order in which they were made."""
        limit = min(budget.at_most(LEAST_EDGE, share), self.number - len(self.shown))
        if limit:
            found = relations.of(queries, self.ids, len(self.shown) + limit)
            self.shown.extend(budget.fill(map(edge, found[len(self.shown) :]), share))


def fill(queries: Queries, nodes: Mapping[str, Json], every: Sequence[Ends], budget: Budget) -> None:
    """Show relations up to their share, then the observations of nodes by id, then the relations that still fit."""
    share = budget.beyond(RELATIONS_SHARE)
    for ends in every:
        ends.fill(queries, budget, share)
    for key, node in nodes.items():
        node["observations"] = budget.fill(_facts(queries, key, budget))
        node["observations_omitted"] -= len(node["observations"])
    for ends in every:
        ends.fill(queries, budget)


def _facts(queries: Queries, entity_id: str, budget: Budget) -> Iterator[Json]:
    if limit := min(budget.at_most(LEAST_FACT), observations.READ_AT_ONCE):
        yield from map(fact, observations.onward(queries, entity_id, at_once=limit))


def omitted(nodes: Sequence[Json], found: int, every: Sequence[Ends]) -> dict[str, int]:
    """How much of each was found and is not shown: of so many nodes, and of what is about those that are shown."""
    return {
        "entities": found - len(nodes),
        "observations": sum(node["observations_omitted"] for node in nodes),
        "relations": sum(ends.number - len(ends.shown) for ends in every),
    }
