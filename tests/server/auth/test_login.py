"""Clients log in: the SDK's own, from the first 401 to a call in the workspace that the person chose."""

from collections.abc import Iterator

import pytest

from tests.http import HttpServer, bearer
from tests.server.auth.kit import Browser, Plain, Storage, let_in, provider, published


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with published(tmp_path_factory.mktemp("login")) as server:
        yield server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_registers_logs_in_and_calls(server: HttpServer, mode: str) -> None:
    storage, browser = Storage(), Browser(server)
    with let_in(server, provider(server, storage, browser), mode) as agent:
        agent.store(f"stored after a login, {mode}")
        assert (agent.call("memory_inspect", {}).meta or {})["memoryd/workspace"] == "team"
        assert f"stored after a login, {mode}" in agent.found(f'"after a login, {mode}"')
    assert storage.tokens
    assert storage.tokens.scope == "read write"
    with let_in(server, provider(server, storage, browser), mode) as agent:
        assert not agent.call("memory_inspect", {}).is_error
    assert len(browser.visits) == 1
    assert "a test" in browser.pages[0]
    assert "127.0.0.1:41234" in browser.pages[0]


def test_a_client_on_the_wire(server: HttpServer) -> None:
    issued = Plain(server).logs_in()
    assert server.tool("memory_inspect", bearer(issued["access_token"])).status_code == 200
