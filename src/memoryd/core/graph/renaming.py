"""A node gets another name, or becomes one with another node."""

import json
from dataclasses import dataclass

from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Change, Graph, demand, named
from memoryd.core.records import records
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError
from memoryd.model import Entity

NAME = 500  # characters of a name that a node is given here; an imported one may be longer


@dataclass(frozen=True, slots=True)
class MergedNodes:
    """A node that became one with another, and what that gained."""

    name: str
    """Of the node that is left."""
    gone: str
    """The id of the other, which can be restored."""
    observations: int
    relations: int


@cleaned
def rename(graph: Graph, name: str, new_name: str) -> Entity:
    """Give a node another name; what was embedded with the old one is embedded again.

    The old name is kept as a version, and `restore` brings it back. Raise NotFoundError, or InvalidInputError if
    another node has the name.
    """
    wanted = new_name.strip()
    if not wanted or len(wanted) > NAME:
        raise InvalidInputError(f"A name has 1 to {NAME:,} characters.")

    def work(change: Change) -> Entity:
        (node,) = demand(change.queries, name)
        if node.name == wanted:
            return node
        if wanted in named(change.queries, [wanted]):
            raise InvalidInputError(f"There is a node {wanted[:100]!r} already. Merge the two, or choose another name.")
        change.queries.run("versions.keep_whole", id=node.id, now=change.now)
        call(change, node.id, wanted)
        return demand(change.queries, wanted)[0]

    return graph.change(work)


def call(change: Change, node_id: str, name: str) -> None:
    """Give a node a name that no other node has, within a change."""
    seen = [one.id for one in observations.of(change.queries, [node_id])[node_id]]
    neighbours = [
        key for relation in relations.of(change.queries, [node_id]) for key in (relation.source, relation.target)
    ]
    change.relate([one.id for one in named(change.queries, neighbours).values()])
    change.queries.run("entities.rename", ids=json.dumps([node_id, *seen]), name=name, **records.origin())
    change.queries.run("entities.unembed", ids=json.dumps([node_id, *seen]))
    change.lacking.update([node_id, *seen])
    change.touch([node_id])
    change.note("rename_entity", node_id)


@cleaned
def merge(graph: Graph, name: str, into: str) -> MergedNodes:
    """Make a node one with another, which gains the observations and relations that it lacks.

    An observation keeps who made it. `restore` of the node that is gone brings it back, and takes what the other one
    has gained away from it. Raise NotFoundError for an unknown name, InvalidInputError for one node.
    """
    if name == into:
        raise InvalidInputError("A node cannot be merged with itself.")

    def work(change: Change) -> MergedNodes:
        gone, kept = demand(change.queries, name, into)
        seen = {one.content: one.id for one in observations.of(change.queries, [gone.id])[gone.id]}
        known = observations.same(change.queries, [kept.id], seen)[kept.id]
        new = [text for text in seen if text not in known]
        gained = observations.append(change, kept, new, {})
        change.queries.many("records.attribute", [{"id": one.id, "source": seen[one.content]} for one in gained])
        edges = [
            Edge(into if one.source == name else one.source, into if one.target == name else one.target, one.type)
            for one in relations.of(change.queries, [gone.id])
        ]
        made = relations.put(change, [edge for edge in dict.fromkeys(edges) if edge.source != edge.target])
        entities.drop(change, [gone], kept.id)
        return MergedNodes(into, gone.id, len(new), len(made["created"]))

    return graph.change(work)
