"""The recipes of docs/extending.md work: followed literally in a copy of the repository, they break no rule.

A block after a line "`path`:" is a new file. A `diff` block names its file and the lines around a change, which must
occur exactly once. New tests are run, and the tests that the page tells the reader to run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import house
from tests.house_tree import copy

WORK = """
import contextlib, pathlib, sys
sys.path.insert(0, "docs")
import pytest, tables
from memoryd.cli import app

tables.main()
with pathlib.Path("docs/openapi.json").open("w", encoding="utf-8") as document, contextlib.redirect_stdout(document):
    app(["openapi"], standalone_mode=False)
options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore:Module already imported"]
sys.exit(any([pytest.main([*options, *tests.split()]) for tests in sys.argv[1:]]))
"""
"""A process that fills the tables of the docs, writes the document of the tools, and runs tests."""
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
NEW_FILE = re.compile(
    r"^`(?P<path>[\w./-]+)`:\n\n(?P<fence>`{3,})\w+\n(?P<text>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)
CHANGE = re.compile(r"^```diff\n--- (?P<path>\S+)\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE)


def follow(root: Path) -> None:
    """Apply the page's recipes to a tree."""
    for found in NEW_FILE.finditer(PAGE):
        path = root / found["path"]
        assert not path.exists(), f"{found['path']} already exists, but the page calls it new"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found["text"], encoding="utf-8")
    for found in CHANGE.finditer(PAGE):
        lines = found["lines"].splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = (root / found["path"]).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{found['path']} does not contain exactly once:\n{before}"
        (root / found["path"]).write_text(text.replace(before, after), encoding="utf-8")


def run(root: Path, *arguments: str) -> str:
    """Run Python on the extended package; return what it prints."""
    environ = {"PYTHONPATH": str(root / "src"), "HOME": str(root / "home"), "PATH": os.defpath}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.copies
def test_the_recipes_work_are_documented_and_break_no_rule(tmp_path: Path) -> None:
    copy(ROOT, tmp_path)
    follow(tmp_path)
    new = [found["path"] for found in NEW_FILE.finditer(PAGE) if found["path"].endswith(".py")]
    run(tmp_path, "-m", "ruff", "check", "--no-cache", *new)
    run(tmp_path, "-m", "ruff", "format", "--no-cache", "--check", *new)
    added = [path for path in new if path.startswith("tests/")]
    named = re.findall(r"^python -m pytest (.+)$", PAGE, re.MULTILINE)
    assert named
    run(tmp_path, "-c", WORK, " ".join([*added, "tests/test_docs.py"]), *named)
    assert house.broken(tmp_path) == {}
