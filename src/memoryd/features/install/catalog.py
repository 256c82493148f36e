"""The supported clients: where each keeps its configuration, and what an entry for memoryd looks like there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import platformdirs
import platformdirs.unix

ClientName = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "antigravity",
    "copilot",
    "opencode",
    "qwen",
]
ServerEntry = dict[str, Any]

WORKSPACE, BEARER = "X-Memory-Workspace", "bearer_token_env_var"

_STDIO, _HTTP = {"type": "stdio"}, {"type": "http"}
_CHOSEN = "tools"
"""The key with the tools that a client offers its agent; a user's choice stays."""
_ALL_TOOLS = {_CHOSEN: ["*"]}
_FORWARDED = "env_vars"
"""The key with the names of the variables that a client passes on to the servers that it starts, if not all."""
_OURS = {"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "http_headers", BEARER}
"""The keys of an entry that an installation sets; all other keys are the user's and stay."""
_OF_A_PROCESS = {"env", "envFile", _FORWARDED, "environment", "cwd"}
"""Keys that mean nothing to a client that connects by URL."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `directory` is the client's own: if it does not exist, the client was never started."""

    title: str
    directory: Callable[[], Path]
    file: Callable[[], Path]
    table: str = "mcpServers"
    local: Mapping[str, Any] = field(default_factory=dict)
    """The keys of an entry that starts a process, besides the command."""
    remote: Mapping[str, Any] = field(default_factory=dict)
    """The keys of an entry with a URL, besides the URL."""
    url: str = "url"
    """The key of the URL; empty: the file takes no URLs."""
    headers: str = "headers"
    reference: str = "${%s}"
    """How a header names an environment variable; empty: the client asks for the token, see `token_prompt`."""
    bearer: str = ""
    """The key for the name of the bearer token's variable, if the client has such a key."""
    trusting: bool = False
    """Whether it runs a hook only after the user has agreed, and otherwise skips it silently."""
    notes: tuple[str, str] = ("", "")
    """A pattern, below the home directory, of the notes that it keeps by itself, and the command that imports them."""
    in_project: bool = True
    """Whether it starts memoryd in the directory of the project that the user works in."""
    one_list: bool = False
    """Whether `command` is a list that includes the arguments."""
    loading: Mapping[str, Any] = field(default_factory=dict)
    """The keys that make the tools available at the agent's first step; empty: they always are, or cannot be."""
    loading_costs: str = ""
    """What these keys cost besides tokens; if nothing, they are set unless the user refuses."""
    allowing: Mapping[str, Any] = field(default_factory=dict)
    """The keys that let the agent call the tools without asking."""
    permissions: Callable[[], Path] | None = None
    """The file with the client's permission rules, if a rule there allows that instead."""


def below(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _application(name: str, *parts: str) -> Callable[[], Path]:
    """Return a path below the platform's configuration directory of an application."""
    return lambda: platformdirs.PlatformDirs(name, appauthor=False, roaming=True).user_config_path.joinpath(*parts)


def _desktop(*parts: str) -> Callable[[], Path]:
    """Return a path below the directory of Claude Desktop."""
    local = platformdirs.PlatformDirs(appauthor=False)
    return lambda: packaged(local.user_data_path, _application("Claude")()).joinpath(*parts)


def packaged(local: Path, usual: Path) -> Path:
    """Return the directory that Claude Desktop uses; for an installed package, Windows redirects it.

    The package never sees what other programs write to the usual directory.
    """
    redirected = sorted(local.glob("Packages/Claude_*/LocalCache/Roaming"))
    return redirected[0] / usual.name if redirected else usual


def _unix(name: str, *parts: str) -> Callable[[], Path]:
    """Return a path below the configuration directory of an application that uses the Linux one on every platform."""
    return lambda: platformdirs.unix.Unix(name, appauthor=False).user_config_path.joinpath(*parts)


CLIENTS: Mapping[ClientName, Client] = {
    "claude-code": Client(
        "Claude Code",
        below(".claude"),
        below(".claude.json"),
        local=_STDIO,
        remote=_HTTP,
        loading={"alwaysLoad": True},
        permissions=below(".claude", "settings.json"),
        notes=(".claude/projects/*/memory/*.md", "memoryd import ~/.claude/projects --from markdown --by-project"),
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        _desktop(),
        _desktop("claude_desktop_config.json"),
        url="",
        in_project=False,
    ),
    "cursor": Client("Cursor", below(".cursor"), below(".cursor", "mcp.json"), reference="${env:%s}", in_project=False),
    "vscode": Client(
        "VS Code",
        _application("Code", "User"),
        _application("Code", "User", "mcp.json"),
        table="servers",
        local=_STDIO,
        remote=_HTTP,
        reference="",
    ),
    "codex": Client(
        "Codex",
        below(".codex"),
        below(".codex", "config.toml"),
        table="mcp_servers",
        local={_FORWARDED: ["MEMORY_HOOKS"]},
        headers="http_headers",
        bearer=BEARER,
        loading={"required": True},
        notes=(".codex/memories/*.md", "memoryd import ~/.codex/memories --from markdown --workspace personal"),
        trusting=True,
        loading_costs="a session does not start unless memoryd does",
    ),
    "gemini": Client(
        "Gemini CLI",
        below(".gemini"),
        below(".gemini", "settings.json"),
        url="httpUrl",
        allowing={"trust": True},
    ),
    "antigravity": Client(
        "Antigravity",
        below(".gemini"),
        below(".gemini", "config", "mcp_config.json"),
        url="serverUrl",
        in_project=False,
    ),
    "copilot": Client(
        "GitHub Copilot CLI",
        below(".copilot"),
        below(".copilot", "mcp-config.json"),
        local={"type": "local", **_ALL_TOOLS},
        remote={**_HTTP, **_ALL_TOOLS},
        in_project=False,
    ),
    "opencode": Client(
        "opencode",
        _unix("opencode"),
        _unix("opencode", "opencode.json"),
        table="mcp",
        local={"type": "local"},
        remote={"type": "remote"},
        reference="{env:%s}",
        one_list=True,
    ),
    "qwen": Client(
        "Qwen Code",
        below(".qwen"),
        below(".qwen", "settings.json"),
        url="httpUrl",
        allowing={"trust": True},
    ),
}


def entry_with_command(client: Client, command: Sequence[str]) -> ServerEntry:
    """Return an entry that starts a process."""
    program, *arguments = command
    if client.one_list:
        return {**client.local, "command": [program, *arguments]}
    return {**client.local, "command": program, **({"args": arguments} if arguments else {})}


def entry_with_url(client: Client, name: str, url: str, workspace: str, variable: str) -> ServerEntry:
    """Return an entry that connects to a workspace of a server; `variable`, which holds the token, may be empty."""
    in_ascii = workspace if workspace.isascii() else quote(workspace)  # some clients send only ASCII
    headers = {WORKSPACE: in_ascii}
    entry: ServerEntry = {**client.remote, client.url: url}
    if variable and client.bearer:
        entry[client.bearer] = variable
    elif variable:
        token = client.reference % variable if client.reference else _prompt_reference(name)
        headers["Authorization"] = f"Bearer {token}"
    return {**entry, client.headers: headers}


def token_prompt(name: str) -> ServerEntry:
    """Return the prompt for the token, which VS Code shows once; it keeps the answer in its own store of secrets."""
    return {"type": "promptString", "id": f"memoryd-{name}", "description": f"Token of {name}", "password": True}


def needs_prompt(entry: Mapping[str, Any], name: str) -> bool:
    """Return whether an entry needs the answer to `token_prompt`."""
    return _prompt_reference(name) in str(entry.get("headers", ""))


def _prompt_reference(name: str) -> str:
    """Return the reference to the answer in VS Code's headers."""
    return f"${{input:{token_prompt(name)['id']}}}"


def renewed(old: Mapping[str, Any], new: ServerEntry) -> ServerEntry:
    """Return `new` with the keys that the user added to `old`."""
    gone = _OURS if "command" in new else _OURS | _OF_A_PROCESS
    chosen = {_CHOSEN: old[_CHOSEN]} if _CHOSEN in old else {}
    if _FORWARDED in old and _FORWARDED in new:
        chosen[_FORWARDED] = [*old[_FORWARDED], *(name for name in new[_FORWARDED] if name not in old[_FORWARDED])]
    return {**{key: value for key, value in old.items() if key not in gone or key in new}, **new, **chosen}


def workspace_of(entry: object) -> str | None:
    """Return the workspace that an entry names in the arguments of memoryd, or None."""
    words = [entry.get("args"), entry.get("command")] if isinstance(entry, Mapping) else []
    listed = next((given for given in words if isinstance(given, list)), [])
    return next((str(value) for option, value in pairwise(listed) if option == "--workspace"), None)


def is_of_memoryd(entry: object, url: str = "") -> bool:
    """Return whether an entry looks like one for memoryd, and not like another server of the same name."""
    marks = ("memoryd", WORKSPACE.casefold(), "://127.0.0.1", "://localhost", "://[::1]")
    text = str(entry).casefold()
    return isinstance(entry, Mapping) and (any(mark in text for mark in marks) or bool(url and url in entry.values()))
