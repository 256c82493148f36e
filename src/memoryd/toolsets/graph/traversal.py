"""Paths through the graph: the neighborhood of a node, the path between two nodes, nodes without relations."""

from typing import Annotated

from pydantic import Field

from memoryd.core.graph import traversal, view
from memoryd.core.graph.entities import BriefNode
from memoryd.core.graph.missing_relations import RelationGap
from memoryd.core.graph.traversal import ShownPath
from memoryd.core.graph.view import BudgetedList, ShownNeighborhood
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Call, Toolset

TOOLS = Toolset(needs="project")


@TOOLS.tool("Neighborhood of a node", "read")
def get_neighborhood(
    call: Call,
    *,
    name: Annotated[shapes.NodeName, Field(description="Its exact name.")],
    depth: Annotated[int, Field(ge=1, le=traversal.DEEPEST, description="Hops, in either direction.")] = 1,
    token_budget: shapes.TokenBudget = shapes.BUDGET,
) -> ShownNeighborhood:
    """A node and all nodes within a number of hops, with the relations between them."""
    return view.neighborhood(graph_of(call), name, depth, token_budget)


@TOOLS.tool("Path between two nodes", "read")
def get_path(
    call: Call,
    *,
    from_entity: Annotated[shapes.FromEntity, Field(description="Exact name of one node.")],
    to_entity: Annotated[shapes.ToEntity, Field(description="Exact name of the other.")],
) -> ShownPath:
    """The shortest path between two nodes along relations in either direction."""
    return traversal.path(graph_of(call), from_entity, to_entity)


@TOOLS.tool("Orphans", "read")
def get_orphans(call: Call, *, token_budget: shapes.TokenBudget = shapes.BUDGET) -> BudgetedList[BriefNode]:
    """Nodes without relations, the most recently changed first."""
    return view.brief_nodes(traversal.orphans(graph_of(call)), token_budget)


@TOOLS.tool("Missing relations", "read")
def get_relation_gaps(call: Call, *, token_budget: shapes.TokenBudget = shapes.BUDGET) -> BudgetedList[RelationGap]:
    """Nodes whose observations mention another node without a relation to it.

    A heuristic: judge each before you relate them.
    """
    return view.relation_gaps(graph_of(call), token_budget)
