"""Relations: create, delete, retype, list those between two nodes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import relations, results
from memoryd.core.graph.relations import CreatedRelations, DeletedRelations, Edge, RetypedRelation
from memoryd.core.graph.results import RelationList
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Tool, Toolset

# create_relations and delete_relations -------------------------------------------------------------------------------


class EdgeArguments(Arguments):
    """A relation, named by its ends and its type."""

    from_entity: shapes.FromEntity
    to_entity: shapes.ToEntity
    relation_type: shapes.RelationType


class NewEdgeArguments(EdgeArguments):
    """A relation to create."""

    relation_type: shapes.NewRelationType


class CreateRelationsArguments(Arguments):
    """The relations to create."""

    relations: Annotated[
        list[NewEdgeArguments],
        Field(min_length=1, max_length=ITEMS, description="Types in active voice, such as uses or depends_on."),
    ]


class DeleteRelationsArguments(Arguments):
    """The relations to delete."""

    relations: Annotated[
        list[EdgeArguments], Field(min_length=1, max_length=ITEMS, description="Both names and the type, exactly.")
    ]


def _create(call: Call, arguments: CreateRelationsArguments) -> Answer[CreatedRelations]:
    return Answer(relations.create(graph_of(call), _edges(arguments.relations)))


def _delete(call: Call, arguments: DeleteRelationsArguments) -> Answer[DeletedRelations]:
    return Answer(relations.delete(graph_of(call), _edges(arguments.relations)))


def _edges(those: Sequence[EdgeArguments]) -> list[Edge]:
    return [Edge(one.from_entity, one.to_entity, one.relation_type) for one in those]


# update_relation_type ------------------------------------------------------------------------------------------------


class UpdateRelationTypeArguments(Arguments):
    """The relation to change, and its new type."""

    from_entity: Annotated[shapes.FromEntity, Field(description="Exact name of the node where it begins.")]
    to_entity: Annotated[shapes.ToEntity, Field(description="Exact name of the node where it ends.")]
    old_type: Annotated[
        shapes.TypeName, Field(validation_alias=AliasChoices("old_type", "oldType"), description="Its present type.")
    ]
    new_type: Annotated[
        shapes.NewTypeName, Field(validation_alias=AliasChoices("new_type", "newType"), description="Its new type.")
    ]


def _retype(call: Call, arguments: UpdateRelationTypeArguments) -> Answer[RetypedRelation]:
    edge = Edge(arguments.from_entity, arguments.to_entity, arguments.old_type)
    return Answer(relations.rename(graph_of(call), edge, arguments.new_type))


# get_relations_between -----------------------------------------------------------------------------------------------


class RelationsBetweenArguments(Arguments):
    """The two nodes."""

    entity_a: Annotated[
        shapes.NodeName, Field(validation_alias=AliasChoices("entity_a", "entityA"), description="Exact name.")
    ]
    entity_b: Annotated[
        shapes.NodeName, Field(validation_alias=AliasChoices("entity_b", "entityB"), description="Exact name.")
    ]


def _between(call: Call, arguments: RelationsBetweenArguments) -> Answer[RelationList]:
    return Answer(results.relation_list(relations.between(graph_of(call), arguments.entity_a, arguments.entity_b)))


TOOLS: Toolset = (
    Tool(
        name="create_relations", title="Create relations", capability="write", needs="project", idempotent=True,
        description="Create directed, typed relations between nodes that exist.",
        arguments=CreateRelationsArguments, result=CreatedRelations, handler=_create,
    ),
    Tool(
        name="delete_relations", title="Delete relations", capability="write", needs="project", idempotent=True,
        destructive=True, description="Delete relations by both names and the type.",
        arguments=DeleteRelationsArguments, result=DeletedRelations, handler=_delete,
    ),
    Tool(
        name="update_relation_type", title="Retype a relation", capability="write", needs="project",
        description="Give a relation another type; both its ends stay.",
        arguments=UpdateRelationTypeArguments, result=RetypedRelation, handler=_retype,
    ),
    Tool(
        name="get_relations_between", title="Relations of two nodes", capability="read", needs="project",
        description="All relations between two nodes, in both directions.",
        arguments=RelationsBetweenArguments, result=RelationList, handler=_between,
    ),
)  # fmt: skip
