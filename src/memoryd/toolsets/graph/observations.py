"""Observations: added, replaced, deleted, each at an ordinal of its own."""

from typing import Annotated, Self

from pydantic import AliasChoices, Field, model_validator

from memoryd.core.graph import observations
from memoryd.toolsets.graph import shapes
from memoryd.toolsets.graph.shapes import ITEMS, graph_of
from memoryd.toolsets.registry import Answer, Arguments, Call, Result, Tool, Toolset

# add_observations ----------------------------------------------------------------------------------------------------


class Addition(Arguments):
    """What to add to a node."""

    entity_name: shapes.EntityName
    contents: Annotated[list[shapes.Content], Field(max_length=ITEMS)]


class AddArguments(Arguments):
    """What to add, node by node."""

    observations: Annotated[
        list[Addition],
        Field(min_length=1, max_length=ITEMS, description="Contents are self-contained facts, one each."),
    ]


class AddedFact(shapes.Fact):
    """A new observation."""

    id: str
    created_at: str


class Added(Result):
    """What a node has gained; nothing where it was not found."""

    entity_name: str
    added: list[AddedFact]
    not_found: bool


class AddResult(Result):
    """In the order of the arguments."""

    result: list[Added]


def add(call: Call, arguments: AddArguments) -> Answer:
    """add_observations."""
    wanted = [(one.entity_name, one.contents) for one in arguments.observations]
    return Answer(AddResult(result=[_added(one) for one in observations.add(graph_of(call), wanted)]))


def _added(one: observations.Added) -> Added:
    facts = [
        AddedFact(id=made.id, ordinal=made.ordinal, content=made.content, created_at=made.created_at)
        for made in one.observations
    ]
    return Added(entity_name=one.entity, added=facts, not_found=one.not_found)


# replace_observation -------------------------------------------------------------------------------------------------


class ReplaceArguments(Arguments):
    """Which observation, and its new text."""

    entity_name: Annotated[shapes.EntityName, Field(description="Exact name of the node.")]
    ordinal: Annotated[shapes.Ordinal, Field(description="Its ordinal, which stays.")]
    new_content: Annotated[
        shapes.Content,
        Field(validation_alias=AliasChoices("new_content", "newContent"), description="The new text."),
    ]


class ReplaceResult(Result):
    """Both texts."""

    entity_name: str
    ordinal: int
    old_content: str
    new_content: str


def replace(call: Call, arguments: ReplaceArguments) -> Answer:
    """replace_observation."""
    name, ordinal, content = arguments.entity_name, arguments.ordinal, arguments.new_content
    old = observations.replace(graph_of(call), name, ordinal, content)
    return Answer(ReplaceResult(entity_name=name, ordinal=ordinal, old_content=old, new_content=content))


# delete_observations -------------------------------------------------------------------------------------------------


class Deletion(Arguments):
    """Observations of one node."""

    entity_name: shapes.EntityName
    ordinals: Annotated[list[shapes.Ordinal], Field(max_length=ITEMS)] = []
    observations: Annotated[list[shapes.Content], Field(max_length=ITEMS)] = []

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if not (self.ordinals or self.observations):
            raise ValueError("give ordinals, observations (their exact texts), or both")
        return self


class DeleteArguments(Arguments):
    """What to delete, node by node."""

    deletions: Annotated[
        list[Deletion],
        Field(min_length=1, max_length=ITEMS, description="By ordinals, by exact texts (observations), or both."),
    ]


class Deleted(Result):
    """What is gone of a node."""

    entity_name: str
    deleted_ordinals: list[int]
    not_found_ordinals: list[int]
    not_found_observations: list[str]


class DeleteResult(Result):
    """In the order of the arguments."""

    deleted_count: int
    result: list[Deleted]


def delete(call: Call, arguments: DeleteArguments) -> Answer:
    """delete_observations."""
    deletions = [
        observations.Deletion(
            entity=one.entity_name, ordinals=tuple(one.ordinals), contents=tuple(one.observations)
        )
        for one in arguments.deletions
    ]  # fmt: skip
    gone = [_deleted(one) for one in observations.delete(graph_of(call), deletions)]
    return Answer(DeleteResult(deleted_count=sum(len(one.deleted_ordinals) for one in gone), result=gone))


def _deleted(one: observations.Removed) -> Deleted:
    return Deleted(
        entity_name=one.entity, deleted_ordinals=list(one.ordinals), not_found_ordinals=list(one.missing_ordinals),
        not_found_observations=list(one.missing_contents),
    )  # fmt: skip


TOOLS: Toolset = (
    Tool(
        name="add_observations", title="Add observations", capability="write", needs="project",
        description="Append observations to nodes that exist; each gets the next ordinal of its node.",
        arguments=AddArguments, result=AddResult, handler=add,
    ),
    Tool(
        name="replace_observation", title="Replace an observation", capability="write", needs="project",
        idempotent=True, description="Replace the text of one observation; its ordinal stays.",
        arguments=ReplaceArguments, result=ReplaceResult, handler=replace,
    ),
    Tool(
        name="delete_observations", title="Delete observations", capability="write", needs="project",
        idempotent=True, destructive=True,
        description="Delete observations of nodes. The ordinals of the others stay.",
        arguments=DeleteArguments, result=DeleteResult, handler=delete,
    ),
)  # fmt: skip
