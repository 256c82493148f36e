"""An import that is killed or stopped midway: what is in stays, and the next one adds the rest, once."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.clients import PATIENCE, environment
from tests.commands import process
from tests.forks import Fork

pytestmark = pytest.mark.process
NUMBER = 600  # of nodes: more than a batch; there are two relations of each


@pytest.fixture(autouse=True)
def _interruptible() -> None:
    """Let children end by SIGINT, which a shell makes what it starts in the background ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A graph and a conversation beside it: two kinds, each of many batches."""
    (tmp_path / "brought").mkdir()
    entities = [
        {"type": "entity", "name": f"E{number}", "entityType": "thing", "observations": [f"Has the number {number}."]}
        for number in range(NUMBER)
    ]
    ties = [
        {"type": "relation", "from": f"E{number}", "to": f"E{(number + step) % NUMBER}", "relationType": "precedes"}
        for number in range(NUMBER)
        for step in (1, 2)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in (*entities, *ties))
    (tmp_path / "brought" / "memory.jsonl").write_text(lines)
    messages = [{"role": role, "content": f"{role} {number}"} for number in range(50) for role in ("user", "assistant")]
    (tmp_path / "brought" / "chat.json").write_text(json.dumps(messages))
    return tmp_path / "brought"


def database_of(home: Path) -> Path:
    return next((home / "data" / "projects").glob("*.db"), home / "none")


def kept(home: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how many records of each kind there are, and how often each text occurs, and each relation."""
    with closing(sqlite3.connect(database_of(home))) as database:
        rows = database.execute("SELECT kind, name || body FROM records WHERE deleted_at IS NULL").fetchall()
        ties = database.execute("SELECT from_entity || to_entity FROM relations WHERE deleted_at IS NULL").fetchall()
    kinds = Counter(kind for kind, _ in rows) + Counter({"relation": len(ties)})
    return kinds, Counter(text for _, text in rows if text) + Counter(text for (text,) in ties)


def begun_with(home: Path, stage: str) -> bool:
    uri = f"{database_of(home).as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as database:
        return bool(database.execute(STAGES[stage]).fetchone())
    return False


def begun(home: Path, file: Path, stage: str, start: type[subprocess.Popen[str]] = Fork) -> subprocess.Popen[str]:
    """Begin to import a source; return once a part of a stage is stored."""
    command = [sys.executable, "-m", "memoryd", "import", str(file), "--yes", "--no-vectors"]
    child = start(command, env=environment(home), stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and child.poll() is None and not begun_with(home, stage):
        time.sleep(0.01)
    assert child.poll() is None, "it ended before it could be stopped"
    return child


STAGES = {
    "observations": "SELECT 1 FROM records WHERE kind = 'observation' LIMIT 1",
    "relations": "SELECT 1 FROM relations LIMIT 1",
}
"""What finds something as soon as a part of it is stored."""


@pytest.mark.long
def test_a_killed_import_loses_and_doubles_nothing(home: Path, file: Path) -> None:
    for stage in STAGES:
        child = begun(home, file, stage)
        child.kill()
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        assert kept(home)[0]["interaction"] == 0, "it was not midway"
    for _ in range(2):
        process(home, "import", file, "--yes", "--no-vectors")
        kinds, texts = kept(home)
        assert kinds == {"entity": NUMBER, "observation": NUMBER, "relation": 2 * NUMBER, "interaction": 50}
        assert set(texts.values()) == {1}


def test_a_stopped_import_says_what_is_in(home: Path, file: Path) -> None:
    child = begun(home, file, "observations", subprocess.Popen)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate()
    assert child.returncode == 130
    assert f"Stored before that: {NUMBER:,} entities" in error
    assert "importing it again skips what is there" in error
    assert kept(home)[0]["entity"] == NUMBER


def test_an_import_that_is_stopped_while_it_reads_says_that_nothing_is_in(home: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "memoryd", "import", str(pipe), "--dry-run"]
    child = subprocess.Popen(command, env=environment(home), stderr=subprocess.PIPE, text=True)
    with pipe.open("w"):  # opens once it is read
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=PATIENCE)
    assert (child.returncode, error.strip()) == (130, "Stopped. Nothing was imported.")


@pytest.mark.parametrize("by_name", [False, True])
def test_a_pipe_is_imported_like_a_file(home: Path, tmp_path: Path, by_name: bool) -> None:
    pipe, line = tmp_path / "pipe", json.dumps({"content": "Ann prefers tea."})
    if by_name:
        os.mkfifo(pipe)
        command = [sys.executable, "-m", "memoryd", "import", str(pipe), "--yes", "--no-vectors"]
        child = Fork[str](command, env=environment(home), stdout=subprocess.PIPE, text=True)
        pipe.write_text(line)
        out, _ = child.communicate(timeout=PATIENCE)
    else:
        out = process(home, "import", "-", "--yes", "--no-vectors", stdin=line).stdout
    assert "stdin is a file of JSON objects" in out
    assert "Ann prefers tea." in process(home, "recall", "tea").stdout
