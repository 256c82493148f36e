"""A node gets another name, or becomes one with another node."""

import json
from dataclasses import dataclass

from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Change, Graph, demand, named
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError
from memoryd.model import Entity

NAME = 1_000  # characters of a name


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

    Raise NotFoundError, or InvalidInputError if another node has the name.
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
        seen = [one.id for one in observations.of(change.queries, [node.id]).get(node.id, [])]
        neighbours = [
            key for relation in relations.of(change.queries, [node.id]) for key in (relation.source, relation.target)
        ]
        change.relate([one.id for one in named(change.queries, neighbours).values()])
        change.queries.run("entities.rename", ids=json.dumps([node.id, *seen]), name=wanted)
        change.queries.run("entities.unembed", ids=json.dumps([node.id, *seen]))
        change.lacking.update([node.id, *seen])
        change.touch([node.id])
        change.note("rename_entity", node.id)
        return demand(change.queries, wanted)[0]

    return graph.change(work)


@cleaned
def merge(graph: Graph, name: str, into: str) -> MergedNodes:
    """Make a node one with another, which gains the observations and relations that it lacks.

    The node that is gone can be restored. Raise NotFoundError for an unknown name, InvalidInputError for one node.
    """
    if name == into:
        raise InvalidInputError("A node cannot be merged with itself.")

    def work(change: Change) -> MergedNodes:
        gone, kept = demand(change.queries, name, into)
        texts = [one.content for one in observations.of(change.queries, [gone.id]).get(gone.id, [])]
        known = observations.same(change.queries, [kept.id], texts)[kept.id]
        new = [text for text in dict.fromkeys(texts) if text not in known]
        observations.append(change, kept, new, {})
        edges = [
            Edge(into if one.source == name else one.source, into if one.target == name else one.target, one.type)
            for one in relations.of(change.queries, [gone.id])
        ]
        made = relations.put(change, [edge for edge in dict.fromkeys(edges) if edge.source != edge.target])
        entities.drop(change, [gone])
        return MergedNodes(into, gone.id, len(new), len(made["created"]))

    return graph.change(work)
