"""Repositories as people have them: with other files, protected, checked out, signed, away, asking for passwords."""

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from memoryd.errors import MemorydError, StoreError
from memoryd.features.sync.git import Git, OfflineError, QuickerError
from tests.features.sync.conftest import Opened
from tests.features.sync.kit import git, repository, settle
from tests.services import served


def other_project(place: Path) -> Path:
    """Make a repository with the files of another project, of which main is checked out."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(place)], check=True)
    (place / "docs").mkdir()
    (place / "README.md").write_text("Other files.\n")
    (place / "docs" / "workspace.json").write_text('{"folders": []}\n')
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "-m", "Begin")
    return place


def test_a_repository_with_other_files_keeps_them_and_takes_the_memory(tmp_path: Path, open_machine: Opened) -> None:
    url = other_project(tmp_path / "other")
    git(url, "checkout", "--quiet", "--detach")
    one, two = (open_machine(name, url) for name in ("one", "two"))
    one.memories.store("A fact.")
    assert any("docs/workspace.json" in remark for remark in one.sync().remarks)
    two.sync()
    assert two.texts() == ["A fact."]
    paths = git(url, "ls-tree", "-r", "--name-only", "main").split("\n")
    assert {"README.md", "docs/workspace.json", "memoryd.json", "default/workspace.json"} <= set(paths)


def test_a_folder_with_blanks_and_umlauts_takes_the_memory(tmp_path: Path, open_machine: Opened) -> None:
    url = repository(tmp_path / "ein Stöck 'x'.git")
    one, two = (open_machine(name, url) for name in ("one", "two"))
    one.memories.store("A fact.")
    settle(one, two)
    assert two.texts() == ["A fact."]


def test_a_branch_that_takes_no_push_is_named_and_nothing_is_lost(tmp_path: Path, open_machine: Opened) -> None:
    one = open_machine("one", other_project(tmp_path / "other"))
    one.memories.store("A fact.")
    with pytest.raises(StoreError, match="currently checked out"):
        one.sync()
    url = repository(tmp_path / "protected.git")
    hook = url / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'main is protected' >&2\nexit 1\n")
    hook.chmod(0o700)
    two = open_machine("two", url)
    two.memories.store("Another fact.")
    with pytest.raises(StoreError, match="main is protected"):
        two.sync()
    hook.unlink()
    two.sync()
    assert open_machine("three", url).sync().received == 1


def test_a_push_that_another_one_has_overtaken_is_no_refusal(tmp_path: Path, open_machine: Opened) -> None:
    url = repository(tmp_path / "shared.git")
    one, two = (open_machine(name, url) for name in ("one", "two"))
    one.sync()
    two.memories.store("A fact.")
    two.sync()
    with closing(Git(one.engine.settings.data_dir / "sync" / "repository.git")) as mine:
        known = mine.commit("refs/remotes/origin/main")
        late = mine.commit_tree(known, "Late", "-p", known)
        for force in (True, False):
            with pytest.raises(QuickerError):
                mine.push(late, "main", known, force=force)


@pytest.mark.process
def test_commits_are_signed_or_the_reason_is_named(
    tmp_path: Path, open_machine: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("[user]\nname = Ann\nemail = ann@example.org\n[commit]\ngpgsign = true\n[gpg]\nformat = ssh\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    url = repository(tmp_path / "shared.git")
    one = open_machine("one", url)
    one.memories.store("A fact.")
    with pytest.raises(MemorydError, match="gpgsign` demands"):
        one.sync()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    with config.open("a") as file:
        file.write(f"[user]\nsigningkey = {tmp_path / 'key.pub'}\n")
    one.sync()
    assert "gpgsig" in git(url, "cat-file", "-p", "main")
    one.sync(drop_history=True)
    assert ["gpgsig" in git(url, "cat-file", "-p", commit) for commit in ("main", "main^")] == [True, True]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x.git", "ssh://127.0.0.1:1/x.git", "/nowhere/x.git"])
def test_a_repository_that_is_away_lets_everything_wait(open_machine: Opened, url: str) -> None:
    one = open_machine("one", url)
    with pytest.raises(OfflineError, match="waits"):
        one.sync()
    assert one.memories.store("Stored offline.").id


def test_a_question_for_a_password_is_an_error(open_machine: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with served(lambda _path, _body: (401, {})) as url:
        one = open_machine("one", f"{url}/x.git")
        with pytest.raises(MemorydError, match="git says"):
            one.sync()
