"""Cursor pagination of the whole graph: each part is on exactly one page, even if the graph changes meanwhile."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from memoryd.core.graph import observations, relations
from memoryd.core.graph.transaction import entity
from memoryd.errors import InvalidInputError
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries

READ_AT_ONCE = 10  # entities, with their first observations and relations

GraphPart = Entity | Observation | Relation

_CURSOR = re.compile(r"([0-9]{1,18})\|([0-9TZ:.-]*)\|([0-9a-f-]*)\|(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PagePosition:
    """Where reading continues: a node, an ordinal, and a relation by its time and id.

    Adding or deleting other parts does not change it.
    """

    name: str = ""
    ordinal: int = 0
    made: str = ""
    relation: str = ""

    @classmethod
    def parse(cls, cursor: str | None) -> "PagePosition":
        """Return the position of a cursor, or the beginning without one; raise InvalidInputError if it is malformed."""
        if cursor is None:
            return cls()
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise InvalidInputError(
                f"{cursor[:50]!r} is not a cursor. Pass next_cursor of the previous page, or omit it to start at the "
                "beginning."
            )
        ordinal, made, relation, name = found.groups()
        return cls(name, int(ordinal), made, relation)

    def __str__(self) -> str:
        return f"{self.ordinal}|{self.made}|{self.relation}|{self.name}"


def parts(queries: Queries, start: PagePosition) -> Iterator[tuple[PagePosition, GraphPart]]:
    """Yield everything from a position on, each part with its own position.

    Nodes are ordered by name; each is followed by its observations, then by the relations that begin there. If the
    position is within a node, that node is yielded again.
    """
    for nodes in _nodes(queries, start.name):
        ids = [one.id for one in nodes if one.name != start.name]
        observed = cache(lambda ids=tuple(ids): observations.each_onward(queries, ids))  # read once it is needed
        related = cache(lambda ids=tuple(ids): relations.each_onward(queries, ids))
        for one in nodes:
            begun = one.name == start.name
            place = start if begun else PagePosition(one.name)
            yield place, one
            for observation in observations.onward(queries, one.id, place.ordinal) if begun else observed()[one.id]:
                yield replace(place, ordinal=observation.ordinal), observation
                place = replace(place, ordinal=observation.ordinal + 1)
            for relation in (
                relations.onward(queries, one.id, place.made, place.relation) if begun else related()[one.id]
            ):
                yield replace(place, made=relation.created_at, relation=relation.id), relation


def _nodes(queries: Queries, start: str) -> Iterator[list[Entity]]:
    """Yield the nodes from a name on, some at a time."""
    while rows := queries.all("entities.page", start=start, limit=READ_AT_ONCE + 1):
        yield [entity(row) for row in rows[:READ_AT_ONCE]]
        if len(rows) <= READ_AT_ONCE:
            return
        start = rows[-1]["name"]
