"""Helpers for seed a, for an agent whose server offers the vault."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, types

from tests.clients import Agent, Json

OTHER: Json = {"memoryd/session": "other"}
"""The `_meta` of a request in another session than the client's own."""
EVER = "9999-12-31T23:59:59Z"
AT_ONCE = 20  # the number of concurrent commits


def emptied(vault: Agent) -> Agent:
    """Prune everything in both sessions."""
    for meta in (None, OTHER):
        result = vault.call("prune_memory", {"scope": "all", "older_than": EVER}, meta)
        assert not result.is_error
    return vault


def keep(vault: Agent, key: str, content: str, scope: str = "vault", **more: Any) -> None:
    """Commit a memory."""
    result = vault.ok("commit_memory", scope=scope, key=key, content=content, **more)
    assert result == {"committed": True, "key": key, "scope": scope}


def keep_all(vault: Agent, memories: Sequence[Json]) -> None:
    """Commit many memories, in the vault unless they name another scope."""

    async def work(client: Client) -> None:
        for start in range(0, len(memories), AT_ONCE):
            async with anyio.create_task_group() as group:
                for memory in memories[start : start + AT_ONCE]:
                    group.start_soon(client.call_tool, "commit_memory", {"scope": "vault"} | memory)

    vault.ask(work)


def found(vault: Agent, query: str, **arguments: Any) -> dict[str, float]:
    """Return the relevance of a query's results by key, best first."""
    result = vault.ok("search_memories", query=query, **arguments)
    return {one["key"]: one["relevance"] for one in result["results"]}


def searched(vault: Agent, query: str, **arguments: Any) -> int:
    """Return the number of memories that a query searches."""
    total: int = vault.ok("search_memories", query=query, **arguments)["total_searched"]
    return total


def pruned(vault: Agent, scope: str, **filters: Any) -> int:
    """Prune and return the number of deleted memories."""
    count: int = vault.ok("prune_memory", scope=scope, **filters)["pruned_count"]
    return count


def contents(vault: Agent, uri: str, meta: Mapping[str, Any] | None = None) -> types.TextResourceContents:
    """Return the only content of a resource, which is text."""
    read = vault.ask(lambda client: client.read_resource(uri, meta=meta))  # type: ignore[arg-type]
    (content,) = read.contents
    assert isinstance(content, types.TextResourceContents)
    return content


def read(vault: Agent, uri: str = "memory://vault", meta: Mapping[str, Any] | None = None) -> Any:
    """Return the JSON of a resource."""
    return json.loads(contents(vault, uri, meta).text)


def memory(vault: Agent, key: str, scope: str = "vault") -> Json:
    """Return a complete memory."""
    (one,) = [one for one in everything(vault)[scope] if one["key"] == key]
    return one


def session_uri(vault: Agent) -> str:
    """Return the URI of the client's own session."""
    listed = vault.ask(lambda client: client.list_resources()).resources
    (uri,) = [one.uri for one in listed if one.name == "session"]
    return uri


def everything(vault: Agent) -> dict[str, list[Json]]:
    """Return all memories of the vault and of the client's own session."""
    return {"vault": read(vault, "memory://vault?limit=1000"), "session": read(vault, session_uri(vault))}


def error_of(vault: Agent, work: Callable[[Client], Awaitable[Any]]) -> types.ErrorData:
    """Return the protocol error of a request that must fail."""
    with pytest.raises(MCPError) as caught:
        vault.ask(work)
    return caught.value.error


def called_wrongly(vault: Agent, tool: str, **arguments: Any) -> types.ErrorData:
    """Return the protocol error of a tool call that must fail."""
    return error_of(vault, lambda client: client.call_tool(tool, arguments))
