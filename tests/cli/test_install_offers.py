"""What `memoryd install` offers besides the entry, and what `memoryd uninstall` leaves: nothing of its own."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import Run, data, run, told
from tests.cli.test_install import at_home, entry, every_client, foreign, held, prepared
from tests.clients import PATIENCE, environment

__all__ = ["at_home", "data", "run"]  # fixtures

PERMISSIONS = ".claude/settings.json"
LOADING = {"claude-code": "alwaysLoad", "codex": "required"}


@pytest.mark.parametrize("client", LOADING)
def test_the_tools_are_there_at_the_first_step(at_home: Run, home: Path, client: str) -> None:
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
def test_the_tools_are_allowed_where_that_is_asked_for(at_home: Run, home: Path, before: str | None) -> None:
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
    assert rules.read_text(encoding="utf-8") == (before or "{}\n")
    assert file.read_text(encoding="utf-8") == foreign("claude-code")


@pytest.mark.parametrize("client", ["gemini", "qwen"])
def test_clients_that_trust_a_server_are_told_to(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    at_home("install", client, "--allow-tools")
    assert entry(file, client)["trust"] is True


def test_rules_that_cannot_be_changed_are_told_and_the_rest_is_done(at_home: Run, home: Path) -> None:
    file = prepared(home, "claude-code")
    (home / PERMISSIONS).write_text("{ // mine\n}", encoding="utf-8")
    assert (
        "see to mcp__memory in permissions.allow" in at_home("install", "claude-code", "--allow-tools", code=1).stderr
    )
    assert "command" in entry(file, "claude-code")
    assert (home / PERMISSIONS).read_text(encoding="utf-8") == "{ // mine\n}"


@pytest.mark.parametrize(
    "arguments",
    [("cursor", "--allow-tools"), ("gemini", "--always-load"), ("claude-code", "--allow-tools", "--file", "x.json")],
)
def test_what_a_client_does_not_know_is_not_set(at_home: Run, home: Path, arguments: tuple[str, ...]) -> None:
    prepared(home, arguments[0])
    assert "has nothing to set there" in told(at_home("install", *arguments, code=2))


@pytest.mark.process
def test_at_a_terminal_it_is_asked_and_elsewhere_not_done(home: Path) -> None:
    file = prepared(home, "claude-code")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"y\nn\n")
        ended = subprocess.run(
            [sys.executable, "-m", "memoryd", "install", "claude-code"], stdin=theirs, env=environment(home),
            capture_output=True, text=True, timeout=PATIENCE, check=True,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.stderr.count("[y/N]") == 2
    assert entry(file, "claude-code")["alwaysLoad"] is True
    assert not (home / PERMISSIONS).exists()


@every_client
@pytest.mark.parametrize("before", ["{}", '{"a": 1}', '{\n  "a": 1\n}\n'])
def test_no_empty_table_stays(at_home: Run, home: Path, client: str, before: str) -> None:
    before = "a = 1\n" if client == "codex" else before
    file = prepared(home, client, before)
    at_home("install", client)
    at_home("uninstall", client)
    assert file.read_text(encoding="utf-8") == before
