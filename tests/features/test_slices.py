"""A slice can be deleted with its row of the table, its page and its tests: what is left works and breaks no rule."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd import extras, features
from memoryd.features.base import Feature
from tests.house import CHECKS
from tests.house_tree import tracked

ROOT = Path(__file__).parents[2]
SRC = Path("src/memoryd/features")
PAGES = {
    "agents": "hooks.md",
    "app": "app.md",
    "chroma": "chroma.md",
    "imports": "import.md",
    "install": "clients.md",
    "login": "remote.md",
    "notes": "notes.md",
    "page": "ui.md",
}
"""The page of each slice in docs."""
RULES = ("slices_stand_alone", "errors_are_named", "queries_are_used", "queries_exist")
"""The rules that the lack of a slice could break."""
PARTS = ("src/", "docs/", "README.md", "tests/real_clients/")
"""What the tables of the docs are made from."""
AT_WORK = "import memoryd.api, memoryd.server.stdio, memoryd.server.http.app, memoryd.core.engine"
"""What a process has loaded that serves, once what it needs first is there."""


def test_every_slice_is_in_the_table_has_a_page_and_tests() -> None:
    there = {path.parent.name for path in (ROOT / SRC).glob("*/__init__.py")}
    assert set(features.FEATURES) == there == set(PAGES)
    for name, page in PAGES.items():
        assert (ROOT / "docs" / page).exists()
        assert list((ROOT / "tests" / "features" / name).glob("test_*.py")), f"tests/features/{name} has no test"


@pytest.mark.parametrize("name", features.FEATURES)
def test_every_hook_names_something(name: str) -> None:
    feature = extras.named(features.FEATURES[name])
    for target in targets(feature):
        assert extras.named(target) is not None


def targets(feature: Feature) -> Iterator[str]:
    for field in feature.__dataclass_fields__:
        yield from re.findall(r"memoryd\.[\w.]+:\w+", str(getattr(feature, field)))


def deleted(name: str, root: Path) -> None:
    """Copy the package and its docs without a slice and those that need it."""
    gone = {name} | {other for other in features.FEATURES if extras.named(features.FEATURES[other]).needs == name}
    for path in tracked(ROOT):
        place = path.relative_to(ROOT)
        if (
            place.as_posix().startswith(PARTS)
            and gone.isdisjoint(place.parts[2:4])
            and not (place.parts[0] == "docs" and place.name in map(PAGES.get, gone))
        ):
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / place)
    table = root / SRC / "__init__.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line for line in lines if any(f'"memoryd.features.{slice_}:FEATURE"' in line for slice_ in gone)]
    assert len(rows) == len(gone)
    table.write_text("".join(line for line in lines if line not in rows), encoding="utf-8")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", features.FEATURES)
def test_a_slice_can_be_deleted(name: str, tmp_path: Path) -> None:
    deleted(name, tmp_path)
    environ = {"PYTHONPATH": f"{tmp_path / 'src'}:{tmp_path / 'docs'}", "HOME": str(tmp_path), "PATH": os.defpath}
    command = [sys.executable, "-c", f"import tables; {AT_WORK}; tables.main()"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {rule: broken for rule in RULES if (broken := CHECKS[rule](tmp_path))} == {}
