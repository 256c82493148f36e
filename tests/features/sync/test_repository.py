"""The repository of a sync: what people edit there, reviews on a branch, a dropped history, and no network."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from memoryd.core.maintenance import purging
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.sync.git import Files, Git, OfflineError
from memoryd.features.sync.sync import Sync
from tests.features.sync.conftest import Opened
from tests.features.sync.kit import Clone, Machine, ShiftedClock, git, settle

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


# edits by people -----------------------------------------------------------------------------------------------------


def test_an_edited_file_is_a_change_by_the_author_of_its_commit(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    stored = one.memories.store("The staging port is 5433.")
    one.sync()
    clone.replace("5433", "6000")
    settle(one, two)
    for machine in pair:
        assert machine.texts() == ["The staging port is 6000."]
        record = machine.record(stored.id)
        assert (record["client"], record["tool"]) == ("Ann", "git")
    assert one.sync().sent == two.sync().sent == 0


def test_a_new_file_is_a_new_memory_and_a_deleted_one_is_forgotten(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The first fact.")
    one.sync()
    clone.write("default/memories/by hand.md", "The second fact.\n")
    settle(two, one)
    assert one.texts() == ["The first fact.", "The second fact."]
    clone.delete("The first fact")
    settle(two, one)
    assert one.texts() == ["The second fact."]


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


def test_what_goes_to_a_branch_counts_elsewhere_once_it_is_merged(open_machine: Opened, clone: Clone) -> None:
    reviewed, other = open_machine("one", branch="laptop"), open_machine("two")
    other.memories.store("A fact of the other one.")
    other.sync()
    reviewed.memories.store("A fact to be reviewed.")
    reviewed.sync()
    other.sync()
    assert other.texts() == ["A fact of the other one."]
    assert reviewed.texts() == ["A fact of the other one.", "A fact to be reviewed."]
    assert reviewed.sync().sent == 0
    clone.merge("laptop")
    settle(other, reviewed)
    assert other.texts() == ["A fact of the other one.", "A fact to be reviewed."]


def test_a_dropped_history_is_one_commit_and_others_lose_nothing(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    stored = one.memories.store("The old secret port is 5433.")
    settle(one, two)
    one.forget(stored.id)
    one.memories.store("A later fact.")
    two.memories.store("Not pushed yet.")
    one.sync(drop_history=True)
    assert git(shared, "rev-list", "--count", "main") == "2\n"
    settle(two, one)
    assert one.texts() == ["A later fact.", "Not pushed yet."]
    assert "5433" not in git(shared, "log", "-p", "main")


@pytest.mark.parametrize("news", [[], ["Stored since."]])
def test_a_branch_that_is_set_back_to_the_beginning_of_a_dropped_history_forgets_nothing(
    pair: tuple[Machine, Machine], shared: Path, news: list[str]
) -> None:
    one, two = pair
    gone = one.memories.store("To be forgotten.")
    one.memories.store("Kept.")
    settle(*pair)
    one.forget(gone.id)
    one.sync(drop_history=True)
    git(shared, "update-ref", "refs/heads/main", "main~1")
    for text in news:
        two.memories.store(text)
    assert not any(done.refused for done in settle(two, one, two))
    assert one.texts() == ["Kept.", *news]


def copied(machine: Machine, open_machine: Opened, name: str) -> tuple[Machine, Machine]:
    """Copy the home of the machine `one`; return that machine and the other one."""
    machine.engine.close()
    home = machine.engine.settings.data_dir.parent
    shutil.copytree(home, home.with_name(name))
    return open_machine(home.name), open_machine(name)


def test_what_was_forgotten_before_the_history_was_dropped_does_not_return_from_a_backup(open_machine: Opened) -> None:
    one = open_machine("one")
    gone = one.memories.store("To be forgotten.")
    one.memories.store("Kept.")
    one.sync()
    one, backup = copied(one, open_machine, "backup")
    one.forget(gone.id)
    for _ in range(2):
        one.sync(drop_history=True)
    backup.memories.store("Stored since.")
    settle(backup, one)
    assert one.texts() == ["Kept.", "Stored since."]


def test_without_the_repository_everything_waits(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    one.sync()
    away = shared.rename(shared.with_name("away.git"))
    one.memories.store("Stored offline.")
    with pytest.raises(OfflineError, match="waits"):
        one.sync()
    away.rename(shared)
    settle(one, two)
    assert two.texts() == ["Stored offline."]


def test_what_was_forgotten_does_not_return_from_a_machine_that_never_saw_it_gone(
    pair: tuple[Machine, Machine],
) -> None:
    one, two = pair
    gone = one.memories.store("To be forgotten.")
    settle(one, two)
    one.forget(gone.id)
    one.sync()
    correction.correct(two.scope, Correction(id=gone.id, content="To be forgotten, corrected."))
    remarks = two.sync().remarks
    one.sync()
    assert one.texts() == two.texts() == []
    assert any("stays forgotten" in remark for remark in remarks)


@pytest.mark.parametrize("sender", [0, 1])
def test_what_was_forgotten_does_not_return_from_a_clone_of_the_machine(open_machine: Opened, sender: int) -> None:
    one = open_machine("one")
    one.memories.store("Kept.")
    one.sync()
    gone = one.memories.store("To be forgotten.")
    one, twin = copied(one, open_machine, "twin")
    (one, twin)[sender].sync()
    one.forget(gone.id)
    settle(one, twin, one)
    assert one.texts() == ["Kept."]


def test_a_repository_from_a_backup_gets_everything_again(pair: tuple[Machine, Machine], shared: Path) -> None:
    one, two = pair
    gone = one.memories.store("To be forgotten.")
    settle(one, two)
    backup = shutil.copytree(shared, shared.with_name("backup.git"))
    one.forget(gone.id)
    one.memories.store("After the backup.")
    settle(one, two)
    shutil.rmtree(shared)
    backup.rename(shared)
    settle(one, two, one)
    assert one.texts() == ["After the backup."]


# what a refused file becomes -----------------------------------------------------------------------------------------


def test_a_refused_file_is_named_until_it_is_corrected_and_then_counts(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, _ = pair
    one.memories.store("The port is 1.")
    one.sync()
    clone.replace("importance: ", "importance: [")
    for _ in range(2):
        for machine in pair:
            assert len(machine.sync().refused) == 1
    clone.pull()
    assert "importance: [" in clone.text()
    clone.replace("importance: [", "importance: ")
    clone.replace("The port is 1.", "The port is 2.")
    assert not any(done.refused for done in settle(*pair))
    assert one.texts() == ["The port is 2."]


def test_a_refused_file_is_overwritten_when_its_memory_changes_and_that_is_reported(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, _ = pair
    stored = one.memories.store("The port is 1.")
    one.sync()
    clone.replace("The port is 1.", "<<<<<<< a\nThe port is 2.\n=======\nThe port is 3.\n>>>>>>> b")
    assert len(one.sync().refused) == 1
    correction.correct(one.scope, Correction(id=stored.id, content="The port is 4."))
    done = one.sync()
    assert not done.refused
    assert any("was overwritten" in remark for remark in done.remarks)
    clone.pull()
    assert "The port is 4." in clone.text()
    assert "<<<<<<<" not in clone.text()


def test_a_file_that_is_moved_and_damaged_at_once_forgets_nothing(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The port is 1.")
    one.sync()
    clone.replace("importance: ", "importance: [")
    clone.move("The port", "default/Projects/Port.md")
    assert len(one.sync().refused) == 1
    assert one.texts() == ["The port is 1."]
    clone.replace("importance: [", "importance: ")
    assert not any(done.refused for done in settle(one, two, one))
    assert two.texts() == ["The port is 1."]


def test_a_new_note_with_the_key_of_a_memory_that_is_there_corrects_it(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, _ = pair
    one.engine.clock = ShiftedClock(-1)  # the times of commits have no milliseconds
    one.vault.commit("vault", "port", "It is 1.")
    one.sync()
    clone.write("default/Notes/port.md", "---\nname: port\n---\nIt is 2.\n")
    settle(*pair)
    assert one.texts() == ["It is 2."]


def test_new_notes_may_link_to_each_other(pair: tuple[Machine, Machine], clone: Clone) -> None:
    pair[0].sync()
    linked = {"Ann": "Bob", "Bob": "Ann"}
    clone.write_all({f"default/entities/{name}.md": f"## Relations\n\n- knows [[{linked[name]}]]\n" for name in linked})
    assert not any(done.refused for done in settle(*pair))
    assert b"".join(pair[1].files().values()).count(b"- knows [[") == 2


# other people's settings ---------------------------------------------------------------------------------------------

CONFIG = """
[init]
defaultBranch = trunk
[core]
autocrlf = true
quotePath = true
hooksPath = {hooks}
attributesFile = {attributes}
[url "{shared}"]
insteadOf = memory:
[log]
showSignature = true
[color]
ui = always
[grep]
lineNumber = true
[pull]
rebase = true
[push]
default = nothing
[fetch]
prune = true
[i18n]
logOutputEncoding = latin1
[filter "broken"]
clean = false
smudge = false
required = true
"""


def test_settings_of_a_user_do_not_change_what_is_synced(
    tmp_path: Path, shared: Path, clone: Clone, open_machine: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-push", "post-commit"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o700)
    (tmp_path / "attributes").write_text("*.md filter=broken\n")
    config = CONFIG.format(hooks=hooks, attributes=tmp_path / "attributes", shared=shared)
    (tmp_path / "config").write_text(config)
    plain = os.environ.get("GIT_CONFIG_GLOBAL", "")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    one, two = open_machine("one", "memory:"), open_machine("two")
    stored = one.memories.store("Ünïcode: the port is 5433.")
    one.journal.add("Which port?", "", "5433.", "s1")
    settle(one, two)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", plain or os.devnull)
    clone.replace("5433", "6000", "port is")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    turn = two.journal.add("To be forgotten.", "", "Yes.", "s1")
    two.sync()
    purging.purge(two.scope, [turn.id])
    settle(one, two, one)
    for machine in (one, two):
        assert machine.texts() == ["Ünïcode: the port is 6000."]
        assert machine.record(stored.id)["client"] == "Ann"


def test_windows_line_ends_of_a_clone_are_no_changes(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The first line.\nThe second line.")
    one.vault.commit("vault", "key", "Its own\r\nline ends.")
    one.sync()
    clone.with_windows_line_ends()
    before = one.texts()
    settle(one, two, one)
    assert one.texts() == before


def test_without_git_the_command_says_so(pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInputError, match="needs git"):
        pair[0].sync()


def test_a_repository_that_a_filter_encrypts_gets_nothing_unencrypted(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    one, _ = pair
    one.sync()
    one.memories.store("A private fact.")
    for root, below in (("*.md filter=git-crypt\n", ""), ("*.jsonl filter=age\n", ""), ("", "vault/** filter=lfs\n")):
        clone.write_all({".gitattributes": root, "default/.gitattributes": below, "docs/a.md": "Another file."})
        with pytest.raises(InvalidInputError, match="filter"):
            one.sync()
        clone.pull()
        assert "A private fact." not in clone.text()
    elsewhere = "* filter=age\n/default/** -filter\n*.ipynb filter=strip\ndocs/** filter=age\n*.md text\n"
    clone.write_all({".gitattributes": elsewhere, "default/.gitattributes": ""})
    one.sync()
    clone.pull()
    assert "A private fact." in clone.text()
    assert not (one.engine.settings.data_dir / "sync" / "repository.git" / "index").exists()


def test_a_lock_that_a_killed_git_has_left_stops_nothing(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.sync()
    place = one.engine.settings.data_dir / "sync" / "repository.git"
    for name in ("packed-refs.lock", "refs/memoryd/last.lock", "refs/remotes/origin/main.lock"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch()
    one.memories.store("A fact.")
    settle(one, two)
    assert two.texts() == ["A fact."]


def test_what_was_received_before_a_sync_broke_off_does_not_count_as_new_here(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    two.sync()
    gone = one.memories.store("To be forgotten.")
    one.sync()
    two.memories.store("Kept.")
    sync = Sync(two.engine)
    sync.git = BrokenGit(sync.git.place)
    with pytest.raises(StoreError):
        sync.run()
    one.forget(gone.id)
    settle(one, two, one)
    assert one.texts() == ["Kept."]


class BrokenGit(Git):
    """A git that writes one commit, and ends when it is to write that of the merge."""

    _written = False

    def write(self, files: Files, start: str, parents: Iterable[str], message: str) -> str:
        if self._written:
            raise StoreError("The disk is gone.")
        self._written = True
        return super().write(files, start, parents, message)


def test_the_files_of_a_sync_are_read_by_two_processes(
    pair: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    for number in range(3):
        one.memories.store(f"Fact {number}.")
        settle(one, two)
    one.memories.store("The last fact.")
    one.sync()
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(traces))
    two.memories.store("Another fact.")
    two.sync()
    events = [json.loads(line) for path in traces.iterdir() for line in path.read_text().splitlines()]
    assert [event["name"] for event in events if event["event"] == "cmd_name"].count("cat-file") == 2


def test_a_file_that_git_cannot_read_is_named_with_the_words_of_git(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    known = one.memories.store("A fact.")
    settle(one, two)
    here = Git(two.engine.settings.data_dir / "sync" / "repository.git").place
    (path,) = [name for name in two.files() if name.startswith("memories/")]
    key = git(here, "rev-parse", f"refs/remotes/origin/main:default/{path}").strip()
    stored = here / "objects" / key[:2] / key[2:]
    stored.chmod(0o600)
    stored.write_bytes(stored.read_bytes()[:-9])  # enough for its kind and size
    two.memories.store("Another fact.", supersedes=(known.id,))
    with pytest.raises(StoreError, match=r"cat-file` failed.* git says: \w"):
        two.sync()
