"""Read nodes by name with their observations and relations, and the whole graph page by page."""

from typing import Annotated

from pydantic import Field

from memoryd.core.base.limits import KNOWN_NAME
from memoryd.core.graph import view
from memoryd.core.graph.view import CURSOR, GraphPage, OpenedNodes
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Time

Cursor = Annotated[str, Field(min_length=1, max_length=KNOWN_NAME + CURSOR)]

TOOLS = Toolset(needs="project")


@TOOLS.tool("Open nodes", "read")
def open_nodes(
    call: Call,
    *,
    names: Annotated[list[shapes.NodeName], Field(min_length=1, max_length=ITEMS, description="Exact names.")],
    token_budget: shapes.TokenBudget = shapes.BUDGET,
    as_of: Annotated[Time | None, Field(description="Show the nodes as they were at this ISO 8601 time.")] = None,
) -> OpenedNodes:
    """Nodes by exact name, with observations, summary, tags and every relation from or to them."""
    if as_of:
        return view.opened_then(graph_of(call), names, token_budget, as_of)
    return view.opened(graph_of(call), names, token_budget)


@TOOLS.tool("Read the graph", "read")
def read_graph(
    call: Call,
    *,
    cursor: Annotated[Cursor | None, Field(description="next_cursor of the page before.")] = None,
    token_budget: shapes.TokenBudget = shapes.BUDGET,
) -> GraphPage:
    """The whole graph, page by page. Can be large: prefer search_nodes."""
    return view.page(graph_of(call), token_budget, cursor)
