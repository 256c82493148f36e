"""Search: nodes, the observations of one node, and similar nodes."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from memoryd.core.graph import search, similarity, view
from memoryd.core.graph.search import FoundObservations
from memoryd.core.graph.similarity import SimilarNodes
from memoryd.core.graph.view import MatchedNodes
from memoryd.core.search.pipeline import Mode
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Query

TOOLS = Toolset(needs="project")


@TOOLS.tool("Search nodes", "read")
def search_nodes(
    call: Call,
    *,
    query: Annotated[Query, Field(description='A question or words; AND, OR, NOT, "phrases" and prefix* work too.')],
    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most nodes.")] = 10,
    mode: Annotated[
        Mode, Field(description="auto: words and meaning; embedding: meaning alone; text: words alone.")
    ] = "auto",
    token_budget: shapes.TokenBudget = shapes.BUDGET,
) -> MatchedNodes:
    """Find nodes by the words and the meaning of their names and observations, best first, with observations and
    relations.
    """  # noqa: D205 - one sentence
    return view.matched(graph_of(call), query, limit, mode, token_budget)


@TOOLS.tool("Query a node", "read")
def query_observations(
    call: Call,
    *,
    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")],
    query: Annotated[Query, Field(description="A question or words.")],
    mode: Annotated[Literal["embedding", "text"], Field(description="embedding: meaning; text: exact words.")] = (
        "embedding"
    ),
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most observations.")] = 20,
) -> FoundObservations:
    """Search the observations of one node: useful if it has many."""
    return search.within(graph_of(call), entity_name, query, limit, mode)


@TOOLS.tool("Similar nodes", "read")
def find_similar_nodes(
    call: Call,
    *,
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most pairs.")] = 20,
    min_score: Annotated[
        float,
        Field(
            ge=-1,
            le=1,
            validation_alias=AliasChoices("min_score", "minScore"),
            description="Least similarity: 1 is the same, 0 unrelated.",
        ),
    ] = 0.75,
) -> SimilarNodes:
    """Pairs of nodes with similar observations and no relation: candidates for a relation, a merge or a group.

    Pairs of the same name but for case, blanks, - and _ come first; others are found once observations are embedded.
    """
    return similarity.shown(similarity.similar(graph_of(call), limit, min_score))
