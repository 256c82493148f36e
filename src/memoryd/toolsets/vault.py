"""Seed a's toolset: memories with a key, in a session or in the vault, and the name of the session."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from memoryd.core.base.limits import MEMORY_KEY
from memoryd.core.memories import view
from memoryd.core.memories.vault import Vault
from memoryd.core.memories.view import CommittedMemory, FoundMemories, NamedSession, PrunedMemories
from memoryd.errors import InvalidParamsError
from memoryd.settings import SESSION_LENGTH
from memoryd.toolsets.registry import Answer, Call, Toolset
from memoryd.toolsets.registry.arguments import Tags

CONTENT, QUERY, LIMIT = 100_000, 100_000, 1_000
NUMBERS = 100_000  # of an embedding: above any dimension, so that a wrong dimension gets its own error
LARGEST = 3.4028234663852886e38  # a float32

OneScope = Literal["session", "vault"]
AnyScope = Literal["session", "vault", "all"]
MemoryKey = Annotated[str, StringConstraints(min_length=1, max_length=MEMORY_KEY, pattern=r"\S")]
KeyedText = Annotated[str, StringConstraints(min_length=1, max_length=CONTENT, pattern=r"\S")]
Float32 = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]

ClientVector = Annotated[list[Float32], Field(max_length=NUMBERS)]

TOOLS = Toolset()


@TOOLS.tool("Commit a memory", "write", idempotent=True)
def commit_memory(
    call: Call,
    *,
    scope: Annotated[OneScope, Field(description="session: this conversation only; vault: permanent.")],
    key: Annotated[MemoryKey, Field(description="Unique identifier for this memory within its scope.")],
    content: Annotated[KeyedText, Field(description="The memory content to store.")],
    tags: Annotated[
        Tags | None,
        Field(description="Categorization tags for retrieval. Omitted: those of an earlier commit stay."),
    ] = None,
    embedding: Annotated[
        ClientVector | None, Field(description="Optional pre-computed embedding vector (float32[D]).")
    ] = None,
) -> CommittedMemory:
    """Store a memory entry in the session (volatile) or vault (persistent) scope. Upserts on key collision."""
    key = _vault(call).commit(scope, key, content, tags=tags, vector=_vector(call, "embedding", embedding))
    return {"committed": True, "key": key, "scope": scope}


@TOOLS.tool("Search memories", "read")
def search_memories(
    call: Call,
    *,
    query: Annotated[str, Field(max_length=QUERY, description="Full-text search query (FTS5 syntax supported).")],
    scope: Annotated[AnyScope, Field(description="Which scope(s) to search.")] = "all",
    tags: Annotated[Tags, Field(description="Filter: only return memories with ALL specified tags.")] = [],
    query_embedding: Annotated[
        ClientVector | None,
        Field(description="Optional: embedding of the query for semantic re-ranking."),
    ] = None,
    limit: Annotated[int, Field(ge=1, le=LIMIT, description="Max results to return.")] = 10,
) -> FoundMemories:
    """Search memories by text query, tags, or both.

    Returns ranked results. Semantic ranking used if embeddings are present and a query_embedding is provided.
    """
    vector = _vector(call, "query_embedding", query_embedding)
    found, total = _vault(call).search(query, scope, tags, vector=vector, limit=limit)
    return view.matches(found, total)


@TOOLS.tool("Prune memories", "write", destructive=True, idempotent=True)
def prune_memory(
    call: Call,
    *,
    scope: Annotated[AnyScope, Field(description="Where to delete.")],
    key: Annotated[MemoryKey | None, Field(description="If provided, delete only this key (within scope).")] = None,
    older_than: Annotated[
        Annotated[str, Field(min_length=1, max_length=100)] | None,
        Field(description="ISO 8601 datetime. Delete entries created before this timestamp."),
    ] = None,
    tags: Annotated[Tags, Field(description="Delete entries matching ALL these tags.")] = [],
) -> PrunedMemories:
    """Delete memory entries. Can target a specific key, or bulk-delete by age or scope."""
    if scope != "session" and not (key or older_than or tags):  # it would empty the vault
        raise InvalidParamsError("Bulk vault prune requires at least one filter.")
    return {"pruned_count": _vault(call).prune(scope, key, older_than, tags)}


@TOOLS.tool("Name this session", "read", needs="nothing")
def set_session_id(
    call: Call,
    *,
    session_id: Annotated[
        str,
        StringConstraints(min_length=1, max_length=SESSION_LENGTH, pattern=r"\S"),
        Field(description="Whose volatile memories this connection sees and writes from now on."),
    ],
) -> Answer[NamedSession]:
    """Name the session of this connection, to go on with its volatile memories."""
    call.engine.sessions.hold(call.named(session_id))
    return Answer({"session_id": session_id}, session=session_id)


def _vault(call: Call) -> Vault:
    call.engine.sessions.hold(call.session)
    return Vault(call.scope)


def _vector(call: Call, name: str, numbers: list[float] | None) -> list[float] | None:
    dim = call.engine.settings.embedding_dim
    if numbers is not None and len(numbers) != dim:
        raise InvalidParamsError(
            f"{name} has {len(numbers)} dimensions instead of {dim}. Use the model that the vault is set up for, or "
            "set MEMORY_MCP_EMBEDDING_DIM."
        )
    return numbers
