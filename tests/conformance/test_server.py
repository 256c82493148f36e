"""The server of the conformance suite, tested without the suite, which `make conformance` runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client, MCPError, types

from memoryd.server.connection import Callers
from tests.clients import PATIENCE, environment
from tests.conformance.server import ConformanceServer
from tests.wires import StreamWire, Wire, envelope

T = TypeVar("T")
ANSWERING = "test_input_required_result_elicitation"


def ask(mode: str, work: Callable[[Client], Awaitable[T]], **callbacks: Any) -> T:
    """Return what a client gets from the server, in this process."""

    async def run() -> T:
        with anyio.fail_after(PATIENCE):
            async with Client(ConformanceServer(Callers("")), mode=mode, **callbacks) as client:
                return await work(client)

    return anyio.run(run)


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


async def accept(_context: Any, _params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Alice", "username": "Alice"})


def text(result: types.CallToolResult) -> str:
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


def test_each_era_has_its_tools() -> None:
    modern, legacy = ask("auto", names), ask("legacy", names)
    assert "test_simple_text" in modern & legacy
    assert ANSWERING in modern - legacy
    assert "test_elicitation" in legacy - modern


@pytest.mark.parametrize(("mode", "tool"), [("auto", ANSWERING), ("legacy", "test_elicitation")])
def test_each_era_asks_the_user_in_its_own_way(mode: str, tool: str) -> None:
    result = ask(mode, lambda client: client.call_tool(tool, {}), elicitation_callback=accept)
    assert "Alice" in text(result)


@pytest.mark.parametrize(("mode", "tool"), [("auto", ANSWERING), ("legacy", "test_elicitation")])
def test_a_client_that_cannot_be_asked_gets_the_missing_capability(mode: str, tool: str) -> None:
    async def refused(client: Client) -> types.ErrorData:
        with pytest.raises(MCPError, match="elicitation") as error:
            await client.call_tool(tool, {})
        return error.value.error

    error = ask(mode, refused)
    assert error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert error.data == {"requiredCapabilities": {"elicitation": {}}}


def test_a_dialogue_continues_from_its_state() -> None:
    asked = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": ("Alice", "green")[len(asked) - 1]})

    tool = "test_input_required_result_multi_round"
    result = ask("auto", lambda client: client.call_tool(tool, {}), elicitation_callback=answer)
    assert text(result) == "Alice likes green."
    assert len(asked) == 2


# problems that the suite found in the real server --------------------------------------------------------------------


@contextmanager
def opened(home: Path) -> Iterator[Wire]:
    with StreamWire(environment(home, MEMORY_TOOLSETS="all")) as server:
        yield server


def test_only_resources_are_declared_to_change(tmp_path: Path) -> None:
    with opened(tmp_path / "modern") as server:
        modern = server.result("server/discover", {"_meta": envelope()})["capabilities"]
    with opened(tmp_path / "legacy") as server:
        legacy = server.handshake()["capabilities"]
    for declared in (modern, legacy):
        assert declared["resources"] == {"subscribe": True, "listChanged": True}
        assert not declared["tools"]["listChanged"]
        assert not declared["prompts"]["listChanged"]
