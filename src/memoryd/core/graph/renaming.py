"""Renames a node, or merges it into another one."""

import json
from dataclasses import dataclass, replace

from memoryd.core.base.limits import NODE_NAME
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.names import demand, look_up
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.records import records
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError
from memoryd.model import Entity


@dataclass(frozen=True, slots=True)
class MergedNodes:
    """The result of a merge: the remaining node, and what it gained."""

    name: str
    """The name of the remaining node."""
    gone: str
    """The id of the other node, which can be restored."""
    observations: int
    relations: int


@cleaned
def rename(graph: Graph, name: str, new_name: str) -> Entity:
    """Rename a node and return it; texts that were embedded with the old name are embedded again.

    The old name is kept as a version, and `restore` brings it back. Raise NotFoundError, or InvalidInputError if
    another node has the name.
    """
    wanted = new_name.strip()
    if not wanted or len(wanted) > NODE_NAME:
        raise InvalidInputError(f"A name has 1 to {NODE_NAME:,} characters.")

    def work(change: Change) -> Entity:
        (node,) = demand(change.queries, name)
        if node.name == wanted:
            return node
        other = look_up(change.queries, [wanted]).found.get(wanted)
        if other and other.id != node.id:
            raise InvalidInputError(f"Node {wanted[:100]!r} already exists. Merge the two, or choose another name.")
        change.queries.run("versions.keep_whole", id=node.id, now=change.now)
        call(change, node.id, wanted)
        return demand(change.queries, wanted)[0]

    return graph.change(work)


def call(change: Change, node_id: str, name: str) -> None:
    """Rename a node within a change, to a name that no other node has."""
    seen = [one.id for one in observations.of(change.queries, [node_id])[node_id]]
    beside = change.queries.all("relations.beside", ids=json.dumps([node_id]))
    change.relate({node_id, *(row["there"] for row in beside)})
    change.queries.run("entities.rename", ids=json.dumps([node_id, *seen]), name=name, **records.origin())
    change.queries.run("entities.unembed", ids=json.dumps([node_id, *seen]))
    change.lacking.update([node_id, *seen])
    change.touch([node_id])
    change.note("rename_entity", node_id)


@cleaned
def merge(graph: Graph, name: str, into: str) -> MergedNodes:
    """Merge a node into another one, which gains the observations and relations that it lacks.

    An observation keeps its provenance. `restore` of the merged node brings it back, and removes from the other one
    what it gained. Raise NotFoundError for an unknown name, InvalidInputError if both names are the same.
    """

    def work(change: Change) -> MergedNodes:
        gone, kept = demand(change.queries, name, into)
        if gone.id == kept.id:
            raise InvalidInputError("A node cannot be merged with itself.")
        seen = {one.content: one.id for one in observations.of(change.queries, [gone.id])[gone.id]}
        known = observations.same(change.queries, [kept.id], seen)[kept.id]
        new = [text for text in seen if text not in known]
        gained = observations.append(change, kept, new, {})
        change.queries.many("records.attribute", [{"id": one.id, "source": seen[one.content]} for one in gained])
        edges = [
            replace(edge, **{end: kept.name for end in ("source", "target") if getattr(edge, end) == gone.name})
            for edge in (Edge(one.source, one.target, one.type) for one in relations.of(change.queries, [gone.id]))
        ]
        made = relations.put(change, [edge for edge in dict.fromkeys(edges) if edge.source != edge.target])
        entities.drop(change, [gone], kept.id)
        return MergedNodes(kept.name, gone.id, len(new), len(made["created"]))

    return graph.change(work)
