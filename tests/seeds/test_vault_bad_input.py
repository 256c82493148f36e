"""Invalid, odd or enormous calls of the vault: they are refused with a reason, and nothing is lost."""

import random
from itertools import product

import pytest
from mcp import MCPError
from mcp.types import ErrorData, ListResourcesResult

from tests.clients import Agent, Json
from tests.conftest import Open
from tests.seeds.test_graph_bad_input import ODD
from tests.seeds.vault import (
    called_wrongly,
    error_of,
    everything,
    found,
    keep,
    memory,
    pruned,
    read,
    session_uri,
)

ENOUGH = {"scope": "vault", "key": "new", "content": "text"}


@pytest.fixture
def small(vault: Agent) -> Agent:
    keep(vault, "a", "apple", tags=["t"], embedding=[1, 0, 0])
    keep(vault, "b", "banana", "session", tags=["t"])
    return vault


WRONG: list[tuple[str, Json, str]] = [
    ("commit_memory", ENOUGH | {"scope": "all"}, "scope: "),
    ("commit_memory", {"scope": "vault", "content": "x"}, "key: "),
    ("commit_memory", ENOUGH | {"key": " \n\t\u2003"}, "key: "),
    ("commit_memory", ENOUGH | {"key": "x" * 401}, "key: "),
    ("commit_memory", ENOUGH | {"key": "a\0b"}, "key: has U+0000 at character 1"),
    ("commit_memory", ENOUGH | {"content": "x" * 100_001}, "content: "),
    ("commit_memory", ENOUGH | {"content": {"text": "x"}}, "content: "),
    ("commit_memory", ENOUGH | {"tags": ["t", "\0"]}, "tags: item 1 has U+0000"),
    ("commit_memory", ENOUGH | {"embedding": [1, "x", 0]}, "embedding.1: "),
    ("commit_memory", ENOUGH | {"embedding": [1, 0, 10**400]}, "embedding.2: "),
    ("commit_memory", ENOUGH | {"embedding": [1e308, 0, 0]}, "embedding.0: "),
    ("commit_memory", ENOUGH | {"embedding": [0] * 100_001}, "embedding: "),
    ("search_memories", {"query": ["x"]}, "query: "),
    ("search_memories", {"query": "x", "limit": 10**9}, "limit: "),
    ("search_memories", {"query": "x", "query_embedding": {"0": 1}}, "query_embedding: "),
    ("search_memories", {"query": "x", "offset": 1}, "offset: unknown argument; search_memories takes query, scope, "),
    ("prune_memory", {"key": "a"}, "scope: "),
    ("prune_memory", {"scope": "session", "older_than": "9" * 101}, "older_than: "),
    ("set_session_id", {"session_id": "x" * 201}, "session_id: "),
]


@pytest.mark.parametrize("tool", dict.fromkeys(tool for tool, _, _ in WRONG))
def test_an_invalid_call_names_the_argument_and_loses_nothing(small: Agent, tool: str) -> None:
    before = everything(small)
    for arguments, place in ((arguments, place) for name, arguments, place in WRONG if name == tool):
        message = small.refused(tool, **arguments)
        assert message.startswith(f"Invalid arguments for {tool}. {place}"), place
        assert len(message) < 1_000, place
    assert everything(small) == before


# embeddings ----------------------------------------------------------------------------------------------------------


WRONG_DIMENSIONS: tuple[list[float], ...] = ([], [1], [1, 0], [1, 0, 0, 0], [0.1] * 1536, [0] * 20_000)


def test_a_wrong_dimension_is_invalid_params(small: Agent) -> None:
    before = everything(small)
    calls: tuple[tuple[str, Json, str], ...] = (
        ("commit_memory", ENOUGH, "embedding"),
        ("commit_memory", ENOUGH | {"key": "a"}, "embedding"),
        ("commit_memory", ENOUGH | {"scope": "session"}, "embedding"),
        ("search_memories", {"query": "apple"}, "query_embedding"),
        ("search_memories", {"query": "", "tags": ["t"]}, "query_embedding"),
    )
    for numbers, (tool, arguments, name) in product(WRONG_DIMENSIONS, calls):
        error = called_wrongly(small, tool, **arguments, **{name: numbers})
        assert error.code == -32602
        assert f"embedding has {len(numbers)} dimensions instead of 3. " in error.message
    assert everything(small) == before
    assert found(small, "", query_embedding=[1, 0, 0]) == {"a": 1}


ZERO_LENGTH = [[0, 0, 0], [-0.0, 0, 0], [1e-320, 0, 0]]


def test_an_embedding_without_a_length_is_refused(small: Agent) -> None:
    before = everything(small)
    calls: tuple[tuple[str, Json, str], ...] = (
        ("commit_memory", ENOUGH, "embedding"),
        ("commit_memory", ENOUGH | {"key": "a", "content": "apple"}, "embedding"),
        ("search_memories", {"query": "apple"}, "query_embedding"),
    )
    for numbers, (tool, arguments, name) in product(ZERO_LENGTH, calls):
        message = small.refused(tool, **arguments, **{name: numbers})
        assert message.endswith("too large to have a length. Give another one, or none."), tool
    assert everything(small) == before
    assert found(small, "", query_embedding=[1, 0, 0]) == {"a": 1}


def test_nan_and_infinity_are_refused(wire: Open) -> None:
    server = wire("--toolsets", "vault", MEMORY_MCP_EMBEDDING_DIM="3")
    server.handshake()
    server.call("commit_memory", scope="vault", key="a", content="apple", embedding=[1, 0, 0])
    calls = (
        ("commit_memory", '"scope": "vault", "key": "a", "content": "apple", "embedding"'),
        ("search_memories", '"query": "apple", "query_embedding"'),
    )
    numbers = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" + "0" * 400)
    for line, ((tool, rest), number) in enumerate(product(calls, numbers), 1_000):
        params = f'{{"name": "{tool}", "arguments": {{{rest}: [0, {number}, 0]}}}}'
        server.send(f'{{"jsonrpc": "2.0", "id": {line}, "method": "tools/call", "params": {params}}}'.encode())
        answer = server.answer(line)
        assert answer["result"]["isError"] is True
        assert "embedding.1: " in answer["result"]["content"][0]["text"]
    left = server.call("search_memories", query="", query_embedding=[1, 0, 0])["structuredContent"]
    assert [one["relevance"] for one in left["results"]] == [1]


# texts ---------------------------------------------------------------------------------------------------------------


ODD_KEYS = (*(name for name in ODD if len(name) < 400), ".", "..", "a/../b", "?x=1#y", "%41", "%", "x" * 400)


@pytest.mark.slow
def test_odd_keys_work_everywhere(vault: Agent) -> None:
    keep(vault, "other", "another memory")
    for key in ODD_KEYS:
        works(vault, key)


def works(vault: Agent, key: str) -> None:
    """Check that memories with this key can be stored, changed, found, read and pruned, next to `other`."""
    for scope in ("vault", "session"):
        keep(vault, key, f"a fact with {key}", scope, tags=[key[:100]] if key[:100].strip() else [])
        keep(vault, key, "a fact", scope)
        assert memory(vault, key, scope)["content"] == "a fact"
    assert vault.call("search_memories", {"query": key}).is_error in (False, not key.strip())
    (uri,) = [one.uri for one in listed(vault).resources if one.title == key]
    assert read(vault, uri)["key"] == key
    assert pruned(vault, "all", key=key) == 2
    assert [one["key"] for one in read(vault)] == ["other"]


def test_the_longest_key_may_have_any_letters(vault: Agent) -> None:
    # an index entry has limited space: a key that is accepted must be stored
    letters = random.Random(7)
    key, session = ("".join(chr(letters.randrange(0x20000, 0x2A000)) for _ in range(n)) for n in (400, 200))
    for scope, meta in (("vault", None), ("session", None), ("session", {"memoryd/session": session})):
        arguments: Json = {"scope": scope, "key": key}
        for tool, more, expected in (
            ("commit_memory", {"content": "text"}, {"committed": True} | arguments),
            ("prune_memory", {}, {"pruned_count": 1}),
        ):
            result = vault.call(tool, arguments | more, meta)
            assert result.structured_content == expected


def test_a_search_for_nothing_says_what_to_provide(small: Agent) -> None:
    for query in ("", " \n\u2003"):
        message = small.refused("search_memories", query=query)
        assert message == "There is nothing to search for. Give a query, tags, or both."


# times ---------------------------------------------------------------------------------------------------------------

NO_TIMES = [
    "yesterday",
    "-1",
    "2026-13-01",
    "2026-02-30T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "2026-01-01T00:00:00+25:00",
    "10000-01-01",
    "0000-01-01",
    "2026-01-01T00:00:00 Europe/Berlin",
    "'; DELETE FROM records; --",
    " ",
    "\u0660",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "now()",
    "1767225600",
]


def test_an_invalid_time_prunes_nothing(small: Agent) -> None:
    before = everything(small)
    for scope, text in product(("session", "vault", "all"), NO_TIMES):
        message = small.refused("prune_memory", scope=scope, older_than=text)
        assert message.endswith("is not an ISO 8601 time such as 2026-03-04T05:06:07Z."), text
    assert everything(small) == before


TIMES = [
    "2026-01-01",
    "20260101T000000Z",
    "2026-01-01T00",
    "2026-01-01T00:00:00.123456789Z",
    " 2026-01-01 00:00 ",
    "0001-01-01",
    "2026-01-01T00:00:00+14:00",
    "2026-W01-1",
]


def test_times_in_other_formats_are_accepted(vault: Agent) -> None:
    keep(vault, "a", "apple")
    for text in TIMES:
        assert pruned(vault, "all", older_than=text) == 0, text
    assert [one["key"] for one in read(vault)] == ["a"]


# URIs ----------------------------------------------------------------------------------------------------------------

UNREADABLE = [
    # (URI, a part of the error)
    ("memory://vault/a%", "begins no escape. Write a % as %25."),
    ("memory://vault/%zz", "begins no escape"),
    ("memory://vault/a%2", "begins no escape"),
    ("memory://vault/%ff", "is not UTF-8"),
    ("memory://vault/%c3", "is not UTF-8"),
    ("memory://vault/%ed%a0%80", "is not UTF-8"),  # a lone surrogate
    ("memory://vault/%00", "contains a character that no name may contain."),
    ("memory://vault/a%00b", "contains a character that no name may contain."),
    ("memory://session/%00", "contains a character that no name may contain."),
    ("memory://vault/%c0%ae%c0%ae", "is not UTF-8"),  # dots, overlong
    ("memory://session/%ff", "is not UTF-8"),
    ("memory://vault/a?limit=1", "Only memory://vault takes a query. Write a ? within a name as %3F."),
    ("memory://session/x?offset=1", "Only memory://vault takes a query"),
    ("memory://vault?limit=0", "limit must be a number from 1 to 1000 (it is '0')."),
    ("memory://vault?limit=-1", "limit must be a number"),
    ("memory://vault?limit=1001", "limit must be a number"),
    ("memory://vault?limit=1e3", "limit must be a number"),
    ("memory://vault?limit=ten", "limit must be a number"),
    ("memory://vault?limit=%D9%A1", "limit must be a number"),
    ("memory://vault?limit=" + "9" * 5_000, "limit must be a number"),
    ("memory://vault?offset=-1", "offset must be a number from 0 to 1000000000 (it is '-1')."),
    ("memory://vault?offset=0.5", "offset must be a number"),
    ("memory://vault?offset=1000000001", "offset must be a number"),
    ("memory://vault?offset=1%00", "offset must be a number"),
    ("memory://vault?page=2", "memory://vault takes offset and limit, not 'page'."),
    ("memory://vault?offset=1&key=a", "takes offset and limit, not 'key'."),
]
NOT_FOUND = [
    "memory://vault/none",
    "memory://vault/A",
    "memory://vault/a/",
    "memory://vault//a",
    "memory://vault/..",
    "memory://vault/../vault/a",
    "memory://vault/%2e%2e%2fvault%2fa",
    "memory://vault/../../etc/passwd",
    "memory://vault/%2561",
    "memory://vault/" + "x" * 20_000,
    "memory://vault/",
    "memory://vaults",
    "memory://session",
    "memory://session/",
    "memory://",
    "memory:vault",
    "vault",
    "",
    "file:///etc/passwd",
    "https://example.com/vault",
    "MEMORY://VAULT",
    "memory://vault#a",
    "memory://vault/a#b",
    "memory://session/other",
    "memory://session/../vault/a",
    "memory://session/*",
    "memory://vault/%27%3B%20DROP%20TABLE%20records%3B--",
    " memory://vault",
    "memory://user@vault/a",
]


def unread(vault: Agent, uri: str) -> ErrorData:
    """Return the error of reading a resource."""
    return error_of(vault, lambda client: client.read_resource(uri))


def test_a_uri_that_cannot_be_read_is_invalid_params(small: Agent) -> None:
    for uri, part in UNREADABLE:
        error = unread(small, uri)
        assert error.code == -32602, uri
        assert part in error.message, uri
        assert len(error.message) < 500, uri


def test_a_uri_of_no_resource_is_not_found(small: Agent) -> None:
    for uri in NOT_FOUND:
        error = unread(small, uri)
        assert (error.code, error.data) == (-32602, {"uri": uri})
        assert len(error.message) < 500, uri
    assert [one["key"] for one in read(small)] == ["a"]


def test_other_ways_to_write_the_vault(small: Agent) -> None:
    for query in ("", "offset=&limit=", "offset=0&limit=1000", "limit=5&offset=0", "offset=7&offset=0"):
        assert [one["key"] for one in read(small, f"memory://vault?{query}")] == ["a"], query


def listed(vault: Agent, cursor: str | None = None) -> ListResourcesResult:
    """Return a page of the list."""
    return vault.ask(lambda client: client.list_resources(cursor=cursor))


def test_an_invalid_cursor_is_invalid_params(small: Agent) -> None:
    for cursor in ("%zz", "%", "%ff", "a%c3", "%00", "a%00"):
        with pytest.raises(MCPError) as caught:
            listed(small, cursor)
        assert caught.value.error.code == -32602, cursor


def test_a_made_up_cursor_shows_nothing_else(small: Agent) -> None:
    for cursor in ("z", "x" * 20_000, "\U0010ffff", "'"):
        assert {one.uri for one in listed(small, cursor).resources} <= {"memory://vault/a"}, cursor
    assert session_uri(small)
