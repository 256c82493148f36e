"""Nodes: create, list, summarize, tag, delete."""

from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import entities, results, view
from memoryd.core.graph.entities import DeletedNodes, NewEntity
from memoryd.core.graph.results import BriefNode, BriefNodes, CreatedNodes, SummarizedNode, TaggedNode
from memoryd.core.graph.view import BudgetedList
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Tags, Tool, Toolset

# create_entities and delete_entities ---------------------------------------------------------------------------------


class EntityArguments(Arguments):
    """A node to create."""

    name: shapes.NewNodeName
    entity_type: shapes.NewEntityType
    observations: Annotated[list[shapes.ObservationText], Field(max_length=ITEMS)] = []
    summary: shapes.NodeSummary | None = None
    tags: Tags | None = None


class CreateEntitiesArguments(Arguments):
    """The nodes to create."""

    entities: Annotated[
        list[EntityArguments],
        Field(min_length=1, max_length=ITEMS, description="Observations are self-contained facts, one each."),
    ]


class DeleteEntitiesArguments(Arguments):
    """The nodes to delete."""

    entity_names: Annotated[
        list[shapes.NodeName],
        Field(
            min_length=1, max_length=ITEMS, validation_alias=AliasChoices("entity_names", "entityNames", "names"),
            description="Exact names.",
        ),
    ]  # fmt: skip


def _create(call: Call, arguments: CreateEntitiesArguments) -> Answer[CreatedNodes]:
    news = [
        NewEntity(
            name=new.name, type=new.entity_type, observations=tuple(new.observations), summary=new.summary,
            tags=None if new.tags is None else tuple(dict.fromkeys(new.tags)),
        )
        for new in arguments.entities
    ]  # fmt: skip
    return Answer(results.created_nodes(entities.create(graph_of(call), news)))


def _delete(call: Call, arguments: DeleteEntitiesArguments) -> Answer[DeletedNodes]:
    return Answer(entities.delete(graph_of(call), arguments.entity_names))


# get_nodes_by_type and get_recently_modified -------------------------------------------------------------------------


class NodesByTypeArguments(Arguments):
    """The type of the nodes to list."""

    entity_type: Annotated[shapes.EntityType, Field(description="The exact type.")]
    token_budget: shapes.TokenBudget = shapes.BUDGET


class RecentlyModifiedArguments(Arguments):
    """How many days to look back, and how many nodes to return."""

    days: Annotated[float, Field(gt=0, le=shapes.DAYS, description="Look back this many days.")] = 7
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most nodes.")] = 20


def _by_type(call: Call, arguments: NodesByTypeArguments) -> Answer[BudgetedList[BriefNode]]:
    return Answer(view.brief_nodes(entities.of_type(graph_of(call), arguments.entity_type), arguments.token_budget))


def _recently_modified(call: Call, arguments: RecentlyModifiedArguments) -> Answer[BriefNodes]:
    return Answer(results.briefs(entities.recently_modified(graph_of(call), arguments.days, arguments.limit)))


# set_summary and set_tags --------------------------------------------------------------------------------------------


class SetSummaryArguments(Arguments):
    """The new summary of a node."""

    name: Annotated[shapes.NodeName, Field(description="Its exact name.")]
    summary: Annotated[shapes.NodeSummary, Field(description="Replaces the old one; '' clears it.")]


class SetTagsArguments(Arguments):
    """The new tags of a node."""

    name: Annotated[shapes.NodeName, Field(description="Its exact name.")]
    tags: Annotated[Tags, Field(description="Replace the old ones; [] clears them.")]


def _set_summary(call: Call, arguments: SetSummaryArguments) -> Answer[SummarizedNode]:
    return Answer(results.summarized(entities.set_summary(graph_of(call), arguments.name, arguments.summary)))


def _set_tags(call: Call, arguments: SetTagsArguments) -> Answer[TaggedNode]:
    return Answer(results.tagged(entities.set_tags(graph_of(call), arguments.name, arguments.tags)))


TOOLS: Toolset = (
    Tool(
        name="create_entities", title="Create nodes", capability="write", needs="project", idempotent=True,
        description="Create nodes of the knowledge graph with their first observations. A node that exists gains the "
        "observations that it lacks, and the summary and tags if given.",
        arguments=CreateEntitiesArguments, result=CreatedNodes, handler=_create,
    ),
    Tool(
        name="delete_entities", title="Delete nodes", capability="write", needs="project", idempotent=True,
        destructive=True, description="Delete nodes with all their observations and relations.",
        arguments=DeleteEntitiesArguments, result=DeletedNodes, handler=_delete,
    ),
    Tool(
        name="get_nodes_by_type", title="Nodes of a type", capability="read", needs="project",
        description="List all nodes of an entity type, by name.",
        arguments=NodesByTypeArguments, result=BudgetedList[BriefNode], handler=_by_type,
    ),
    Tool(
        name="get_recently_modified", title="Recent changes", capability="read", needs="project",
        description="Nodes changed recently (own fields, observations or relations), newest first.",
        arguments=RecentlyModifiedArguments, result=BriefNodes, handler=_recently_modified,
    ),
    Tool(
        name="set_summary", title="Summarize a node", capability="write", needs="project", idempotent=True,
        description="Set or replace the summary of a node; '' clears it.",
        arguments=SetSummaryArguments, result=SummarizedNode, handler=_set_summary,
    ),
    Tool(
        name="set_tags", title="Tag a node", capability="write", needs="project", idempotent=True,
        description="Replace the whole set of tags of a node; [] clears it.",
        arguments=SetTagsArguments, result=TaggedNode, handler=_set_tags,
    ),
)  # fmt: skip
