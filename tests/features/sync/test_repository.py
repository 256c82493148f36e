"""The repository of a sync: what people edit there, reviews on a branch, a dropped history, and no network."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.errors import InvalidInputError
from memoryd.features.sync.git import OfflineError
from tests.features.sync.kit import Clone, Machine, repository

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return repository(tmp_path / "shared.git")


@pytest.fixture
def pair(tmp_path: Path, shared: Path) -> Iterator[tuple[Machine, Machine]]:
    one, two = (Machine(tmp_path / name, shared) for name in ("one", "two"))
    yield one, two
    for machine in (one, two):
        machine.engine.close()


@pytest.fixture
def clone(tmp_path: Path, shared: Path) -> Clone:
    return Clone(tmp_path / "clone", shared)


# edits by people -----------------------------------------------------------------------------------------------------


def test_an_edited_file_is_a_change_by_the_author_of_its_commit(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    stored = one.memories.store("The staging port is 5433.")
    one.sync()
    clone.replace("5433", "6000")
    for machine in (one, two):
        machine.sync()
        assert machine.texts() == ["The staging port is 6000."]
        assert machine.record(stored.id)["client"] == "Ann"
        assert machine.record(stored.id)["tool"] == "git"
    assert one.files() == two.files()
    assert one.sync().sent == two.sync().sent == 0


def test_a_new_file_is_a_new_memory_and_a_deleted_one_is_forgotten(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The first fact.")
    one.sync()
    clone.write("default/memories/by hand.md", "The second fact.\n")
    two.sync()
    one.sync()
    assert one.texts() == two.texts() == ["The first fact.", "The second fact."]
    clone.delete("The first fact")
    two.sync()
    one.sync()
    assert one.texts() == two.texts() == ["The second fact."]
    assert one.files() == two.files()


def test_a_secret_that_a_person_writes_is_masked_in_the_store_and_in_the_repository(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, _ = pair
    one.memories.store("The token is unknown.")
    one.sync()
    clone.replace("unknown", SECRET)
    one.sync()
    assert SECRET not in str(one.texts())
    clone.pull()
    assert SECRET not in clone.text()


def test_a_damaged_file_is_refused_alone(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The damaged one.")
    one.memories.store("The other one.")
    one.sync()
    clone.replace("importance: ", "importance: [", "damaged")
    clone.replace("The other one.", "The other one, edited.", "other")
    refused = one.sync().refused
    assert len(refused) == 1
    assert "YAML" in next(iter(refused.values()))
    assert one.texts() == ["The damaged one.", "The other one, edited."]
    clone.replace("importance: [", "importance: ", "damaged")
    one.sync()
    two.sync()
    assert one.texts() == two.texts() == ["The damaged one.", "The other one, edited."]


def test_a_newer_version_of_the_format_is_refused_and_nothing_changes(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, two = pair
    one.memories.store("A fact.")
    one.sync()
    clone.write("memoryd.json", '{"format": "memoryd tree", "version": 2}\n')
    two.memories.store("Another fact.")
    with pytest.raises(InvalidInputError, match="version 2"):
        two.sync()
    assert two.texts() == ["Another fact."]


# a branch of its own, no history, no network -------------------------------------------------------------------------


def test_what_goes_to_a_branch_counts_elsewhere_once_it_is_merged(tmp_path: Path, shared: Path, clone: Clone) -> None:
    reviewed, other = Machine(tmp_path / "one", shared, branch="laptop"), Machine(tmp_path / "two", shared)
    other.memories.store("A fact of the other one.")
    other.sync()
    reviewed.memories.store("A fact to be reviewed.")
    reviewed.sync()
    other.sync()
    assert other.texts() == ["A fact of the other one."]
    assert reviewed.texts() == ["A fact of the other one.", "A fact to be reviewed."]
    assert reviewed.sync().sent == 0
    clone.merge("laptop")
    other.sync()
    reviewed.sync()
    assert other.texts() == reviewed.texts() == ["A fact of the other one.", "A fact to be reviewed."]
    assert other.files() == reviewed.files()


def test_a_dropped_history_is_one_commit_and_others_lose_nothing(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    stored = one.memories.store("The old secret port is 5433.")
    one.sync()
    two.sync()
    one.forget(stored.id)
    one.memories.store("A later fact.")
    two.memories.store("Not pushed yet.")
    one.sync(drop_history=True)
    git = ["git", "--git-dir", str(shared)]
    assert subprocess.run([*git, "rev-list", "--count", "main"], capture_output=True, check=True).stdout == b"1\n"
    two.sync()
    one.sync()
    assert one.texts() == two.texts() == ["A later fact.", "Not pushed yet."]
    assert one.files() == two.files()
    log = subprocess.run([*git, "log", "-p", "main"], capture_output=True, check=True).stdout
    assert b"5433" not in log


def test_without_the_repository_everything_waits(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    one.sync()
    away = shared.rename(shared.with_name("away.git"))
    one.memories.store("Stored offline.")
    with pytest.raises(OfflineError, match="waits"):
        one.sync()
    away.rename(shared)
    one.sync()
    two.sync()
    assert two.texts() == ["Stored offline."]


def test_what_was_forgotten_does_not_return_from_a_machine_that_never_saw_it_gone(
    pair: tuple[Machine, Machine],
) -> None:
    one, two = pair
    gone = one.memories.store("To be forgotten.")
    one.sync()
    two.sync()
    one.forget(gone.id)
    one.sync()
    correction.correct(two.scope, Correction(id=gone.id, content="To be forgotten, corrected."))
    remarks = two.sync().remarks
    one.sync()
    assert one.texts() == two.texts() == []
    assert any("stays forgotten" in remark for remark in remarks)


def test_a_repository_from_a_backup_gets_everything_again(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    gone = one.memories.store("To be forgotten.")
    one.sync()
    two.sync()
    backup = shutil.copytree(shared, shared.with_name("backup.git"))
    one.forget(gone.id)
    one.memories.store("After the backup.")
    one.sync()
    two.sync()
    shutil.rmtree(shared)
    backup.rename(shared)
    for machine in (one, two, one):
        machine.sync()
    assert one.texts() == two.texts() == ["After the backup."]
    assert one.files() == two.files()
