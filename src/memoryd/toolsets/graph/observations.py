"""Observations, each with its own ordinal: add, replace, delete."""

from typing import Annotated, Self

from pydantic import AliasChoices, Field, model_validator

from memoryd.core.graph import observations
from memoryd.core.graph.observations import AddedObservations, DeletedObservations, Deletion, ReplacedObservation
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Tool, Toolset

# add_observations ----------------------------------------------------------------------------------------------------


class AdditionArguments(Arguments):
    """The observations to add to a node."""

    entity_name: shapes.EntityName
    contents: Annotated[list[shapes.ObservationText], Field(max_length=ITEMS)]


class AddObservationsArguments(Arguments):
    """The observations to add, by node."""

    observations: Annotated[
        list[AdditionArguments],
        Field(min_length=1, max_length=ITEMS, description="Contents are self-contained facts, one each."),
    ]


def _add(call: Call, arguments: AddObservationsArguments) -> Answer[AddedObservations]:
    wanted = [(one.entity_name, one.contents) for one in arguments.observations]
    return Answer(observations.add(graph_of(call), wanted))


# replace_observation -------------------------------------------------------------------------------------------------


class ReplaceObservationArguments(Arguments):
    """The observation to replace, and its new text."""

    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")]
    ordinal: Annotated[shapes.Ordinal, Field(description="Its ordinal, which stays.")]
    new_content: Annotated[
        shapes.ObservationText,
        Field(validation_alias=AliasChoices("new_content", "newContent"), description="The new text."),
    ]


def _replace(call: Call, arguments: ReplaceObservationArguments) -> Answer[ReplacedObservation]:
    name, ordinal, content = arguments.entity_name, arguments.ordinal, arguments.new_content
    return Answer(observations.replace(graph_of(call), name, ordinal, content))


# delete_observations -------------------------------------------------------------------------------------------------


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


class DeleteObservationsArguments(Arguments):
    """The observations to delete, by node."""

    deletions: Annotated[
        list[DeletionArguments],
        Field(min_length=1, max_length=ITEMS, description="By ordinals, by exact texts (observations), or both."),
    ]


def _delete(call: Call, arguments: DeleteObservationsArguments) -> Answer[DeletedObservations]:
    deletions = [
        Deletion(entity=one.entity_name, ordinals=tuple(one.ordinals), contents=tuple(one.observations))
        for one in arguments.deletions
    ]
    return Answer(observations.delete(graph_of(call), deletions))


TOOLS: Toolset = (
    Tool(
        name="add_observations", title="Add observations", capability="write", needs="project",
        description="Append observations to nodes that exist; each gets the next ordinal of its node.",
        arguments=AddObservationsArguments, result=AddedObservations, handler=_add,
    ),
    Tool(
        name="replace_observation", title="Replace an observation", capability="write", needs="project",
        idempotent=True, description="Replace the text of one observation; its ordinal stays.",
        arguments=ReplaceObservationArguments, result=ReplacedObservation, handler=_replace,
    ),
    Tool(
        name="delete_observations", title="Delete observations", capability="write", needs="project",
        idempotent=True, destructive=True,
        description="Delete observations of nodes. The ordinals of the others stay.",
        arguments=DeleteObservationsArguments, result=DeletedObservations, handler=_delete,
    ),
)  # fmt: skip
