"""Search: nodes, the observations of one node, and similar nodes."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from memoryd.core.graph import results, similarity, view
from memoryd.core.graph import search as node_search
from memoryd.core.graph.results import FoundObservations, SimilarNodes
from memoryd.core.graph.view import MatchedNodes
from memoryd.core.search.pipeline import Mode
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Query, Tool, Toolset

# search_nodes --------------------------------------------------------------------------------------------------------


class SearchNodesArguments(Arguments):
    """The query, and how to match it."""

    query: Annotated[Query, Field(description='A question or words; AND, OR, NOT, "phrases" and prefix* work too.')]
    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most nodes.")] = 10
    mode: Annotated[
        Mode, Field(description="auto: words and meaning; embedding: meaning alone; text: words alone.")
    ] = "auto"
    token_budget: shapes.TokenBudget = shapes.BUDGET


def _search(call: Call, arguments: SearchNodesArguments) -> Answer[MatchedNodes]:
    graph = graph_of(call)
    query, limit, mode = arguments.query, arguments.limit, arguments.mode
    return Answer(view.matched(graph, query, limit, mode, arguments.token_budget))


# query_observations --------------------------------------------------------------------------------------------------


class QueryObservationsArguments(Arguments):
    """The node, the query, and how to match it."""

    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")]
    query: Annotated[Query, Field(description="A question or words.")]
    mode: Annotated[Literal["embedding", "text"], Field(description="embedding: meaning; text: exact words.")] = (
        "embedding"
    )
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most observations.")] = 20


def _query(call: Call, arguments: QueryObservationsArguments) -> Answer[FoundObservations]:
    graph, name = graph_of(call), arguments.entity_name
    found, mode = node_search.within(graph, name, arguments.query, arguments.limit, arguments.mode)
    return Answer(results.found_observations(found, mode))


# find_similar_nodes --------------------------------------------------------------------------------------------------


class FindSimilarNodesArguments(Arguments):
    """How many pairs to return, and how similar they must be."""

    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most pairs.")] = 20
    min_score: Annotated[
        float,
        Field(
            ge=-1, le=1, validation_alias=AliasChoices("min_score", "minScore"),
            description="Least similarity: 1 is the same, 0 unrelated.",
        ),
    ] = 0.75  # fmt: skip


def _find_similar(call: Call, arguments: FindSimilarNodesArguments) -> Answer[SimilarNodes]:
    return Answer(results.similar(similarity.similar(graph_of(call), arguments.limit, arguments.min_score)))


TOOLS: Toolset = (
    Tool(
        name="search_nodes", title="Search nodes", capability="read", needs="project",
        description="Find nodes by the words and the meaning of their names and observations, best first, with "
        "observations and relations.",
        arguments=SearchNodesArguments, result=MatchedNodes, handler=_search,
    ),
    Tool(
        name="query_observations", title="Query a node", capability="read", needs="project",
        description="Search the observations of one node: useful if it has many.",
        arguments=QueryObservationsArguments, result=FoundObservations, handler=_query,
    ),
    Tool(
        name="find_similar_nodes", title="Similar nodes", capability="read", needs="project",
        description="Pairs of nodes with similar observations and no relation: candidates for a relation, a merge or a "
        "group. Finds nothing until observations are embedded.",
        arguments=FindSimilarNodesArguments, result=SimilarNodes, handler=_find_similar,
    ),
)  # fmt: skip
