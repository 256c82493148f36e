"""Finding: nodes, observations of one node, and nodes that are alike."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from memoryd.core.base.token_budget import Budget
from memoryd.core.graph import observations
from memoryd.core.graph import search as node_search
from memoryd.core.graph import similarity as similar
from memoryd.core.graph.transaction import Graph
from memoryd.core.search.pipeline import Mode
from memoryd.model import Findings
from memoryd.store.base import Queries
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import graph_of
from memoryd.toolsets.graph.shown import Ends, Json
from memoryd.toolsets.registry import Answer, Arguments, Call, Query, Result, Searched, Tool, Toolset

# search_nodes --------------------------------------------------------------------------------------------------------


class SearchArguments(Arguments):
    """What to find."""

    query: Annotated[Query, Field(description='A question or words; AND, OR, NOT, "phrases" and prefix* work too.')]
    limit: Annotated[int, Field(ge=1, le=shapes.MATCHES, description="Most nodes.")] = 10
    mode: Annotated[
        Mode, Field(description="auto: words and meaning; embedding: meaning alone; text: words alone.")
    ] = "auto"
    token_budget: shapes.TokenBudget = shapes.BUDGET


class Match(shapes.Node):
    """A node that was found, why, and what fits of it."""

    matched_observation: str | None
    """None where its own name, type or summary matched."""
    matched_perspective: str | None
    score: float
    name_only: bool
    """Whether there was no room for more of it: it has a summary, tags and so on all the same."""
    observations_omitted: int
    relations: list[shapes.Edge]


class SearchResult(Searched):
    """The nodes, best first."""

    result: list[Match]
    mode: Mode
    """What it came to: text where there is nothing embedded."""
    omitted: shapes.Omitted
    tokens_used: int = 0


def search(call: Call, arguments: SearchArguments) -> Answer:
    """search_nodes."""
    graph = graph_of(call)
    found, mode = node_search.search(graph, arguments.query, arguments.limit, arguments.mode)
    return Answer(SearchResult.model_validate(matched(graph, found, arguments.token_budget) | {"mode": mode}))


def matched(graph: Graph, found: Findings[node_search.Match], tokens: int) -> Json:
    """Nodes that a search has found, best first, each with why, its observations and relations; else its name."""
    budget = Budget(tokens)
    note = {"degraded": found.degraded}
    said = note if found.degraded and budget.take(note) else {}
    return said | graph.read(lambda q: _matched(q, found.best, budget))


def _matched(queries: Queries, matches: Sequence[node_search.Match], budget: Budget) -> Json:
    counts = observations.counts(queries, [match.entity.id for match in matches])
    forms = {match.entity.id: _forms(match, counts[match.entity.id]) for match in matches}
    fitting = {key: next(filter(budget.take, each), None) for key, each in forms.items()}
    nodes = {key: node for key, node in fitting.items() if node}
    ends = {key: Ends.of(queries, [key], node["relations"]) for key, node in nodes.items()}
    whole = {key: node for key, node in nodes.items() if not node["name_only"]}
    shown.fill(queries, whole, [ends[key] for key in whole], budget)
    result = list(nodes.values())
    omitted = shown.omitted(result, len(matches), list(ends.values()))
    return {"result": result, "omitted": omitted}


def _forms(match: node_search.Match, number: int) -> tuple[Json, Json]:
    """A match with so many observations, as yet without them: whole, and by name only."""
    one = match.entity
    named = shown.head(one) | {
        "summary": None, "tags": [], "matched_observation": None, "matched_perspective": None,
        "score": round(match.score, 4), "name_only": True, "observations": [], "observations_omitted": number,
        "relations": [],
    }  # fmt: skip
    whole = {
        "summary": one.summary, "tags": list(one.tags), "name_only": False, "relations": [],
        "matched_observation": match.observation, "matched_perspective": match.perspective,
    }  # fmt: skip
    return named | whole, named


# query_observations --------------------------------------------------------------------------------------------------


Within = Literal["embedding", "text"]


class QueryArguments(Arguments):
    """What to find in a node."""

    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")]
    query: Annotated[Query, Field(description="A question or words.")]
    mode: Annotated[Within, Field(description="embedding: meaning; text: exact words.")] = "embedding"
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most observations.")] = 20


class Seen(shapes.Fact):
    """An observation that was found."""

    score: float


class QueryResult(Searched):
    """The observations, best first."""

    result: list[Seen]
    mode: Within


def query(call: Call, arguments: QueryArguments) -> Answer:
    """query_observations."""
    graph, name = graph_of(call), arguments.entity_name
    found, mode = node_search.within(graph, name, arguments.query, arguments.limit, arguments.mode)
    result = [asdict(seen) | {"score": round(seen.score, 4)} for seen in found.best]
    return Answer(QueryResult.model_validate({"result": result, "mode": mode, "degraded": found.degraded}))


# find_similar_nodes --------------------------------------------------------------------------------------------------


class SimilarArguments(Arguments):
    """How many, and how alike."""

    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most pairs.")] = 20
    min_score: Annotated[
        float,
        Field(
            ge=-1, le=1, validation_alias=AliasChoices("min_score", "minScore"),
            description="Least similarity: 1 is the same, 0 unrelated.",
        ),
    ] = 0.75  # fmt: skip


class Pair(Result):
    """Two nodes that are alike and not related."""

    node_a: str
    node_b: str
    similarity: float
    node_a_type: str
    node_b_type: str


class SimilarResult(Searched):
    """The pairs, most alike first."""

    result: list[Pair]


def find_similar(call: Call, arguments: SimilarArguments) -> Answer:
    """find_similar_nodes."""
    found = similar.similar(graph_of(call), arguments.limit, arguments.min_score)
    return Answer(
        SimilarResult(
            degraded=found.degraded,
            result=[
                Pair(
                    node_a=pair.one.name, node_b=pair.other.name, similarity=pair.similarity,
                    node_a_type=pair.one.type, node_b_type=pair.other.type,
                )
                for pair in found.best
            ]
        )
    )  # fmt: skip


TOOLS: Toolset = (
    Tool(
        name="search_nodes", title="Search nodes", capability="read", needs="project",
        description="Find nodes by the words and the meaning of their names and observations, best first, with "
        "observations and relations.",
        arguments=SearchArguments, result=SearchResult, handler=search,
    ),
    Tool(
        name="query_observations", title="Query a node", capability="read", needs="project",
        description="Search the observations of one node: useful where it has many.",
        arguments=QueryArguments, result=QueryResult, handler=query,
    ),
    Tool(
        name="find_similar_nodes", title="Similar nodes", capability="read", needs="project",
        description="Pairs of nodes that are alike by what is observed of them and have no relation: candidates for a "
        "relation, a merge or a group. Finds nothing before observations are embedded.",
        arguments=SimilarArguments, result=SimilarResult, handler=find_similar,
    ),
)  # fmt: skip
