"""Turns that wait for a database: nothing is lost or duplicated, whatever dies or is locked."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.workspaces.project import WorkspaceChoice
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.agents.spool import ABANDONED, EngineSpool, SpooledTurns
from memoryd.model import Interaction
from memoryd.settings import Settings
from tests.clients import PATIENCE, environment, rows_of, until
from tests.conftest import Start
from tests.forks import run

SESSION = "5f0c1c52-7d3e-4b57-9a55-0c7b6f6f2a01"
TURNS = {"mem_u1", "mem_u2", "mem_c5", "mem_u3", "mem_u4", "mem_u6", "mem_w1", "mem_w2"}
"""The finished turns of session.jsonl."""
BOUND = 25.0  # seconds that a hook may take on a busy machine; without its own bound it takes at least 30
Ended = subprocess.CompletedProcess[str]


@pytest.fixture
def transcript(home: Path) -> Path:
    path = home / ".claude" / "projects" / "-srv-shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[2] / "hooks" / "session.jsonl", path)
    return path


def hook(home: Path, transcript: Path, event: str = "stop", first: str = "", code: int = 0, **settings: str) -> Ended:
    """Run a hook as a process, after the code `first`."""
    lines = f"import os, sys, memoryd.cli\n{first}\nsys.argv = ['memoryd', 'hook', {event!r}]\nmemoryd.cli.main()"
    handed = json.dumps({"session_id": SESSION, "transcript_path": str(transcript), "source": "startup"})
    ended = run(
        [sys.executable, "-c", lines],
        input=handed,
        env=environment(home) | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        check=False,
    )
    assert ended.returncode == code, ended
    assert ended.stderr.count("\n") <= 1
    return ended


def kept(home: Path) -> list[str]:
    return sorted(row["id"] for row in rows_of(home) if row["kind"] == "interaction")


@contextmanager
def opened(home: Path, **settings: str) -> Iterator[Engine]:
    with Engine(Settings.read(environment(home) | settings), fetch=False) as engine:
        yield engine


def waiting(home: Path) -> list[Path]:
    with opened(home) as engine:
        return EngineSpool(engine).waiting()


def entry(*ids: str, workspace: str = "default", ended: tuple[str, ...] = ()) -> SpooledTurns:
    usual = {"session_id": "s", "created_at": "2026-03-04T10:00:00.000Z", "prompt": "Why?", "response": "So."}
    return SpooledTurns(workspace, "claude-code", tuple(Interaction(id=one, thought="", **usual) for one in ids), ended)


@contextmanager
def locked(path: Path, *, readers_too: bool = False) -> Iterator[None]:
    """Lock a database as another program would."""
    with closing(apsw.Connection(str(path))) as connection:
        if readers_too:
            connection.pragma("locking_mode", "exclusive")
            connection.pragma("journal_mode", "delete")
        connection.execute("BEGIN EXCLUSIVE")
        yield


# locked databases ----------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.files
def test_a_hook_does_not_wait_for_a_locked_database_and_the_next_one_stores_its_turns(
    home: Path, transcript: Path
) -> None:
    with opened(home) as engine:
        engine.workspace(make=True)
    with locked(home / "data" / "memory.db"), ThreadPoolExecutor(2) as pool:
        began = time.monotonic()
        both = [pool.submit(hook, home, transcript, event, code=1) for event in ["session-end"] * 2]
        messages = [one.result().stderr for one in both]
        assert time.monotonic() - began < BOUND
    assert all("does not answer. The turns wait in" in message for message in messages)
    assert kept(home) == []
    files = waiting(home)
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700
    hook(home, transcript)
    assert kept(home) == sorted(TURNS)
    assert any(row["kind"] == "summary" for row in rows_of(home))  # the session was over
    assert waiting(home) == []


@pytest.mark.process
@pytest.mark.files
def test_a_session_starts_without_a_briefing_if_the_database_is_locked(home: Path, transcript: Path) -> None:
    with opened(home) as engine:
        engine.workspace(make=True)
    with locked(home / "data" / "_meta.db", readers_too=True):
        began = time.monotonic()
        ended = hook(home, transcript, "session-start", code=1)
        assert time.monotonic() - began < BOUND
    assert ended.stdout == ""
    assert "does not answer: the session starts without a briefing" in ended.stderr


@pytest.mark.process
@pytest.mark.files
def test_a_silent_or_unreachable_postgres_does_not_stop_an_agent(home: Path, transcript: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://me:secret@127.0.0.1:{port}/db"
        silent_server = hook(home, transcript, code=1, MEMORY_DATABASE_URL=url).stderr
        assert f"127.0.0.1:{port}/db does not answer" in silent_server
    away = hook(home, transcript, code=1, MEMORY_DATABASE_URL=url).stderr
    assert "The turns wait in" in away
    assert "secret" not in silent_server + away
    (directory,) = (home / "data" / "spool").iterdir()
    assert len(list(directory.glob("*.json"))) == 1  # the second one continued where the first had stopped
    hook(home, transcript)  # another database, which has its own spool
    assert kept(home) == sorted(TURNS)
    assert len(list(directory.glob("*.json"))) == 1


# killed hooks --------------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    ("first", "left"),
    [
        ("os.fsync = lambda _: os._exit(9)", (0, 1)),
        ("os.replace = os.rename = lambda *_: os._exit(9)", (0, 1)),
        (
            "unlink = os.unlink\nos.unlink = lambda path: os._exit(9) if str(path).endswith('.json') else unlink(path)",
            (1, 0),
        ),
    ],
    ids=["while it is written", "before it has its name", "after the commit"],
)
def test_a_killed_hook_loses_and_duplicates_nothing(
    home: Path, transcript: Path, first: str, left: tuple[int, int]
) -> None:
    with opened(home) as engine:
        engine.workspace(make=True)
        directory = EngineSpool(engine).directory
    directory.mkdir()
    hook(home, transcript, first=first, code=9)
    assert (len(waiting(home)), len(list(directory.glob("*.partial")))) == left
    hook(home, transcript)
    assert kept(home) == sorted(TURNS)
    assert waiting(home) == []


@pytest.mark.process
def test_on_a_full_disk_the_next_hook_reads_the_turns_again(home: Path, transcript: Path) -> None:
    with opened(home) as engine:
        engine.workspace(make=True)
    full = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    full += "; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    assert "File too large" in hook(home, transcript, first=full, code=1).stderr
    assert (waiting(home), kept(home)) == ([], [])
    hook(home, transcript)
    assert kept(home) == sorted(TURNS)


def test_unfinished_files_are_removed_after_a_day(home: Path) -> None:
    with opened(home) as engine:
        spool = EngineSpool(engine)
        spool.put(entry("a"))
        old, young = spool.directory / "1.partial", spool.directory / "2.partial"
        for path in (old, young):
            path.write_text("{")
        os.utime(old, (time.time() - 2 * ABANDONED,) * 2)
        spool.take_in(lambda: False)
        assert list(spool.directory.iterdir()) == [young]


# storing the turns ---------------------------------------------------------------------------------------------------


def test_several_processes_that_move_the_same_files_duplicate_nothing(home: Path) -> None:
    with opened(home) as engine:
        engine.workspace(make=True)
        for number in range(20):
            EngineSpool(engine).put(entry(f"mem_{number}", f"mem_{number + 1}", ended=("s",)))
    ready = threading.Barrier(4)

    def take_in() -> None:
        with opened(home) as engine:
            ready.wait(PATIENCE)
            EngineSpool(engine).take_in(lambda: False)

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(take_in) for _ in range(4)]:
            one.result()
    assert kept(home) == sorted(f"mem_{number}" for number in range(21))
    assert sum(row["kind"] == "summary" for row in rows_of(home)) == 1
    assert waiting(home) == []


@pytest.mark.slow
def test_a_server_stores_the_turns(home: Path, start: Start) -> None:
    with opened(home) as engine:
        EngineSpool(engine).put(entry("mem_a", workspace="shop"))
    start()
    until(lambda: not waiting(home), "the turns to be taken in")
    with opened(home) as engine:
        assert Journal(Scope(engine, engine.workspaces.find("shop"))).kept.known(["mem_a"]) == {"mem_a"}


def test_a_damaged_file_and_an_archived_workspace_are_reported_and_block_nothing_else(home: Path) -> None:
    with opened(home) as engine:
        spool = EngineSpool(engine)
        engine.workspaces.create("old")
        engine.workspaces.archive("old")
        spool.put(entry("mem_b", workspace="old"))
        (spool.directory / "0.json").write_text('{"workspace": "default", "turns": [')
        spool.put(entry("mem_c"))
        with pytest.raises(StoreError, match=r"0\.json cannot be read"):
            spool.take_in(lambda: False)
        assert len(spool.waiting()) == 2
        (spool.directory / "0.json").unlink()
        spool.take_in(lambda: False, WorkspaceChoice("default"))
        with pytest.raises(InvalidInputError, match="archived"):
            spool.take_in(lambda: False)
        assert len(spool.waiting()) == 1
    assert kept(home) == ["mem_c"]


@pytest.mark.files
def test_the_spool_is_next_to_the_database(home: Path) -> None:
    with opened(home) as engine:
        assert EngineSpool(engine).directory == home / "data" / "spool"
    with opened(home, MEMORY_DB_PATH=str(home / "x" / "one.db")) as engine:
        assert EngineSpool(engine).directory == home / "x" / "one.db-spool"
