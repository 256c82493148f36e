"""Observations, each with its own ordinal: add, replace, delete."""

from typing import Annotated, Self

from pydantic import AliasChoices, Field, model_validator

from memoryd.core.graph import observations as core
from memoryd.core.graph.observations import AddedObservations, DeletedObservations, Deletion, ReplacedObservation
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Call, Toolset
from memoryd.toolsets.registry.arguments import Arguments

TOOLS = Toolset(needs="project")


class AdditionArguments(Arguments):
    """The observations to add to a node."""

    entity_name: shapes.EntityName
    contents: Annotated[list[shapes.ObservationText], Field(max_length=ITEMS)]


@TOOLS.tool("Add observations", "write", idempotent=True)
def add_observations(
    call: Call,
    *,
    observations: Annotated[
        list[AdditionArguments],
        Field(min_length=1, max_length=ITEMS, description="Contents are self-contained facts, one each."),
    ],
) -> AddedObservations:
    """Append the observations that nodes lack; each gets the next ordinal of its node."""
    return core.add(graph_of(call), [(one.entity_name, one.contents) for one in observations])


@TOOLS.tool("Replace an observation", "write", idempotent=True)
def replace_observation(
    call: Call,
    *,
    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")],
    ordinal: Annotated[shapes.Ordinal, Field(description="Its ordinal, which stays.")],
    new_content: Annotated[
        shapes.ObservationText,
        Field(validation_alias=AliasChoices("new_content", "newContent"), description="The new text."),
    ],
) -> ReplacedObservation:
    """Replace the text of one observation; its ordinal stays."""
    return core.replace(graph_of(call), entity_name, ordinal, new_content)


class DeletionArguments(Arguments):
    """Observations of one node."""

    entity_name: shapes.EntityName
    ordinals: Annotated[list[shapes.Ordinal], Field(max_length=ITEMS)] = []
    observations: Annotated[list[shapes.ObservationText], Field(max_length=ITEMS)] = []

    @model_validator(mode="after")
    def _names_observations(self) -> Self:
        if not (self.ordinals or self.observations):
            raise ValueError("give ordinals, observations (their exact texts), or both")
        return self


@TOOLS.tool("Delete observations", "write", idempotent=True, destructive=True)
def delete_observations(
    call: Call,
    *,
    deletions: Annotated[
        list[DeletionArguments],
        Field(min_length=1, max_length=ITEMS, description="By ordinals, by exact texts (observations), or both."),
    ],
) -> DeletedObservations:
    """Delete observations of nodes. The ordinals of the others stay."""
    wanted = [
        Deletion(entity=one.entity_name, ordinals=tuple(one.ordinals), contents=tuple(one.observations))
        for one in deletions
    ]
    return core.delete(graph_of(call), wanted)
