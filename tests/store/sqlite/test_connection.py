"""A file is never opened with the write-ahead log of another file."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.sqlite.connection import store_error
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import made, put, words


def crashed(file: Path, directory: Path) -> Path:
    """Copy a database in use, as it is on the disk after a power failure."""
    directory.mkdir()
    for path in (file, file.with_name(f"{file.name}-wal")):
        shutil.copy(path, directory)
    return directory / file.name


def test_a_backup_that_was_copied_over_a_crashed_database_is_not_mixed_with_its_log(
    file: Path, here: Workspace, tmp_path: Path
) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "old")
        store.upkeep.backup(tmp_path / "backup.db", [], lambda _: None)
        put(store, here, "new")
        place = crashed(file, tmp_path / "crashed")
    log = place.with_name("memory.db-wal")
    was, logged = place.read_bytes(), log.read_bytes()
    shutil.copy(tmp_path / "backup.db", place)
    backup = place.read_bytes()
    with closing(SqliteStore(SingleFile(place))) as store, pytest.raises(StoreError, match=r"-wal is not part of"):
        words(store, here, "old")
    assert (place.read_bytes(), log.read_bytes()) == (backup, logged)

    place.write_bytes(was)
    with closing(SqliteStore(SingleFile(place))) as store:
        assert words(store, here, "old OR new") == ["old", "new"]
    shutil.copy(tmp_path / "backup.db", place)
    with closing(SqliteStore(SingleFile(place))) as store:
        assert words(store, here, "old OR new") == ["old"]


def test_an_invalid_place_for_temporary_files_is_named(tmp_path: Path) -> None:
    """SQLite opens a temporary file if memory is short, and reports the same error as for a database."""
    error = store_error(apsw.CantOpenError("unable to open database file"), tmp_path / "memory.db")
    assert "temporary files (TMPDIR)" in str(error)


def test_a_full_disk_for_temporary_files_is_not_mistaken_for_the_database_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite reports for either that the database or disk is full."""
    full, file = apsw.FullError("database or disk is full"), tmp_path / "memory.db"
    usage = shutil.disk_usage(tmp_path)
    for free, message in ((2**30, f"The disk of {file} has free space"), (0, f"The disk of {file} is full.")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        assert str(store_error(full, file)).startswith(message)
