"""Seed a, its tools sentence by sentence: their schemas, commit_memory and prune_memory."""

from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any

import pytest

from tests.clients import Agent, Json
from tests.conftest import Start
from tests.seeds.vault import OTHER, called_wrongly, everything, found, keep, memory, pruned, read

STRING, STRINGS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "number"}}

SEED: dict[str, Json] = {
    "commit_memory": {
        "description": "Store a memory entry in the session (volatile) or vault (persistent) scope. "
        "Upserts on key collision.",
        "input": {
            "type": "object",
            "properties": {
                "scope": {"type": "string", "enum": ["session", "vault"]},
                "key": STRING | {"description": "Unique identifier for this memory within its scope."},
                "content": STRING | {"description": "The memory content to store."},
                "tags": STRINGS,
                "embedding": NUMBERS | {"description": "Optional pre-computed embedding vector (float32[D])."},
            },
            "required": ["scope", "key", "content"],
        },
        "output": {
            "type": "object",
            "properties": {"committed": {"type": "boolean"}, "key": STRING, "scope": STRING},
            "required": ["committed", "key", "scope"],
        },
    },
    "search_memories": {
        "description": "Search memories by text query, tags, or both. Returns ranked results. Semantic ranking used if "
        "embeddings are present and a query_embedding is provided.",
        "input": {
            "type": "object",
            "properties": {
                "query": STRING | {"description": "Full-text search query (FTS5 syntax supported)."},
                "scope": {
                    "type": "string",
                    "enum": ["session", "vault", "all"],
                    "description": "Which scope(s) to search.",
                    "default": "all",
                },
                "tags": STRINGS | {"description": "Filter: only return memories with ALL specified tags."},
                "query_embedding": NUMBERS
                | {"description": "Optional: embedding of the query for semantic re-ranking."},
                "limit": {"type": "integer", "description": "Max results to return.", "default": 10},
            },
            "required": ["query"],
        },
        "output": {
            "type": "object",
            "properties": {
                "results": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "key": STRING,
                            "content": STRING,
                            "tags": STRINGS,
                            "scope": STRING,
                            "relevance": {"type": "number", "description": "Score in [0,1]; 1.0 = exact match."},
                        },
                        "required": ["key", "content", "tags", "scope", "relevance"],
                    },
                },
                "total_searched": {"type": "integer"},
            },
            "required": ["results", "total_searched"],
        },
    },
    "prune_memory": {
        "description": "Delete memory entries. Can target a specific key, or bulk-delete by age or scope.",
        "input": {
            "type": "object",
            "properties": {
                "scope": {"type": "string", "enum": ["session", "vault", "all"]},
                "key": STRING | {"description": "If provided, delete only this key (within scope)."},
                "older_than": STRING
                | {"description": "ISO 8601 datetime. Delete entries created before this timestamp."},
                "tags": STRINGS | {"description": "Delete entries matching ALL these tags."},
            },
            "required": ["scope"],
        },
        "output": {
            "type": "object",
            "properties": {"pruned_count": {"type": "integer"}},
            "required": ["pruned_count"],
        },
    },
}
"""What the seed says about each tool, including defaults that it only mentions in a description."""


# 3.2: schemas of the tools -------------------------------------------------------------------------------------------


def lacking(seed: Any, own: Any, place: str = "") -> list[str]:
    """Return the places where a schema contradicts the seed's. Bounds and additional descriptions are allowed."""
    if not isinstance(seed, dict):
        return [] if seed == own else [f"{place}: {own!r}"]
    if place.endswith("properties") and set(seed) != set(own):
        return [f"{place}: {set(seed) ^ set(own)}"]
    return [line for name in seed for line in lacking(seed[name], own.get(name), f"{place}/{name}")]


def defaults(schema: Json) -> dict[str, Any]:
    return {name: one["default"] for name, one in schema["properties"].items() if "default" in one}


def resolved(schema: Any, named: Json) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return resolved(named[schema["$ref"].rpartition("/")[2]], named)
        return {name: resolved(part, named) for name, part in schema.items()}
    return schema


def test_the_tools_are_those_of_the_seed(vault: Agent) -> None:
    tools = {tool.name: tool for tool in vault.tools()}
    assert list(tools) == [*SEED, "set_session_id"]
    for name, seed in SEED.items():
        tool, output = tools[name], tools[name].output_schema
        assert tool.description == seed["description"]
        assert lacking(seed["input"], tool.input_schema) == []
        assert output is not None
        assert lacking(seed["output"], resolved(output, output.get("$defs", {}))) == []
        assert tool.input_schema["additionalProperties"] is False


def test_a_default_can_be_sent_or_omitted(vault: Agent) -> None:
    given = {"key": "a", "content": "apple", "query": "apple", "scope": "session"}
    keep(vault, "a", "apple", "session", tags=["t"], embedding=[1, 0, 0])
    for tool in vault.tools():
        if tool.name in SEED:
            required = {name: given[name] for name in tool.input_schema["required"]}
            vault.ok(tool.name, **defaults(tool.input_schema) | required)
            if tool.name == "commit_memory":
                assert found(vault, "", query_embedding=[1, 0, 0], tags=["t"]) == {"a": 1}


def test_tools_are_annotated(vault: Agent) -> None:
    shown = {tool.name: tool.annotations for tool in vault.tools()}
    assert {name for name, one in shown.items() if one and one.read_only_hint} == {"search_memories", "set_session_id"}
    assert {name for name, one in shown.items() if one and one.destructive_hint} == {"prune_memory"}
    assert all(one and one.idempotent_hint and one.open_world_hint is False for one in shown.values())


def test_the_result_is_also_text(vault: Agent) -> None:
    text = vault.text("commit_memory", scope="vault", key="ключ", content="text")
    assert text == '{"committed":true,"key":"ключ","scope":"vault"}'


# 7: read-only agents -------------------------------------------------------------------------------------------------


def test_a_reader_sees_and_calls_only_read_tools(start: Start) -> None:
    keep(start("--toolsets", "vault"), "a", "apple")
    reader = start("--toolsets", "vault", "--read-only")
    assert [tool.name for tool in reader.tools()] == ["search_memories", "set_session_id"]
    assert found(reader, "apple") == {"a": 1}
    assert [one["key"] for one in read(reader)] == ["a"]
    for tool in ("commit_memory", "prune_memory"):
        assert called_wrongly(reader, tool, scope="vault", key="a", content="x").code == -32602


# commit_memory -------------------------------------------------------------------------------------------------------


def test_it_stores_in_either_scope(vault: Agent) -> None:
    keep(vault, "a", "In the vault.")
    keep(vault, "a", "In the session.", "session")
    held = everything(vault)
    assert [(one["key"], one["content"], one["scope"]) for one in held["vault"]] == [("a", "In the vault.", "vault")]
    assert [(one["key"], one["content"], one["scope"]) for one in held["session"]] == [
        ("a", "In the session.", "session")
    ]


@pytest.mark.parametrize("scope", ["vault", "session"])
def test_it_upserts_on_key_collision(vault: Agent, scope: str) -> None:
    keep(vault, "a", "old words", scope, tags=["t", "u"])
    before = memory(vault, "a", scope)
    keep(vault, "a", "new text", scope)
    after = memory(vault, "a", scope)
    assert after["content"] == "new text"
    assert after["created_at"] == before["created_at"], "the creation time stays"
    assert after["updated_at"] > before["updated_at"], "For vault scope, updates updated_at"
    assert after["tags"] == ["t", "u"], "tags survive if the argument is omitted"
    assert found(vault, "old") == {}
    assert found(vault, "new") == {"a": 1}


def test_a_commit_of_the_same_text_counts_as_an_update(vault: Agent) -> None:
    keep(vault, "a", "text", tags=["t"])
    before = memory(vault, "a")
    keep(vault, "a", "text")
    after = memory(vault, "a")
    assert after | {"updated_at": ""} == before | {"updated_at": ""}
    assert after["updated_at"] > before["updated_at"]


@pytest.mark.parametrize("content", ["text", "other text"])
def test_tags_are_replaced_and_cleared(vault: Agent, content: str) -> None:
    keep(vault, "a", "text", tags=["t", "u"])
    keep(vault, "a", content, tags=["v"])
    assert memory(vault, "a")["tags"] == ["v"]
    assert found(vault, "", tags=["v"]) == {"a": 1}
    assert found(vault, "", tags=["t"]) == {}
    keep(vault, "a", content, tags=[])
    assert memory(vault, "a")["tags"] == []
    assert found(vault, "", tags=["v"]) == {}


def by_vector(vault: Agent, *vector: float) -> dict[str, float]:
    return found(vault, "", query_embedding=list(vector))


@pytest.mark.parametrize("scope", ["vault", "session"])
def test_an_embedding_survives_only_if_the_content_is_unchanged(vault: Agent, scope: str) -> None:
    keep(vault, "a", "text", scope, embedding=[1, 0, 0])
    keep(vault, "a", "text", scope, tags=["t"])
    assert by_vector(vault, 1, 0, 0) == {"a": 1}
    keep(vault, "a", "other", scope)
    assert by_vector(vault, 1, 0, 0) == {}


@pytest.mark.parametrize("content", ["text", "other text"])
def test_an_embedding_is_replaced(vault: Agent, content: str) -> None:
    keep(vault, "a", "text", embedding=[1, 0, 0])
    keep(vault, "a", content, embedding=[0, 1, 0])
    assert by_vector(vault, 1, 0, 0) == {}
    assert by_vector(vault, 0, 1, 0) == {"a": 1}


def test_keys_are_compared_exactly(vault: Agent) -> None:
    keys = ["key", "Key", "key ", " key", "ke\u0301y", "kéy", "k_y", "k%", "k*", "0", "00", "null"]
    for number, key in enumerate(keys):
        keep(vault, key, f"number {number}")
    assert sorted(one["key"] for one in read(vault)) == sorted(keys)
    assert pruned(vault, "vault", key="k*") == 1
    assert sorted(one["key"] for one in read(vault)) == sorted(set(keys) - {"k*"})


def test_a_text_is_kept_verbatim(vault: Agent) -> None:
    content = " \n\ttab, “quotes”, 👩🏽‍💻 e\u0301 \u2028 \\ \x01\x7f " + "x" * 99_000
    keep(vault, "a", content, tags=["a b", "C", "ü", '"', "a,b"])
    assert memory(vault, "a")["content"] == content
    assert memory(vault, "a")["tags"] == ["a b", "C", "ü", '"', "a,b"]
    assert vault.ok("search_memories", query="quotes")["results"][0]["content"] == content


def test_servers_share_the_vault_but_no_session(start: Start) -> None:
    one = start("--toolsets", "vault")
    keep(one, "a", "apple")
    keep(one, "b", "banana", "session")
    other = start("--toolsets", "vault")
    assert found(other, "apple OR banana").keys() == {"a"}
    assert everything(other)["session"] == []


def test_another_dimension_hides_old_embeddings_and_loses_nothing(start: Start) -> None:
    keep(start("--toolsets", "vault", MEMORY_MCP_EMBEDDING_DIM="3"), "a", "apple", embedding=[1, 0, 0])
    four = start("--toolsets", "vault", MEMORY_MCP_EMBEDDING_DIM="4")
    assert found(four, "apple", query_embedding=[0, 1, 0, 0]) == {"a": 1}, "only words count"
    assert by_vector(four, 1, 0, 0, 0) == {}
    assert by_vector(start("--toolsets", "vault", MEMORY_MCP_EMBEDDING_DIM="3"), 1, 0, 0) == {"a": 1}
    standard = start("--toolsets", "vault")
    keep(standard, "b", "banana", embedding=[0.5] * 1536)
    assert by_vector(standard, *[2.0] * 1536) == {"b": 1}, "D=1536 unless set"


# prune_memory --------------------------------------------------------------------------------------------------------


@pytest.fixture
def full(vault: Agent) -> Agent:
    for scope in ("vault", "session"):
        keep(vault, "a", "apple", scope, tags=["fruit", "red"])
        keep(vault, "b", "banana", scope, tags=["fruit"])
        keep(vault, "c", "carrot", scope)
    return vault


def left(vault: Agent) -> dict[str, str]:
    """Return the keys that each scope still has."""
    return {scope: "".join(one["key"] for one in held) for scope, held in everything(vault).items()}


PRUNED: list[tuple[Json, int, str, str]] = [
    ({"scope": "vault", "key": "a"}, 1, "bc", "abc"),
    ({"scope": "session", "key": "a"}, 1, "abc", "bc"),
    ({"scope": "all", "key": "a"}, 2, "bc", "bc"),
    ({"scope": "all", "key": "z"}, 0, "abc", "abc"),
    ({"scope": "vault", "tags": ["fruit"]}, 2, "c", "abc"),
    ({"scope": "session", "tags": ["fruit"]}, 2, "abc", "c"),
    ({"scope": "all", "tags": ["red", "fruit"]}, 2, "bc", "bc"),  # ALL these tags
    ({"scope": "all", "tags": ["fruit", "fruit"]}, 4, "c", "c"),
    ({"scope": "all", "tags": ["fruit", "green"]}, 0, "abc", "abc"),
    ({"scope": "session"}, 3, "abc", ""),  # clears the entire session
    ({"scope": "session", "tags": []}, 3, "abc", ""),
    ({"scope": "session", "key": None, "older_than": None}, 3, "abc", ""),
    ({"scope": "vault", "older_than": "2999-01-01"}, 3, "", "abc"),
    ({"scope": "all", "older_than": "2999-01-01"}, 6, "", ""),
    ({"scope": "all", "older_than": "2000-01-01"}, 0, "abc", "abc"),
    # filters combine with AND
    ({"scope": "all", "key": "a", "tags": ["red"]}, 2, "bc", "bc"),
    ({"scope": "all", "key": "b", "tags": ["red"]}, 0, "abc", "abc"),
    ({"scope": "vault", "key": "a", "older_than": "2000-01-01"}, 0, "abc", "abc"),
    ({"scope": "vault", "key": "a", "older_than": "2999-01-01", "tags": ["fruit"]}, 1, "bc", "abc"),
    ({"scope": "session", "older_than": "2999-01-01", "tags": ["red"]}, 1, "abc", "bc"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "count", "vaults", "sessions"), PRUNED)
def test_prune(full: Agent, arguments: Json, count: int, vaults: str, sessions: str) -> None:
    assert full.ok("prune_memory", **arguments) == {"pruned_count": count}
    assert left(full) == {"vault": vaults, "session": sessions}
    words = found(full, "apple OR banana OR carrot", limit=100)
    assert set(words) == set(vaults + sessions), "deleted from the index as well"
    assert full.ok("prune_memory", **arguments) == {"pruned_count": 0}, "nothing is left to prune"


def test_a_bulk_prune_of_the_vault_is_refused(vault: Agent) -> None:
    keep(vault, "a", "apple")
    keep(vault, "b", "banana", "session")
    nothing: tuple[Json, ...] = ({}, {"tags": []}, {"key": None}, {"older_than": None, "tags": []})
    for scope, filters in product(("vault", "all"), nothing):
        error = called_wrongly(vault, "prune_memory", scope=scope, **filters)
        assert (error.code, error.message) == (-32602, "Bulk vault prune requires at least one filter.")
    assert left(vault) == {"vault": "a", "session": "b"}


def test_older_than_means_created_before(vault: Agent) -> None:
    for key in "abc":
        keep(vault, key, f"memory {key}")
    created = memory(vault, "b")["created_at"]
    keep(vault, "a", "another text now")  # this does not change its creation time
    assert pruned(vault, "vault", older_than=created) == 1
    assert left(vault)["vault"] == "bc"


def test_older_than_is_a_time_with_its_offset(vault: Agent) -> None:
    # compared as strings, times with another offset would sort hours too late or too early
    for hours in (-11, -3.5, 0, 5.75, 14):
        keep(vault, "a", "apple")
        created = datetime.fromisoformat(memory(vault, "a")["created_at"])
        zone = timezone(timedelta(hours=hours))
        at, later = created.astimezone(zone), (created + timedelta(milliseconds=1)).astimezone(zone)
        assert pruned(vault, "vault", older_than=at.isoformat(timespec="milliseconds")) == 0, hours
        assert pruned(vault, "vault", older_than=later.isoformat(timespec="milliseconds")) == 1, hours


def test_older_than_without_an_offset_is_utc(vault: Agent) -> None:
    keep(vault, "a", "apple")
    created = datetime.fromisoformat(memory(vault, "a")["created_at"]).replace(tzinfo=None)
    assert pruned(vault, "vault", older_than=(created - timedelta(minutes=1)).isoformat()) == 0
    assert pruned(vault, "vault", older_than=(created + timedelta(minutes=1)).isoformat(" ", "seconds")) == 1


def test_a_pruned_key_can_be_committed_again(vault: Agent) -> None:
    keep(vault, "a", "apple", tags=["t"], embedding=[1, 0, 0])
    before = memory(vault, "a")
    assert pruned(vault, "vault", key="a") == 1
    keep(vault, "a", "avocado")
    after = memory(vault, "a")
    assert after["created_at"] > before["created_at"]
    assert (after["content"], after["tags"]) == ("avocado", [])
    assert by_vector(vault, 1, 0, 0) == {}


# sessions ------------------------------------------------------------------------------------------------------------


def test_a_session_is_private(vault: Agent) -> None:
    keep(vault, "a", "apple", "session", tags=["t"], embedding=[1, 0, 0])
    theirs = {"scope": "session", "key": "a", "content": "avocado", "tags": ["t"], "embedding": [1, 0, 0]}
    assert not vault.call("commit_memory", theirs, OTHER).is_error
    for arguments in (
        {"query": "apple OR avocado"},
        {"query": "", "tags": ["t"]},
        {"query": "", "query_embedding": [1, 0, 0]},
        {"query": "apple avocado", "scope": "session"},
    ):
        for meta, own in ((None, "apple"), (OTHER, "avocado")):
            result = vault.call("search_memories", arguments, meta).structured_content
            assert result is not None
            assert [one["content"] for one in result["results"]] == [own]
            assert result["total_searched"] == 1
    for more in ({}, {"key": "a"}, {"tags": ["t"]}, {"older_than": "2999-01-01"}):
        assert not vault.call("commit_memory", theirs, OTHER).is_error
        gone = vault.call("prune_memory", {"scope": "session"} | more, OTHER)
        assert gone.structured_content == {"pruned_count": 1}
        assert memory(vault, "a", "session")["content"] == "apple"
