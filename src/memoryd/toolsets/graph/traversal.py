"""Paths through the graph: the neighborhood of a node, the path between two nodes, nodes without relations."""

from typing import Annotated

from pydantic import Field

from memoryd.core.graph import results, traversal, view
from memoryd.core.graph.missing_relations import RelationGap
from memoryd.core.graph.results import BriefNode, ShownPath
from memoryd.core.graph.view import BudgetedList, ShownNeighborhood
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Tool, Toolset


class NeighborhoodArguments(Arguments):
    """The node in the middle, and how far to look."""

    name: Annotated[shapes.NodeName, Field(description="Its exact name.")]
    depth: Annotated[int, Field(ge=1, le=traversal.DEEPEST, description="Hops, in either direction.")] = 1
    token_budget: shapes.TokenBudget = shapes.BUDGET


class PathArguments(Arguments):
    """The two ends of the path."""

    from_entity: Annotated[shapes.FromEntity, Field(description="Exact name of one node.")]
    to_entity: Annotated[shapes.ToEntity, Field(description="Exact name of the other.")]


def _neighborhood(call: Call, arguments: NeighborhoodArguments) -> Answer[ShownNeighborhood]:
    return Answer(view.neighborhood(graph_of(call), arguments.name, arguments.depth, arguments.token_budget))


def _path(call: Call, arguments: PathArguments) -> Answer[ShownPath]:
    return Answer(results.path(traversal.path(graph_of(call), arguments.from_entity, arguments.to_entity)))


def _orphans(call: Call, arguments: shapes.BudgetArguments) -> Answer[BudgetedList[BriefNode]]:
    return Answer(view.brief_nodes(traversal.orphans(graph_of(call)), arguments.token_budget))


def _relation_gaps(call: Call, arguments: shapes.BudgetArguments) -> Answer[BudgetedList[RelationGap]]:
    return Answer(view.relation_gaps(graph_of(call), arguments.token_budget))


TOOLS: Toolset = (
    Tool(
        name="get_neighborhood", title="Neighborhood of a node", capability="read", needs="project",
        description="A node and all nodes within a number of hops, with the relations between them.",
        arguments=NeighborhoodArguments, result=ShownNeighborhood, handler=_neighborhood,
    ),
    Tool(
        name="get_path", title="Path between two nodes", capability="read", needs="project",
        description="The shortest path between two nodes along relations in either direction.",
        arguments=PathArguments, result=ShownPath, handler=_path,
    ),
    Tool(
        name="get_orphans", title="Orphans", capability="read", needs="project",
        description="Nodes without relations, the most recently changed first.",
        arguments=shapes.BudgetArguments, result=BudgetedList[BriefNode], handler=_orphans,
    ),
    Tool(
        name="get_relation_gaps", title="Missing relations", capability="read", needs="project",
        description="Nodes whose observations mention another node without a relation to it. A heuristic: judge each "
        "before you relate them.",
        arguments=shapes.BudgetArguments, result=BudgetedList[RelationGap], handler=_relation_gaps,
    ),
)  # fmt: skip
