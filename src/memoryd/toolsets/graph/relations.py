"""Relations: made, deleted, retyped, looked up between two nodes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import relations
from memoryd.model import Relation
from memoryd.toolsets.graph import shapes, shown
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Tool, Toolset

# create_relations and delete_relations -------------------------------------------------------------------------------


class Edge(Arguments):
    """A relation by the names of its ends."""

    from_entity: shapes.Source
    to_entity: shapes.Target
    relation_type: shapes.RelationType


class NewEdge(Edge):
    """A relation to make."""

    relation_type: shapes.NewRelationType


class DeleteArguments(Arguments):
    """The relations to delete."""

    relations: Annotated[
        list[Edge], Field(min_length=1, max_length=ITEMS, description="Both names and the type, exactly.")
    ]


class CreateArguments(Arguments):
    """The relations to make."""

    relations: Annotated[
        list[NewEdge],
        Field(min_length=1, max_length=ITEMS, description="Types in active voice, such as uses or depends_on."),
    ]


class Stored(shapes.Edge):
    """A relation that is there."""

    id: str
    created_at: str


class CreateResult(Result):
    """What is new, what was there, and which names are no node's."""

    created: list[Stored]
    already_existed: list[Stored]
    not_found: list[str]


class DeleteResult(Result):
    """How many."""

    deleted: int
    not_found: int


def create(call: Call, arguments: CreateArguments) -> Answer:
    """create_relations."""
    made = relations.create(graph_of(call), _edges(arguments.relations))
    return Answer(
        CreateResult(
            created=_stored(made.created), already_existed=_stored(made.already_existed), not_found=list(made.not_found)
        )
    )


def delete(call: Call, arguments: DeleteArguments) -> Answer:
    """delete_relations."""
    deleted, not_found = relations.delete(graph_of(call), _edges(arguments.relations))
    return Answer(DeleteResult(deleted=deleted, not_found=not_found))


def _edges(those: Sequence[Edge]) -> list[relations.Edge]:
    return [relations.Edge(one.from_entity, one.to_entity, one.relation_type) for one in those]


def _stored(those: Sequence[Relation]) -> list[Stored]:
    return [
        Stored.model_validate(shown.edge(one) | {"id": one.id, "created_at": one.created_at}) for one in those
    ]  # fmt: skip


# update_relation_type ------------------------------------------------------------------------------------------------


class UpdateArguments(Arguments):
    """Which relation, and its new type."""

    from_entity: Annotated[shapes.Source, Field(description="Exact name of the node where it begins.")]
    to_entity: Annotated[shapes.Target, Field(description="Exact name of the node where it ends.")]
    old_type: Annotated[
        shapes.Type, Field(validation_alias=AliasChoices("old_type", "oldType"), description="What it is.")
    ]
    new_type: Annotated[
        shapes.NewType, Field(validation_alias=AliasChoices("new_type", "newType"), description="What it becomes.")
    ]


class UpdateResult(Result):
    """What has changed."""

    from_entity: str
    to_entity: str
    old_type: str
    new_type: str


def update_type(call: Call, arguments: UpdateArguments) -> Answer:
    """update_relation_type."""
    edge = relations.Edge(arguments.from_entity, arguments.to_entity, arguments.old_type)
    relations.rename(graph_of(call), edge, arguments.new_type)
    return Answer(UpdateResult.model_validate(arguments.model_dump()))


# get_relations_between -----------------------------------------------------------------------------------------------


class BetweenArguments(Arguments):
    """Which two nodes."""

    entity_a: Annotated[
        shapes.Name, Field(validation_alias=AliasChoices("entity_a", "entityA"), description="Exact name.")
    ]
    entity_b: Annotated[
        shapes.Name, Field(validation_alias=AliasChoices("entity_b", "entityB"), description="Exact name.")
    ]


def between(call: Call, arguments: BetweenArguments) -> Answer:
    """get_relations_between."""
    found = relations.between(graph_of(call), arguments.entity_a, arguments.entity_b)
    return Answer(shapes.Edges.model_validate({"result": [shown.edge(one) for one in found]}))


TOOLS: Toolset = (
    Tool(
        name="create_relations", title="Create relations", capability="write", needs="project", idempotent=True,
        description="Create directed, typed relations between nodes that exist.",
        arguments=CreateArguments, result=CreateResult, handler=create,
    ),
    Tool(
        name="delete_relations", title="Delete relations", capability="write", needs="project", idempotent=True,
        destructive=True, description="Delete relations by both names and the type.",
        arguments=DeleteArguments, result=DeleteResult, handler=delete,
    ),
    Tool(
        name="update_relation_type", title="Retype a relation", capability="write", needs="project",
        description="Give a relation another type; both its ends stay.",
        arguments=UpdateArguments, result=UpdateResult, handler=update_type,
    ),
    Tool(
        name="get_relations_between", title="Relations of two nodes", capability="read", needs="project",
        description="All relations between two nodes, in both directions.",
        arguments=BetweenArguments, result=shapes.Edges, handler=between,
    ),
)  # fmt: skip
