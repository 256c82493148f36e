"""Nodes: create, list, summarize, tag, delete."""

from typing import Annotated

from pydantic import AliasChoices, Field

from memoryd.core.graph import entities as core
from memoryd.core.graph import view
from memoryd.core.graph.entities import (
    BriefNode,
    BriefNodes,
    CreatedNodes,
    DeletedNodes,
    NewEntity,
    SummarizedNode,
    TaggedNode,
)
from memoryd.core.graph.view import BudgetedList
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments, Tags

TOOLS = Toolset(needs="project")


class EntityArguments(Arguments):
    """A node to create."""

    LABELS = {"type": "entity"}

    name: shapes.NewNodeName
    entity_type: shapes.NewEntityType
    observations: Annotated[list[shapes.ObservationText], Field(max_length=ITEMS)] = []
    summary: shapes.NodeSummary | None = None
    tags: Tags | None = None


@TOOLS.tool("Create nodes", "write", idempotent=True)
def create_entities(
    call: Call,
    *,
    entities: Annotated[
        list[EntityArguments],
        Field(min_length=1, max_length=ITEMS, description="Observations are self-contained facts, one each."),
    ],
) -> CreatedNodes:
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
    return core.create(graph_of(call), news)


@TOOLS.tool("Delete nodes", "write", idempotent=True, destructive=True)
def delete_entities(
    call: Call,
    *,
    entity_names: Annotated[
        list[shapes.NodeName],
        Field(
            min_length=1,
            max_length=ITEMS,
            validation_alias=AliasChoices("entity_names", "entityNames", "names"),
            description="Exact names.",
        ),
    ],
) -> DeletedNodes:
    """Delete nodes with all their observations and relations."""
    return core.delete(graph_of(call), entity_names)


@TOOLS.tool("Nodes of a type", "read")
def get_nodes_by_type(
    call: Call,
    *,
    entity_type: Annotated[shapes.EntityType, Field(description="The exact type.")],
    token_budget: shapes.TokenBudget = shapes.BUDGET,
) -> BudgetedList[BriefNode]:
    """List all nodes of an entity type, by name."""
    return view.brief_nodes(core.of_type(graph_of(call), entity_type), token_budget)


@TOOLS.tool("Recent changes", "read")
def get_recently_modified(
    call: Call,
    *,
    days: Annotated[float, Field(gt=0, le=shapes.DAYS, description="Look back this many days.")] = 7,
    limit: Annotated[int, Field(ge=1, le=shapes.LIMIT, description="Most nodes.")] = 20,
) -> BriefNodes:
    """Nodes changed recently (own fields, observations or relations), newest first."""
    return core.recently_modified(graph_of(call), days, limit)


@TOOLS.tool("Summarize a node", "write", idempotent=True)
def set_summary(
    call: Call,
    *,
    name: Annotated[shapes.NodeName, Field(description="Its exact name.")],
    summary: Annotated[shapes.NodeSummary, Field(description="Replaces the old one; '' clears it.")],
) -> SummarizedNode:
    """Set or replace the summary of a node; '' clears it."""
    return core.set_summary(graph_of(call), name, summary)


@TOOLS.tool("Tag a node", "write", idempotent=True)
def set_tags(
    call: Call,
    *,
    name: Annotated[shapes.NodeName, Field(description="Its exact name.")],
    tags: Annotated[Tags, Field(description="Replace the old ones; [] clears them.")],
) -> TaggedNode:
    """Replace the whole set of tags of a node; [] clears it."""
    return core.set_tags(graph_of(call), name, tags)
