"""What is told of the graph within a token budget: nodes, their observations and relations, and what was left out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import Any

from memoryd.core import observations, relations
from memoryd.core.graph import Graph, entity, named
from memoryd.core.node_search import Match
from memoryd.errors import InvalidInputError
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries
from memoryd.text import CHARACTERS_PER_TOKEN

RELATIONS_SHARE = 0.25  # of the budget, at most, before observations are told
ALWAYS = 2  # parts of a page that are told whatever they cost: a node, and something of it
READ_AT_ONCE = 100  # entities that a reading of the whole graph fetches together

Json = dict[str, Any]


class Budget:
    """Tokens that an answer may take, as its JSON; 0 is no limit."""

    def __init__(self, tokens: int) -> None:
        self._limit = tokens * CHARACTERS_PER_TOKEN if tokens else None
        self._spent = 0

    @property
    def used(self) -> int:
        """Tokens taken so far."""
        return -(-self._spent // CHARACTERS_PER_TOKEN)

    def take(self, part: object, share: float = 1.0) -> bool:
        """Take what a part costs, if that much of this share of the budget is left."""
        cost = len(json.dumps(part, ensure_ascii=False)) + 2  # with its separator
        if self._limit is not None and self._spent + cost > share * self._limit:
            return False
        self._spent += cost
        return True

    def fill(self, parts: Iterable[Json], share: float = 1.0) -> list[Json]:
        """The first parts, as many as fit."""
        return list(takewhile(lambda part: self.take(part, share), parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """How much of each was found and not told."""

    entities: int = 0
    observations: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Nodes and relations that fit, in the seeds' shapes."""

    entities: list[Json]
    relations: list[Json]
    not_found: list[str] = field(default_factory=list)
    omitted: Omitted = field(default_factory=Omitted)
    tokens_used: int = 0
    cursor: str | None = None
    """Where the next page of the whole graph begins."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The first of a list that fit, and how many did not."""

    result: list[Json]
    omitted: int
    tokens_used: int


def listed(parts: Iterable[Json], tokens: int) -> Listed:
    """A list, cut off where the budget ends."""
    every, budget = list(parts), Budget(tokens)
    told = budget.fill(every)
    return Listed(told, len(every) - len(told), budget.used)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes and the relations between them that fit, and how many of each did not."""

    nodes: list[Json]
    relations: list[Json]
    omitted: dict[str, int]
    tokens_used: int


def subgraph(nodes: Sequence[Entity], edges: Sequence[Relation], tokens: int) -> Subgraph:
    """Nodes, then the relations between those that are told."""
    budget = Budget(tokens)
    told = budget.fill(map(brief, nodes))
    names = {one["name"] for one in told}
    between = budget.fill(edge(one) for one in edges if {one.source, one.target} <= names)
    omitted = {"nodes": len(nodes) - len(told), "relations": len(edges) - len(between)}
    return Subgraph(told, between, omitted, budget.used)


def head(of: Entity) -> Json:
    """What is told of a node itself."""
    return {
        "id": of.id, "name": of.name, "entity_type": of.type, "summary": of.summary, "tags": list(of.tags),
        "created_at": of.created_at, "updated_at": of.updated_at,
    }  # fmt: skip


def brief(of: Entity) -> Json:
    """What is told of a node in a list."""
    return {
        "name": of.name, "entity_type": of.type, "summary": of.summary, "tags": list(of.tags),
        "updated_at": of.updated_at,
    }  # fmt: skip


def edge(of: Relation) -> Json:
    """What is told of a relation."""
    return {"from": of.source, "to": of.target, "relation_type": of.type}


def fact(of: Observation) -> Json:
    """What is told of an observation."""
    return {"ordinal": of.ordinal, "content": of.content}


def opened(graph: Graph, names: Sequence[str], tokens: int) -> Page:
    """Nodes by name with their observations, and every relation that begins or ends at one of them."""
    budget = Budget(tokens)

    def work(queries: Queries) -> Page:
        found = named(queries, names)
        wanted = list(dict.fromkeys(names))
        told = _heads({found[name].id: head(found[name]) for name in wanted if name in found}, budget)
        edges: list[Json] = []
        parts = [(edges, [edge(one) for one in relations.of(queries, list(told))])]
        omitted = _packed(told, parts, observations.of(queries, list(told)), budget)
        return Page(
            entities=list(told.values()),
            relations=edges,
            not_found=[name for name in wanted if name not in found],
            omitted=replace(omitted, entities=len(found) - len(told)),
            tokens_used=budget.used,
        )

    return graph.read(work)


def matched(graph: Graph, matches: Sequence[Match], tokens: int) -> Page:
    """Nodes that a search has found, best first, each with why, its observations and its relations."""
    budget = Budget(tokens)

    def work(queries: Queries) -> Page:
        told = _heads({match.entity.id: _match(match) for match in matches}, budget)
        every = relations.of(queries, list(told))
        parts = [
            (one["relations"], [edge(of) for of in every if one["name"] in (of.source, of.target)])
            for one in told.values()
        ]
        omitted = _packed(told, parts, observations.of(queries, list(told)), budget)
        return Page(
            entities=list(told.values()),
            relations=[],
            omitted=replace(omitted, entities=len(matches) - len(told)),
            tokens_used=budget.used,
        )

    return graph.read(work)


def _match(match: Match) -> Json:
    return head(match.entity) | {
        "matched_observation": match.observation, "matched_perspective": match.perspective,
        "score": round(match.score, 4), "relations": [],
    }  # fmt: skip


def _heads(nodes: Mapping[str, Json], budget: Budget) -> dict[str, Json]:
    """The nodes that fit, as yet without observations."""
    empty = {key: node | {"observations": [], "observations_omitted": 0} for key, node in nodes.items()}
    return {key: node for key, node in empty.items() if budget.take(node)}


def _packed(
    told: Mapping[str, Json],
    edges: Sequence[tuple[list[Json], list[Json]]],
    about: Mapping[str, Sequence[Observation]],
    budget: Budget,
) -> Omitted:
    """Fill in relations up to their share, then observations node by node, then the relations that still fit.

    `edges`: where some relations go, and those that should.
    """
    for into, wanted in edges:
        into.extend(budget.fill(wanted, RELATIONS_SHARE))
    for key, node in told.items():
        node["observations"] = budget.fill(map(fact, about[key]))
        node["observations_omitted"] = len(about[key]) - len(node["observations"])
    for into, wanted in edges:
        into.extend(budget.fill(wanted[len(into) :]))
    return Omitted(
        observations=sum(node["observations_omitted"] for node in told.values()),
        relations=sum(len(wanted) - len(into) for into, wanted in edges),
    )


# the whole graph -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reading of the graph has come to: a node, and how many of its observations and relations are told."""

    name: str = ""
    observations: int = 0
    relations: int = 0

    @classmethod
    def parse(cls, cursor: str | None) -> "Place":
        """From a cursor. Raises InvalidInputError."""
        if cursor is None:
            return cls()
        told, _, name = cursor.partition(":")
        numbers = told.split(".")
        if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers) or not name:
            raise InvalidInputError(
                f"{cursor[:50]!r} is no cursor. Take next_cursor of the page before, or leave it out to begin anew."
            )
        return cls(name, int(numbers[0]), int(numbers[1]))

    def __str__(self) -> str:
        return f"{self.observations}.{self.relations}:{self.name}"


def whole(graph: Graph, tokens: int, cursor: str | None = None) -> Page:
    """The graph, node by node in the order of names, each with the relations that begin there, from a cursor on.

    Every observation and relation is told on exactly one page. A node that is too large for one goes on on the next.
    """
    start = Place.parse(cursor)
    budget = Budget(tokens)

    def work(queries: Queries) -> Page:
        page = Page(entities=[], relations=[])
        for number, (place, part) in enumerate(_parts(queries, start)):
            told = head(part) | {"observations": []} if isinstance(part, Entity) else _told(part)
            if not budget.take(told) and number >= ALWAYS:
                return replace(page, tokens_used=budget.used, cursor=str(place))
            match part:
                case Entity():
                    page.entities.append(told)
                case Observation():
                    page.entities[-1]["observations"].append(told)
                case Relation():
                    page.relations.append(told)
        return replace(page, tokens_used=budget.used)

    return graph.read(work)


def _told(part: Observation | Relation) -> Json:
    return fact(part) if isinstance(part, Observation) else edge(part)


def _parts(queries: Queries, start: Place) -> Iterator[tuple[Place, Entity | Observation | Relation]]:
    """Everything from a place on, each part with its own place."""
    for one, about, outgoing in _nodes(queries, start.name):
        first = start if one.name == start.name else Place(one.name)
        yield first, one
        for number, observation in enumerate(about[first.observations :], first.observations):
            yield Place(one.name, number, first.relations), observation
        for number, relation in enumerate(outgoing[first.relations :], first.relations):
            yield Place(one.name, len(about), number), relation


def _nodes(queries: Queries, start: str) -> Iterator[tuple[Entity, list[Observation], list[Relation]]]:
    """The nodes from a name on, with their observations and the relations that begin there."""
    while rows := queries.all("entities.page", start=start, limit=READ_AT_ONCE + 1):
        entities = [entity(row) for row in islice(rows, READ_AT_ONCE)]
        ids = [one.id for one in entities]
        about = observations.of(queries, ids)
        outgoing = relations.starting(queries, ids)
        yield from ((one, about[one.id], outgoing[one.id]) for one in entities)
        if len(rows) <= READ_AT_ONCE:
            return
        start = rows[-1]["name"]
