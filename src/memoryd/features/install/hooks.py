"""The hooks of coding agents: insert, renew or remove them in a client's file; hooks of other programs stay."""

import re
import shlex
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
OURS = re.compile(r"memoryd\b.* hook [a-z-]+\b")


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
    "claude-code": HookFile(below(".claude", "settings.json"), _ALL),
    "codex": HookFile(below(".codex", "hooks.json"), _OF_CODEX),
    "gemini": HookFile(below(".gemini", "settings.json"), _OF_GEMINI, timeout=SECONDS * 1000),
    "cursor": HookFile(below(".cursor", "hooks.json"), _OF_CURSOR, timeout=None, version=1),
}


def added(client: ClientName, command: Sequence[str], arguments: Sequence[str]) -> FileEdit:
    """Return the change that sets `command` as a client's hooks."""
    place = HOOK_FILES[client]

    def edit(text: str) -> str:
        if place.version and editing.value_at(editing.parsed(text, toml=False), ["version"]) is None:
            text = editing.put(text, ["version"], place.version, toml=False)
        for event, ours in place.events.items():
            line = _line([*command, "hook", ours, "--client", client, *arguments])
            text = _with(text, place, event, line + UNBLOCKING * (Path(command[0]).stem == "uvx"))
        return text

    return FileEdit(place.file(), edit, OTHERWISE)


def removed(client: ClientName) -> FileEdit:
    """Return the change that removes a client's hooks."""
    place = HOOK_FILES[client]

    def edit(text: str) -> str:
        for event in place.events:
            while OURS.search(text) and (keys := _ours(text, event)):  # a text without any need not be JSON
                text = editing.drop(text, keys, toml=False)
        return text

    return FileEdit(place.file(), edit, OTHERWISE)


def _with(text: str, place: HookFile, event: str, line: str) -> str:
    """Return a text in which an event runs a command line; the timeout of an existing hook stays."""
    if keys := _ours(text, event):
        return editing.put(text, [*keys, "command"], line, toml=False)
    groups = editing.value_at(editing.parsed(text, toml=False), ["hooks", event]) or []
    hook = {"type": "command", "command": line, "timeout": place.timeout}
    new = {"command": line} if place.timeout is None else {"hooks": [hook]}
    return editing.put(text, ["hooks", event, len(groups)], new, toml=False)


def _ours(text: str, event: str) -> Keys:
    """Return the path to a hook of memoryd; an empty one if there is none."""
    groups = editing.value_at(editing.parsed(text, toml=False), ["hooks", event])
    ways = (
        (("hooks", event, at, *within), one.get("command"))
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for within, one in _hooks(group)
    )
    return next((keys for keys, line in ways if isinstance(line, str) and OURS.search(line)), ())


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
