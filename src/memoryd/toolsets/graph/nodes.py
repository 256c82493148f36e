"""Nodes: made, listed, summarized, tagged, deleted."""

from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import entities
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Tags, Tool, Toolset

# create_entities -----------------------------------------------------------------------------------------------------


class NewEntity(Arguments):
    """A node to make."""

    name: shapes.NewName
    entity_type: shapes.NewEntityType
    observations: Annotated[list[shapes.Content], Field(max_length=ITEMS)] = []
    summary: shapes.Summary | None = None
    tags: Tags | None = None


class CreateArguments(Arguments):
    """The nodes to make."""

    entities: Annotated[
        list[NewEntity],
        Field(min_length=1, max_length=ITEMS, description="Observations are self-contained facts, one each."),
    ]


class Created(Result):
    """A node that is there now."""

    id: str
    name: str
    entity_type: str
    created_at: str
    already_existed: bool


class CreateResult(Result):
    """The nodes, in the order of the arguments."""

    result: list[Created]


def create(call: Call, arguments: CreateArguments) -> Answer:
    """create_entities."""
    news = [
        entities.NewEntity(
            name=new.name, type=new.entity_type, observations=tuple(new.observations), summary=new.summary,
            tags=None if new.tags is None else tuple(dict.fromkeys(new.tags)),
        )
        for new in arguments.entities
    ]  # fmt: skip
    made = entities.create(graph_of(call), news)
    return Answer(CreateResult(result=[_created(one) for one in made]))


def _created(one: entities.Created) -> Created:
    there = one.entity
    return Created(
        id=there.id, name=there.name, entity_type=there.type, created_at=there.created_at,
        already_existed=one.already_existed,
    )  # fmt: skip


# delete_entities -----------------------------------------------------------------------------------------------------


class DeleteArguments(Arguments):
    """The nodes to delete."""

    entity_names: Annotated[
        list[shapes.Name],
        Field(
            min_length=1, max_length=ITEMS, validation_alias=AliasChoices("entity_names", "entityNames", "names"),
            description="Exact names.",
        ),
    ]  # fmt: skip


class DeleteResult(Result):
    """Which are gone."""

    deleted: list[str]
    not_found: list[str]
    deleted_count: int


def delete(call: Call, arguments: DeleteArguments) -> Answer:
    """delete_entities."""
    gone = entities.delete(graph_of(call), arguments.entity_names)
    return Answer(
        DeleteResult(deleted=list(gone.deleted), not_found=list(gone.not_found), deleted_count=len(gone.deleted))
    )


# get_nodes_by_type and get_recently_modified -------------------------------------------------------------------------


class TypeArguments(Arguments):
    """Which type."""

    entity_type: Annotated[shapes.EntityType, Field(description="The exact type.")]
    token_budget: shapes.TokenBudget = shapes.BUDGET


class RecentArguments(Arguments):
    """How far back."""

    days: Annotated[float, Field(gt=0, le=shapes.DAYS, description="Changed in the last so many days.")] = 7
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most nodes.")] = 20


def by_type(call: Call, arguments: TypeArguments) -> Answer:
    """get_nodes_by_type."""
    found = entities.of_type(graph_of(call), arguments.entity_type)
    return Answer(shapes.brief_page(found, arguments.token_budget))


def recently_modified(call: Call, arguments: RecentArguments) -> Answer:
    """get_recently_modified."""
    found = entities.recently_modified(graph_of(call), arguments.days, arguments.limit)
    return Answer(shapes.Briefs.model_validate({"result": [shown.brief(one) for one in found]}))


# set_summary and set_tags --------------------------------------------------------------------------------------------


class SummaryArguments(Arguments):
    """Another summary for a node."""

    name: Annotated[shapes.Name, Field(description="Its exact name.")]
    summary: Annotated[shapes.Summary, Field(description="Replaces the old one; '' clears it.")]


class SummaryResult(Result):
    """What the node has now."""

    name: str
    summary: str | None
    updated_at: str


class TagsArguments(Arguments):
    """Other tags for a node."""

    name: Annotated[shapes.Name, Field(description="Its exact name.")]
    tags: Annotated[Tags, Field(description="Replace the old ones; [] clears them.")]


class TagsResult(Result):
    """What the node has now."""

    name: str
    tags: list[str]


def set_summary(call: Call, arguments: SummaryArguments) -> Answer:
    """set_summary."""
    node = entities.set_summary(graph_of(call), arguments.name, arguments.summary)
    return Answer(SummaryResult(name=node.name, summary=node.summary, updated_at=node.updated_at))


def set_tags(call: Call, arguments: TagsArguments) -> Answer:
    """set_tags."""
    node = entities.set_tags(graph_of(call), arguments.name, arguments.tags)
    return Answer(TagsResult(name=node.name, tags=list(node.tags)))


TOOLS: Toolset = (
    Tool(
        name="create_entities", title="Create nodes", capability="write", needs="project", idempotent=True,
        description="Create nodes of the knowledge graph with their first observations. A name that exists gains the "
        "observations that it lacks, and the summary and tags if given.",
        arguments=CreateArguments, result=CreateResult, handler=create,
    ),
    Tool(
        name="delete_entities", title="Delete nodes", capability="write", needs="project", idempotent=True,
        destructive=True, description="Delete nodes with all their observations and relations.",
        arguments=DeleteArguments, result=DeleteResult, handler=delete,
    ),
    Tool(
        name="get_nodes_by_type", title="Nodes of a type", capability="read", needs="project",
        description="List all nodes of an entity type, by name.",
        arguments=TypeArguments, result=shapes.BriefPage, handler=by_type,
    ),
    Tool(
        name="get_recently_modified", title="Recent changes", capability="read", needs="project",
        description="Nodes that changed lately, themselves or what is about them, the latest first.",
        arguments=RecentArguments, result=shapes.Briefs, handler=recently_modified,
    ),
    Tool(
        name="set_summary", title="Summarize a node", capability="write", needs="project", idempotent=True,
        description="Set or replace the summary of a node; '' clears it.",
        arguments=SummaryArguments, result=SummaryResult, handler=set_summary,
    ),
    Tool(
        name="set_tags", title="Tag a node", capability="write", needs="project", idempotent=True,
        description="Replace the whole set of tags of a node; [] clears it.",
        arguments=TagsArguments, result=TagsResult, handler=set_tags,
    ),
)  # fmt: skip
