"""Reading: nodes by name with what is about them, and the whole graph page by page."""

from typing import Annotated

from pydantic import Field

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.base.token_budget import Budget
from memoryd.core.graph import as_of as past
from memoryd.core.graph import observations, pagination
from memoryd.core.graph.pagination import Part, Place
from memoryd.core.graph.transaction import Graph, named
from memoryd.core.transfer.server_memory import LOOKED_UP
from memoryd.model import Entity, Observation, Relation
from memoryd.store.base import Queries
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.graph.shown import Ends, Json
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Text, Tool, Toolset

CURSOR = 100  # characters of a cursor at most besides the name in it

# open_nodes ----------------------------------------------------------------------------------------------------------


class OpenArguments(Arguments):
    """The nodes to open."""

    names: Annotated[list[shapes.Name], Field(min_length=1, max_length=ITEMS, description="Exact names.")]
    token_budget: shapes.TokenBudget = shapes.BUDGET
    as_of: Annotated[
        Text | None, Field(max_length=100, description="What was there at this ISO 8601 time, instead of now.")
    ] = None


class OpenedNode(shapes.Node):
    """A node with those of its observations that fit."""

    observations_omitted: int


class OpenResult(Result):
    """Nodes, and every relation that begins or ends at one of them."""

    entities: list[OpenedNode]
    relations: list[shapes.Edge]
    not_found: list[str]
    omitted: shapes.Omitted
    tokens_used: int = 0


def open_nodes(call: Call, arguments: OpenArguments) -> Answer:
    """open_nodes."""
    graph, names, tokens = graph_of(call), arguments.names, arguments.token_budget
    shown_ = opened_then(graph, names, tokens, arguments.as_of) if arguments.as_of else opened(graph, names, tokens)
    return Answer(OpenResult.model_validate(shown_))


def opened(graph: Graph, names: list[str], tokens: int) -> Json:
    """Nodes by name with their observations, and every relation that begins or ends at one of them."""
    return graph.read(lambda q: _opened(q, list(dict.fromkeys(names)), Budget(tokens)))


def _opened(queries: Queries, names: list[str], budget: Budget) -> Json:
    found = named(queries, names)
    missing = [name for name in names if name not in found]
    for name in missing:
        budget.spend(name)
    heads = _heads(queries, [found[name] for name in names if name in found])
    nodes = {key: node for key, node in heads.items() if budget.take(node)}
    ends = Ends.of(queries, list(nodes), [])
    shown.fill(queries, nodes, [ends], budget)
    entities = list(nodes.values())
    return {
        "entities": entities, "relations": ends.shown, "not_found": missing,
        "omitted": shown.omitted(entities, len(found), [ends]),
    }  # fmt: skip


def opened_then(graph: Graph, names: list[str], tokens: int, time: str) -> Json:
    """The same as it was at a time. Raises InvalidInputError for what is none."""
    wanted, at = list(dict.fromkeys(names)), timestamp(moment(time))
    then = graph.read(lambda q: past.nodes(q, wanted, at))
    budget = Budget(tokens)
    missing = [name for name in wanted if name not in then.entities]
    for name in missing:
        budget.spend(name)
    entities = []
    for one in (then.entities[name] for name in wanted if name in then.entities):
        facts = [shown.fact(of) for of in then.observations[one.id]]
        node = shown.head(one) | {"observations": [], "observations_omitted": len(facts)}
        if budget.take(node):
            told = budget.fill(facts)
            entities.append(node | {"observations": told, "observations_omitted": len(facts) - len(told)})
    edges = [shown.edge(of) for of in then.relations]
    relations = budget.fill(edges)
    left = {
        "entities": len(then.entities) - len(entities), "relations": len(edges) - len(relations),
        "observations": sum(node["observations_omitted"] for node in entities),
    }  # fmt: skip
    return {"entities": entities, "relations": relations, "not_found": missing, "omitted": left}


def _heads(queries: Queries, found: list[Entity]) -> dict[str, Json]:
    """Nodes by id, as yet without observations."""
    counts = observations.counts(queries, [one.id for one in found])
    return {
        one.id: shown.head(one) | {"observations": [], "observations_omitted": counts[one.id]} for one in found
    }  # fmt: skip


# read_graph ----------------------------------------------------------------------------------------------------------


class ReadArguments(Arguments):
    """Where to go on, and how far."""

    cursor: Annotated[
        str | None, Field(max_length=LOOKED_UP + CURSOR, description="next_cursor of the page before.")
    ] = None
    token_budget: shapes.TokenBudget = shapes.BUDGET


class ReadResult(Result):
    """A page of the graph, by name; a relation is shown with the node where it begins."""

    entities: list[shapes.Node]
    relations: list[shapes.Edge]
    next_cursor: str | None
    tokens_used: int = 0


def read(call: Call, arguments: ReadArguments) -> Answer:
    """read_graph."""
    return Answer(ReadResult.model_validate(whole(graph_of(call), arguments.token_budget, arguments.cursor)))


def whole(graph: Graph, tokens: int, cursor: str | None = None) -> Json:
    """A page of the graph from a cursor on.

    Every observation and relation is shown on exactly one page. A node that is too large for one goes on on the next.
    """
    start = Place.parse(cursor)
    return graph.read(lambda q: _page(q, start, Budget(tokens)))


def _page(queries: Queries, start: Place, budget: Budget) -> Json:
    entities: list[Json] = []
    edges: list[Json] = []
    cursor = None
    for number, (place, part) in enumerate(pagination.parts(queries, start)):
        one = _shown(part)
        if number == 0 or (number == 1 and not isinstance(part, Entity)):
            budget.spend(one)  # whatever it costs: else the next page would be this one again
        elif not budget.take(one, free=len(place.name) + CURSOR):
            cursor = str(place)
            budget.spend(cursor)
            break
        match part:
            case Entity():
                entities.append(one)
            case Observation():
                entities[-1]["observations"].append(one)
            case Relation():
                edges.append(one)
    return {"entities": entities, "relations": edges, "next_cursor": cursor}


def _shown(part: Part) -> Json:
    match part:
        case Entity():
            return shown.head(part) | {"observations": []}
        case Observation():
            return shown.fact(part)
        case Relation():
            return shown.edge(part)


TOOLS: Toolset = (
    Tool(
        name="open_nodes", title="Open nodes", capability="read", needs="project",
        description="Nodes by exact name, with observations, summary, tags and every relation from or to them.",
        arguments=OpenArguments, result=OpenResult, handler=open_nodes,
    ),
    Tool(
        name="read_graph", title="Read the graph", capability="read", needs="project",
        description="The whole graph, page by page. Can be large: prefer search_nodes.",
        arguments=ReadArguments, result=ReadResult, handler=read,
    ),
)  # fmt: skip
