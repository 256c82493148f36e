"""Read nodes by name with their observations and relations, and the whole graph page by page."""

from typing import Annotated

from pydantic import Field

from memoryd.core.base.limits import KNOWN_NAME
from memoryd.core.graph import view
from memoryd.core.graph.view import CURSOR, GraphPage, OpenedNodes
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Time, Tool, Toolset


class OpenNodesArguments(Arguments):
    """The nodes to open."""

    names: Annotated[list[shapes.NodeName], Field(min_length=1, max_length=ITEMS, description="Exact names.")]
    token_budget: shapes.TokenBudget = shapes.BUDGET
    as_of: Annotated[Time | None, Field(description="Show the nodes as they were at this ISO 8601 time.")] = None


class ReadGraphArguments(Arguments):
    """Where to continue, and the budget of the page."""

    cursor: Annotated[
        str | None, Field(max_length=KNOWN_NAME + CURSOR, description="next_cursor of the page before.")
    ] = None
    token_budget: shapes.TokenBudget = shapes.BUDGET


def _open(call: Call, arguments: OpenNodesArguments) -> Answer[OpenedNodes]:
    graph, names, tokens = graph_of(call), arguments.names, arguments.token_budget
    if arguments.as_of:
        return Answer(view.opened_then(graph, names, tokens, arguments.as_of))
    return Answer(view.opened(graph, names, tokens))


def _read(call: Call, arguments: ReadGraphArguments) -> Answer[GraphPage]:
    return Answer(view.page(graph_of(call), arguments.token_budget, arguments.cursor))


TOOLS: Toolset = (
    Tool(
        name="open_nodes",
        title="Open nodes",
        capability="read",
        needs="project",
        description="Nodes by exact name, with observations, summary, tags and every relation from or to them.",
        arguments=OpenNodesArguments,
        result=OpenedNodes,
        handler=_open,
    ),
    Tool(
        name="read_graph",
        title="Read the graph",
        capability="read",
        needs="project",
        description="The whole graph, page by page. Can be large: prefer search_nodes.",
        arguments=ReadGraphArguments,
        result=GraphPage,
        handler=_read,
    ),
)
