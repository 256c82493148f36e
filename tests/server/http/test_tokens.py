"""Tokens over HTTP: who is admitted, what they may do, and isolation of sessions."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError, types

from memoryd.core.access import access_log
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.settings import Settings
from memoryd.store.postgres import pool
from memoryd.toolsets import PROJECT_TOOLS, chosen
from tests.clients import LEGACY, MODERN, Agent, Json, environment, until
from tests.http import (
    SESSION,
    WORKSPACE,
    Ears,
    HttpServer,
    HttpThread,
    bearer,
    beside,
    granted,
    memoryd,
    refused,
    remote,
    serving,
)
from tests.store.clusters import cluster

MODES = ("auto", "legacy", "sse")
CLOSED = (
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/sse"),
    ("POST", "/sse/messages/"),
    ("POST", "/tools/memory_inspect"),
    ("POST", "/tools/no_such_tool"),
    ("GET", "/metrics"),
)
# The open paths reveal no stored data: probes carry no token, and the tools' schemas are in the docs.
OPEN = ("/health", "/health/live", "/openapi.json")
ALLOWED = ("memory_recall", "memory_store")

Tokens = dict[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("tokens")
    with serving(home, "--toolsets", "all", "--workspace", "default") as server:
        yield server


@pytest.fixture(scope="module")
def tokens(server: HttpServer) -> Iterator[Tokens]:
    """A token of each kind; at the end no file may contain their secrets."""
    with beside(server) as engine:
        for name in ("default", "team", "other"):
            engine.workspaces.ensure(name)
    made = {level: granted(server, level, level) for level in ("read", "write", "admin")}
    made["few"] = granted(server, "few", tools=ALLOWED)
    made["bound"] = granted(server, "bound", "admin", workspace="team")
    yield made
    for token in made.values():
        secret = token.split("_", 2)[2]
        assert not [path for path in files(server.environ) if secret.encode() in path.read_bytes()]


def files(environ: dict[str, str]) -> list[Path]:
    return [path for path in Path(environ["MEMORY_DATA_DIR"]).rglob("*") if path.is_file()]


def test_included_workspaces_are_visible_only_with_a_grant_for_them(server: HttpServer, tokens: Tokens) -> None:
    with beside(server) as engine:
        for name in ("team", "beside"):
            Memories(Scope(engine, engine.workspaces.ensure(name))).store(f"The ferry of {name} leaves at seven.")
        engine.workspaces.include("team", ["beside"])
    of_all = bearer(tokens["read"], **{WORKSPACE: "team"})
    for headers, places in ((of_all, {"team", "beside"}), (bearer(tokens["bound"]), {None})):
        asked = {"query": "ferry", "format": "raw"}
        found = server.tool("memory_recall", headers, **asked).json()["memories"]
        assert {memory.get("workspace") for memory in found} == places


def inspect(server: HttpServer, headers: dict[str, str] | None = None) -> int:
    return server.tool("memory_inspect", headers).status_code


# the command line ----------------------------------------------------------------------------------------------------


def test_a_token_is_printed_once(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    memoryd(environ, "workspace", "create", "team")
    made = memoryd(environ, "token", "create", "ci", "--level", "read", "--workspace", "team", "--expires", "90")
    (token,) = made.stdout.splitlines()
    prefix, token_id, secret = token.split("_", 2)
    assert (prefix, len(token_id), len(secret)) == ("memoryd", 12, 43)
    assert "Authorization: Bearer" in made.stderr
    assert secret not in made.stderr
    (listed,) = json.loads(memoryd(environ, "token", "list", "--json").stdout)["tokens"]
    assert (listed["name"], listed["id"], listed["allows"], listed["workspace"]) == ("ci", token_id, "read", "team")
    shown = memoryd(environ, "token", "list").stdout
    assert token_id in shown
    assert secret not in shown + str(listed)
    assert not [path for path in files(environ) if secret.encode() in path.read_bytes()]
    memoryd(environ, "token", "create", "other")
    assert memoryd(environ, "token", "revoke", "other").stderr == ""
    revoked = memoryd(environ, "token", "revoke", "ci")
    assert revoked.stdout == "Revoked the token ci.\n"
    assert "the last one: a server that only this machine" in revoked.stderr
    assert json.loads(memoryd(environ, "token", "list", "--json").stdout) == {"tokens": []}
    assert "There is no token 'ci'" in memoryd(environ, "token", "revoke", "ci", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ([" "], "is not a valid token name"),
        (["a\nb"], "is not a valid token name"),
        (["x" * 101], "is not a valid token name"),
        (["x", "--allow", ","], "--allow names no tool"),
        (["x", "--allow", "memory_recall,rm_rf"], "Unknown tool 'rm_rf'"),
        (["x", "--expires", "inf"], "at most 36,500 days"),
        (["x", "--expires", "1e9"], "at most 36,500 days"),
    ],
)
def test_invalid_tokens_are_not_created(tmp_path: Path, arguments: list[str], wrong: str) -> None:
    environ = environment(tmp_path)
    ended = memoryd(environ, "token", "create", *arguments, code=2)
    assert wrong in ended.stderr
    assert (ended.stdout, files(environ)) == ("", [])


def test_a_name_can_be_used_once(server: HttpServer, tokens: Tokens) -> None:
    assert "Token 'few' already exists" in memoryd(server.environ, "token", "create", "few", code=2).stderr


@pytest.mark.stores
def test_of_two_concurrent_creations_one_gets_the_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.read(environment(home))
    with Engine(settings, fetch=False) as one, Engine(settings, fetch=False) as faster:
        team = one.workspaces.ensure("team")

        def find(_name: str) -> Workspace:
            faster.tokens.create("ci")
            return team

        monkeypatch.setattr(one.workspaces, "active", find)
        with pytest.raises(InvalidInputError, match="Token 'ci' already exists"):
            one.tokens.create("ci", workspace="team")
        assert [entry.act for entry in access_log.last(one.store, 9)] == ["token created"]


# admission -----------------------------------------------------------------------------------------------------------


def test_from_the_first_token_on_every_request_needs_one(tmp_path: Path) -> None:
    with serving(tmp_path, "--workspace", "default") as server:
        assert inspect(server) == 200
        assert inspect(server, bearer("none that there is")) == 401
        token = granted(server, "first", "admin")
        for method, path in CLOSED:
            for headers in ({}, {"Authorization": "Basic dXNlcjpwYXNz"}, {"X-Api-Key": token}, {"Cookie": token}):
                answer = server.request(method, f"{path}?access_token={token}", headers=headers, json={})
                assert answer.status_code == 401, path
                assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
                assert "resource_metadata" not in answer.headers["WWW-Authenticate"]
        for path in OPEN:
            for headers in ({}, bearer("none that there is")):
                assert server.request("GET", path, headers=headers).status_code == 200, path
        assert server.request("GET", "/.well-known/oauth-protected-resource/mcp").status_code == 404
        assert server.request("GET", "/").status_code == 307
        assert inspect(server, bearer(token)) == 200
        assert inspect(server, {"authorization": f"bearer {token}"}) == 200
        second = granted(server, "second")
        memoryd(server.environ, "token", "revoke", "first")
        assert (inspect(server, bearer(token)), inspect(server, bearer(second))) == (401, 200)
        memoryd(server.environ, "token", "revoke", second.split("_")[1])
        assert (inspect(server, bearer(token)), inspect(server, bearer(second)), inspect(server)) == (401, 401, 200)


@pytest.mark.slow
def test_an_expired_token_is_refused(server: HttpServer, tokens: Tokens) -> None:
    assert inspect(server, bearer(granted(server, "yesterday's", days=1e-9))) == 401
    assert inspect(server, bearer(granted(server, "today's", days=1))) == 200
    soon = bearer(granted(server, "soon", days=1 / 86_400))
    until(lambda: inspect(server, soon) == 401, "the end of a token")


def test_invalid_tokens(server: HttpServer, tokens: Tokens) -> None:
    token, other = tokens["admin"], tokens["read"]
    prefix, token_id, secret = token.split("_", 2)
    wrong = [
        "x",
        "_",
        "__",
        "memoryd",
        "memoryd_",
        "memoryd__",
        f"memoryd_{token_id}",
        f"memoryd_{token_id}_",
        token[:-1],
        f"{token}x",
        f"{token}  x",
        token.upper(),
        f"Memoryd_{token_id}_{secret}",
        f"{token_id}_{secret}",
        secret,
        f"memoryd__{secret}",
        f"memoryd_{other.split('_')[1]}_{secret}",
        f"memoryd_%_{secret}",
        f"memoryd_' OR 1=1 --_{secret}",
        f"{prefix}_{token_id}_{'x' * 20_000}",
        f'"{token}"',
    ]
    for text in [*(each.encode() for each in wrong), "memoryd_é_ü☃".encode(), b"memoryd_\xff\xfe_\x80"]:
        headers = [(b"Authorization", b"Bearer " + text), (b"X-Memory-Workspace", b"team")]
        answer = server.request("POST", "/tools/memory_inspect", headers=headers, json={})
        assert answer.status_code == 401, text
    assert inspect(server, bearer(token)) == 200


@pytest.mark.parametrize("mode", MODES)
def test_no_client_connects_without_a_token(server: HttpServer, tokens: Tokens, mode: str) -> None:
    with pytest.raises(BaseException, match=r".*") as caught, remote(server, mode):
        pytest.fail("it connected")
    assert "it connected" not in repr(caught.value)


# rights --------------------------------------------------------------------------------------------------------------


def unknown(agent: Agent, tool: str) -> None:
    with pytest.raises(MCPError) as caught:
        agent.call(tool, {})
    assert caught.value.code == types.INVALID_PARAMS
    assert f"Unknown tool: {tool}" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", ["read", "write", "admin"])
def test_a_level_allows_what_it_says(server: HttpServer, tokens: Tokens, mode: str, level: str) -> None:
    levels = ["read", "write", "admin"][: ["read", "write", "admin"].index(level) + 1]
    tools = chosen(["all"], read_only=False)
    with remote(server, mode, **bearer(tokens[level])) as agent:
        assert {tool.name for tool in agent.tools()} == {n for n, tool in tools.items() if tool.capability in levels}
        for name in (n for n, tool in tools.items() if tool.capability not in levels):
            unknown(agent, name)
        assert not agent.call("memory_inspect", {}).is_error


@pytest.mark.slow
def test_a_level_applies_over_plain_http_too(server: HttpServer, tokens: Tokens) -> None:
    order = ["read", "write", "admin"]
    for level in order:
        for name, tool in chosen(["all"], read_only=False).items():
            answer = server.tool(name, bearer(tokens[level]), no_such_argument=1)
            allowed = order.index(tool.capability) <= order.index(level)
            expected = (404 if tool.needs == "project" else 400) if allowed else 403
            assert answer.status_code == expected, (level, name, answer.text)


@pytest.mark.parametrize("mode", MODES)
def test_a_token_for_a_few_tools(server: HttpServer, tokens: Tokens, mode: str) -> None:
    with remote(server, mode, **bearer(tokens["few"])) as agent:
        assert {tool.name for tool in agent.tools()} == set(ALLOWED)
        agent.store(f"stored over {mode}")
        assert f"stored over {mode}" in agent.found(f'"stored over {mode}"')
        unknown(agent, "memory_inspect")
        for uri in ("memory://vault", "memory://vault/k"):
            with pytest.raises(MCPError, match="does not allow resources"):
                agent.ask(partial(Client.read_resource, uri=uri))
        assert len(agent.ask(lambda client: client.list_prompts()).prompts) == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_token_that_only_stores_cannot_read_in_another_way(server: HttpServer, tokens: Tokens, mode: str) -> None:
    with remote(server, mode, **bearer(granted(server, f"stores {mode}", tools=["memory_store"]))) as agent:
        agent.store("what is stored")
        assert agent.ask(lambda client: client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="Unknown prompt"):
            agent.ask(lambda client: client.get_prompt("briefing"))
        with pytest.raises(MCPError, match="does not allow resources"):
            agent.ask(lambda client: client.list_resources())
        for reference in (
            types.PromptReference(name="remember"),
            types.ResourceTemplateReference(uri="memory://vault/{key}"),
        ):
            with pytest.raises(MCPError):
                agent.ask(partial(Client.complete, ref=reference, argument={"name": "tag", "value": ""}))
    with remote(server, mode, **bearer(tokens["read"])) as agent:
        assert [prompt.name for prompt in agent.ask(lambda client: client.list_prompts()).prompts] == ["briefing"]
    answer = server.tool("memory_inspect", bearer(tokens["few"]))
    assert (answer.status_code, answer.json()) == (403, {"error": "This token does not allow memory_inspect."})


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_token_of_one_workspace(server: HttpServer, tokens: Tokens, mode: str) -> None:
    with remote(server, mode, **bearer(tokens["bound"])) as agent:
        assert not {tool.name for tool in agent.tools()} & PROJECT_TOOLS
        unknown(agent, "switch_project")
        unknown(agent, "list_projects")
        assert (agent.call("memory_inspect", {}).meta or {})["memoryd/workspace"] == "team"
    with remote(server, mode, **bearer(tokens["bound"]), X_Memory_Workspace="team") as agent:
        assert (agent.call("memory_inspect", {}).meta or {})["memoryd/workspace"] == "team"


def test_a_token_of_one_workspace_opens_no_other(server: HttpServer, tokens: Tokens) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/tools/memory_inspect")):
        for name in ("other", "none such"):
            answer = server.request(method, path, headers=bearer(tokens["bound"], X_Memory_Workspace=name), json={})
            bound = {"error": f"This token is bound to a workspace other than {name}."}
            assert (answer.status_code, answer.json()) == (403, bound)
    with closing(Ears(server, "sse", bearer(tokens["bound"]))) as ears:
        call = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
        assert ears.post(call, X_Memory_Workspace="other").status_code == 403
    assert server.tool("list_projects", bearer(tokens["bound"])).status_code == 403


def test_when_its_workspace_is_archived_or_gone(server: HttpServer, tokens: Tokens) -> None:
    with beside(server) as engine:
        engine.workspaces.ensure("passing")
    headers = bearer(granted(server, "passing", workspace="passing"))
    assert inspect(server, headers) == 200
    with beside(server) as engine:
        engine.workspaces.archive("passing")
    assert inspect(server, headers) == 409
    assert server.request("GET", "/sse", headers=headers).status_code == 409
    with beside(server) as engine:
        engine.workspaces.delete("passing")
    answer = server.tool("memory_inspect", headers)
    assert (answer.status_code, answer.json()) == (404, {"error": "The workspace of this token was deleted."})
    with beside(server) as engine:
        engine.workspaces.ensure("passing")  # another workspace of that name is not the token's
    assert inspect(server, headers) == 404


# sessions ------------------------------------------------------------------------------------------------------------


def keys(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["key"] for one in answer.json()["results"]]


def test_the_same_name_means_another_session_with_another_token(server: HttpServer, tokens: Tokens) -> None:
    mine, others = bearer(tokens["write"]), bearer(tokens["admin"])
    named = {SESSION: "shared name"}
    put = {"scope": "session", "key": "k", "content": "only mine"}
    assert server.tool("commit_memory", mine | named, **put).status_code == 200
    assert server.tool("create_project", mine | named, name="mine").status_code == 200
    for search in ({"query": "only mine"}, {"query": "only mine", "scope": "session"}):
        assert keys(server.tool("search_memories", mine | named | {WORKSPACE: "default"}, **search)) == ["k"]
        assert keys(server.tool("search_memories", others | named | {WORKSPACE: "default"}, **search)) == []
    assert server.tool("get_current_project", mine | named).json()["project"]["name"] == "mine"
    assert server.tool("get_current_project", others | named).json()["project"] is None
    assert server.tool("search_memories", others | named, query="only").status_code in (200, 404)
    principal = tokens["write"].split("_")[1]
    for name in (f"{principal}/shared name", f"/{principal}/shared name", f"{principal}"):
        found = server.tool("search_memories", others | {SESSION: name, WORKSPACE: "default"}, query="only mine")
        assert keys(found) == []
    with remote(server, "auto", **others, X_Memory_Workspace="default") as agent:
        meta = {"memoryd/session": "shared name"}
        seen = agent.call("search_memories", {"query": "only mine"}, meta).structured_content or {}
        assert seen["results"] == []
    with remote(server, "legacy", **others, X_Memory_Workspace="default") as agent:
        agent.ok("set_session_id", session_id="shared name")
        assert agent.ok("search_memories", query="only mine")["results"] == []


@pytest.mark.parametrize("era", [LEGACY, "sse"])
def test_a_connection_continues_only_with_its_token(server: HttpServer, tokens: Tokens, era: str) -> None:
    call: Json = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    with closing(Ears(server, era, bearer(tokens["write"]))) as ears:
        assert ears.request("tools/list")["result"]["tools"]
        assert ears.post(call, **bearer(tokens["admin"])).status_code == 404
        assert ears.post(call, **bearer("none")).status_code == 401
        connection = ears.headers({}).get("Mcp-Session-Id")
        if connection:
            for method in ("GET", "DELETE"):
                headers = ears.headers({}) | bearer(tokens["admin"])
                assert server.request(method, "/mcp", headers=headers).status_code == 404
        assert ears.request("tools/list")["result"]["tools"]


@pytest.mark.parametrize("era", [LEGACY, MODERN, "sse"])
def test_a_stream_gets_no_notices_once_its_token_is_revoked(server: HttpServer, tokens: Tokens, era: str) -> None:
    writer = bearer(tokens["write"])
    put, uri = {"scope": "vault", "key": f"heard {era}", "content": "text"}, f"memory://vault/heard%20{era}"
    with closing(Ears(server, era, bearer(granted(server, f"hears {era}")))) as ears:
        ears.listen(uri)
        server.tool("commit_memory", writer, **put)
        until(lambda: uri in ears.notices(), "a notice")
        with beside(server) as engine:
            engine.tokens.revoke(f"hears {era}")
        with closing(Ears(server, era, writer).listen(f"memory://vault/{era}")) as other:
            server.tool("commit_memory", writer, **put | {"key": era})
            until(lambda: f"memory://vault/{era}" in other.notices(), "a notice")
            until(lambda: ears.notices().count(uri) > 1, "the last notice: that it sees nothing any more")
            heard = len(ears.notices())
            server.tool("commit_memory", writer, **put | {"content": "another"})
            server.tool("commit_memory", writer, **put | {"key": era, "content": "another"})
            until(lambda: other.notices().count(f"memory://vault/{era}") > 1, "a notice")
            assert len(ears.notices()) == heard


# beyond this machine -------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_no_server_starts_beyond_loopback_without_tokens(tmp_path: Path) -> None:
    remedy = "`memoryd token create NAME`"
    with pytest.raises(InvalidInputError, match=remedy):
        HttpThread(environment(tmp_path), "--host", "::")
    assert remedy in refused(environment(tmp_path), "--host", "0.0.0.0")


def test_no_request_beyond_loopback_is_served_without_a_token(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    (token,) = memoryd(environ, "token", "create", "only").stdout.splitlines()
    with serving(tmp_path, "--host", "0.0.0.0", "--workspace", "default") as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert (inspect(server), inspect(server, bearer(token))) == (401, 200)
        memoryd(environ, "token", "revoke", "only")
        for method, path in CLOSED:
            for headers in ({}, bearer(token)):
                assert server.request(method, path, headers=headers, json={}).status_code == 401, path
        assert server.request("GET", "/health").json()["ready"]


# rates ---------------------------------------------------------------------------------------------------------------


def test_each_token_has_its_rate_and_so_have_callers_without_one(tmp_path: Path) -> None:
    with serving(tmp_path, "--workspace", "default", MEMORY_RATE_LIMIT="5/hour") as server:
        assert [inspect(server) for _ in range(7)] == [200] * 7, "there is no rate limit on this machine without tokens"
        one, other = bearer(granted(server, "one")), bearer(granted(server, "other"))
        assert [inspect(server, one) for _ in range(7)] == [200] * 5 + [429] * 2
        assert inspect(server, other) == 200
        attempts = [inspect(server, bearer(f"memoryd_{number}_x")) for number in range(4)]
        assert [*attempts, *(inspect(server) for _ in range(3))] == [401] * 5 + [429] * 2
        assert [inspect(server, other) for _ in range(4)] == [200] * 4
        answer = server.tool("memory_inspect", other)
        assert (answer.status_code, answer.json()["error"].split(".")[0]) == (429, "More than 5 per 1 hour")
        assert 60 < int(answer.headers["Retry-After"]) <= 3_600
        assert server.request("POST", "/mcp", headers=other, json={}).status_code == 429
        assert {server.request("GET", "/health/live").status_code for _ in range(7)} == {200}


@pytest.mark.parametrize("rate", ["lots", "5", "-1/minute"])
def test_invalid_rates(tmp_path: Path, rate: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^MEMORY_RATE_LIMIT={rate!r} is not a rate."):
        HttpThread(environment(tmp_path, MEMORY_RATE_LIMIT=rate))


# the database is away ------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no managed server there")
def test_while_tokens_cannot_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster() as postgres:
        url = postgres.database()
        with serving(tmp_path, "--workspace", "default", MEMORY_DATABASE_URL=url) as server:
            headers = bearer(granted(server, "one"))
            assert inspect(server, headers) == 200
            for text in ("memoryd_é\x80_x", f"memoryd_{'x' * 5_000}_x", "memoryd_\\_'"):
                named = [(b"Authorization", b"Bearer " + text.encode())]
                assert server.request("GET", "/metrics", headers=named).status_code == 401
            postgres.stop()
            monkeypatch.setattr(pool, "FAILOVER", 0)  # seconds that each would wait for it to come back
            for given in (headers, bearer("memoryd_none_x"), {}):
                answer = server.tool("memory_inspect", given)
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
                assert "cannot be reached" in answer.json()["error"]
            assert server.request("GET", "/health/live", headers=headers).status_code == 200
            postgres.start()
            until(lambda: inspect(server, headers) == 200, "the database")
            assert inspect(server) == 401
