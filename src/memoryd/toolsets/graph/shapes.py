"""Parts of the arguments of several graph tools.

b, c and the reference memory server name the same things differently. The schemas show c's names; the others are
accepted as well (`validation_alias`).
"""

from typing import Annotated

from pydantic import AliasChoices, Field, StringConstraints

from memoryd.core.base.limits import KNOWN_NAME, NODE_NAME, NODE_TYPE, TEXT
from memoryd.core.graph.transaction import Graph
from memoryd.toolsets.registry import Call

ITEMS, MATCHES, LIMIT, DAYS, ORDINAL = 1_000, 100, 1_000, 36_500, 10**9
BUDGET, MOST = 20_000, 1_000_000

# texts are kept verbatim, including blanks, but must contain something else
NewNodeName = Annotated[str, StringConstraints(min_length=1, max_length=NODE_NAME, pattern=r"\S")]
NodeName = Annotated[str, StringConstraints(min_length=1, max_length=KNOWN_NAME, pattern=r"\S")]
NewTypeName = Annotated[str, StringConstraints(min_length=1, max_length=NODE_TYPE, pattern=r"\S")]
TypeName = NodeName  # an imported type may be as long as a name
ObservationText = Annotated[str, StringConstraints(min_length=1, max_length=TEXT, pattern=r"\S")]
NodeSummary = Annotated[str, StringConstraints(max_length=TEXT)]
Ordinal = Annotated[int, Field(ge=0, le=ORDINAL)]

NewEntityType = Annotated[NewTypeName, Field(validation_alias=AliasChoices("entity_type", "entityType"))]
EntityType = Annotated[TypeName, Field(validation_alias=AliasChoices("entity_type", "entityType"))]
EntityName = Annotated[NodeName, Field(validation_alias=AliasChoices("entity_name", "entityName"))]
FromEntity = Annotated[NodeName, Field(validation_alias=AliasChoices("from_entity", "from", "fromEntity"))]
ToEntity = Annotated[NodeName, Field(validation_alias=AliasChoices("to_entity", "to", "toEntity"))]
NewRelationType = Annotated[NewTypeName, Field(validation_alias=AliasChoices("relation_type", "relationType"))]
RelationType = Annotated[TypeName, Field(validation_alias=AliasChoices("relation_type", "relationType"))]
TokenBudget = Annotated[
    int,
    Field(
        ge=0,
        le=MOST,
        validation_alias=AliasChoices("token_budget", "tokenBudget"),
        description="Most tokens of the answer; 0: no limit.",
    ),
]


def graph_of(call: Call) -> Graph:
    """Return the graph of the workspace that a call runs in."""
    return Graph(call.scope)
