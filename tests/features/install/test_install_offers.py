"""The extras of `memoryd install`, and that `memoryd uninstall` leaves nothing of them."""

import json
import os
import pty
import re
import shlex
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from memoryd.features.install.catalog import CLIENTS
from memoryd.features.install.hooks import HOOK_FILES
from tests import forks
from tests.cli.test_commands import Run, data, error_line, run
from tests.clients import PATIENCE, environment
from tests.features.install.test_install import at_home, entry, every_client, foreign, held, prepared
from tests.test_docs import ROOT

__all__ = ["at_home", "data", "run"]  # fixtures

PERMISSIONS = ".claude/settings.json"
LOADING = {"claude-code": "alwaysLoad", "codex": "required"}


@pytest.mark.parametrize("client", LOADING)
def test_the_tools_are_available_at_the_first_step(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    assert LOADING[client] in at_home("install", client, "--always-load", "--dry-run").stdout
    at_home("install", client, "--always-load")
    assert entry(file, client)[LOADING[client]] is True
    at_home("install", client, "--workspace", "w")  # renewed
    assert entry(file, client)[LOADING[client]] is True


@pytest.mark.parametrize(
    "before",
    [None, "{}", '{\n  "model": "x",\n  "permissions": {\n    "allow": ["Bash(ls)"],\n    "deny": []\n  }\n}\n'],
)
def test_the_tools_are_allowed_if_requested(at_home: Run, home: Path, before: str | None) -> None:
    file, rules = prepared(home, "claude-code", foreign("claude-code")), home / PERMISSIONS
    if before is not None:
        rules.write_text(before, encoding="utf-8")
    at_home("install", "claude-code")
    assert not rules.exists() or rules.read_text(encoding="utf-8") == before
    shown = at_home("install", "claude-code", "--allow-tools", "--dry-run").stdout
    assert "+" in shown
    assert '"mcp__memory"' in shown
    assert "--always-load" not in shown
    assert str(rules) in at_home("install", "claude-code", "--allow-tools").stdout
    allowed = held(rules)["permissions"]["allow"]
    assert allowed == [*(["Bash(ls)"] if before and "Bash" in before else []), "mcp__memory"]
    assert "already installed" in at_home("install", "claude-code", "--allow-tools").stdout
    assert "mcp__memory" in at_home("uninstall", "claude-code", "--dry-run").stdout
    at_home("uninstall", "claude-code")
    assert rules.exists() == (before is not None)
    assert before is None or rules.read_text(encoding="utf-8") == before
    assert not list(home.rglob("*.backup"))
    assert file.read_text(encoding="utf-8") == foreign("claude-code")


@pytest.mark.parametrize("client", ["gemini", "qwen"])
def test_clients_that_can_trust_a_server_are_configured_to(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    at_home("install", client, "--allow-tools")
    assert entry(file, client)["trust"] is True


def test_rules_that_cannot_be_changed_are_reported_and_the_rest_is_done(at_home: Run, home: Path) -> None:
    file = prepared(home, "claude-code")
    (home / PERMISSIONS).write_text("{ // mine\n}", encoding="utf-8")
    assert "edit mcp__memory in permissions.allow" in at_home("install", "claude-code", "--allow-tools", code=1).stderr
    assert "command" in entry(file, "claude-code")
    assert (home / PERMISSIONS).read_text(encoding="utf-8") == "{ // mine\n}"


@pytest.mark.parametrize(
    "arguments",
    [("cursor", "--allow-tools"), ("gemini", "--always-load"), ("claude-code", "--allow-tools", "--file", "x.json")],
)
def test_unsupported_options_are_refused(at_home: Run, home: Path, arguments: tuple[str, ...]) -> None:
    prepared(home, arguments[0])
    assert "is not available" in error_line(at_home("install", *arguments, code=2))


@pytest.mark.process
def test_extras_are_offered_at_a_terminal_and_otherwise_omitted(home: Path) -> None:
    file = prepared(home, "claude-code")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"y\nn\n")
        ended = forks.run(
            [sys.executable, "-m", "memoryd", "install", "claude-code"],
            stdin=theirs,
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "One memory for each project" in ended.stderr
    assert ended.stderr.count("[Y/n]") == ended.stderr.count("[y/N]") == 1
    assert entry(file, "claude-code")["alwaysLoad"] is True
    assert not (home / PERMISSIONS).exists()


@every_client
def test_no_empty_table_stays(at_home: Run, home: Path, client: str) -> None:
    for before in ("a = 1\n",) if client == "codex" else ("{}", '{"a": 1}', '{\n  "a": 1\n}\n'):
        file = prepared(home, client, before)
        at_home("install", client)
        at_home("uninstall", client)
        assert file.read_text(encoding="utf-8") == before


# hooks ---------------------------------------------------------------------------------------------------------------


def test_the_tools_that_a_user_has_chosen_stay(at_home: Run, home: Path) -> None:
    file = prepared(home, "copilot")
    at_home("install", "copilot")
    assert entry(file, "copilot")["tools"] == ["*"]
    file.write_text(json.dumps({"mcpServers": {"memory": {"command": "memoryd", "tools": ["memory_recall"]}}}))
    at_home("install", "copilot", "--workspace", "atlas")
    assert entry(file, "copilot")["tools"] == ["memory_recall"]


def test_variables_that_a_user_passes_on_stay(at_home: Run, home: Path) -> None:
    file = prepared(home, "codex", '[mcp_servers.memory]\ncommand = "memoryd"\nenv_vars = ["MEMORY_DATA_DIR"]\n')
    for _ in range(2):
        at_home("install", "codex")
        assert entry(file, "codex")["env_vars"] == ["MEMORY_DATA_DIR", "MEMORY_HOOKS"]


HOOKS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}


def commands(file: Path) -> dict[str, list[str]]:
    """Return the command lines of each event, in any client's format."""
    hooks = held(file).get("hooks", {})
    return {
        event: [one["command"] for group in groups for one in group.get("hooks", [group])]
        for event, groups in hooks.items()
    }


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_match_the_docs_and_are_removed_without_a_trace(at_home: Run, home: Path, client: str) -> None:
    prepared(home, client)
    file = home / HOOKS[client]
    before = file.read_text(encoding="utf-8") if file.exists() else None
    at_home("install", client, "--hooks", "--workspace", "a b")
    made = commands(file)
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    found = re.search(rf"`~/{re.escape(HOOKS[client])}`.*?```json\n(.*?)```", page, re.DOTALL)
    assert found
    shown = json.loads(found[1])["hooks"]
    assert made.keys() == shown.keys()
    for (line,) in made.values():
        words = shlex.split(line)
        assert f"memoryd hook {words[words.index('hook') + 1]} " in page
        assert words[-2:] == ["--workspace", "a b"]
        assert words[words.index("--client") + 1] == client
        assert Path(words[0]).is_absolute()
    assert "already installed" in at_home("install", client, "--hooks", "--workspace", "a b").stdout
    at_home("uninstall", client)
    assert file.exists() == bool(before)
    assert not list(home.rglob("*.backup"))


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_use_the_memory_of_the_tools(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    at_home("install", client, "--hooks")
    projects = CLIENTS[client].in_project  # type: ignore[index]
    assert ("--workspace auto" in " ".join(entry(file, client).get("args", []))) == projects
    for (line,) in commands(home / HOOKS[client]).values():
        assert line.endswith("--workspace auto") == projects


def program(path: Path, version: str) -> None:
    """Write a client's program that knows no more than its version."""
    path.write_text(f"#!/bin/sh\necho '{version} (a client)'\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.process
@pytest.mark.parametrize(
    ("client", "since", "before"), [("claude-code", "2.1.118", "2.1.117"), ("codex", "0.150.0", "0.149.9")]
)
def test_a_client_that_can_calls_a_tool_at_a_prompt(
    at_home: Run, home: Path, client: str, since: str, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(home, client)
    file, place = home / HOOKS[client], home / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    calls = HOOK_FILES[client].calls  # type: ignore[index]
    assert calls

    def installed(version: str) -> dict[str, Any]:
        program(place / calls.program, version)
        at_home("install", client, "--hooks", "--name", "mine")
        (group,) = held(file)["hooks"][calls.event]
        (hook,) = group["hooks"]
        return dict(hook)

    hook = installed(since)
    assert {name: hook[name] for name in ("type", "server", "tool")} == {
        "type": "mcp_tool",
        "server": "mine",
        "tool": "memory_prompt",
    }
    assert "command" not in hook
    text = file.read_text(encoding="utf-8")
    assert installed(since) == hook
    assert file.read_text(encoding="utf-8") == text
    older = installed(before)
    assert older["type"] == "command"
    assert "server" not in older
    assert installed(since) == hook
    at_home("install", client, "--hooks", "--name", "mine", "--http", "http://127.0.0.1:1/mcp")
    assert "memory_prompt" not in file.read_text(encoding="utf-8"), "a server at a URL does not see MEMORY_HOOKS"
    at_home("uninstall", client, "--name", "mine")
    assert "memory_prompt" not in (file.read_text(encoding="utf-8") if file.exists() else "")


def test_hooks_of_others_and_user_settings_of_ours_stay(at_home: Run, home: Path) -> None:
    prepared(home, "claude-code")
    file = home / HOOKS["claude-code"]
    other = {"type": "command", "command": "notify-send memoryd done"}
    ours = {"type": "command", "command": "/old/memoryd hook stop", "timeout": 5}
    file.write_text(json.dumps({"hooks": {"Stop": [{"matcher": "*", "hooks": [other, ours]}]}}), encoding="utf-8")
    at_home("install", "claude-code", "--hooks")
    (group,) = held(file)["hooks"]["Stop"]
    assert group["hooks"][0] == other
    assert group["hooks"][1]["timeout"] == 5
    assert group["hooks"][1]["command"].endswith("hook stop --client claude-code --workspace auto")
    at_home("uninstall", "claude-code")
    assert held(file) == {"hooks": {"Stop": [{"matcher": "*", "hooks": [other]}]}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vscode"], "is not available"),
        (["claude-code", "--http", "http://127.0.0.1:8765", "--workspace", "auto"], "does not see the project"),
        (["claude-code", "--file", "x/.mcp.json"], "sets the user's hooks"),
    ],
)
def test_impossible_hooks_are_refused_before_anything_changes(
    at_home: Run, home: Path, words: list[str], message: str
) -> None:
    file = prepared(home, words[0])
    assert message in at_home("install", *words, "--hooks", code=2).stderr
    assert not file.exists()


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_use_the_server_and_the_token_of_the_entry(at_home: Run, home: Path, client: str) -> None:
    prepared(home, client)
    at = ["--http", "https://memory.example.org", "--workspace", "team", "--token-variable", "TEAM_TOKEN"]
    at_home("install", client, "--hooks", *at)
    at[1] += "/mcp"
    for lines in commands(home / HOOKS[client]).values():
        assert shlex.split(lines[0])[-6:] == at
    at_home("install", client, "--hooks", "--workspace", "team")
    assert "--http" not in str(commands(home / HOOKS[client])), "a later installation renews them"
    at_home("uninstall", client)
    assert not list(home.rglob("*.backup"))


def test_a_memoryd_fetched_by_uvx_is_configured_to_be_fetched_again(
    at_home: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = prepared(home, "claude-code")
    monkeypatch.setattr(sys, "prefix", "/cache/uv/archive-v0/mFC")
    result = at_home("install", "claude-code", "--hooks")
    assert "uv tool install memoryd" in result.stderr
    made = entry(file, "claude-code")
    command = [made["command"], *made["args"]]
    assert Path(command[0]).stem == "uvx"
    assert command[1] == "--from"
    assert command[2].startswith("memoryd")  # a version from the index, or its origin
    assert command[3] == "memoryd"
    for lines in commands(home / HOOKS["claude-code"]).values():
        assert shlex.split(lines[0])[:5] == [*command[:4], "hook"]
        assert lines[0].endswith("|| exit 1")  # uvx itself may exit with 2, which would block the agent


@every_client
def test_a_dry_run_shows_one_diff_of_each_file(at_home: Run, home: Path, client: str) -> None:
    """It is the diff of what the same command then makes, with one backup of each file."""
    prepared(home, client, foreign(client))
    (home / PERMISSIONS).write_text("{}\n", encoding="utf-8")
    hooks = ["--hooks"] if client in HOOKS else []
    allowing = ["--allow-tools"] if client in ("claude-code", "gemini", "qwen") else []
    wanted = ["install", client, *hooks, *allowing]
    before = texts(home)
    shown = at_home(*wanted, "--dry-run").stdout
    assert texts(home) == before
    at_home(*wanted)
    after = {file: text for file, text in texts(home).items() if text != before.get(file)}
    assert len(list(home.rglob("*.backup"))) == len(before.keys() & after.keys())
    for file, text in after.items():
        lines = before.get(file, "").splitlines(), text.splitlines()
        assert "\n".join(unified_diff(*lines, file, file, lineterm="")) in shown
    gone = at_home("uninstall", client, "--dry-run").stdout
    assert [shown.count(f"--- {file}\n") for file in after] == [gone.count(f"--- {file}\n") for file in after]
    assert {shown.count(f"--- {file}\n") for file in after} == {1}


def texts(home: Path) -> dict[str, str]:
    """Return the text of each file of clients."""
    files = [*home.rglob("*.json"), *home.rglob("*.toml")]
    return {str(file): file.read_text(encoding="utf-8") for file in files}
