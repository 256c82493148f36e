"""Paths and neighborhoods: breadth-first search along relations in both directions."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from typing_extensions import TypedDict

from memoryd.core.graph import relations
from memoryd.core.graph.entities import BriefNode, brief
from memoryd.core.graph.names import by_id, demand
from memoryd.core.graph.relations import ShownRelation
from memoryd.core.graph.transaction import Graph, entity
from memoryd.errors import InvalidInputError
from memoryd.model import Entity, Relation
from memoryd.store.base import Queries

DEEPEST = 6  # maximum hops; in most graphs they reach every node


class ShownPath(TypedDict):
    """The names on a path in order, and the relations of each hop."""

    found: bool
    path: list[str]
    relations: list[ShownRelation]
    """All relations of each hop, in both directions, ordered by hop."""


def neighborhood(graph: Graph, name: str, depth: int = 1) -> tuple[list[Entity], list[Relation]]:
    """Return all nodes within `depth` hops by distance and name, and all relations between them by creation.

    Raise NotFoundError, or InvalidInputError unless `depth` is 1 to 6.
    """
    if not 1 <= depth <= DEEPEST:
        raise InvalidInputError(f"A depth of {depth} is out of range: it must be 1 to {DEEPEST} hops.")

    def work(queries: Queries) -> tuple[list[Entity], list[Relation]]:
        (centre,) = demand(queries, name)
        distances = _distances(queries, centre, depth)
        found = sorted(by_id(queries, distances).values(), key=lambda one: (distances[one.id], one.name))
        return found, _among(queries, found)

    return graph.read(work)


def path(graph: Graph, source: str, target: str) -> ShownPath:
    """Return a shortest path between two nodes, of any length; raise NotFoundError for an unknown name.

    Among equally short paths it is the first by the names of its nodes, from the source on.
    """

    def work(queries: Queries) -> ShownPath:
        start, end = demand(queries, source, target)
        here, there = _Side(start.id), _Side(end.id)
        while not (meeting := here.frontier & there.frontier):
            if not here.frontier or not there.frontier:
                return {"found": False, "path": [], "relations": []}
            min(here, there, key=lambda side: len(side.frontier)).advance(queries)
        way = _walk(queries, start, end, _onward(here, there, meeting))
        hops = list(map(relations.shown, _hops(queries, way)))
        return {"found": True, "path": [node.name for node in way], "relations": hops}

    return graph.read(work)


def orphans(graph: Graph) -> list[BriefNode]:
    """Return the nodes without relations, the last changed first."""
    return [brief(entity(row)) for row in graph.read(lambda q: q.all("entities.orphans"))]


class _Side:
    """The nodes reached from one end of a path, each with its predecessors on shortest paths."""

    def __init__(self, start: str) -> None:
        self.before: dict[str, set[str]] = {start: set()}
        self.frontier = {start}

    def advance(self, queries: Queries) -> None:
        """Advance the frontier by one hop."""
        level: defaultdict[str, set[str]] = defaultdict(set)
        for here, there in _steps(queries, self.frontier):
            if there not in self.before:
                level[there].add(here)
        self.before |= level
        self.frontier = set(level)


def _onward(here: _Side, there: _Side, meeting: set[str]) -> Mapping[str, set[str]]:
    """Return the successors of each node on shortest paths, by reversing `here` from where both sides met."""
    onward = dict(there.before)
    level = meeting
    while level:
        earlier: defaultdict[str, set[str]] = defaultdict(set)
        for node in level:
            for before in here.before[node]:
                earlier[before].add(node)
        onward |= earlier
        level = set(earlier)
    return onward


def _walk(queries: Queries, start: Entity, end: Entity, onward: Mapping[str, set[str]]) -> list[Entity]:
    way = [start]
    while way[-1].id != end.id:
        way.append(min(by_id(queries, onward[way[-1].id]).values(), key=lambda one: one.name))
    return way


def _hops(queries: Queries, way: Sequence[Entity]) -> list[Relation]:
    """Return the relations along a shortest path. Other relations among its nodes can only be loops."""
    place = {node.name: number for number, node in enumerate(way)}
    along = [relation for relation in _among(queries, way) if relation.source != relation.target]
    return sorted(along, key=lambda relation: min(place[relation.source], place[relation.target]))


def _distances(queries: Queries, centre: Entity, depth: int) -> dict[str, int]:
    distances = {centre.id: 0}
    frontier: Collection[str] = [centre.id]
    for distance in range(1, depth + 1):
        frontier = {there for _, there in _steps(queries, frontier) if there not in distances}
        distances |= dict.fromkeys(frontier, distance)
    return distances


def _steps(queries: Queries, ids: Collection[str]) -> list[tuple[str, str]]:
    return [(row["here"], row["there"]) for row in queries.all("relations.beside", ids=json.dumps(list(ids)))]


def _among(queries: Queries, nodes: Sequence[Entity]) -> list[Relation]:
    names = {node.name for node in nodes}
    rows = queries.all("relations.starting", ids=json.dumps([node.id for node in nodes]))
    return [relations.relation(row) for row in rows if row["target"] in names]
