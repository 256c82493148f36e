"""Ways through the graph: what is around a node, how two are connected, what is connected to nothing."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from memoryd.core.base.token_budget import Budget
from memoryd.core.graph import missing_relations, traversal
from memoryd.core.graph.traversal import Neighborhood
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.graph.shown import Json
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Tool, Toolset

NODES_SHARE = 0.6  # of the budget, at most, before relations are shown

# get_neighborhood ----------------------------------------------------------------------------------------------------


class NeighborhoodArguments(Arguments):
    """Around which node, and how far."""

    name: Annotated[shapes.Name, Field(description="Its exact name.")]
    depth: Annotated[int, Field(ge=1, le=traversal.DEEPEST, description="Hops, in either direction.")] = 1
    token_budget: shapes.TokenBudget = shapes.BUDGET


class Omitted(Result):
    """How much of each was found and is not shown."""

    nodes: int
    relations: int


class NeighborhoodResult(Result):
    """The node itself first, then the others by distance."""

    nodes: list[shapes.Brief]
    relations: list[shapes.Edge]
    omitted: Omitted
    tokens_used: int = 0


def neighborhood(call: Call, arguments: NeighborhoodArguments) -> Answer:
    """get_neighborhood."""
    found = traversal.neighborhood(graph_of(call), arguments.name, arguments.depth)
    return Answer(NeighborhoodResult.model_validate(_subgraph(found, Budget(arguments.token_budget))))


def _subgraph(found: Neighborhood, budget: Budget) -> Json:
    """The nearest nodes, the relations between them, then the nodes that still fit."""
    every = [shown.brief(one) for one in found.entities]
    nodes = budget.fill(every, NODES_SHARE)
    names = {node["name"] for node in nodes}
    edges = budget.fill(shown.edge(one) for one in found.relations if {one.source, one.target} <= names)
    nodes += budget.fill(every[len(nodes) :])
    omitted = {"nodes": len(found.entities) - len(nodes), "relations": len(found.relations) - len(edges)}
    return {"nodes": nodes, "relations": edges, "omitted": omitted}


# get_path ------------------------------------------------------------------------------------------------------------


class PathArguments(Arguments):
    """From where to where."""

    from_entity: Annotated[shapes.Source, Field(description="Exact name of one node.")]
    to_entity: Annotated[shapes.Target, Field(description="Exact name of the other.")]


class PathResult(Result):
    """The names in order, and the relations of each hop."""

    found: bool
    path: list[str]
    relations: list[shapes.Edge]


def path(call: Call, arguments: PathArguments) -> Answer:
    """get_path."""
    way = traversal.path(graph_of(call), arguments.from_entity, arguments.to_entity)
    edges = [shown.edge(one) for one in way.relations]
    return Answer(PathResult.model_validate({"found": way.found, "path": way.names, "relations": edges}))


# get_orphans and get_relation_gaps -----------------------------------------------------------------------------------


class Gap(Result):
    """A node that mentions another, and in how many observations."""

    node: str
    referenced_name: str
    reference_count: int


class GapsResult(shapes.Listed[Gap]):
    """The gaps, most mentioned first."""


def orphans(call: Call, arguments: shapes.BudgetArguments) -> Answer:
    """get_orphans."""
    return Answer(shapes.brief_page(traversal.orphans(graph_of(call)), arguments.token_budget))


def relation_gaps(call: Call, arguments: shapes.BudgetArguments) -> Answer:
    """get_relation_gaps."""
    found = [asdict(gap) for gap in missing_relations.gaps(graph_of(call))]
    return Answer(GapsResult.model_validate(shown.listed(found, arguments.token_budget)))


TOOLS: Toolset = (
    Tool(
        name="get_neighborhood", title="Neighborhood of a node", capability="read", needs="project",
        description="A node and all nodes within some hops, with the relations between them.",
        arguments=NeighborhoodArguments, result=NeighborhoodResult, handler=neighborhood,
    ),
    Tool(
        name="get_path", title="Path between two nodes", capability="read", needs="project",
        description="The shortest path between two nodes along relations in either direction.",
        arguments=PathArguments, result=PathResult, handler=path,
    ),
    Tool(
        name="get_orphans", title="Orphans", capability="read", needs="project",
        description="Nodes without relations, the last changed first.",
        arguments=shapes.BudgetArguments, result=shapes.BriefPage, handler=orphans,
    ),
    Tool(
        name="get_relation_gaps", title="Missing relations", capability="read", needs="project",
        description="Nodes whose observations mention another node that they have no relation with. A heuristic: judge "
        "each before you relate them.",
        arguments=shapes.BudgetArguments, result=GapsResult, handler=relation_gaps,
    ),
)  # fmt: skip
