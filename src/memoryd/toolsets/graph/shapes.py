"""What the arguments and results of several graph tools are made of.

b, c and the reference memory server name the same things differently. The schemas show c's names; the others are
accepted as well (`validation_alias`).
"""

from collections.abc import Iterable
from typing import Annotated, Generic, TypeVar

from pydantic import AliasChoices, Field, StringConstraints

from memoryd.core.graph.transaction import Graph
from memoryd.core.transfer.server_memory import LOOKED_UP
from memoryd.model import Entity
from memoryd.toolsets.graph import shown
from memoryd.toolsets.registry import Arguments, Call, Result

NAME, TYPE, CONTENT, SUMMARY = 500, 200, 10_000, 10_000
ITEMS, MATCHES, LIMIT, DAYS, ORDINAL = 1_000, 100, 1_000, 36_500, 10**9
BUDGET, MOST = 20_000, 1_000_000

# texts are kept verbatim, blanks and all, but must hold something besides
NewName = Annotated[str, StringConstraints(min_length=1, max_length=NAME, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LOOKED_UP, pattern=r"\S")]
NewType = Annotated[str, StringConstraints(min_length=1, max_length=TYPE, pattern=r"\S")]
Type = Name  # of what was imported it may be as long as a name
Content = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT, pattern=r"\S")]
Summary = Annotated[str, StringConstraints(max_length=SUMMARY)]
Ordinal = Annotated[int, Field(ge=0, le=ORDINAL)]

NewEntityType = Annotated[NewType, Field(validation_alias=AliasChoices("entity_type", "entityType"))]
EntityType = Annotated[Type, Field(validation_alias=AliasChoices("entity_type", "entityType"))]
EntityName = Annotated[Name, Field(validation_alias=AliasChoices("entity_name", "entityName"))]
Source = Annotated[Name, Field(validation_alias=AliasChoices("from_entity", "from", "fromEntity"))]
Target = Annotated[Name, Field(validation_alias=AliasChoices("to_entity", "to", "toEntity"))]
NewRelationType = Annotated[NewType, Field(validation_alias=AliasChoices("relation_type", "relationType"))]
RelationType = Annotated[Type, Field(validation_alias=AliasChoices("relation_type", "relationType"))]
TokenBudget = Annotated[
    int,
    Field(
        ge=0, le=MOST, validation_alias=AliasChoices("token_budget", "tokenBudget"),
        description="Most tokens of the answer; 0: no limit.",
    ),
]  # fmt: skip

ItemT = TypeVar("ItemT")


class BudgetArguments(Arguments):
    """How much of a list."""

    token_budget: TokenBudget = BUDGET


class Listed(Result, Generic[ItemT]):
    """A list as far as the budget goes."""

    result: list[ItemT]
    omitted: int
    tokens_used: int = 0


class Brief(Result):
    """A node in a list."""

    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    updated_at: str


class Briefs(Result):
    """Nodes."""

    result: list[Brief]


class BriefPage(Listed[Brief]):
    """Nodes as far as the budget goes."""


class Edge(Result):
    """A relation by the names of its ends."""

    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    relation_type: str


class Edges(Result):
    """Relations."""

    result: list[Edge]


class Omitted(Result):
    """How much of each was found and is not shown."""

    entities: int
    observations: int
    relations: int


class Fact(Result):
    """An observation."""

    ordinal: int
    content: str


class Node(Result):
    """A node with what is about it."""

    id: str
    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    observations: list[Fact]
    created_at: str
    updated_at: str


def graph_of(call: Call) -> Graph:
    """The graph that a call is about."""
    return Graph(call.engine, call.workspace, call.session)


def brief_page(found: Iterable[Entity], tokens: int) -> BriefPage:
    """A list of nodes, cut off where the budget ends."""
    return BriefPage.model_validate(shown.listed([shown.brief(one) for one in found], tokens))
