"""`memoryd import` of SQLite files: memoryd's own, and those of unknown programs."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from memoryd.features.imports.foreign_sqlite import foreign_database
from tests.commands import run
from tests.features.imports.test_source import lowered


def test_a_backup_is_not_an_export_and_the_error_says_what_to_do(home: Path, tmp_path: Path) -> None:
    run(home, "store", "Tea is green.")
    run(home, "backup", tmp_path / "backup.db")
    stderr = run(home, "import", tmp_path / "backup.db", code=2).stderr
    assert "backup.db is a memoryd database, such as a backup. Nothing was imported" in stderr


@pytest.mark.parametrize("columns", [("version_num",), ("a", "b")])
def test_the_columns_of_a_table_however_few(columns: tuple[str, ...], tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as database, database:
        database.execute(f"CREATE TABLE alembic ({', '.join(columns)})")
    with foreign_database(tmp_path / "other.db") as other:
        assert other.tables == {"alembic": frozenset(columns)}


def test_a_database_of_an_unknown_program_is_refused(home: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as database, database:
        database.execute("CREATE TABLE alembic (version_num)")
    stderr = run(home, "import", tmp_path / "other.db", "--yes", code=2).stderr
    assert "nor in another recognized format. Nothing was imported" in stderr


@pytest.mark.parametrize("has_log", [False, True])
def test_a_healthy_database_on_a_read_only_medium_is_read(has_log: bool, tmp_path: Path) -> None:
    with TemporaryDirectory() as place:  # which others may traverse
        folder = Path(place, "stick")
        folder.mkdir()
        original = tmp_path / "memories.db"
        with closing(sqlite3.connect(original, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA wal_autocheckpoint = 0")
            database.execute("CREATE TABLE memories (text)")
            database.execute("INSERT INTO memories VALUES ('Ann prefers tea.')")
            if not has_log:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for file in (original, *([tmp_path / "memories.db-wal"] if has_log else [])):
                shutil.copyfile(file, folder / file.name)
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        folder.chmod(0o555)
        Path(place).chmod(0o755)
        with lowered(), foreign_database(folder / "memories.db") as found:
            assert [row["text"] for row in found.rows("memories")] == ["Ann prefers tea."]
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
        folder.chmod(0o755)
