"""Refused proposals: pairs of nodes that a person wants neither merged nor related, so they are not proposed again."""

from dataclasses import dataclass
from typing import Literal

from memoryd.core.graph.names import demand
from memoryd.core.graph.transaction import Graph
from memoryd.core.records import records
from memoryd.core.records.client_names import client_name
from memoryd.core.security.secrets import matched
from memoryd.errors import InvalidInputError
from memoryd.store.base import Queries

NodeProposal = Literal["pair", "gap"]
"""The proposals about two nodes: that they are the same, or that a relation is missing between them."""


@dataclass(frozen=True, slots=True)
class RefusedPair:
    """Two living nodes with a refused proposal, and when and by whom it was refused, as far as that is known."""

    one_id: str
    other_id: str
    one: str
    other: str
    at: str
    client: str
    tool: str
    what: NodeProposal


def refused(graph: Graph, what: NodeProposal) -> list[RefusedPair]:
    """Return the pairs for which this proposal is refused, latest first."""
    operations = {"operation": f"refuse_{what}", "taken_back": f"unrefuse_{what}"}
    rows = graph.read(lambda q: q.all("acts.refused", **operations))
    return [RefusedPair(**row | {"client": client_name(row["client"]), "what": what}) for row in rows]


@matched
def refuse(graph: Graph, what: NodeProposal, one: str, other: str, *, again: bool = False) -> None:
    """Refuse a proposal about two nodes, even if they are renamed; with `again`, let it be made again.

    Raise NotFoundError; InvalidInputError if both are the same.
    """
    operation = f"unrefuse_{what}" if again else f"refuse_{what}"

    def work(queries: Queries) -> None:
        first, second = sorted(node.id for node in demand(queries, one, other))
        if first == second:
            raise InvalidInputError("A refusal needs two different nodes.")
        records.sign(queries, operation, first, graph.engine.clock.now(), second)

    graph.scope.write(work)
