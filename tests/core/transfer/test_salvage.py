"""What can be read of a damaged SQLite database is exported, and the rest is counted."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.transfer import export as exports
from memoryd.core.transfer.salvage import Salvaged, salvage
from memoryd.errors import StoreError
from memoryd.store.sqlite.store import SqliteStore
from tests.core import kit
from tests.core.exports_kit import everything, load
from tests.core.kit import memories

pytestmark = pytest.mark.files
PAGE = 4_096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with rows of every kind, long texts, and a workspace with a file of its own."""
    home = tmp_path_factory.mktemp("sound") / "data"
    with kit.engine(home) as engine:
        everything(engine)
        for number in range(150):
            memories(engine).store(f"memory {number} {'of some words ' * 20}")
        memories(engine).store("long " * 1_900)
        engine.workspaces.create("own", "about it")
        memories(engine, name="own").store("in its own file")
    return home


def files(home: Path) -> list[Path]:
    return [home / "_meta.db", home / "memory.db", *sorted((home / "projects").iterdir())]


def saved(home: Path, target: Path) -> Salvaged:
    with kit.engine(home) as engine:
        return salvage(files(home), target, engine.clock, lambda *_: None, vectors=True)


def texts(file: Path) -> set[str]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["records"]["body"] for line in lines if "records" in line}


def exported(home: Path, target: Path) -> bytes:
    with kit.engine(home) as engine:
        exports.export(engine, target, engine.workspaces.all(), lambda *_: None, vectors=True)
    return target.read_bytes()


def test_of_an_undamaged_database_everything_is_saved(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "data")
    whole = exported(tmp_path / "data", tmp_path / "whole.jsonl")
    done = saved(tmp_path / "data", tmp_path / "saved.jsonl")
    assert (tmp_path / "saved.jsonl").read_bytes() == whole
    assert (+done.lost, +done.completed) == ({}, {})
    assert {broken for broken, _ in done.broken.values()} == {0}


def test_what_is_only_in_the_log_is_saved(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "data")
    with kit.engine(tmp_path / "data") as engine:
        memories(engine).store("not yet in the file")
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    done = saved(tmp_path / "killed", tmp_path / "saved.jsonl")
    assert "not yet in the file" in texts(tmp_path / "saved.jsonl")
    assert {broken for broken, _ in done.broken.values()} == {0}


def roots(data: bytearray) -> None:
    """Overwrite the pages where tables begin."""
    data[PAGE : 20 * PAGE] = bytes(19 * PAGE)


def head(data: bytearray) -> None:
    data[:PAGE] = random.Random(1).randbytes(PAGE)


def noise(data: bytearray) -> None:
    for number in random.Random(2).sample(range(len(data) // PAGE), 12):
        data[number * PAGE : (number + 1) * PAGE] = random.Random(number).randbytes(PAGE)


def sectors(data: bytearray) -> None:
    for number in random.Random(3).sample(range(len(data) // 512), 20):
        data[number * 512 : (number + 1) * 512] = b"\xff" * 512


def end(data: bytearray) -> None:
    del data[len(data) * 4 // 5 + 100 :]


@pytest.mark.parametrize("damage", [roots, head, noise, sectors, end])
@pytest.mark.slow
def test_of_a_damaged_database_the_rest_is_saved_and_can_be_imported(
    sound: Path, tmp_path: Path, damage: Callable[[bytearray], None]
) -> None:
    shutil.copytree(sound, tmp_path / "data")
    exported(tmp_path / "data", tmp_path / "whole.jsonl")
    file = tmp_path / "data" / "memory.db"
    data = bytearray(file.read_bytes())
    damage(data)
    file.write_bytes(data)
    done = saved(tmp_path / "data", tmp_path / "saved.jsonl")
    whole, rest = texts(tmp_path / "whole.jsonl"), texts(tmp_path / "saved.jsonl")
    assert "in its own file" in rest <= whole
    assert len(rest) > len(whole) / 2
    assert done.broken[str(file)][0] > 0
    with kit.engine(tmp_path / "again") as again:
        load(again, tmp_path / "saved.jsonl")
        assert len(memories(again).recent(1_000)) > 50


def test_what_is_lost_with_a_page_is_counted(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "data")
    exported(tmp_path / "data", tmp_path / "whole.jsonl")
    file = tmp_path / "data" / "memory.db"
    data = bytearray(file.read_bytes())
    page = data.index(b"memory 77 of some") // PAGE * PAGE
    data[page : page + PAGE] = bytes(PAGE)
    file.write_bytes(data)
    done = saved(tmp_path / "data", tmp_path / "saved.jsonl")
    missing = texts(tmp_path / "whole.jsonl") - texts(tmp_path / "saved.jsonl")
    assert done.lost == {"memories": len(missing)}
    assert done.broken[str(file)] == (1, len(data) // PAGE)


def test_a_lost_registry_leaves_names_by_id(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "data")
    os.truncate(tmp_path / "data" / "_meta.db", 0)
    (tmp_path / "new").mkdir()
    with Engine(kit.engine(tmp_path / "new").settings, fetch=False) as engine:
        done = salvage(files(tmp_path / "data"), tmp_path / "saved.jsonl", engine.clock, lambda *_: None)
    assert len(done.numbers) == 2
    assert all(name.startswith("recovered-") for name in done.numbers)


def test_a_file_without_anything_is_reported(sound: Path, tmp_path: Path) -> None:
    (tmp_path / "noise.db").write_bytes(random.Random(4).randbytes(100_000))
    with kit.engine(sound) as engine:
        assert isinstance(engine.store, SqliteStore)
        with pytest.raises(StoreError, match=r"Nothing of memoryd's can be read.*Nothing was written"):
            salvage([tmp_path / "noise.db"], tmp_path / "saved.jsonl", engine.clock, lambda *_: None)
    assert not (tmp_path / "saved.jsonl").exists()
