"""Relations: create, delete, retype, list those between two nodes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import relations as core
from memoryd.core.graph.relations import CreatedRelations, DeletedRelations, Edge, RelationList, RetypedRelation
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments

TOOLS = Toolset(needs="project")


class EdgeArguments(Arguments):
    """A relation, named by its ends and its type."""

    LABELS = {"type": "relation"}

    from_entity: shapes.FromEntity
    to_entity: shapes.ToEntity
    relation_type: shapes.RelationType


class NewEdgeArguments(EdgeArguments):
    """A relation to create."""

    relation_type: shapes.NewRelationType


@TOOLS.tool("Create relations", "write", idempotent=True)
def create_relations(
    call: Call,
    *,
    relations: Annotated[
        list[NewEdgeArguments],
        Field(min_length=1, max_length=ITEMS, description="Types in active voice, such as uses or depends_on."),
    ],
) -> CreatedRelations:
    """Create directed, typed relations between nodes that exist."""
    return core.create(graph_of(call), _edges(relations))


@TOOLS.tool("Delete relations", "write", idempotent=True, destructive=True)
def delete_relations(
    call: Call,
    *,
    relations: Annotated[
        list[EdgeArguments], Field(min_length=1, max_length=ITEMS, description="Both names and the type, exactly.")
    ],
) -> DeletedRelations:
    """Delete relations by both names and the type."""
    return core.delete(graph_of(call), _edges(relations))


def _edges(those: Sequence[EdgeArguments]) -> list[Edge]:
    return [Edge(one.from_entity, one.to_entity, one.relation_type) for one in those]


@TOOLS.tool("Retype a relation", "write")
def update_relation_type(
    call: Call,
    *,
    from_entity: Annotated[shapes.FromEntity, Field(description="Exact name of the node where it begins.")],
    to_entity: Annotated[shapes.ToEntity, Field(description="Exact name of the node where it ends.")],
    old_type: Annotated[
        shapes.TypeName, Field(validation_alias=AliasChoices("old_type", "oldType"), description="Its present type.")
    ],
    new_type: Annotated[
        shapes.NewTypeName, Field(validation_alias=AliasChoices("new_type", "newType"), description="Its new type.")
    ],
) -> RetypedRelation:
    """Give a relation another type; both its ends stay."""
    return core.rename(graph_of(call), Edge(from_entity, to_entity, old_type), new_type)


@TOOLS.tool("Relations of two nodes", "read")
def get_relations_between(
    call: Call,
    *,
    entity_a: Annotated[
        shapes.NodeName, Field(validation_alias=AliasChoices("entity_a", "entityA"), description="Exact name.")
    ],
    entity_b: Annotated[
        shapes.NodeName, Field(validation_alias=AliasChoices("entity_b", "entityB"), description="Exact name.")
    ],
) -> RelationList:
    """All relations between two nodes, in both directions."""
    return {"result": list(map(core.shown, core.between(graph_of(call), entity_a, entity_b)))}
