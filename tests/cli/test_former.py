"""Memories from before the first release: refused untouched where they are, taken over by `import` and `migrate`."""

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.commands import run

DUMP = (Path(__file__).parent / "former.sql").read_text(encoding="utf-8")
"""What such a version wrote: five memories, one of them corrected and one forgotten, two nodes, a turn."""


def former(path: Path, *more: str) -> Path:
    with closing(apsw.Connection(str(path))) as file:
        for statement in (DUMP, "PRAGMA foreign_keys = ON", *more):
            file.execute(statement)
    return path


@pytest.fixture(params=["file", "directory"])
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A former memory in a file, or in a data directory, which has a registry beside it."""
    if request.param == "file":
        return former(tmp_path / "old.db")
    directory = tmp_path / "old"
    directory.mkdir()
    gone = "DELETE FROM records; DELETE FROM events; DELETE FROM acts"
    former(directory / "_meta.db", "UPDATE projects SET db_path = 'memory.db'", gone)
    former(directory / "memory.db", "DELETE FROM projects")
    return directory


def content(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in ([place] if place.is_file() else sorted(place.iterdir()))}


def test_a_former_memory_is_refused_and_says_how_to_take_it_over(home: Path, old: Path) -> None:
    before = content(old)
    option = "--db" if old.is_file() else "--data-dir"
    refused = run(home, option, old, "recall", "port", code=1, MEMORY_DATABASE_URL="").stderr
    assert "schema version 17; this memoryd knows versions 20 to" in refused
    assert f"move {old} to another place, and run `memoryd import` with that" in " ".join(refused.split())
    assert content(old) == before


def test_import_takes_a_former_memory_over(home: Path, old: Path) -> None:
    before = content(old)
    seen = json.loads(run(home, "import", old, "--dry-run", "--json").stdout)
    assert [of["workspace"] for of in seen["workspaces"]] == ["default"]
    run(home, "store", "Lunch is at noon.")
    (done,) = json.loads(run(home, "import", old, "--json").stdout)["workspaces"]
    assert {noun: number for noun, number in done["new"].items() if number} == {
        "memories": 4, "entities": 2, "observations": 1, "turns": 1, "relations": 1, "events": 12,
    }  # fmt: skip
    assert "5433" in run(home, "recall", "staging port").stdout
    assert "seven" in run(home, "recall", "office").stdout
    assert "noon" in run(home, "recall", "lunch").stdout
    assert content(old) == before
    again = json.loads(run(home, "import", old, "--json").stdout)["workspaces"]
    assert sum(again[0]["new"].values()) == 0


def test_migrate_takes_over_also_what_is_deleted(home: Path, old: Path, tmp_path: Path) -> None:
    before = content(old)
    done = json.loads(run(home, "migrate", "--from", old, "--to", tmp_path / "new.db", "--json").stdout)
    assert done["differences"] == []
    (moved,) = done["workspaces"]
    assert (moved["rows"]["records"], moved["rows"]["acts"], moved["rows"]["events"]) == (9, 2, 12)
    assert content(old) == before
    assert run(home, "--db", tmp_path / "new.db", "doctor", MEMORY_DATABASE_URL="").returncode == 0
