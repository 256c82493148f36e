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


def head(of: Entity) -> Json:
    """What is told of a node itself."""
    return {
        "id": of.id, "name": of.name, "entity_type": of.type, "summary": of.summary, "tags": list(of.tags),
        "created_at": of.created_at, "updated_at": of.updated_at,
    }  # fmt: skip


def edge(of: Relation) -> Json:
    """What is told of a relation."""
    return {"from": of.source, "to": of.target, "relation_type": of.type}


def fact(of: Observation) -> Json:
    """What is told of an observation."""
    return {"ordinal": of.ordinal, "content": of.content}


def opened(graph: Graph, names: Sequence[str], tokens: int) -> Page:
    """Nodes by name with their observations, and every relation that begins or ends at one of them."""

    def work(queries: Queries) -> Page:
        found = named(queries, names)
        wanted = list(dict.fromkeys(names))
        heads = {found[name].id: head(found[name]) for name in wanted if name in found}
        missing = [name for name in wanted if name not in found]
        return _packed(queries, heads, Budget(tokens), missing)

    return graph.read(work)


def matched(graph: Graph, matches: Sequence[Match], tokens: int) -> Page:
    """Nodes that a search has found, best first, each with why, its observations and its relations."""
    heads = {
        match.entity.id: head(match.entity)
        | {
            "matched_observation": match.observation,
            "matched_perspective": match.perspective,
            "score": round(match.score, 4),
        }
        for match in matches
    }
    page = graph.read(lambda q: _packed(q, heads, Budget(tokens), []))
    for one in page.entities:
        one["relations"] = [told for told in page.relations if one["name"] in (told["from"], told["to"])]
    return page


def _packed(queries: Queries, heads: Mapping[str, Json], budget: Budget, missing: list[str]) -> Page:
    """Heads first, then relations up to their share, then observations: node by node, in their order."""
    told = {key: one for key, one in heads.items() if budget.take(one)}
    edges = [edge(one) for one in relations.of(queries, list(told))]
    edges_told = budget.fill(edges, RELATIONS_SHARE)
    left_out = 0
    for key, about in observations.of(queries, list(told)).items():
        told[key]["observations"] = budget.fill(map(fact, about))
        told[key]["observations_omitted"] = len(about) - len(told[key]["observations"])
        left_out += told[key]["observations_omitted"]
    edges_told += budget.fill(edges[len(edges_told) :])
    return Page(
        entities=list(told.values()),
        relations=edges_told,
        not_found=missing,
        omitted=Omitted(entities=len(heads) - len(told), observations=left_out, relations=len(edges) - len(edges_told)),
        tokens_used=budget.used,
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
