"""A disk failure leaves nothing half done, is reported as such, and has no effect once the disk works again."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memoryd.core.admin.doctor import Doctor
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import export as exports
from memoryd.core.transfer import journal_file, jsonl, migration, reader, restore
from memoryd.core.workspaces.registry import ARCHIVED
from memoryd.errors import StoreError, UncertainError
from memoryd.features.imports import staging
from memoryd.features.sync import edited, folder
from memoryd.settings import Settings
from memoryd.store.sqlite.layout import SingleFile
from tests.core.kit import NONE, engine, memories
from tests.faults.disks import failing
from tests.features.imports.formats_kit import bring
from tests.features.sync.kit import Machine, repository
from tests.store.kit import made, put, words, workspace
from tests.test_disk import ignored

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.files]


class Disk:
    """Fails a number of times at one operation, on files whose path contains a word."""

    def __init__(self) -> None:
        self.act = self.word = ""
        self.times = 0

    def fail(self, act: str, word: str = "", times: int = 1) -> None:
        self.act, self.word, self.times = act, word, times

    def __call__(self, act: str, path: Path) -> bool:
        fails = act == self.act and self.word in str(path) and self.times > 0
        self.times -= fails
        return fails


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    with failing(disk):
        yield disk


def findings(of: Engine) -> list[str]:
    return [f"{finding.subject}: {finding.problem}" for finding in Doctor(of, ignored).examine().findings]


@pytest.mark.parametrize(
    ("act", "word"), [("write", "projects"), ("sync", "projects"), ("write", "_meta"), ("sync", "_meta")]
)
def test_a_failed_creation_leaves_nothing(tmp_path: Path, disk: Disk, act: str, word: str) -> None:
    with engine(tmp_path) as here:
        memories(here).store("earlier")
        disk.fail(act, word)
        with pytest.raises(StoreError):
            here.workspaces.create("one")
        assert not disk.times, "the disk has failed"
        assert list((tmp_path / "projects").iterdir()) == []
        assert here.workspaces.get("one") is None
        assert findings(here) == []
        made = here.workspaces.create("one")
        assert (tmp_path / made.db_path).exists()


def test_a_creation_with_an_uncertain_commit_does_not_reappear(tmp_path: Path, disk: Disk) -> None:
    with engine(tmp_path / "data") as here:
        memories(here).store("earlier")
        disk.fail("sync", "_meta")
        with pytest.raises(UncertainError):
            here.workspaces.create("one")
        shutil.copytree(tmp_path / "data", tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    with engine(tmp_path / "crashed") as again:
        assert again.workspaces.get("one") is None
        assert findings(again) == []


def test_a_failed_open_does_not_make_the_database_read_only(tmp_path: Path, disk: Disk) -> None:
    with engine(tmp_path) as here:
        project = here.workspaces.create("one")
        memories(here, name="one").store("kept")
        here.workspaces.archive("one")
    for times in range(1, 5):
        with engine(tmp_path) as here:
            disk.fail("open", project.id, times)
            with suppress(StoreError):
                here.workspaces.restore("one")
            disk.fail("nothing")
            if here.workspaces.find("one").status == ARCHIVED:
                here.workspaces.restore("one")
            memories(here, name="one").store(f"more {times}")
            here.workspaces.archive("one")


def test_a_database_opened_for_reading_is_written_once_that_is_possible(tmp_path: Path, disk: Disk) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
    with closing(made(SingleFile(file))) as store:
        pass
    disk.fail("open", "memory.db", 2)
    with closing(made(SingleFile(file))) as store:
        assert disk.times == 0
        put(store, here, "later")
        assert sorted(words(store, here, "earlier") + words(store, here, "later")) == ["earlier", "later"]


def test_a_commit_whose_sync_fails_is_reported_as_unknown(tmp_path: Path, disk: Disk) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
        disk.fail("sync")
        with pytest.raises(UncertainError, match=r"memory\.db .* It is unknown whether this was stored; check before"):
            put(store, here, "doubtful")
        shutil.copy(file, tmp_path / "crashed.db")
        shutil.copy(f"{file}-wal", tmp_path / "crashed.db-wal")
        put(store, here, "later")
        assert words(store, here, "earlier") == ["earlier"]
    with closing(made(SingleFile(tmp_path / "crashed.db"))) as store:
        assert words(store, here, "doubtful") == ["doubtful"], "after kill -9 it was stored"


def test_a_commit_that_could_not_be_written_is_reported_as_not_stored(tmp_path: Path, disk: Disk) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
        disk.fail("write")
        with pytest.raises(StoreError, match="Nothing was stored by this call") as raised:
            put(store, here, "lost")
        assert not isinstance(raised.value, UncertainError)
        shutil.copy(file, tmp_path / "crashed.db")
        shutil.copy(f"{file}-wal", tmp_path / "crashed.db-wal")
    with closing(made(SingleFile(tmp_path / "crashed.db"))) as store:
        assert words(store, here, "lost") == []


TEXTS = [f"{number} {'word ' * 1_200}" for number in range(60)]
"""Enough for the disk to fail after some of the batches, which have 20 rows here."""


def simple(home: Path) -> object:
    """Import a file of another program."""
    source = home.parent / "texts.jsonl"
    source.write_text("".join(json.dumps({"content": text}) + "\n" for text in TEXTS))
    with engine(home) as here:
        here.workspaces.ensure("default")
        return bring(here, source, "jsonl")


def own(home: Path) -> object:
    """Import memoryd's own file."""
    source = home.parent / "all.jsonl"
    with engine(home.parent / "other") as other:
        memories = Memories(Scope(other, other.workspaces.ensure("default")))
        for text in TEXTS:
            memories.store(text)
        exports.export(other, source, other.workspaces.all(), ignored)
    with engine(home) as here, jsonl.opened(source) as file:
        return restore.load(here, file, None, "merge", ignored)


def turns(home: Path) -> object:
    """Import a file of a journal."""
    source = home.parent / "turns.jsonl"
    with engine(home.parent / "other") as other:
        journal = Journal(Scope(other, other.workspaces.ensure("default")))
        for text in TEXTS:
            journal.add(text, "", "Yes.", "s")
        journal_file.export(journal.kept, source, ("memories",), ignored)
    with engine(home) as here, jsonl.opened(source) as file:
        kept = Journal(Scope(here, here.workspaces.ensure("default"))).kept
        return journal_file.load(kept, file, "merge", ignored, Secrets("mask"))


@pytest.mark.parametrize("act", [simple, own, turns])
def test_an_import_that_fails_tells_what_it_has_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Path], object]
) -> None:
    home = tmp_path / "home"
    for module in (journal_file, reader, staging):
        monkeypatch.setattr(module, "BATCH", 20)

    def fails(act: str, path: Path) -> bool:
        return act == "write" and home in path.parents and path.suffix == ".db-wal" and path.stat().st_size > 300_000

    with failing(fails), pytest.raises(StoreError) as raised:
        act(home)
    named = re.search(r"Stored before that: ([\d,]+) (memories|turns).*; importing it again skips", str(raised.value))
    assert named, raised.value
    assert "othing was stored" not in str(raised.value)
    with engine(home) as here:
        kinds = here.store.read(here.workspaces.find("default"), lambda q: q.all("doctor.counts"))
    assert sum(row["living"] for row in kinds) == int(named[1].replace(",", "")) > 0


def test_a_migration_that_fails_tells_that_a_part_is_there(tmp_path: Path, disk: Disk) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with engine(source) as here:
        here.workspaces.create("one")
        for name in ("default", "one"):
            memories(here, name=name).store("kept")
        ids = [workspace.id for workspace in here.workspaces.all()]
    settings = Settings.read(NONE)
    for last, expected in zip(ids, ("Nothing was stored", migration.PART), strict=True):
        disk.fail("write", f"target/projects/{last}")
        with pytest.raises(StoreError, match=expected):
            migration.migrate(str(source), str(target), settings, ignored)
    assert migration.migrate(str(source), str(target), settings, ignored).differences == []


def test_an_edited_folder_that_fails_tells_what_it_has_stored(tmp_path: Path, disk: Disk) -> None:
    names, out = ("default", "second"), tmp_path / "out"
    with engine(tmp_path / "home") as here:
        file = here.workspaces.create(names[1]).id
        for name in names:
            memories(here, name=name).store("kept")
        folder.export(here, here.workspaces.all(), out, ignored)
        for name in names:
            (out / name / "new.md").write_text("A note.\n")
        for expected in ("Stored before that: the changes in the workspace 'default'; importing", "Nothing was stored"):
            disk.fail("write", file)
            with pytest.raises(StoreError, match=expected):
                edited.compare(here, out, "", forget=False, apply=True)
        first, second = edited.compare(here, out, "", forget=False, apply=True)
        assert (len(first.changes), len(second.changes)) == (0, 1)


def test_a_sync_that_fails_tells_what_it_has_applied(tmp_path: Path, disk: Disk) -> None:
    shared = repository(tmp_path / "shared")
    one, other = (Machine(tmp_path / name, shared) for name in ("one", "other"))
    with one.engine, other.engine:
        one.engine.workspaces.create("second")
        for name in ("default", "second"):
            memories(one.engine, name=name).store("of the first machine")
        one.sync()
        disk.fail("write", other.engine.workspaces.create("second").id)
        with pytest.raises(StoreError, match="Applied before that: 1 change of others; repeating") as raised:
            other.sync()
        assert "othing was stored" not in str(raised.value)
        assert other.texts() == one.texts()
        disk.fail("nothing")
        assert other.sync().received == 1
