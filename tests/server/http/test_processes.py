"""Several server processes on one Postgres, behind a proxy that sends each request to the next one."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.clients import LEGACY, MODERN, database, until
from tests.http import Ears, HttpProcess, HttpServer, bearer, granted, process_serving, remote, serving
from tests.proxies import balanced, installed
from tests.wires import HELLO

VAULT = "memory://vault"
ARGUMENTS = "--toolsets", "recall,vault", "--workspace", "team"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[list[HttpProcess]]:
    home = tmp_path_factory.mktemp("processes")
    url = database(postgres, home)
    with (
        process_serving(home / "one", *ARGUMENTS, MEMORY_DATABASE_URL=url) as one,
        process_serving(home / "two", *ARGUMENTS, MEMORY_DATABASE_URL=url) as two,
    ):
        yield [one, two]


@pytest.fixture(scope="module")
def token(servers: list[HttpProcess]) -> dict[str, str]:
    return bearer(granted(servers[0], "client"))


@contextmanager
def behind(servers: Sequence[HttpServer], program: str = "", *, sticky: bool = False) -> Iterator[HttpServer]:
    """Several servers behind our own proxy or an installed one, as a client sees them."""
    ports = [server.port for server in servers]
    with TemporaryDirectory() as directory:
        ours = balanced(ports, sticky=sticky)
        with installed(program, ports, Path(directory)) if program else ours as url:
            proxy = HttpServer(url, servers[0].environ)
            with proxy.client:
                yield proxy


@pytest.fixture
def proxy(servers: list[HttpProcess]) -> Iterator[HttpServer]:
    with behind(servers) as proxy:
        yield proxy


@pytest.mark.process
def test_any_process_answers_what_needs_no_handshake(proxy: HttpServer, token: dict[str, str]) -> None:
    handle = {"memoryd/session": "a session of both"}
    with remote(proxy, "auto", **token) as agent:
        for number in range(4):
            agent.store(f"The ferry {number} leaves at noon.")
            assert len(agent.found("ferry")) == number + 1
        kept = {"scope": "session", "key": "k", "content": "of this session alone"}
        assert not agent.call("commit_memory", kept, handle).is_error
        for _ in range(2):
            found = agent.call("search_memories", {"query": "alone", "scope": "session"}, handle).structured_content
            assert found
            assert [one["key"] for one in found["results"]] == ["k"]


@pytest.mark.process
@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_all_processes_announce_a_change(servers: list[HttpProcess], token: dict[str, str], era: str) -> None:
    with behind(servers, sticky=True) as proxy:
        ears = Ears(proxy, era, token).listen(VAULT)
        for number, server in enumerate(servers):
            before = ears.notices().count(VAULT)
            arguments = {"scope": "vault", "key": f"{era} {number}", "content": "text"}
            assert server.tool("commit_memory", token, **arguments).status_code == 200
            until(lambda before=before: ears.notices().count(VAULT) > before, "the notice")  # type: ignore[misc]
        ears.close()


@pytest.mark.process
@pytest.mark.parametrize("program", ["haproxy", "nginx"])
def test_the_proxies_of_the_documentation(servers: list[HttpProcess], token: dict[str, str], program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    with behind(servers, program) as proxy:
        for mode in ("auto", "legacy"):
            with remote(proxy, mode, **token) as agent:
                for number in range(4):
                    agent.store(f"{program} brought {number} over {mode}.")
                assert len(agent.found(f'"over {mode}" AND {program}')) == 4
        for era in (LEGACY, MODERN):
            ears = Ears(proxy, era, token).listen(VAULT)
            stored = {"scope": "vault", "key": f"{program} {era}", "content": "text"}
            assert proxy.tool("commit_memory", token, **stored).status_code == 200
            until(lambda ears=ears: VAULT in ears.notices(), "the notice")  # type: ignore[misc]
            ears.close()


@pytest.mark.process
def test_a_session_with_a_handshake_lives_in_one_process(proxy: HttpServer, token: dict[str, str]) -> None:
    accept = {"Accept": "application/json, text/event-stream"} | token
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    opened = proxy.request("POST", "/mcp", json=hello, headers=accept)
    session = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    statuses = [proxy.request("POST", "/mcp", json=listing, headers=accept | session).status_code for _ in range(2)]
    assert sorted(statuses) == [200, 404], "404 tells the client to reconnect"


def test_without_sessions_a_handshake_works_with_any_process(tmp_path: Path, postgres: str) -> None:
    settings: Any = {"MEMORY_DATABASE_URL": database(postgres, tmp_path), "MEMORY_HTTP_SESSIONS": "false"}
    with (
        serving(tmp_path / "one", *ARGUMENTS, **settings) as one,
        serving(tmp_path / "two", *ARGUMENTS, **settings) as two,
    ):
        token = bearer(granted(one, "client"))
        with behind([one, two]) as proxy:
            assert proxy.request("GET", "/mcp", headers=token | {"Accept": "text/event-stream"}).status_code == 405
            for _ in range(2):  # the session of a token outlives each connection
                with remote(proxy, "legacy", **token) as agent:
                    kept = {"scope": "session", "key": "k", "content": "of this token"}
                    agent.ok("commit_memory", **kept)
                    for _again in range(2):
                        found = agent.ok("search_memories", query="token", scope="session")["results"]
                        assert [one["key"] for one in found] == ["k"]
                    assert "ends with the request" in agent.refused("set_session_id", session_id="other")
            with remote(proxy, "auto", **token) as agent:
                assert agent.ok("search_memories", query="token", scope="session")["results"]
