"""Seed a's toolset: memories with a key, in a session or in the vault, and the name of the session."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from memoryd.core.base.limits import MEMORY_KEY
from memoryd.core.memories import vault_view
from memoryd.core.memories.vault import Vault
from memoryd.core.memories.vault_view import CommittedMemory, FoundMemories, NamedSession, PrunedMemories
from memoryd.errors import InvalidParamsError
from memoryd.settings import SESSION_LENGTH
from memoryd.toolsets.registry import Answer, Arguments, Call, Tags, Tool, Toolset

CONTENT, QUERY, LIMIT = 100_000, 100_000, 1_000
NUMBERS = 100_000  # of an embedding: above any dimension, so that a wrong dimension gets its own error
LARGEST = 3.4028234663852886e38  # a float32

OneScope = Literal["session", "vault"]
AnyScope = Literal["session", "vault", "all"]
MemoryKey = Annotated[str, StringConstraints(min_length=1, max_length=MEMORY_KEY, pattern=r"\S")]
KeyedText = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT, pattern=r"\S")]
Float32 = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]

# Optional arguments have factories, so that the schema shows no default: [] would clear the tags, and is not a vector.
ClientVector = Annotated[list[Float32], Field(default_factory=list, max_length=NUMBERS)]


def _plain(schema: dict[str, Any]) -> None:
    """Reduce the schema to that of a text; null is accepted as well, but the seed does not have it."""
    schema |= schema.pop("anyOf")[0]


Omittable = Field(default_factory=lambda: None, json_schema_extra=_plain)

# commit_memory -------------------------------------------------------------------------------------------------------


class CommitMemoryArguments(Arguments):
    """The memory to store, and its key."""

    scope: Annotated[OneScope, Field(description="session: this conversation only; vault: permanent.")]
    key: Annotated[MemoryKey, Field(description="Unique identifier for this memory within its scope.")]
    content: Annotated[KeyedText, Field(description="The memory content to store.")]
    tags: Annotated[
        Tags,
        Field(
            default_factory=list,
            description="Categorization tags for retrieval. Omitted: those of an earlier commit stay.",
        ),
    ]
    embedding: Annotated[ClientVector, Field(description="Optional pre-computed embedding vector (float32[D]).")]


def _commit(call: Call, arguments: CommitMemoryArguments) -> Answer[CommittedMemory]:
    given = arguments.model_fields_set
    key = _vault(call).commit(
        arguments.scope,
        arguments.key,
        arguments.content,
        tags=arguments.tags if "tags" in given else None,
        vector=_vector(call, "embedding", arguments.embedding) if "embedding" in given else None,
    )
    return Answer({"committed": True, "key": key, "scope": arguments.scope})


# search_memories -----------------------------------------------------------------------------------------------------


class SearchMemoriesArguments(Arguments):
    """The query, and its filters."""

    query: Annotated[str, Field(max_length=QUERY, description="Full-text search query (FTS5 syntax supported).")]
    scope: Annotated[AnyScope, Field(description="Which scope(s) to search.")] = "all"
    tags: Annotated[Tags, Field(description="Filter: only return memories with ALL specified tags.")] = []
    query_embedding: Annotated[
        ClientVector, Field(description="Optional: embedding of the query for semantic re-ranking.")
    ]
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Max results to return.")] = 10


def _search(call: Call, arguments: SearchMemoriesArguments) -> Answer[FoundMemories]:
    given = "query_embedding" in arguments.model_fields_set
    found, total = _vault(call).search(
        arguments.query,
        arguments.scope,
        arguments.tags,
        vector=_vector(call, "query_embedding", arguments.query_embedding) if given else None,
        limit=arguments.limit,
    )
    return Answer(vault_view.found(found, total))


# prune_memory --------------------------------------------------------------------------------------------------------


class PruneMemoryArguments(Arguments):
    """The memories to delete; filters combine with AND."""

    scope: Annotated[AnyScope, Field(description="Where to delete.")]
    key: Annotated[MemoryKey | None, Omittable, Field(description="If provided, delete only this key (within scope).")]
    older_than: Annotated[
        Annotated[str, Field(min_length=1, max_length=100)] | None,
        Omittable,
        Field(description="ISO 8601 datetime. Delete entries created before this timestamp."),
    ]
    tags: Annotated[Tags, Field(description="Delete entries matching ALL these tags.")] = []


def _prune(call: Call, arguments: PruneMemoryArguments) -> Answer[PrunedMemories]:
    """Delete what the filters match. Without filters this would empty the vault, so `vault` and `all` are refused."""
    if arguments.scope != "session" and not (arguments.key or arguments.older_than or arguments.tags):
        raise InvalidParamsError("Bulk vault prune requires at least one filter.")
    count = _vault(call).prune(arguments.scope, arguments.key, arguments.older_than, arguments.tags)
    return Answer({"pruned_count": count})


# set_session_id ------------------------------------------------------------------------------------------------------


class SetSessionIdArguments(Arguments):
    """The name of the session."""

    session_id: Annotated[
        str,
        StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S"),
        Field(description="Whose volatile memories this connection sees and writes from now on."),
    ]


def _set_session_id(call: Call, arguments: SetSessionIdArguments) -> Answer[NamedSession]:
    call.engine.sessions.hold(call.named(arguments.session_id))
    return Answer({"session_id": arguments.session_id}, session=arguments.session_id)


def _vault(call: Call) -> Vault:
    call.engine.sessions.hold(call.session)
    return Vault(call.scope)


def _vector(call: Call, name: str, numbers: list[float]) -> list[float]:
    dim = call.engine.settings.embedding_dim
    if len(numbers) != dim:
        raise InvalidParamsError(
            f"{name} has {len(numbers)} dimensions instead of {dim}. Use the model that the vault is set up for, or "
            "set MEMORY_MCP_EMBEDDING_DIM."
        )
    return numbers


TOOLS: Toolset = (
    Tool(
        name="commit_memory",
        title="Commit a memory",
        description="Store a memory entry in the session (volatile) or vault (persistent) scope. Upserts on key "
        "collision.",
        arguments=CommitMemoryArguments,
        result=CommittedMemory,
        capability="write",
        handler=_commit,
        idempotent=True,
    ),
    Tool(
        name="search_memories",
        title="Search memories",
        description="Search memories by text query, tags, or both. Returns ranked results. Semantic ranking used if "
        "embeddings are present and a query_embedding is provided.",
        arguments=SearchMemoriesArguments,
        result=FoundMemories,
        capability="read",
        handler=_search,
    ),
    Tool(
        name="prune_memory",
        title="Prune memories",
        description="Delete memory entries. Can target a specific key, or bulk-delete by age or scope.",
        arguments=PruneMemoryArguments,
        result=PrunedMemories,
        capability="write",
        handler=_prune,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        name="set_session_id",
        title="Name this session",
        description="Name the session of this connection, to go on with its volatile memories.",
        arguments=SetSessionIdArguments,
        result=NamedSession,
        capability="read",
        handler=_set_session_id,
        needs="nothing",
    ),
)
