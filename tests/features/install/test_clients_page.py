"""Every snippet of docs/clients.md connects: it is read as its client would read it, and the SDK's client connects."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from memoryd.features.install.catalog import CLIENTS, ClientName
from tests.clients import agent, environment
from tests.commands import run
from tests.features.install.test_install import WITH_URL, entry, prepared
from tests.http import HttpServer, granted, remote, serving
from tests.test_docs import ROOT, fences
from tests.test_docs import commands as commands_of

pytestmark = pytest.mark.process

PAGE = ROOT / "docs" / "clients.md"
COMMANDS = [command[2:] for command in commands_of(PAGE) if command[:2] == ["memoryd", "install"]]
HTTP = [command for command in COMMANDS if "--http" in command]
WORKSPACE = "atlas"


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Yield a server as the page starts it: on this machine, without tokens."""
    with serving(tmp_path_factory.mktemp("open")) as server:
        yield server


@pytest.fixture(scope="module")
def closed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Yield a server with a workspace and a token, which is in MY_TOKEN and TOKEN."""
    home = tmp_path_factory.mktemp("closed")
    run(home, "workspace", "create", WORKSPACE)
    with serving(home) as server:
        server.environ |= dict.fromkeys(("MY_TOKEN", "TOKEN"), granted(server, "page"))
        yield server


def headers_of(made: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a client sends for an entry, with its variables filled in."""
    headers = dict(made.get("headers", made.get("http_headers", {})))
    if "bearer_token_env_var" in made:
        headers["Authorization"] = f"Bearer ${{{made['bearer_token_env_var']}}}"
    return {
        name: re.sub(r"\$\{(?:env:)?(\w+)\}|\{env:(\w+)\}", lambda found: variables[found[1] or found[2]], value)
        for name, value in headers.items()
    }


def check(server: HttpServer, url: str, headers: Mapping[str, str]) -> None:
    assert url == f"{server.url}/mcp"
    with remote(server, **{name.replace("-", "_"): value for name, value in headers.items()}) as connected:
        assert connected.ok("memory_store", content="The page connects.")["status"]


@pytest.mark.parametrize("words", HTTP, ids=" ".join)
def test_the_configuration_that_install_writes_connects(
    home: Path, words: list[str], open_server: HttpServer, closed_server: HttpServer
) -> None:
    server = closed_server if "--token-variable" in words else open_server
    url = words[words.index("--http") + 1]
    client = cast("ClientName", words[0])
    made = installed(home, [word.replace(url, f"{server.url}/mcp") for word in words])
    check(server, made[CLIENTS[client].url], headers_of(made, server.environ))


@pytest.mark.parametrize("client", WITH_URL)
def test_without_a_workspace_every_client_connects_to_the_default_one(
    home: Path, client: ClientName, open_server: HttpServer
) -> None:
    made = installed(home, [client, "--http", open_server.url])
    check(open_server, made[CLIENTS[client].url], headers_of(made, {}))


def installed(home: Path, words: list[str]) -> dict[str, Any]:
    file = prepared(home, words[0])
    run(home, "install", *words, HOME=str(home), XDG_CONFIG_HOME="")
    return entry(file, words[0])


def snippets() -> list[Any]:
    """Return the single entry of each configuration on the page."""
    parsed = [json.loads(text) for text in fences(PAGE, "json")] + [
        tomllib.loads(text) for text in fences(PAGE, "toml")
    ]
    tables = {client.table for client in CLIENTS.values()}
    found = [
        one
        for configuration in parsed
        for table in tables & configuration.keys()
        for one in configuration[table].items()
    ]
    assert len(found) >= 8
    return [made for _, made in found]


@pytest.mark.parametrize("made", snippets(), ids=str)
def test_every_configuration_on_the_page_connects(home: Path, made: dict[str, Any], closed_server: HttpServer) -> None:
    command = made["command"] if isinstance(made["command"], list) else [made["command"], *made.get("args", [])]
    env = made.get("env", made.get("environment", {}))
    if command[0] == "npx":  # a bridge: check the headers that it would send
        given = dict(command[at + 1].split(":", 1) for at, word in enumerate(command) if word == "--header")
        variables = {name: value.replace("TOKEN", closed_server.environ["TOKEN"]) for name, value in env.items()}
        check(closed_server, f"{closed_server.url}/mcp", headers_of({"headers": given}, variables))
        return
    assert command[-1] == "memoryd" or Path(command[0]).name == "memoryd"
    arguments = command[command.index("memoryd") + 1 :]
    with agent(environment(home) | env, *arguments, mode="auto") as connected:
        assert connected.ok("memory_store", content="The page connects.")["status"]
