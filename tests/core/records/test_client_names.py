"""One name for each client."""

from typing import get_args

import pytest

from memoryd.core.records.client_names import LENGTH, client_name, conversation_of
from memoryd.features.agents.command import HookClient

NAMES = {
    "": "",
    "claude-code 2.1.330": "claude-code",
    "claude-code-wrapper 1": "claude-code-wrapper",
    "Claude Code": "claude-code",
    "codex-mcp-client 0.169.0": "codex",
    "codex-mcp-client": "codex",
    "cursor-vscode 1.0.0": "cursor",
    "gemini-cli-mcp-client-memory 0.0.1": "gemini",
    "qwen-cli-mcp-client-memory v0.0.1-nightly.3": "qwen",
    "Visual Studio Code - Insiders 1.104.0-insider": "vscode",
    "claude-ai (via mcp-remote 0.1.37) 0.1.0": "claude-ai",
    "Zed 0.2": "Zed",
    "roo code": "roo code",
    "curl/8.5.0": "curl",
    "python-httpx/0.28.1 (linux)": "python-httpx",
    "import mem0": "import mem0",
    "7zip": "7zip",
    "a\ud800b 1": "a\ufffdb",
    "x" * 200: "x" * LENGTH,
}


def test_a_client_has_one_name() -> None:
    for given, name in NAMES.items():
        assert client_name(given) == client_name(client_name(given)) == name


@pytest.mark.parametrize("client", get_args(HookClient))
def test_the_name_that_a_hook_has_for_a_client_is_its_name(client: str) -> None:
    assert client_name(client) == client
    assert conversation_of(client, "s1") == ("s1" if client == "claude-code" else f"{client}:s1")
