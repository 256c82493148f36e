"""The workspace of a directory: by a file, by its git repository, or the default one."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.access.tokens import Grant
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.workspaces import project
from memoryd.core.workspaces.project import declare, declared_keys, detect
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from tests.core.kit import engine, memories

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project._first_commit.cache_clear()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def here(home: Path) -> Iterator[Engine]:
    with engine(home, MEMORY_NAMESPACE="auto") as here:
        yield here


def git(where: Path, *words: str) -> str:
    command = ["git", "-C", str(where), "-c", "protocol.file.allow=always", *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(where), **WHO}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    return done.stdout.strip()


def repository(where: Path, first: str = "") -> Path:
    """Return a repository with one commit, which depends on `first`."""
    where.mkdir(parents=True)
    git(where, "init", "-q", "-b", "main")
    git(where, "commit", "-q", "--allow-empty", "-m", first or f"of {where.name}")
    return where


def used(of: Engine, where: Path) -> Workspace:
    """Return the workspace of a directory, as another client finds it."""
    of._choices.clear()
    return of.workspace(make=True, directory=where)


# a name that may be a typing error -----------------------------------------------------------------------------------


def test_a_typed_name_is_noted_until_something_was_stored_there(home: Path) -> None:
    with engine(home, MEMORY_NAMESPACE="shpo") as here:
        assert here.note_if_new() == "", "there is no other"
        memories(here, name="shop").store("of shop")
        for _ in range(2):  # before and after it exists
            assert here.note_if_new() == "The workspace 'shpo' is new. There are: shop."
            here.workspace(make=True)
        place = here.workspaces.find("shop")
        assert here.note_if_new(place) == "", "a call in another workspace"
        assert here.note_if_new(grant=Grant(workspace=place.id)) == "", "of a caller who may not know of others"
        stored = memories(here, name="shpo").store("of shpo")
        assert here.note_if_new() == ""
        memories(here, name="shpo").forget(Criteria(ids=(stored.id,)))
    with engine(home, MEMORY_NAMESPACE="shpo") as here:
        assert here.note_if_new() == "", "it is empty again, but not new"


@pytest.mark.parametrize("name", ["default", "personal"])
def test_a_name_that_memoryd_gives_itself_is_not_noted(home: Path, name: str) -> None:
    with engine(home, MEMORY_NAMESPACE=name) as here:
        memories(here, name="shop").store("of shop")
        assert here.note_if_new() == ""


def test_a_name_in_a_file_is_noted_and_that_of_a_repository_is_not(here: Engine, tmp_path: Path) -> None:
    memories(here, name="shop").store("of shop")
    declare(tmp_path, "shpo")
    assert here.note_if_new(directory=tmp_path) == "The workspace 'shpo' is new. There are: shop."
    assert here.note_if_new(directory=repository(tmp_path.parent / "away" / "blog")) == ""
    nowhere = tmp_path.parent / "nowhere"
    nowhere.mkdir()
    assert here.note_if_new(directory=nowhere) == "", "the default one"


# the repository ------------------------------------------------------------------------------------------------------


def test_a_repository_keeps_its_workspace_wherever_it_is(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    (shop / "a" / "b").mkdir(parents=True)
    first = used(here, shop)
    assert (first.name, first.found_by) == ("shop", f"that of the git repository {shop}")
    assert used(here, shop / "a" / "b") == first
    (tmp_path / "link").symlink_to(shop / "a")
    assert used(here, tmp_path / "link") == first
    moved = shop.rename(tmp_path / "renamed")
    assert used(here, moved) == first, "its first commit has not changed"
    git(tmp_path, "clone", "-q", str(moved), "second")
    assert used(here, tmp_path / "second") == first, "another clone is the same project"


def test_another_repository_of_the_same_name_has_a_separate_workspace(here: Engine, tmp_path: Path) -> None:
    one, other = repository(tmp_path / "a" / "shop", "one"), repository(tmp_path / "b" / "shop", "other")
    names = [used(here, where).name for where in (one, other, one, other)]
    assert names == ["shop", "shop-2", "shop", "shop-2"]
    memories(here, name="taken").store("by hand")
    assert used(here, repository(tmp_path / "taken")).name == "taken-2", "no one has chosen the existing one"


def test_work_trees_are_one_project_and_a_submodule_is_a_separate_one(here: Engine, tmp_path: Path) -> None:
    shop, part = repository(tmp_path / "shop"), repository(tmp_path / "part")
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    git(shop, "submodule", "--quiet", "add", str(part), "lib")
    feature = used(here, tmp_path / "feature")
    assert (feature.name, feature.found_by) == ("shop", f"that of the git repository {shop}")
    assert used(here, shop) == feature
    assert used(here, shop / "lib").name == "lib"
    assert used(here, part) == used(here, shop / "lib")


def test_the_work_trees_of_a_bare_repository_are_one_project(here: Engine, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path / "origin")), str(tmp_path / "shop" / ".bare"))
    for name in ("one", "two"):
        git(tmp_path / "shop" / ".bare", "worktree", "add", "-q", "-b", name, str(tmp_path / "shop" / name))
    one, two = (used(here, tmp_path / "shop" / name) for name in ("one", "two"))
    assert (one.name, one) == ("shop", two)


def test_loose_and_packed_history_are_the_same_and_without_git_the_path_counts(
    here: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = repository(tmp_path / "shop")
    first = used(here, shop)
    git(shop, "gc", "-q", "--prune=now")
    git(shop, "pack-refs", "--all")
    project._first_commit.cache_clear()
    assert used(here, shop) == first
    assert detect(shop).keys[0] == f"commit:{git(shop, 'rev-parse', 'HEAD')}"
    project._first_commit.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    alone = used(here, shop)
    assert alone == first, "its path is known, too"
    assert alone.found_by.endswith("known by its path as git is not installed to read it")


def test_the_branch_that_is_checked_out_does_not_matter(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    first = used(here, shop)
    git(shop, "checkout", "-q", "--orphan", "pages")
    git(shop, "commit", "-q", "--allow-empty", "-m", "pages")
    assert used(here, shop) == first


def test_a_shallow_clone_and_one_without_commits_are_known_by_their_paths(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    git(shop, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "shallow")
    assert used(here, shop).name == "shop"
    shallow = used(here, tmp_path / "shallow")
    assert (shallow.name, shallow.found_by.endswith("known by its path as its clone is shallow")) == ("shallow", True)
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q", "-b", "main")
    new = used(here, tmp_path / "new")
    assert "known by its path as git finds no commit in it" in new.found_by
    git(tmp_path / "new", "commit", "-q", "--allow-empty", "-m", "new")
    assert used(here, tmp_path / "new") == new, "with its first commit it stays the same project"


def test_another_repository_in_the_same_place_is_another_project(here: Engine, tmp_path: Path) -> None:
    first = used(here, repository(tmp_path / "app", "one"))
    (tmp_path / "app").rename(tmp_path / "away")
    second = used(here, repository(tmp_path / "app", "two"))
    assert (second.name, second == first) == ("app-2", False)
    assert used(here, tmp_path / "away") == first
    assert used(here, tmp_path / "app") == second


def test_a_home_directory_is_not_a_project(here: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = repository(tmp_path / "house")
    monkeypatch.setenv("HOME", str(house))
    (house / "notes").mkdir()
    found = used(here, house / "notes")
    assert found.name == "default"
    assert found.found_by == f"the default, as {house / 'notes'} is in no git repository other than {house}"
    assert used(here, repository(house / "shop")).name == "shop"


def test_a_repository_called_default_has_a_workspace_of_its_own(here: Engine, tmp_path: Path) -> None:
    assert used(here, repository(tmp_path / "default")).name == "default-2"


@pytest.mark.parametrize("where", ["nowhere", "C:\\Users\\me\\shop", "file", "pipe"])
def test_without_a_project_it_is_the_default_workspace(here: Engine, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    assert used(here, tmp_path / where).name == "default"
    assert used(here, tmp_path).found_by == f"the default, as {tmp_path} is in no git repository"


@pytest.mark.parametrize("mark", ["", "gitdir: nowhere", "gitdir: C:/shop/.git", "gitdir: \0", "\xff", "gitdir: ."])
def test_a_damaged_git_file_is_ignored(here: Engine, tmp_path: Path, mark: str) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".git").write_text(mark, encoding="latin-1")
    assert used(here, tmp_path / "shop").name == "default"


def test_damaged_commits_and_references_do_no_harm(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    (shop / ".git" / "refs" / "heads" / "main").write_text("ref: refs/heads/main")
    assert "known by its path as git finds no commit in it" in used(here, shop).found_by
    (shop / ".git" / "refs" / "heads" / "main").write_text("0" * 40)
    assert "known by its path as git finds no commit in it" in used(here, shop).found_by
    (shop / ".git" / "HEAD").write_text("nonsense")
    project._first_commit.cache_clear()
    assert "known by its path as git does not find its first commit" in used(here, shop).found_by


def test_git_is_asked_once_for_a_repository(here: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, asked = shutil.which("git"), tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$*" >> {asked}\nexec {program} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    shop, other = repository(tmp_path / "shop"), repository(tmp_path / "other")
    git(other, "checkout", "-q", "--orphan", "pages")
    git(other, "commit", "-q", "--allow-empty", "-m", "pages")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for _ in range(2):
        assert used(here, shop).name == "shop"
    assert len(asked.read_text().splitlines()) == 1
    assert detect(other).keys[0] == f"commit:{git(other, 'rev-parse', 'main')}"


# the name of a workspace ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "name"),
    [("店舗", "店舗"), ("a\nb", "a?b"), (" ", "project"), ("shop.git", "shop"), ("x" * 200, "x" * 100)],
)
def test_the_name_of_a_folder_becomes_one_that_can_be_shown(
    here: Engine, tmp_path: Path, folder: str, name: str
) -> None:
    assert used(here, repository(tmp_path / folder)).name == name


def test_an_archived_workspace_is_not_replaced(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    used(here, shop)
    here.workspaces.archive("shop")
    with pytest.raises(InvalidInputError, match='"shop" is archived'):
        used(here, shop)
    here.workspaces.delete("shop")
    assert used(here, shop).name == "shop"


def test_auto_is_not_a_valid_name(here: Engine, tmp_path: Path) -> None:
    for refused in (here.workspaces.create, here.workspaces.ensure, here.workspaces.usable):
        with pytest.raises(InvalidInputError, match="auto is reserved"):
            refused("auto")
    with pytest.raises(InvalidInputError, match="auto is reserved"):
        declare(tmp_path, "auto")
    assert used(here, repository(tmp_path / "auto")).name == "auto-2"


# the file ------------------------------------------------------------------------------------------------------------


def test_a_file_takes_precedence_and_stays_with_the_folder(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    (shop / "packages" / "till").mkdir(parents=True)
    file = declare(shop / "packages", "till")
    found = used(here, shop / "packages" / "till")
    assert (found.name, found.found_by) == ("till", f"declared by {file}")
    assert used(here, shop).name == "shop", "the rest of the repository is another project"
    (shop / "packages").rename(tmp_path / "elsewhere")
    assert used(here, tmp_path / "elsewhere") == found


def test_a_file_of_the_main_work_tree_applies_to_the_others(here: Engine, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    declare(shop, "till")
    assert used(here, tmp_path / "feature").name == "till"


@pytest.mark.parametrize("name", ["personal", "default"])
def test_a_file_opens_neither_a_workspace_made_for_something_else_nor_the_default_one(
    here: Engine, tmp_path: Path, name: str
) -> None:
    memories(here, name="personal").store("My card is in the safe.")
    (tmp_path / "stranger").mkdir()
    file = declare(tmp_path / "stranger", name)
    for make in (True, False):
        with pytest.raises(InvalidInputError) as caught:
            here.workspace(make=make, directory=tmp_path / "stranger")
        assert str(file) in str(caught.value)
        assert f"memoryd workspace use {name}" in str(caught.value)
    assert here.workspaces.get("default") is None
    here.workspaces.lead(declared_keys(name), name)
    assert used(here, tmp_path / "stranger").name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shop",
        "workspace = 1",
        'workspace = ""',
        'workspace = "a\\nb"',
        'name = "a"',
        'workspace = "a"\nx = 1',
        "\xff",
        f'workspace = "{"a" * 5_000}"',
        "[" * 4_000,
    ],
)
def test_a_file_that_declares_nothing_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / ".memoryd").write_text(text, encoding="latin-1")
    with pytest.raises(
        InvalidInputError, match=r'\.memoryd declares no workspace .* Write one line in it: workspace = "NAME"'
    ):
        detect(tmp_path)


def test_a_file_may_be_written_in_several_ways(here: Engine, tmp_path: Path) -> None:
    (tmp_path / ".memoryd").write_text('\ufeff# ours\r\nworkspace = "店 \\"1\\""\r\n')
    assert used(here, tmp_path).name == '店 "1"'


def test_a_file_of_another_user_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path, "theirs")
    monkeypatch.setattr(os, "geteuid", lambda: 4_321)
    if tmp_path.stat().st_uid:
        assert detect(tmp_path).name == "default"
    else:  # what the administrator has put there is trusted
        assert detect(tmp_path).name == "theirs"
        os.chown(tmp_path / ".memoryd", 1_234, -1)
        assert detect(tmp_path).name == "default"
