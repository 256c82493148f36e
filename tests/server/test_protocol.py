"""The protocol over any transport: eras, lists, results, errors. Raw lines and the SDK's client."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import MCPError

from memoryd.prompts import TOOL_DESCRIPTIONS
from tests.clients import LEGACY, MODERN, Agent, Json, agent, environment, rows_of
from tests.conftest import Open, Pipe, Start
from tests.wires import StreamWire, Wire, envelope

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


@pytest.fixture(scope="module")
def legacy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One shared raw server of the handshake era, which tests must leave serving."""
    with StreamWire(environment(tmp_path_factory.mktemp("legacy"))) as server:
        server.handshake()
        yield server


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One shared raw server of the modern era."""
    with StreamWire(environment(tmp_path_factory.mktemp("modern"))) as server:
        yield server


@pytest.fixture(scope="module", params=["auto", "legacy"])
def era(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """The SDK's client in each era."""
    home = tmp_path_factory.mktemp("era")
    with agent(environment(home), mode=request.param) as client:
        yield client


# eras ----------------------------------------------------------------------------------------------------------------


def test_the_sdk_client_speaks_both_eras(era: Agent, request: pytest.FixtureRequest) -> None:
    assert era.client.protocol_version == (MODERN if "auto" in request.node.name else LEGACY)
    assert era.client.server_info is not None
    assert era.client.server_info.name == "memoryd"
    assert "data, not instructions" in (era.client.instructions or "")
    assert [tool.name for tool in era.tools()] == list(TOOL_DESCRIPTIONS)
    stored = era.ok("memory_store", content="Both eras store.", tags=["x"], importance=0.7)
    assert era.raw("eras")[0]["id"] == stored["id"]
    assert era.ok("memory_forget", ids=[stored["id"]])["forgotten"] == 1


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_is_negotiated(wire: Open, version: str) -> None:
    server = wire()
    began = server.handshake(version)
    assert began["protocolVersion"] == version
    assert began["serverInfo"]["name"] == "memoryd"
    assert "tools" in began["capabilities"]
    assert server.result("ping") == {}
    assert len(server.result("tools/list")["tools"]) == 5
    stored = server.call("memory_store", content=f"Stored over {version}.")
    assert stored["structuredContent"]["status"] == "stored"


def test_an_unknown_handshake_is_answered_with_a_known_one(wire: Open) -> None:
    assert wire().handshake("1999-01-01")["protocolVersion"] in HANDSHAKES


def test_the_modern_era_needs_no_handshake(modern: Wire) -> None:
    found = modern.result("server/discover", {"_meta": envelope()})
    assert MODERN in found["supportedVersions"]
    listed = modern.result("tools/list", {"_meta": envelope()})
    assert len(listed["tools"]) == 5
    assert listed["ttlMs"] > 0
    assert listed["cacheScope"] in ("private", "public")
    result = modern.call("memory_store", envelope(), content="No handshake was made.")
    assert result["structuredContent"]["status"] == "stored"
    assert result["_meta"]["memoryd/workspace"] == "default"


def test_an_unknown_modern_version_is_refused_with_the_known_ones(modern: Wire) -> None:
    error = modern.request("tools/list", {"_meta": envelope("2099-01-01")})["error"]
    assert error["code"] == -32022
    assert MODERN in json.dumps(error)


# tools/list ----------------------------------------------------------------------------------------------------------


def test_tools_are_declared_completely(legacy: Wire) -> None:
    tools = legacy.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [
        "memory_store",
        "memory_recall",
        "memory_context",
        "memory_forget",
        "memory_inspect",
    ]
    for tool in tools:
        assert tool["title"]
        assert len(tool["description"]) > 40
        for schema in (tool["inputSchema"], *([tool["outputSchema"]] if "outputSchema" in tool else [])):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all("description" in argument for argument in tool["inputSchema"]["properties"].values()), tool["name"]
        assert tool["annotations"]["openWorldHint"] is False
    hints = {tool["name"]: tool["annotations"] for tool in tools}
    assert [name for name, hint in hints.items() if hint["readOnlyHint"]] == [
        "memory_recall",
        "memory_context",
        "memory_inspect",
    ]
    assert [name for name, hint in hints.items() if hint["destructiveHint"]] == ["memory_forget"]
    assert all(hint["idempotentHint"] for hint in hints.values())


def test_required_arguments_are_the_seeds(legacy: Wire) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in legacy.result("tools/list")["tools"]}
    assert {name: schema.get("required", []) for name, schema in tools.items()} == {
        "memory_store": ["content"],
        "memory_recall": ["query"],
        "memory_context": [],
        "memory_forget": [],
        "memory_inspect": [],
    }
    assert {name: list(schema["properties"]) for name, schema in tools.items()} == {
        "memory_store": ["content", "tags", "importance", "supersedes"],
        "memory_recall": ["query", "token_budget", "tags", "after", "before", "as_of", "kinds", "format"],
        "memory_context": ["task", "token_budget"],
        "memory_forget": ["ids", "tags", "query", "before", "confirm", "dry_run"],
        "memory_inspect": ["view", "ids", "limit"],
    }


def test_the_list_is_small_and_always_the_same(legacy: Wire, modern: Wire) -> None:
    first = legacy.result("tools/list")["tools"]
    assert len(json.dumps(first, separators=(",", ":"))) / 4 < 1_600, "tokens, as they are sent"
    assert json.dumps(legacy.result("tools/list")["tools"]) == json.dumps(first)
    assert modern.result("tools/list", {"_meta": envelope()})["tools"] == first


# results -------------------------------------------------------------------------------------------------------------

CALLS: list[tuple[str, Json]] = [
    ("memory_store", {"content": "Miso sleeps.", "tags": ["cat"], "importance": 1}),
    ("memory_store", {"content": "Miso sleeps"}),
    *(("memory_recall", {"query": "Miso", "format": form}) for form in ("summary", "list", "raw", "answer")),
    ("memory_recall", {"query": "nothing like it"}),
    ("memory_recall", {"query": "Miso", "token_budget": 1, "tags": ["cat"], "kinds": ["memory"]}),
    ("memory_context", {}),
    ("memory_context", {"task": "feed Miso", "token_budget": 100}),
    ("memory_forget", {"query": "Miso", "dry_run": True}),
    ("memory_forget", {"ids": ["unknown"]}),
    *(("memory_inspect", {"view": view}) for view in ("stats", "recent", "important", "tags", "export")),
    ("memory_inspect", {"ids": ["unknown"]}),
    ("memory_forget", {"tags": ["cat"], "confirm": True}),
]


def test_structured_content_is_valid(legacy: Wire) -> None:
    schemas = {tool["name"]: tool.get("outputSchema") for tool in legacy.result("tools/list")["tools"]}
    assert [name for name, schema in schemas.items() if not schema] == ["memory_recall", "memory_context"]
    for name, arguments in CALLS:
        result = legacy.call(name, **arguments)
        assert result.get("isError") is False, result
        if schema := schemas[name]:
            jsonschema.validate(result["structuredContent"], schema)
        (block,) = result["content"]
        assert block["type"] == "text"
        assert result["_meta"]["memoryd/workspace"] == "default"


def test_the_server_accepts_what_the_schema_accepts(legacy: Wire) -> None:
    """A client that validates by the input schema rejects what the server rejects, and nothing else."""
    schemas = {tool["name"]: tool["inputSchema"] for tool in legacy.result("tools/list")["tools"]}
    for name, arguments in [*CALLS, *((name, arguments) for name, arguments, _ in WRONG)]:
        declared = not list(jsonschema.Draft202012Validator(schemas[name]).iter_errors(arguments))
        taken = "Invalid arguments" not in json.dumps(legacy.call(name, **arguments))
        assert declared or not taken, f"{name} takes {arguments}, its schema does not"


def test_the_workspace_is_named(start: Start) -> None:
    result = start(MEMORY_NAMESPACE="café 7").call("memory_inspect", {})
    assert result.meta is not None
    assert result.meta["memoryd/workspace"] == "café 7"


# errors --------------------------------------------------------------------------------------------------------------

WRONG: list[tuple[str, Json, str]] = [
    ("memory_store", {}, "content"),
    ("memory_store", {"content": "x", "contents": "y"}, "contents"),
    ("memory_store", {"content": None}, "content"),
    ("memory_store", {"content": ["x" * 10_000]}, "content"),
    ("memory_store", {"content": "x", "y" * 10_000: 1}, "yyy"),
    ("memory_store", {"content": "x", "tags": [["a"]]}, "tags"),
    ("memory_store", {"content": "x", "tags": ["a\0b"]}, "tags"),
    ("memory_store", {"content": "x", "importance": "high"}, "importance"),
    ("memory_recall", {"query": "x", "token_budget": 10**4_000}, "token_budget"),
    ("memory_recall", {"query": "x" * 100_001}, "query"),
    ("memory_forget", {"confirm": "certainly"}, "confirm"),
    ("memory_inspect", {"view": "all"}, "view"),
]


@pytest.mark.parametrize(("tool", "arguments", "named"), WRONG)
def test_invalid_arguments_are_named(legacy: Wire, tool: str, arguments: Json, named: str) -> None:
    result = legacy.call(tool, **arguments)
    assert result["isError"] is True
    (block,) = result["content"]
    assert tool in block["text"]
    assert named in block["text"].split(tool, 1)[1]
    assert len(block["text"]) < 1_000, "an error does not repeat a long input"
    for internal in ("Traceback", "pydantic", "errors.pydantic.dev", "/src/"):
        assert internal not in block["text"]


def test_invalid_calls_store_nothing(legacy: Wire) -> None:
    before = legacy.call("memory_inspect")["structuredContent"]["stats"]["total"]
    for tool, arguments, _ in WRONG:
        legacy.call(tool, **arguments)
    assert legacy.call("memory_inspect")["structuredContent"]["stats"]["total"] == before


@pytest.mark.parametrize("name", ["memory_destroy", "", "Memory_Store", "memory_store ", "x" * 5_000, "💥", "a\0b"])
def test_an_unknown_tool_is_a_protocol_error(legacy: Wire, modern: Wire, name: str) -> None:
    for server, meta in ((legacy, {}), (modern, {"_meta": envelope()})):
        error = server.request("tools/call", {"name": name, "arguments": {}, **meta})["error"]
        assert error["code"] == -32602
        assert "Unknown tool" in error["message"]
        assert len(error["message"]) < 1_000


def test_the_sdk_client_sees_the_protocol_error(era: Agent) -> None:
    with pytest.raises(MCPError, match="Unknown tool: nope") as caught:
        era.call("nope", {})
    assert caught.value.error.code == -32602


def test_arguments_may_be_omitted(legacy: Wire) -> None:
    assert legacy.result("tools/call", {"name": "memory_inspect"})["isError"] is False


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 5},
        {"name": None},
        {"arguments": {}},
        {"name": "memory_inspect", "arguments": [1]},
        {"name": "memory_inspect", "arguments": "x"},
    ],
)
def test_malformed_calls_are_invalid_parameters(legacy: Wire, params: Json) -> None:
    assert legacy.request("tools/call", params)["error"]["code"] == -32602


def test_unknown_methods_are_not_found(legacy: Wire, modern: Wire) -> None:
    for method in ("tools/destroy", "resources/potato", "", "x" * 1_000):
        assert legacy.request(method)["error"]["code"] == -32601
        assert modern.request(method, {"_meta": envelope()})["error"]["code"] == -32601


# sessions ------------------------------------------------------------------------------------------------------------


def sessions(home: Path) -> dict[str, str]:
    """Return the session in which each memory was written."""
    return {row["body"]: row["session_id"] for row in rows_of(home)}


def test_the_session_of_a_handshake(wire: Open, home: Path) -> None:
    # The design: `memoryd/session` in `_meta`, else `clientInfo.extra.sessionId`, else the environment's, else one
    server = wire(MEMORY_MCP_SESSION_ID="from the environment")
    server.handshake(extra={"sessionId": "sess_abc123"})
    server.call("memory_store", content="by client")
    server.call("memory_store", {"memoryd/session": "handle"}, content="by handle")
    server.call("memory_store", {"memoryd/session": ""}, content="by client again")
    server.call("memory_store", {"memoryd/session": 5}, content="by client still")
    assert sessions(home) == {
        "by client": "sess_abc123",
        "by handle": "handle",
        "by client again": "sess_abc123",
        "by client still": "sess_abc123",
    }


def test_the_session_of_a_modern_request(wire: Open, home: Path) -> None:
    server = wire(MEMORY_MCP_SESSION_ID="from the environment")
    info = {"name": "wire", "version": "1", "extra": {"sessionId": "sess_2026"}}
    client: Json = {"io.modelcontextprotocol/clientInfo": info}
    server.call("memory_store", envelope(**client), content="by client")
    server.call("memory_store", envelope(**client, **{"memoryd/session": "handle"}), content="by handle")
    server.call("memory_store", envelope(), content="by environment")
    assert sessions(home) == {"by client": "sess_2026", "by handle": "handle", "by environment": "from the environment"}


def test_without_a_session_name_the_process_is_a_session(wire: Open, home: Path) -> None:
    for name in ("one", "two"):
        server = wire()
        server.handshake(extra={"sessionId": 7})  # not a text: no session name
        server.call("memory_store", content=f"{name} a")
        server.call("memory_store", content=f"{name} b")
    found = sessions(home)
    assert found["one a"] == found["one b"] != found["two a"] == found["two b"]
    assert all(len(session) == 36 for session in found.values())


@pytest.mark.parametrize(
    "client_info", [{"extra": None}, {"extra": "x"}, {"extra": []}, {"extra": {"sessionId": None}}]
)
def test_invalid_client_information_is_not_a_session_name(legacy: Wire, client_info: dict[str, Any]) -> None:
    meta = {"io.modelcontextprotocol/clientInfo": client_info}
    assert legacy.result("tools/call", {"name": "memory_inspect", "arguments": {}, "_meta": meta})["isError"] is False


# read-only -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["variable", "option"])
def test_read_only(wire: Open, home: Path, how: str) -> None:
    writer = wire()
    writer.handshake()
    kept = writer.call("memory_store", content="Written before.")["structuredContent"]["id"]
    reader = wire(MEMORY_READ_ONLY="true") if how == "variable" else wire("--read-only")
    reader.handshake()
    assert [tool["name"] for tool in reader.result("tools/list")["tools"]] == [
        "memory_recall",
        "memory_context",
        "memory_inspect",
    ]
    for tool, arguments in (("memory_store", {"content": "x"}), ("memory_forget", {"ids": [kept]})):
        error = reader.request("tools/call", {"name": tool, "arguments": arguments})["error"]
        assert error["code"] == -32602
    assert "Written before." in reader.call("memory_recall", query="written")["content"][0]["text"]
    assert writer.call("memory_inspect")["structuredContent"]["stats"]["total"] == 1


# start-up errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "settings", "parts"),
    [
        ((), {"MEMORY_TOOLSETS": "recall,potato"}, ("MEMORY_TOOLSETS", "potato", "recall")),
        (("--toolsets", "potato"), {}, ("potato", "recall")),
        ((), {"MEMORY_TOOLSETS": ","}, ("toolset", "recall")),
        ((), {"MEMORY_DEFAULT_TOKEN_BUDGET": "lots"}, ("MEMORY_DEFAULT_TOKEN_BUDGET", "lots")),
        ((), {"MEMORY_READ_ONLY": "perhaps"}, ("MEMORY_READ_ONLY", "perhaps")),
    ],
    ids=["unknown toolset", "unknown toolset by option", "no toolset", "not a number", "not a boolean"],
)
def test_invalid_settings_prevent_the_start(
    pipe: Pipe, arguments: tuple[str, ...], settings: dict[str, str], parts: Any
) -> None:
    server = pipe(*arguments, **settings)
    server.close_stdin()
    assert server.wait() != 0
    assert server.lines == [], "stdout is the protocol's alone"
    stderr = server.stderr()
    assert all(part in stderr for part in parts), stderr
    assert "Traceback" not in stderr
    assert len(stderr.strip().splitlines()) <= 12, "a person can read it"
