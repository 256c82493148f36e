"""One name for each client: `codex-mcp-client` over MCP, `codex` of its hooks, and each with a version are one."""

import re

from memoryd.text import storable

LENGTH = 100  # maximum characters of a client's name
_ALIASES = {
    "codex-mcp-client": "codex",
    "cursor-vscode": "cursor",
    "gemini-cli": "gemini",
    "gemini-cli-mcp-client": "gemini",
    "qwen-cli-mcp-client": "qwen",
    "qwen-code": "qwen",
    "qwen-code-mcp-client": "qwen",
    "visual-studio-code": "vscode",
    "visual-studio-code-insiders": "vscode",
}
"""What clients call themselves over MCP, by the names that `memoryd install` and `memoryd hook` have for them."""
_NAMES = {name: name for name in ("claude-code", "opencode", *_ALIASES.values())} | _ALIASES
_VERSION = re.compile(r"(?<=\S)(?:/|\s+)(?:\(?via\b|v?\d).*", re.DOTALL | re.IGNORECASE)
"""The end of `codex 0.169.0`, `curl/8.5.0 (linux)` or `claude-ai (via mcp-remote 0.1.37)`."""
_SERVER = re.compile(r"(?<=-mcp-client)-.*", re.DOTALL)
"""Gemini CLI and its forks add the name that the server has in their settings."""
_BETWEEN = re.compile(r"[\s_-]+")


def client_name(text: str) -> str:
    """Return the one name of a client as records have it: without its version, shortened, storable; '' for ''."""
    given = storable(_VERSION.sub("", text.strip()).strip()[:LENGTH])
    return _NAMES.get(_SERVER.sub("", _BETWEEN.sub("-", given.casefold())), given)


def conversation_of(client: str, session: str) -> str:
    """Return the session of a client's conversation, as its transcripts, its hooks and its calls all name it."""
    return session if client == "claude-code" else f"{client}:{session}"
