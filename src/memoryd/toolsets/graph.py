"""The knowledge graph of seeds b and c: a tool that both name exists once and serves both.

b, c and the reference memory server name the same things differently. The schemas show c's names; the others are
accepted as well (`GraphArguments`, `validation_alias`).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, AliasGenerator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from memoryd.core.base.limits import KNOWN_NAME, NODE_NAME, NODE_TYPE, TEXT
from memoryd.core.base.results import WholeList
from memoryd.core.graph import entities as nodes
from memoryd.core.graph import missing_relations, report, search, similarity, traversal, view
from memoryd.core.graph import observations as observed
from memoryd.core.graph import relations as edges
from memoryd.core.graph.entities import (
    BriefNode,
    CreatedNode,
    DeletedNodes,
    NewEntity,
    SummarizedNode,
    TaggedNode,
)
from memoryd.core.graph.missing_relations import RelationGap
from memoryd.core.graph.observations import DeletedObservations, Deletion, NodeAdditions, ReplacedObservation
from memoryd.core.graph.relations import CreatedRelations, DeletedRelations, Edge, RetypedRelation, ShownRelation
from memoryd.core.graph.report import ConsolidationReport, GraphStats, PendingSummary
from memoryd.core.graph.search import FoundObservations
from memoryd.core.graph.similarity import SimilarNodes
from memoryd.core.graph.transaction import Graph
from memoryd.core.graph.traversal import ShownPath
from memoryd.core.graph.view import CURSOR, BudgetedList, GraphPage, MatchedNodes, OpenedNodes, ShownNeighborhood
from memoryd.core.search.pipeline import Mode
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments, Query, Tags, Time

ITEMS, MATCHES, LIMIT, DAYS, ORDINAL = 1_000, 100, 1_000, 36_500, 10**9
BUDGET, MOST = 20_000, 1_000_000

# texts are kept verbatim, including blanks, but must contain something else
NewNodeName = Annotated[str, StringConstraints(min_length=1, max_length=NODE_NAME, pattern=r"\S")]
NodeName = Annotated[str, StringConstraints(min_length=1, max_length=KNOWN_NAME, pattern=r"\S")]
NewTypeName = Annotated[str, StringConstraints(min_length=1, max_length=NODE_TYPE, pattern=r"\S")]
TypeName = NodeName  # an imported type may be as long as a name
ObservationText = Annotated[str, StringConstraints(min_length=1, max_length=TEXT, pattern=r"\S")]
NodeSummary = Annotated[str, StringConstraints(max_length=TEXT)]
Ordinal = Annotated[int, Field(ge=0, le=ORDINAL)]

FromEntity = Annotated[NodeName, Field(validation_alias=AliasChoices("from_entity", "from", "fromEntity"))]
ToEntity = Annotated[NodeName, Field(validation_alias=AliasChoices("to_entity", "to", "toEntity"))]
TokenBudget = Annotated[int, Field(ge=0, le=MOST, description="Most tokens of the answer; 0: no limit.")]
Cursor = Annotated[str, Field(min_length=1, max_length=KNOWN_NAME + CURSOR)]


class GraphArguments(Arguments):
    """Arguments that are also accepted in the spelling of the reference server, such as `entityType`."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name)))
    )


def several(description: str) -> Any:
    """Return what an argument with the items of one call has."""
    return Field(min_length=1, max_length=ITEMS, description=description)


TOOLS = Toolset(needs="project", base=GraphArguments)


# nodes ---------------------------------------------------------------------------------------------------------------


class EntityArguments(GraphArguments):
    """A node to create."""

    LABELS = {"type": "entity"}

    name: NewNodeName
    entity_type: NewTypeName
    observations: Annotated[list[ObservationText], Field(max_length=ITEMS)] = []
    summary: NodeSummary | None = None
    tags: Tags | None = None


@TOOLS.tool("Create nodes", "write", idempotent=True)
def create_entities(
    call: Call,
    *,
    entities: Annotated[list[EntityArguments], several("Observations are self-contained facts, one each.")],
) -> WholeList[CreatedNode]:
    """Create nodes of the knowledge graph with their first observations.

    A node that exists gains the observations that it lacks, and the summary and tags if given.
    """
    news = [
        NewEntity(
            name=new.name,
            type=new.entity_type,
            observations=tuple(new.observations),
            summary=new.summary or None,  # set_summary clears it
            tags=None if new.tags is None else tuple(dict.fromkeys(new.tags)),
        )
        for new in entities
    ]
    return nodes.create(Graph(call.scope), news)


@TOOLS.tool("Delete nodes", "write", idempotent=True, destructive=True)
def delete_entities(
    call: Call,
    *,
    entity_names: Annotated[
        list[NodeName],
        Field(
            min_length=1,
            max_length=ITEMS,
            validation_alias=AliasChoices("entity_names", "entityNames", "names"),
            description="Exact names.",
        ),
    ],
) -> DeletedNodes:
    """Delete nodes with all their observations and relations."""
    return nodes.delete(Graph(call.scope), entity_names)


@TOOLS.tool("Nodes of a type", "read")
def get_nodes_by_type(
    call: Call,
    *,
    entity_type: Annotated[TypeName, Field(description="The exact type.")],
    token_budget: TokenBudget = BUDGET,
) -> BudgetedList[BriefNode]:
    """List all nodes of an entity type, by name."""
    return view.cut(nodes.of_type(Graph(call.scope), entity_type), token_budget)


@TOOLS.tool("Recent changes", "read")
def get_recently_modified(
    call: Call,
    *,
    days: Annotated[float, Field(gt=0, le=DAYS, description="Look back this many days.")] = 7,
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Most nodes.")] = 20,
) -> WholeList[BriefNode]:
    """Nodes changed recently (own fields, observations or relations), newest first."""
    return nodes.recently_modified(Graph(call.scope), days, limit)


@TOOLS.tool("Summarize a node", "write", idempotent=True)
def set_summary(
    call: Call,
    *,
    name: Annotated[NodeName, Field(description="Its exact name.")],
    summary: Annotated[NodeSummary, Field(description="Replaces the old one; '' clears it.")],
) -> SummarizedNode:
    """Set or replace the summary of a node; '' clears it."""
    return nodes.set_summary(Graph(call.scope), name, summary)


@TOOLS.tool("Tag a node", "write", idempotent=True)
def set_tags(
    call: Call,
    *,
    name: Annotated[NodeName, Field(description="Its exact name.")],
    tags: Annotated[Tags, Field(description="Replace the old ones; [] clears them.")],
) -> TaggedNode:
    """Replace the whole set of tags of a node; [] clears it."""
    return nodes.set_tags(Graph(call.scope), name, tags)


# reading -------------------------------------------------------------------------------------------------------------


@TOOLS.tool("Open nodes", "read")
def open_nodes(
    call: Call,
    *,
    names: Annotated[list[NodeName], several("Exact names.")],
    token_budget: TokenBudget = BUDGET,
    as_of: Annotated[Time | None, Field(description="Show the nodes as they were at this ISO 8601 time.")] = None,
) -> OpenedNodes:
    """Nodes by exact name, with observations, summary, tags and every relation from or to them."""
    return view.opened(Graph(call.scope), names, token_budget, as_of)


@TOOLS.tool("Read the graph", "read")
def read_graph(
    call: Call,
    *,
    cursor: Annotated[Cursor | None, Field(description="next_cursor of the page before.")] = None,
    token_budget: TokenBudget = BUDGET,
) -> GraphPage:
    """The whole graph, page by page. Can be large: prefer search_nodes."""
    return view.page(Graph(call.scope), token_budget, cursor)


# observations --------------------------------------------------------------------------------------------------------


class AdditionArguments(GraphArguments):
    """The observations to add to a node."""

    entity_name: NodeName
    contents: Annotated[list[ObservationText], Field(max_length=ITEMS)]


@TOOLS.tool("Add observations", "write", idempotent=True)
def add_observations(
    call: Call,
    *,
    observations: Annotated[list[AdditionArguments], several("Contents are self-contained facts, one each.")],
) -> WholeList[NodeAdditions]:
    """Append the observations that nodes lack; each gets the next ordinal of its node."""
    return observed.add(Graph(call.scope), [(one.entity_name, one.contents) for one in observations])


@TOOLS.tool("Replace an observation", "write", idempotent=True)
def replace_observation(
    call: Call,
    *,
    entity_name: Annotated[NodeName, Field(description="Exact name of the node.")],
    ordinal: Annotated[Ordinal, Field(description="Its ordinal, which stays.")],
    new_content: Annotated[ObservationText, Field(description="The new text.")],
) -> ReplacedObservation:
    """Replace the text of one observation; its ordinal stays."""
    return observed.replace(Graph(call.scope), entity_name, ordinal, new_content)


class DeletionArguments(GraphArguments):
    """Observations of one node."""

    entity_name: NodeName
    ordinals: Annotated[list[Ordinal], Field(max_length=ITEMS)] = []
    observations: Annotated[list[ObservationText], Field(max_length=ITEMS)] = []

    @model_validator(mode="after")
    def _names_observations(self) -> Self:
        if not (self.ordinals or self.observations):
            raise ValueError("give ordinals, observations (their exact texts), or both")
        return self


@TOOLS.tool("Delete observations", "write", idempotent=True, destructive=True)
def delete_observations(
    call: Call,
    *,
    deletions: Annotated[list[DeletionArguments], several("By ordinals, by exact texts (observations), or both.")],
) -> DeletedObservations:
    """Delete observations of nodes. The ordinals of the others stay."""
    wanted = [
        Deletion(entity=one.entity_name, ordinals=tuple(one.ordinals), contents=tuple(one.observations))
        for one in deletions
    ]
    return observed.delete(Graph(call.scope), wanted)


# relations -----------------------------------------------------------------------------------------------------------


class EdgeArguments(GraphArguments):
    """A relation, named by its ends and its type."""

    LABELS = {"type": "relation"}

    from_entity: FromEntity
    to_entity: ToEntity
    relation_type: TypeName


class NewEdgeArguments(EdgeArguments):
    """A relation to create."""

    relation_type: NewTypeName


@TOOLS.tool("Create relations", "write", idempotent=True)
def create_relations(
    call: Call,
    *,
    relations: Annotated[list[NewEdgeArguments], several("Types in active voice, such as uses or depends_on.")],
) -> CreatedRelations:
    """Create directed, typed relations between nodes that exist."""
    return edges.create(Graph(call.scope), _edges(relations))


@TOOLS.tool("Delete relations", "write", idempotent=True, destructive=True)
def delete_relations(
    call: Call,
    *,
    relations: Annotated[list[EdgeArguments], several("Both names and the type, exactly.")],
) -> DeletedRelations:
    """Delete relations by both names and the type."""
    return edges.delete(Graph(call.scope), _edges(relations))


def _edges(those: Sequence[EdgeArguments]) -> list[Edge]:
    return [Edge(one.from_entity, one.to_entity, one.relation_type) for one in those]


@TOOLS.tool("Retype a relation", "write")
def update_relation_type(
    call: Call,
    *,
    from_entity: Annotated[FromEntity, Field(description="Exact name of the node where it begins.")],
    to_entity: Annotated[ToEntity, Field(description="Exact name of the node where it ends.")],
    old_type: Annotated[TypeName, Field(description="Its present type.")],
    new_type: Annotated[NewTypeName, Field(description="Its new type.")],
) -> RetypedRelation:
    """Give a relation another type; both its ends stay."""
    return edges.rename(Graph(call.scope), Edge(from_entity, to_entity, old_type), new_type)


@TOOLS.tool("Relations of two nodes", "read")
def get_relations_between(
    call: Call,
    *,
    entity_a: Annotated[NodeName, Field(description="Exact name.")],
    entity_b: Annotated[NodeName, Field(description="Exact name.")],
) -> WholeList[ShownRelation]:
    """All relations between two nodes, in both directions."""
    return {"result": list(map(edges.shown, edges.between(Graph(call.scope), entity_a, entity_b)))}


# paths ---------------------------------------------------------------------------------------------------------------


@TOOLS.tool("Neighborhood of a node", "read")
def get_neighborhood(
    call: Call,
    *,
    name: Annotated[NodeName, Field(description="Its exact name.")],
    depth: Annotated[int, Field(ge=1, le=traversal.DEEPEST, description="Hops, in either direction.")] = 1,
    token_budget: TokenBudget = BUDGET,
) -> ShownNeighborhood:
    """A node and all nodes within a number of hops, with the relations between them."""
    return view.neighborhood(Graph(call.scope), name, depth, token_budget)


@TOOLS.tool("Path between two nodes", "read")
def get_path(
    call: Call,
    *,
    from_entity: Annotated[FromEntity, Field(description="Exact name of one node.")],
    to_entity: Annotated[ToEntity, Field(description="Exact name of the other.")],
) -> ShownPath:
    """The shortest path between two nodes along relations in either direction."""
    return traversal.path(Graph(call.scope), from_entity, to_entity)


@TOOLS.tool("Orphans", "read")
def get_orphans(call: Call, *, token_budget: TokenBudget = BUDGET) -> BudgetedList[BriefNode]:
    """Nodes without relations, the most recently changed first."""
    return view.cut(traversal.orphans(Graph(call.scope)), token_budget)


@TOOLS.tool("Missing relations", "read")
def get_relation_gaps(call: Call, *, token_budget: TokenBudget = BUDGET) -> BudgetedList[RelationGap]:
    """Nodes whose observations mention another node without a relation to it.

    A heuristic: judge each before you relate them.
    """
    return view.cut(missing_relations.gaps(Graph(call.scope)), token_budget)


# search --------------------------------------------------------------------------------------------------------------


@TOOLS.tool("Search nodes", "read")
def search_nodes(
    call: Call,
    *,
    query: Annotated[Query, Field(description='A question or words; AND, OR, NOT, "phrases" and prefix* work too.')],
    limit: Annotated[int, Field(ge=1, le=MATCHES, description="Most nodes.")] = 10,
    mode: Annotated[
        Mode, Field(description="auto: words and meaning; embedding: meaning alone; text: words alone.")
    ] = "auto",
    token_budget: TokenBudget = BUDGET,
) -> MatchedNodes:
    """Find nodes by the words and the meaning of their names and observations, best first, with observations and
    relations.
    """  # noqa: D205 - one sentence
    return view.matched(Graph(call.scope), query, limit, mode, token_budget)


@TOOLS.tool("Query a node", "read")
def query_observations(
    call: Call,
    *,
    entity_name: Annotated[NodeName, Field(description="Exact name of the node.")],
    query: Annotated[Query, Field(description="A question or words.")],
    mode: Annotated[Literal["embedding", "text"], Field(description="embedding: meaning; text: exact words.")] = (
        "embedding"
    ),
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Most observations.")] = 20,
) -> FoundObservations:
    """Search the observations of one node: useful if it has many."""
    return search.within(Graph(call.scope), entity_name, query, limit, mode)


@TOOLS.tool("Similar nodes", "read")
def find_similar_nodes(
    call: Call,
    *,
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Most pairs.")] = 20,
    min_score: Annotated[float, Field(ge=-1, le=1, description="Least similarity: 1 is the same, 0 unrelated.")] = 0.75,
) -> SimilarNodes:
    """Pairs of nodes with similar observations and no relation: candidates for a relation, a merge or a group.

    Pairs of the same name but for case, blanks, - and _ come first; others are found once observations are embedded.
    """
    return similarity.shown(similarity.similar(Graph(call.scope), limit, min_score))


# where the graph needs attention -------------------------------------------------------------------------------------


@TOOLS.tool("Consolidation report", "read")
def get_consolidation_report(
    call: Call, *, limit: Annotated[int, Field(ge=1, le=MATCHES, description="Most items of each list.")] = 20
) -> ConsolidationReport:
    """Where the graph needs attention: stale summaries with drafts, candidates for relations, orphans, clusters, and
    how much changed in 30 days. Candidates are computed: judge them.
    """  # noqa: D205 - one sentence
    return report.report(Graph(call.scope), limit)


@TOOLS.tool("Nodes to summarize", "read")
def get_pending_consolidation(call: Call, *, token_budget: TokenBudget = BUDGET) -> BudgetedList[PendingSummary]:
    """Nodes that have no summary, or have gained observations since it was last set."""
    return view.pending_summaries(Graph(call.scope), token_budget)


@TOOLS.tool("Graph statistics", "read")
def get_stats(call: Call) -> GraphStats:
    """Numbers of nodes, observations and relations, and the share of observations that are embedded."""
    return report.stats(Graph(call.scope))
