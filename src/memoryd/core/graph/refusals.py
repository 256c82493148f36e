"""Pairs of alike nodes that somebody wants to stay two: they are not proposed as one any more."""

from dataclasses import dataclass

from memoryd.core.graph.transaction import Graph, demand
from memoryd.core.records import records
from memoryd.errors import InvalidInputError
from memoryd.store.base import Queries


@dataclass(frozen=True, slots=True)
class RefusedPair:
    """Two living nodes that stay two, and who wants that since when, as far as that is known."""

    one_id: str
    other_id: str
    one: str
    other: str
    at: str
    client: str
    tool: str


def refused(graph: Graph) -> list[RefusedPair]:
    """Return the pairs that are refused, the last first."""
    return [RefusedPair(**row) for row in graph.read(lambda q: q.all("acts.refused"))]


def refuse(graph: Graph, one: str, other: str) -> None:
    """Let two nodes stay two, also under other names. Raise NotFoundError, or InvalidInputError for one node."""
    _sign(graph, "refuse_pair", one, other)


def take_back(graph: Graph, one: str, other: str) -> None:
    """Undo a refusal: the two may be proposed as one again. Raise like `refuse`."""
    _sign(graph, "unrefuse_pair", one, other)


def _sign(graph: Graph, operation: str, *names: str) -> None:
    def work(queries: Queries) -> None:
        one, other = sorted(node.id for node in demand(queries, *names))
        if one == other:
            raise InvalidInputError("A node is not alike to itself.")
        records.sign(queries, operation, one, graph.engine.clock.now(), other)

    graph.scope.write(work)
