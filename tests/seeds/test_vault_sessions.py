"""Seed a, sections 4 and 7: the session of a request, what is deleted at its end, and what a reader may do."""

import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import anyio
import pytest
from mcp import Client, types

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.engine import Engine
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.settings import Settings
from memoryd.toolsets import TOOLSETS
from tests.clients import LEGACY, MODERN, Agent, Json, environment, rows_of
from tests.conftest import Open, Pipe, Start
from tests.core.kit import never
from tests.wires import ProcessWire, Wire, envelope

if sys.platform != "win32":
    from tests.server.service import kit

SESSION, CLIENT = "memoryd/session", "io.modelcontextprotocol/clientInfo"
MY_SESSION, PERSIST = "MEMORY_MCP_SESSION_ID", "MEMORY_MCP_SESSION_PERSIST"
W = TypeVar("W", bound=Wire)
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture
def a(start: Start) -> Agent:
    return start("--toolsets", "recall,vault")


def server(wire: Callable[..., W], **settings: str) -> W:
    """Start a server with seed a's tools, and return a raw connection to it."""
    begun = wire("--toolsets", "vault", **settings)
    begun.handshake()
    return begun


def commit(wire: Wire, key: str, scope: str = "session", content: str = "a text") -> None:
    assert not wire.call("commit_memory", scope=scope, key=key, content=content).get("isError")


def keys(wire: Wire, scope: str = "session") -> list[str]:
    """Return the keys that the wire's session sees."""
    content = wire.call("search_memories", query="text", scope=scope)["structuredContent"]
    return sorted(one["key"] for one in content["results"])


def end(wire: Wire) -> None:
    """Disconnect as a client does at its end."""
    wire.close()


def kill(wire: ProcessWire, home: Path) -> None:
    """Kill everything that serves a client: the service first, because it ends the session of a client that dies."""
    if sys.platform != "win32":
        for service in kit.services(home):
            kit.kill(service["pid"])
    wire.signal(signal.SIGKILL)
    wire.wait()


def left(home: Path) -> list[str]:
    """Return all stored keys, of every session."""
    return sorted(row["name"] for row in rows_of(home))


def session_of(wire: Wire, meta: Json | None = None) -> str:
    """Return the session of a request, as the list of resources names it."""
    found = wire.result("resources/list", {"_meta": meta} if meta else {})["resources"]
    (uri,) = [one["uri"] for one in found if one["uri"].startswith("memory://session/")]
    return str(uri.removeprefix("memory://session/"))


# 4: the id -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_most_specific_session_name_wins(wire: Open) -> None:
    client: Json = {"extra": {"sessionId": "client"}}
    plain, named = (wire("--toolsets", "vault", MEMORY_MCP_SESSION_ID="configured") for _ in range(2))
    plain.handshake()
    assert session_of(plain) == "configured"
    named.handshake(**client)
    assert session_of(named) == "client"
    assert named.call("set_session_id", session_id="chosen")["structuredContent"] == {"session_id": "chosen"}
    assert session_of(named) == "chosen"
    assert session_of(named, {SESSION: "its own"}) == "its%20own"
    assert session_of(named) == "chosen"


def test_the_most_specific_session_name_wins_without_handshakes(wire: Open) -> None:
    modern = wire("--toolsets", "vault", MEMORY_MCP_SESSION_ID="configured")
    info: Json = {CLIENT: {"name": "agent", "version": "1", "extra": {"sessionId": "client"}}}
    assert session_of(modern, envelope()) == "configured"
    assert session_of(modern, envelope(**info)) == "client"
    modern.call("set_session_id", envelope(**info), session_id="chosen")
    assert session_of(modern, envelope(**info)) == session_of(modern, envelope()) == "chosen"
    assert session_of(modern, envelope(**info, **{SESSION: "own"})) == "own"


def test_without_a_name_each_process_has_its_own_session(wire: Open) -> None:
    one, two = (server(wire) for _ in range(2))
    assert re.fullmatch(UUID, session_of(one))
    assert session_of(one) == session_of(one) != session_of(two)


def test_a_memory_belongs_to_the_session_of_its_request(wire: Open) -> None:
    one = server(wire)
    for session in ("ann", "bob"):
        one.call("commit_memory", {SESSION: session}, scope="session", key="k", content=f"A text of {session}.")
    for session in ("ann", "bob"):
        uri = f"memory://session/{session}"
        (content,) = one.result("resources/read", {"uri": uri, "_meta": {SESSION: session}})["contents"]
        assert f"A text of {session}." in content["text"]
        assert one.request("resources/read", {"uri": uri})["error"]["code"] == -32002
    assert keys(one) == []


# volatile memories ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_do_not_see_or_delete_each_others_memories(wire: Open, home: Path) -> None:
    one, two = (server(wire) for _ in range(2))
    for number, each in enumerate((one, two)):
        commit(each, "same", content=f"A text of {number}.")
        commit(each, f"only {number}")
    assert (keys(one), keys(two)) == (["only 0", "same"], ["only 1", "same"])
    uri = f"memory://session/{session_of(one)}"
    assert two.request("resources/read", {"uri": uri})["error"]["code"] == -32002
    assert two.call("prune_memory", scope="session")["structuredContent"] == {"pruned_count": 2}
    assert two.call("prune_memory", scope="all", key="same")["structuredContent"] == {"pruned_count": 0}
    assert (keys(one), keys(two)) == (["only 0", "same"], [])
    commit(two, "same")
    end(two)
    assert keys(one) == ["only 0", "same"]
    end(one)
    assert left(home) == []


@pytest.mark.slow
def test_a_shared_session_ends_with_its_last_process(wire: Open, home: Path) -> None:
    one, two, other = (server(wire, MEMORY_MCP_SESSION_ID=name) for name in ("x", "x", "y"))
    commit(one, "k")
    commit(other, "other")
    assert keys(two) == ["k"]
    end(one)
    assert keys(two) == ["k"]
    end(other)
    assert left(home) == ["k"]
    end(two)
    assert left(home) == []


@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.slow
def test_an_idle_client_keeps_its_session_alive(wire: Open, era: str, home: Path) -> None:
    idle = wire("--toolsets", "vault", MEMORY_MCP_SESSION_ID="x")
    meta = envelope() if era == MODERN else None
    if meta:
        idle.result("server/discover", {"_meta": meta})
    else:
        idle.handshake()
    busy = server(wire, MEMORY_MCP_SESSION_ID="x")  # there was no database before
    commit(busy, "k")
    end(busy)
    found = idle.call("search_memories", meta, query="text")["structuredContent"]["results"]
    assert [one["key"] for one in found] == ["k"]
    end(idle)
    assert left(home) == []


@pytest.mark.files
def test_clients_can_connect_although_the_database_is_unusable(wire: Open, home: Path) -> None:
    (home / "data").mkdir(parents=True)
    (home / "data" / "_meta.db").write_bytes(b"This is no database. " * 100)
    one = server(wire, MEMORY_MCP_SESSION_ID="x")
    answer = one.call("search_memories", query="text")
    assert answer["isError"]
    assert "_meta.db" in answer["content"][0]["text"]


@pytest.mark.slow
def test_a_session_named_by_the_client_is_kept_alive_too(wire: Open, home: Path) -> None:
    client: Json = {"extra": {"sessionId": "x"}}
    idle, busy = (wire("--toolsets", "vault") for _ in range(2))
    for each in (idle, busy):
        each.handshake(**client)
    commit(busy, "k")
    end(busy)
    assert keys(idle) == ["k"]
    end(idle)
    assert left(home) == []


@pytest.mark.parametrize("how", ["EOF", "SIGTERM"])
def test_volatile_memories_are_deleted_when_the_connection_closes(a: Agent, pipe: Pipe, home: Path, how: str) -> None:
    a.store("A memory without a key.")
    one = server(pipe)
    commit(one, "volatile")
    commit(one, "kept", "vault")
    if how == "EOF":
        end(one)
    else:
        one.signal(signal.SIGTERM)
        assert one.wait() == 0, one.stderr()
    assert {row["name"] for row in rows_of(home)} == {None, "kept"}
    assert a.ok("search_memories", query="text", scope="vault")["results"][0]["key"] == "kept"


@contextmanager
def later(home: Path, days: float) -> Iterator[Engine]:
    """Yield the engine of another process, `days` later."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        present = engine.clock.now
        with patch.object(engine.clock, "now", lambda: timestamp(moment(present()) + timedelta(days=days))):
            yield engine


def test_the_memories_of_a_killed_process_are_deleted_after_a_day(pipe: Pipe, home: Path) -> None:
    one = server(pipe)
    commit(one, "volatile")
    commit(one, "kept", "vault")
    kill(one, home)
    with later(home, 0.9) as engine:
        engine.sessions.tend(never)
    assert left(home) == ["kept", "volatile"]
    with later(home, 1.1) as engine:
        engine.sessions.tend(never)
    assert left(home) == ["kept"]


def test_volatile_memories_are_kept_if_configured(pipe: Pipe, home: Path) -> None:
    keeps = {MY_SESSION: "x", PERSIST: "true"}
    one = server(pipe, **keeps)
    commit(one, "k")
    end(one)
    two = server(pipe, **keeps)
    assert keys(two) == ["k"]
    kill(two, home)
    with later(home, 400) as engine:
        engine.sessions.tend(never)
    assert left(home) == ["k"]
    assert keys(server(pipe, **keeps)) == ["k"]


@pytest.mark.slow
def test_kept_memories_are_deleted_by_a_process_that_does_not_keep_them(wire: Open, home: Path) -> None:
    keeper = server(wire, MEMORY_MCP_SESSION_ID="x", MEMORY_MCP_SESSION_PERSIST="true")
    commit(keeper, "k")
    end(keeper)
    other = server(wire, MEMORY_MCP_SESSION_ID="x")
    assert keys(other) == ["k"]
    end(other)
    assert left(home) == []


def test_set_session_id_continues_an_earlier_session(pipe: Pipe, home: Path) -> None:
    earlier = server(pipe)
    commit(earlier, "k")
    name = session_of(earlier)
    kill(earlier, home)
    one = server(pipe)
    commit(one, "own")
    assert keys(one) == ["own"]
    one.call("set_session_id", session_id=name)
    assert keys(one) == ["k"]
    commit(one, "j")
    with later(home, 1.1) as engine:
        engine.sessions.tend(never)
    assert left(home) == []  # as if this process had slept for a day
    commit(one, "k")
    end(one)
    assert left(home) == []


def test_an_invalid_session_id_is_refused(vault: Agent) -> None:
    for wrong in ("", " ", "x" * 201, "a\0b", 7):
        assert "session_id" in vault.refused("set_session_id", session_id=wrong), wrong


def test_a_session_is_cleared_in_all_workspaces(wire: Open, home: Path) -> None:
    one = wire("--toolsets", "projects,vault")
    one.handshake()
    commit(one, "in default")
    for name in ("p", "q"):
        one.call("create_project", name=name)
        commit(one, f"in {name}")
        commit(one, f"kept in {name}", "vault")
    end(one)
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        for workspace in engine.workspaces.all("active"):
            rows = engine.store.read(workspace, lambda q: q.all("moved.records_first", limit=100))
            assert [row["name"] for row in rows] == (
                [] if workspace.name == "default" else [f"kept in {workspace.name}"]
            )


# recall --------------------------------------------------------------------------------------------------------------


def test_memory_recall_finds_the_vault_and_the_own_session(a: Agent, start: Start) -> None:
    other = start("--toolsets", "recall,vault")
    for number, each in enumerate((a, other)):
        each.ok("commit_memory", scope="vault", key=f"v{number}", content=f"A durable text {number}.")
        each.ok(
            "commit_memory",
            scope="session",
            key=f"s{number}",
            content=f"A volatile text {number}.",
            tags=[f"t{number}"],
        )
    a.store("A text without a key.")
    found = {memory["key"]: memory["content"] for memory in a.raw("text")}
    assert found == {
        "v0": "A durable text 0.",
        "v1": "A durable text 1.",
        "s0": "A volatile text 0.",
        None: "A text without a key.",
    }
    assert {memory["key"] for memory in other.raw("text")} == {"v0", "v1", "s1", None}
    shown = [a.text("memory_context"), *(a.text("memory_inspect", view=view) for view in ("recent", "tags", "export"))]
    assert all("volatile text 1" not in text and "t1" not in text for text in shown)
    assert "A volatile text 0." in shown[1]


# 7: capabilities -----------------------------------------------------------------------------------------------------

READS: dict[str, set[str]] = {
    name: {tool.name for tool in tools if tool.capability == "read"} for name, tools in TOOLSETS.items()
}


def tools_of(settings: Settings) -> list[types.Tool]:
    """Return the tools that a server in this process offers."""

    async def work() -> list[types.Tool]:
        async with Client(MemoryServer(Calls(engine))) as client:
            return (await client.list_tools()).tools

    with Engine(settings, fetch=False) as engine:
        return anyio.run(work)


def only_reads(tools: Sequence[types.Tool], toolsets: str) -> None:
    assert {tool.name for tool in tools} == (READS.get(toolsets) or set().union(*READS.values()))
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)


@pytest.mark.parametrize("toolsets", [*TOOLSETS, "all"])
def test_a_reader_sees_only_read_tools(home: Path, toolsets: str) -> None:
    settings = Settings.read(environment(home, MEMORY_READ_ONLY="true", MEMORY_TOOLSETS=toolsets))
    only_reads(tools_of(settings), toolsets)


def test_an_option_and_a_variable_make_a_reader(start: Start) -> None:
    only_reads(start("--toolsets", "all", "--read-only").tools(), "all")
    only_reads(start("--toolsets", "all", MEMORY_READ_ONLY="true").tools(), "all")


@pytest.mark.slow
def test_a_reader_reads_and_changes_nothing(wire: Open, home: Path) -> None:
    writer = server(wire)
    commit(writer, "kept", "vault")
    commit(writer, "volatile")
    before = rows_of(home), rows_of(home, "events")
    reader = wire("--toolsets", "all", "--read-only")
    reader.handshake()
    offered = {tool["name"] for tool in reader.result("tools/list")["tools"]}
    assert {"search_memories", "set_session_id"} <= offered
    for tool in ("commit_memory", "prune_memory"):
        assert tool not in offered
        arguments: dict[str, Any] = {"scope": "session", "key": "k", "content": "c"}
        error = reader.request("tools/call", {"name": tool, "arguments": arguments})["error"]
        assert error["code"] == -32602
        assert f"Unknown tool: {tool}" in error["message"]
    assert keys(reader, "all") == ["kept"]
    reader.call("set_session_id", session_id=session_of(writer))
    assert keys(reader, "all") == ["kept", "volatile"]
    for uri in ("memory://vault", "memory://vault/kept", f"memory://session/{session_of(writer)}"):
        (content,) = reader.result("resources/read", {"uri": uri})["contents"]
        assert '"a text"' in content["text"]
    listed = [one["uri"] for one in reader.result("resources/list")["resources"]]
    assert "memory://vault/kept" in listed
    assert len(reader.result("resources/templates/list")["resourceTemplates"]) == 3
    end(reader)
    assert (rows_of(home), rows_of(home, "events")) == before, "its end deletes nothing"
    assert keys(writer) == ["volatile"]


@pytest.mark.files  # on Postgres: tests/faults/test_postgres.py
def test_a_reader_without_a_database_gets_an_error(start: Start, home: Path) -> None:
    reader = start("--toolsets", "vault", "--read-only", MEMORY_MCP_SESSION_ID="x")
    assert "There is no database yet" in reader.refused("search_memories", query="text")
    assert list(home.rglob("*.db")) == []
