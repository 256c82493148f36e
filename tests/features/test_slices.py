"""A slice can be deleted with its row of the table, its page and its tests: what is left works and breaks no rule."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd import extras, features
from memoryd.features.base import Feature
from tests import house
from tests.house_tree import copy

ROOT = Path(__file__).parents[2]
SRC = Path("src/memoryd/features")
PAGES = {
    "agents": "hooks.md",
    "app": "app.md",
    "chroma": "chroma.md",
    "imports": "import.md",
    "install": "clients.md",
    "login": "remote.md",
    "page": "ui.md",
    "sync": "two-machines.md",
}
"""The page of each slice in docs."""
RULES = ("errors_are_named", "queries_are_used", "queries_exist")
"""The rules that the lack of a slice could break."""
PARTS = ("src/", "docs/tables.py")
"""What is left of the repository: the package, and what makes the tables of the docs from it."""
WORK = """
import anyio
import memoryd.server.stdio, tables
from memoryd.api import Memory
from memoryd.core.engine import Engine
from memoryd.server.http.app import application
from memoryd.settings import Settings

assert all(table.count("| `") > 9 for table in (tables.commands(), tables.options()))
given = {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none", "MEMORY_DATA_DIR": "data"}
with Memory(data_dir="data", embedder="none", reranker="none") as memory:
    memory.store("The build runs nightly.")
    assert "nightly" in str(memory.recall("nightly build"))
with Engine(Settings.read(given | {"MEMORY_PUBLIC_URL": "https://memory.example"}), fetch=False) as engine:
    app = application(engine)

    async def status(path):
        answers = []
        async def receive():
            return {"type": "http.request"}
        async def send(message):
            answers.append(message)
        headers = [(b"host", b"memory.example")]
        await app({"type": "http", "http_version": "1.1", "scheme": "http", "method": "GET", "path": path,
                   "raw_path": path.encode(), "query_string": b"", "headers": headers, "root_path": "",
                   "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 1)}, receive, send)
        return answers[0]["status"]

    for path, expected in (("/health/live", {200}), ("/", {200, 307}), ("/metrics", {401}), ("/nothing", {404})):
        found = anyio.run(status, path)
        assert found in expected, (path, found)
"""
"""What makes the tables of the docs that slices add to, remembers and recalls, and refuses strangers over HTTP."""
IN_EACH = """
import os, sys
import anyio, apsw, httpx2, jinja2, jwt, limits, mcp.server.lowlevel, mnemonic, numpy, prometheus_client, rich.console
import starlette.routing, tomlkit, typer, uvicorn, yaml
work, *roots = sys.argv[1:]
for root in roots:
    if not (child := os.fork()):
        os.environ["HOME"] = root
        os.chdir(root)
        sys.path[:0] = [f"{root}/src", f"{root}/docs"]
        exec(work)
        os._exit(0)  # to end like others, it would first delete what is imported, for half a second
    if os.waitpid(child, 0)[1]:
        sys.exit(f"in {root}")
"""
"""A process that does this in some copies of the package, each in a fork: the libraries are imported once."""


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

    def is_left(place: Path) -> bool:
        return place.as_posix().startswith(PARTS) and gone.isdisjoint(place.parts[2:4])

    copy(ROOT, root, is_left)
    table = root / SRC / "__init__.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line for line in lines if any(f'"memoryd.features.{slice_}:FEATURE"' in line for slice_ in gone)]
    assert len(rows) == len(gone)
    table.write_text("".join(line for line in lines if line not in rows), encoding="utf-8")


@pytest.mark.process
@pytest.mark.copies
def test_any_slice_can_be_deleted(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in features.FEATURES]
    for root in roots:
        deleted(root.name, root)
    command = [sys.executable, "-c", IN_EACH, WORK, *map(str, roots)]
    done = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [found for root in roots if (found := house.broken(root, RULES))] == []


LOADED = "import sys; from memoryd import features; features.features(); print(*sys.modules)"


@pytest.mark.process
def test_what_a_slice_adds_is_known_before_it_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("memoryd.features.")}
    assert loaded == {f"memoryd.features.{name}" for name in (*features.FEATURES, "base")}
