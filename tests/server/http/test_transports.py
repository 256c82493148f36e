"""One server, one port, the same tools over every transport and era; sessions and workspaces as in the seeds."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from mcp import MCPError, types

from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from tests.clients import LEGACY, until
from tests.http import WORKSPACE, Ears, HttpServer, beside, remote, serving
from tests.wires import HELLO

MODES = ("auto", "legacy", "sse")


def place_of(result: types.CallToolResult) -> object:
    return (result.meta or {}).get("memoryd/workspace")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server with every toolset but `projects`, so that a workspace must be named."""
    home = tmp_path_factory.mktemp("http")
    with serving(home, "--toolsets", "recall,vault,graph") as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _workspaces(server: HttpServer) -> None:
    with beside(server) as engine:
        for name in ("one", "two", "old"):
            engine.workspaces.ensure(name)
        engine.workspaces.archive("old")


@pytest.mark.parametrize("mode", MODES)
def test_the_same_tools_over_every_transport(server: HttpServer, mode: str) -> None:
    with remote(server, mode, X_Memory_Workspace="one") as agent:
        names = [tool.name for tool in agent.tools()]
        assert {"memory_store", "commit_memory", "create_entities"} <= set(names)
        text = f"The {mode} client was here."
        agent.store(text)
        assert text in agent.found(f'"{mode} client"')


def test_c_a_request_without_a_workspace_is_refused(server: HttpServer) -> None:
    # c: HTTP clients must send X-Memory-Workspace on the SSE connection request and on message requests
    error = {"error": "Missing required header: X-Memory-Workspace"}
    for method, path in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/tools/memory_inspect")):
        for headers in ({}, {WORKSPACE: ""}):
            answer = server.request(method, path, headers=headers, json={})
            assert (answer.status_code, answer.json()) == (400, error)


def test_a_request_names_one_workspace(server: HttpServer) -> None:
    for names, status in ((("one", "one"), 200), (("one", "two"), 400)):
        headers = [(WORKSPACE, name) for name in names]
        assert server.request("POST", "/tools/memory_inspect", headers=headers, json={}).status_code == status


def test_c_the_workspace_must_exist(server: HttpServer) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/tools/memory_inspect")):
        answer = server.request(method, path, headers={WORKSPACE: "none"}, json={})
        assert (answer.status_code, answer.json()) == (404, {"error": "Workspace not found: none"})
        archived = server.request(method, path, headers={WORKSPACE: "old"}, json={})
        assert archived.status_code == 409
        assert "archived" in archived.json()["error"]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("チーム", "チーム".encode()),
        ("チーム", b"%E3%83%81%E3%83%BC%E3%83%A0"),
        ("Zürich", "Zürich".encode()),
        ("Zürich", "Zürich".encode("latin-1")),
        ("100%41", b"100%41"),
        ("100%41", b"100%2541"),
        ("team/a b", b"team%2Fa%20b"),
        ("café", b"cafe%CC%81"),
    ],
)
def test_a_workspace_may_be_called_anything(server: HttpServer, name: str, sent: bytes) -> None:
    with beside(server) as engine:
        engine.workspaces.ensure(name)
        engine.workspaces.ensure("100A")
    answer = server.request("POST", "/tools/memory_store", headers={WORKSPACE: sent}, json={"content": name})
    assert answer.status_code == 200, answer.text
    with beside(server) as engine:
        assert Memories(Scope(engine, engine.workspaces.active(name))).stats()["kinds"] == {"memory": 1}
    assert server.request("POST", "/tools/memory_inspect", headers={WORKSPACE: b"%00"}, json={}).status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_workspaces_are_separate(server: HttpServer, mode: str) -> None:
    with remote(server, mode, X_Memory_Workspace="one") as one, remote(server, mode, X_Memory_Workspace="two") as two:
        one.ok("commit_memory", scope="vault", key=f"key of {mode}", content="a word unseen elsewhere")
        assert one.ok("search_memories", query="unseen", scope="vault")["results"]
        assert two.ok("search_memories", query="unseen", scope="vault")["results"] == []
        assert place_of(one.call("memory_inspect", {})) == "one"


def test_a_stream_loses_its_workspace_when_that_is_archived_or_deleted(server: HttpServer) -> None:
    with beside(server) as engine:
        engine.workspaces.create("passing")
        with closing(Ears(server, "sse", {WORKSPACE: "passing"})) as ears:
            ears._headers.pop(WORKSPACE)  # the stream's workspace counts

            def answer_to(tool: str, **arguments: str) -> str:
                return str(ears.request("tools/call", name=tool, arguments=arguments)["result"])

            assert "Stored memory" in answer_to("memory_store", content="The ferry leaves at seven.")
            for change, why in (
                (engine.workspaces.archive, "is archived — restore it first"),
                (engine.workspaces.delete, "Workspace not found: passing"),
            ):
                change("passing")
                assert why in answer_to("memory_recall", query="ferry")
                assert why in answer_to("memory_store", content="It is late.")


@pytest.mark.parametrize("mode", ["legacy", "sse"])
def test_a_the_memories_of_a_connection_end_with_it(server: HttpServer, mode: str) -> None:
    # a: on connection close (HTTP disconnect) the session's rows are deleted
    with remote(server, mode, X_Memory_Workspace="two") as agent:
        agent.ok("commit_memory", scope="session", key="volatile", content=f"only while {mode} is here")
        assert len(agent.ok("search_memories", query="only while", scope="session")["results"]) == 1
        with remote(server, mode, X_Memory_Workspace="two") as other:
            assert other.ok("search_memories", query="only while", scope="session")["results"] == []
            assert len(agent.ok("search_memories", query="only while", scope="session")["results"]) == 1
    with remote(server, "auto", X_Memory_Workspace="two") as reader:
        until(lambda: reader.ok("search_memories", query="only while")["results"] == [], "the end of the session")


def test_a_client_that_resumes_a_stream_gets_a_new_one(server: HttpServer) -> None:
    headers = {WORKSPACE: "one", "Accept": "application/json, text/event-stream"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    session = server.request("POST", "/mcp", headers=headers, json=hello).headers["Mcp-Session-Id"]
    resumed = headers | {"Mcp-Session-Id": session, "Last-Event-ID": "7"}
    with server.connect() as client, client.stream("GET", "/mcp", headers=resumed) as stream:
        assert stream.status_code == 200
        assert stream.headers["Content-Type"].startswith("text/event-stream")


def test_a_modern_request_has_a_session_if_it_names_one(server: HttpServer) -> None:
    # the 2026-07-28 protocol has no connections: state lives in the database
    handle = {"memoryd/session": "sess_abc123"}
    with remote(server, "auto", X_Memory_Workspace="two") as agent:
        arguments = {"scope": "session", "key": "k", "content": "kept by handle"}
        assert not agent.call("commit_memory", arguments, handle).is_error
        assert "no session" in agent.refused("commit_memory", **arguments)
    with remote(server, "auto", X_Memory_Workspace="two") as later:
        found = later.call("search_memories", {"query": "kept", "scope": "session"}, handle).structured_content
        assert found
        assert [one["key"] for one in found["results"]] == ["k"]
        assert later.ok("search_memories", query="kept", scope="session")["results"] == []
        error = later.refused("set_session_id", session_id="sess_abc123")
        assert "_meta" in error
        uri = "memory://session/sess_abc123"
        with pytest.raises(MCPError, match="another session"):
            later.ask(lambda client: client.read_resource(uri))


def test_b_each_session_has_its_active_project(tmp_path: Path) -> None:
    # b: never one project for all clients
    with serving(tmp_path, "--toolsets", "projects,vault") as server:
        with remote(server, "legacy") as one, remote(server, "sse") as two, remote(server, "auto") as three:
            one.ok("create_project", name="first")
            two.ok("create_project", name="second")
            one.ok("commit_memory", scope="vault", key="mine", content="of the first")
            assert place_of(one.call("search_memories", {"query": "of"})) == "first"
            assert place_of(two.call("search_memories", {"query": "of"})) == "second"
            assert two.ok("search_memories", query="of")["results"] == []
            assert three.ok("get_current_project")["project"] is None
            assert "belongs to no session" in three.refused("switch_project", name="first")
            assert "No active project" in three.refused("search_memories", query="of")
        with remote(server, "auto", X_Memory_Workspace="first") as bound:
            assert [one["key"] for one in bound.ok("search_memories", query="of")["results"]] == ["mine"]


def test_a_workspace_of_the_settings_needs_no_header(tmp_path: Path) -> None:
    with serving(tmp_path, "--toolsets", "vault", "--workspace", "mine") as server, remote(server) as agent:
        agent.ok("commit_memory", scope="vault", key="k", content="text")
        assert place_of(agent.call("search_memories", {"query": "text"})) == "mine"


def test_a_client_with_an_unknown_session_id_opens_a_new_session(server: HttpServer) -> None:
    accept = {"Accept": "application/json, text/event-stream", WORKSPACE: "one"}
    stale = accept | {"Mcp-Session-Id": "0123456789abcdef"}

    def ask(headers: dict[str, str], method: str, **params: object) -> httpx2.Response:
        return server.request(
            "POST", "/mcp", headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        )

    opened = ask(stale, "initialize", **HELLO)
    assert (opened.status_code, opened.json()["result"]["protocolVersion"]) == (200, LEGACY)
    session = accept | {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
    assert session != stale
    assert ask(session, "tools/list").status_code == 200
    assert server.request("DELETE", "/mcp", headers=session).status_code == 200
    again = ask(session, "initialize", **HELLO)
    assert again.status_code == 200
    assert again.headers["Mcp-Session-Id"] not in session.values(), "an ended session stays ended"
    for method in ("tools/list", "ping"):  # the specification: 404, and the client begins again
        assert [ask(headers, method).status_code for headers in (stale, session)] == [404, 404]
    assert server.request("GET", "/mcp", headers=stale | {"Accept": "text/event-stream"}).status_code == 404
    assert server.request("DELETE", "/mcp", headers=stale).status_code == 404


def test_the_sdks_client_connects_with_an_old_session_id(server: HttpServer) -> None:
    with remote(server, "legacy", X_Memory_Workspace="one", Mcp_Session_Id="of-an-earlier-server") as agent:
        agent.store("Stored after a restart.")
        assert agent.found('"after a restart"') == ["Stored after a restart."]
