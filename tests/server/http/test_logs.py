"""What a server process writes to its log, and what it never writes."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.clients import until
from tests.http import SESSION, WORKSPACE, Ears, HttpProcess, bearer, beside, granted, process_serving, remote
from tests.server.http.test_tokens import ALLOWED, CLOSED, MODES, files

pytestmark = pytest.mark.process

PASSWORD = "geheim"
SECRET = "vertraulich-4711"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    """A server with the most verbose log, and a model that does not answer."""
    models = {"MEMORY_EMBEDDER": "openai:x", "OPENAI_BASE_URL": f"http://user:{PASSWORD}@127.0.0.1:9/{PASSWORD}/v1"}
    home = tmp_path_factory.mktemp("logs")
    with process_serving(home, "--toolsets", "recall,vault", MEMORY_LOG_LEVEL="debug", **models) as server:
        with beside(server) as engine:
            engine.workspaces.ensure("one")
        yield server


def requests(log: str) -> list[dict[str, object]]:
    """Return the lines of the log that are about requests."""
    return [line for line in map(json.loads, log.splitlines()) if line["logger"] == "memoryd.requests"]


def test_a_token_shows_readiness_and_a_token_of_one_workspace_no_figures_of_all(server: HttpProcess) -> None:
    admin, bound = bearer(granted(server, "admin")), bearer(granted(server, "bound", workspace="default"))
    assert server.tool("memory_store", bound, content="text").status_code == 200
    for headers in ({}, bearer("none that there is")):
        assert server.request("GET", "/health", headers=headers).json() == {"live": True, "ready": True}

    def health() -> str:
        return server.request("GET", "/health", headers=admin).text

    until(lambda: "127.0.0.1:9" in health(), "the model")
    assert PASSWORD not in health() + server.log()
    assert server.request("GET", "/metrics", headers=admin).status_code == 200
    assert server.request("GET", "/metrics", headers=bound).status_code == 403


def test_a_request_is_one_line_without_its_content(server: HttpProcess) -> None:
    token = granted(server, "logged")
    before = len(server.log())
    named = bearer(token) | {WORKSPACE: "one", SESSION: f"session {SECRET}"}
    server.tool("memory_store", named, content=SECRET)
    server.tool("memory_recall", named, query=SECRET)
    server.tool("memory_recall", named, **{SECRET: SECRET})
    server.request("POST", f"/tools/memory_recall?q={SECRET}", headers=named, content=SECRET)
    server.request("GET", f"/health?{SECRET}")
    for mode in MODES:
        with remote(server, mode, **bearer(token), X_Memory_Workspace="one") as agent:
            assert agent.found(SECRET)
            assert agent.call("commit_memory", {"scope": SECRET}).is_error
    with closing(Ears(server, "sse", named)) as ears:
        assert ears.post({"jsonrpc": "2.0", "wrong": SECRET}).status_code == 400
    written = server.log()[before:]
    assert SECRET not in written
    lines = [line for line in requests(written) if line["message"] not in ("GET /sse", "GET /mcp")]  # of open streams
    assert [line["message"] for line in lines[:5]] == [
        "POST /tools/memory_store",
        *["POST /tools/memory_recall"] * 3,
        "GET /health",
    ]
    assert [line["status"] for line in lines[:5]] == [200, 200, 400, 400, 200]
    for line in lines[:4]:
        assert (line["workspace"], line["token"]) == ("one", token.split("_")[1])
        assert 0 <= float(str(line["ms"])) < 60_000
    assert lines[4]["token"] is None


def test_no_token_is_kept_or_logged(server: HttpProcess) -> None:
    made = {name: granted(server, name, "admin") for name in ("good", "gone", "wrong")}
    made["few"] = granted(server, "few", tools=ALLOWED)
    for name in ("good", "few"):
        for mode in MODES:
            with remote(server, mode, **bearer(made[name]), X_Memory_Workspace="one") as agent:
                agent.store(f"stored over {mode}")
    with beside(server) as engine:
        engine.tokens.revoke("gone")
    for token in (made["gone"], made["wrong"][:-1], f"{made['wrong']}x"):
        for method, path in CLOSED:
            query = f"{path}?access_token={token}"
            assert server.request(method, query, headers=bearer(token), json={}).status_code == 401, path
    assert 401 in [line["status"] for line in requests(server.log())]
    for token in made.values():
        secret = token.split("_", 2)[2][:-1]
        assert secret not in server.log()
        assert not [path for path in files(server.environ) if secret.encode() in path.read_bytes()]
