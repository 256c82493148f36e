"""One memory for each project, as `memoryd install` sets it up and as commands see it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.cli.test_commands import Run, data, run
from tests.clients import PATIENCE, environment
from tests.commands import run as run_at
from tests.features.install.test_install import at_home, entry, prepared

__all__ = ["at_home", "data", "run"]  # fixtures


def repository(path: Path) -> Path:
    path.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", path.name]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=path, check=True)
    return path


def test_projects_have_a_memory_each_and_commands_see_what_agents_see(
    at_home: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home("store", "Staging of shop listens on port 5433.")
    file = prepared(home, "claude-code")
    noted = at_home("install", "claude-code").stderr
    assert "1 record is in the workspace `default`" in noted
    assert "memoryd workspace use default" in noted
    assert entry(file, "claude-code")["args"] == ["--workspace", "auto"]
    at_home("store", "I write in British English.", "--workspace", "personal")
    monkeypatch.chdir(repository(tmp_path / "blog"))
    which = at_home("workspace", "which")
    assert "blog (not created yet)" in which.stdout
    assert which.stderr == "Its first memory creates it.\n"
    asked = at_home("recall", "which english do I write?")
    assert "British" in asked.stdout, "what is about the user is known in a project without a memory"
    assert asked.stderr.startswith("This project has no memory yet: the first one makes the workspace 'blog'.")
    assert "What is in default is not read here." in asked.stderr
    at_home("store", "The blog is built with Hugo.")
    assert at_home("workspace", "which").stdout.startswith("blog: ")
    assert "Hugo" in at_home("inspect", "--view", "recent").stdout
    found = at_home("recall", "blog OR staging OR english").stdout
    assert "Hugo" in found
    assert "British" in found
    assert "5433" not in found
    at_home("workspace", "use", "default")
    assert "5433" in at_home("recall", "staging").stdout


def test_outside_of_projects_what_is_about_the_user_is_found(
    at_home: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(home, "claude-code")
    at_home("install", "claude-code")
    at_home("store", "I write in British English.", "--workspace", "personal")
    monkeypatch.chdir(tmp_path)
    asked = at_home("recall", "which english do I write?")
    assert "British" in asked.stdout
    assert asked.stderr.startswith("Outside of projects there is no memory yet: the first one makes the workspace")
    assert "is in no git repository: its first memory creates it" in at_home("inspect", code=1).stderr
    started = json.dumps({"session_id": "s1", "source": "startup", "cwd": str(tmp_path)})
    briefed = ("hook", "session-start", "--client", "claude-code", "--workspace", "auto")
    first = at_home(*briefed, stdin=started).stdout
    assert "British" in first
    assert "its first memory makes one, the default, as " in first
    at_home("store", "The attic key hangs behind the door.")
    assert "British" in at_home(*briefed, stdin=started).stdout
    assert "British" in at_home("recall", "which english do I write?").stdout
    assert "attic" in at_home("recall", "where does the attic key hang?").stdout
    assert "attic" in at_home("recall", "attic key", "--workspace", "default").stdout


def test_an_older_memory_outside_of_projects_is_read_together_with_what_is_about_the_user(
    at_home: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home("store", "The attic key hangs behind the door.")
    prepared(home, "claude-code")
    at_home("install", "claude-code")
    at_home("store", "I write in British English.", "--workspace", "personal")
    monkeypatch.chdir(tmp_path)
    assert "British" in at_home("recall", "which english do I write?").stdout
    at_home("workspace", "include", "personal", "--remove", "--workspace", "default")
    at_home("uninstall", "claude-code")
    at_home("install", "claude-code")
    assert "British" not in at_home("recall", "which english do I write?").stdout, "it was taken out by hand"


def test_without_a_memory_for_each_project_all_directories_have_one(
    at_home: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path / "blog"))
    assert "Until then the commands here use default." in at_home("workspace", "which").stderr
    at_home("store", "The blog is built with Hugo.")
    assert "Hugo" in at_home("recall", "blog", "--workspace", "default").stdout


def test_a_repository_that_is_called_personal_is_no_memory_about_the_user(
    at_home: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("personal", "blog"):
        monkeypatch.chdir(repository(tmp_path / name))
        at_home("store", f"About {name}.", "--workspace", "auto")
    assert "no other" in at_home("workspace", "include").stdout


@pytest.mark.parametrize("client", ["claude-desktop", "cursor"])
def test_a_client_that_knows_no_project_has_one_memory(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    at_home("install", client)
    assert "args" not in entry(file, client)


def test_what_was_chosen_stays_at_the_next_installation(at_home: Run, home: Path) -> None:
    file = prepared(home, "codex")
    at_home("install", "codex", "--workspace", "team")
    assert "trusted them" in at_home("install", "codex", "--hooks").stderr
    assert entry(file, "codex")["args"] == ["--workspace", "team"]


def test_notes_of_the_client_are_offered_for_import(at_home: Run, home: Path) -> None:
    file = prepared(home, "claude-code")
    assert "notes of its own" not in at_home("install", "claude-code").stderr
    notes = home / ".claude/projects/-srv-shop/memory"
    notes.mkdir(parents=True)
    (notes / "staging-port.md").write_text("---\nname: staging-port\n---\nStaging listens on port 5433.\n", "utf-8")
    file.unlink()
    (line,) = [line for line in at_home("install", "claude-code").stderr.splitlines() if "notes of its own" in line]
    command = line.split("To import them: memoryd ")[1].replace("~", str(home))
    assert "5433" in at_home(*command.split(), "--dry-run").stdout


@pytest.mark.process
def test_at_a_terminal_one_memory_or_reading_the_old_one_can_be_chosen(home: Path) -> None:
    file = prepared(home, "gemini")
    run_at(home, "store", "Staging listens on port 5433.")
    for answers, chosen in ((b"n\nn\n", "default"), (b"y\nn\ny\n", "auto")):
        file.unlink(missing_ok=True)
        ours, theirs = pty.openpty()
        try:
            os.write(ours, answers)
            words = [sys.executable, "-m", "memoryd", "install", "gemini"]
            forks.run(words, stdin=theirs, env=environment(home), capture_output=True, timeout=PATIENCE, check=True)
        finally:
            os.close(ours)
            os.close(theirs)
        assert entry(file, "gemini")["args"][-2:] == ["--workspace", chosen]
    assert "default" in run_at(home, "workspace", "include", "--workspace", "personal").stdout
