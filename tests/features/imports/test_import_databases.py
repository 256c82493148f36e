"""`memoryd import` of SQLite files: memoryd's own, and those of unknown programs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memoryd.features.imports.foreign_sqlite import foreign_database
from tests.commands import run


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
