"""The hooks of coding agents: insert, renew or remove them in a client's file; hooks of other programs stay."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd.features.install import editing
from memoryd.features.install.catalog import ClientName, below
from memoryd.features.install.editing import Keys
from memoryd.features.install.safe_replace import FileEdit

SECONDS = 15
"""Seconds after which a client gives up on a hook; a normal run takes a fraction of one."""
UNBLOCKING = " || exit 1"
"""Follows uvx, which may exit with 2 if it cannot fetch a package: from a hook, that code stops the agent."""
OTHERWISE = "Everything else is done; docs/hooks.md shows the hooks to add there."
AT_PROMPT, SOON = "memory_prompt", 3
"""The tool that a client's hook may call at a prompt, and the seconds after which the prompt goes without memory."""
OURS = re.compile(rf"memoryd\b.* hook [a-z-]+\b|\b{AT_PROMPT}\b")
"""What is in a hook of memoryd: its command, or its tool."""


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The hooks of a client that call a tool through its connection, which takes no process."""

    event: str
    program: str
    since: tuple[int, ...]
    """The first version of the program that calls tools which are not listed."""

    def known(self) -> bool:
        """Return whether the installed version of the program has such hooks."""
        if not (path := shutil.which(self.program)):
            return False
        asked = [path, "--version"]
        try:
            shown = subprocess.run(asked, capture_output=True, timeout=SECONDS, check=False).stdout  # noqa: S603 - a client
        except (OSError, subprocess.TimeoutExpired):
            return False
        version = re.search(rb"\d+(?:\.\d+)+", shown)
        return version is not None and tuple(map(int, version[0].split(b"."))) >= self.since


@dataclass(frozen=True, slots=True)
class HookFile:
    """The file with a client's hooks, and its format."""

    file: Callable[[], Path]
    events: Mapping[str, str]
    """The client's events, with `memoryd hook`'s names for them."""
    timeout: int | None = SECONDS
    """In the client's unit; None if a hook has no field besides its command."""
    version: int | None = None
    """The format version that the file must declare, if any."""
    calls: ToolCalls | None = None


_ALL = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "Stop": "stop",
    "SubagentStop": "subagent-stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
_OF_CODEX = {event: ours for event, ours in _ALL.items() if event not in ("SubagentStop", "PreCompact")}
_OF_GEMINI = {
    "SessionStart": "session-start",
    "BeforeAgent": "prompt-submit",
    "AfterAgent": "stop",
    "SessionEnd": "session-end",
}
_OF_CURSOR = {"sessionStart": "session-start", "stop": "stop", "sessionEnd": "session-end"}
HOOK_FILES: Mapping[ClientName, HookFile] = {
    "claude-code": HookFile(
        below(".claude", "settings.json"), _ALL, calls=ToolCalls("UserPromptSubmit", "claude", (2, 1, 118))
    ),
    "codex": HookFile(below(".codex", "hooks.json"), _OF_CODEX, calls=ToolCalls("UserPromptSubmit", "codex", (0, 150))),
    "gemini": HookFile(below(".gemini", "settings.json"), _OF_GEMINI, timeout=SECONDS * 1000),
    "cursor": HookFile(below(".cursor", "hooks.json"), _OF_CURSOR, timeout=None, version=1),
}


def added(client: ClientName, command: Sequence[str], arguments: Sequence[str], server: str) -> FileEdit:
    """Return the change that sets `command` as a client's hooks, and where it can, a call of its `server`.

    Without a server there are commands alone: one at a URL does not see whether the client's session is without hooks.
    """
    place = HOOK_FILES[client]
    calls = place.calls if server and place.calls and place.calls.known() else None

    def edit(text: str) -> str:
        if place.version and editing.value_at(editing.parsed(text, toml=False), ["version"]) is None:
            text = editing.put(text, ["version"], place.version, toml=False)
        for event, ours in place.events.items():
            if calls and event == calls.event:
                text = _with(text, place, event, called(client, server))
                continue
            line = _line([*command, "hook", ours, "--client", client, *arguments])
            line += UNBLOCKING * (Path(command[0]).stem == "uvx")
            hook = {"type": "command", "command": line, "timeout": place.timeout}
            text = _with(text, place, event, {"command": line} if place.timeout is None else hook)
        return text

    return FileEdit(place.file(), edit, OTHERWISE)


def called(client: ClientName, server: str) -> dict[str, Any]:
    """Return a client's hook that calls a tool of a server at a prompt."""
    given = {"prompt": "${prompt}", "session_id": "${session_id}", "cwd": "${cwd}", "client": client}
    return {"type": "mcp_tool", "server": server, "tool": AT_PROMPT, "input": given, "timeout": SOON}


def removed(client: ClientName) -> FileEdit:
    """Return the change that removes a client's hooks."""
    place = HOOK_FILES[client]

    def edit(text: str) -> str:
        for event in place.events:
            while OURS.search(text) and (keys := _ours(text, event)):  # a text without any need not be JSON
                text = editing.drop(text, keys, toml=False)
        return text

    return FileEdit(place.file(), edit, OTHERWISE)


def _with(text: str, place: HookFile, event: str, hook: Mapping[str, Any]) -> str:
    """Return a text in which an event has a hook; what the user has added to an existing one of its type stays."""
    held = editing.parsed(text, toml=False)
    if keys := _ours(text, event):
        old = editing.value_at(held, keys)
        if old.get("type") == hook.get("type"):
            hook = {**old, **{key: value for key, value in hook.items() if key != "timeout" or key not in old}}
        return text if old == hook else editing.put(text, keys, hook, toml=False)
    groups = editing.value_at(held, ["hooks", event]) or []
    new = hook if place.timeout is None else {"hooks": [hook]}
    return editing.put(text, ["hooks", event, len(groups)], new, toml=False)


def _ours(text: str, event: str) -> Keys:
    """Return the path to a hook of memoryd; an empty one if there is none."""
    groups = editing.value_at(editing.parsed(text, toml=False), ["hooks", event])
    ways = (
        (("hooks", event, at, *within), one.get("command") or one.get("tool"))
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for within, one in _hooks(group)
    )
    return next((keys for keys, ours in ways if isinstance(ours, str) and OURS.search(ours)), ())


def _hooks(group: Any) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Yield the hooks of a group, which may itself be a hook, with the path to each."""
    if isinstance(group, dict):
        yield (), group
        hooks = group.get("hooks")
        for at, one in enumerate(hooks if isinstance(hooks, list) else ()):
            if isinstance(one, dict):
                yield ("hooks", at), one


def _line(words: Sequence[str]) -> str:
    """Return words as one line for the shell that the client uses."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
