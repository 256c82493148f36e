"""No acknowledged write is ever lost: real processes are killed, compete with each other, or run out of disk space."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.errors import StoreBusyError, StoreError
from memoryd.settings import Settings
from memoryd.store.base import Queries
from memoryd.store.sqlite import connection as sqlite_connection
from memoryd.store.sqlite import file as sqlite_file
from memoryd.store.sqlite.connection import SqliteQueries, equipped
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.clients import NO_MODELS, environment, problems, rows_of, until
from tests.commands import process
from tests.faults.disks import small
from tests.forks import Fork
from tests.store.kit import made, put, together, words, workspace
from tests.wires import ProcessWire

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.stores]

PATIENCE = 60.0


def integrity(file: Path) -> None:
    """Check the pages, the foreign keys and the word index."""
    with closing(equipped(apsw.Connection(str(file)))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.execute("INSERT INTO records_fts(records_fts, rank) VALUES ('integrity-check', 1)")


class Writer:
    """A client of its own server that stores numbered memories without pause."""

    def __init__(self, name: str, environ: dict[str, str]) -> None:
        self.name = name
        self.wire = ProcessWire(environ)
        self.wire.handshake()
        self.stored: dict[str, str] = {}
        """The acknowledged memories: text by id."""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        with suppress(AssertionError, OSError):  # the process was killed, as planned
            for number in range(100_000):
                text = f"{self.name} number{number} {'padding ' * (number % 40)}"
                answer = self.wire.call("memory_store", content=text)
                if not answer.get("isError"):
                    self.stored[answer["structuredContent"]["id"]] = text

    def await_stored(self, number: int) -> None:
        until(lambda: len(self.stored) >= number, "memories", PATIENCE)

    def kill(self) -> None:
        self.wire.signal(signal.SIGKILL)
        assert self.wire.wait() == -signal.SIGKILL
        with self.wire._changed:  # wakes threads that wait for an answer
            self.wire._changed.notify_all()
        self._thread.join(PATIENCE)
        self.wire.close_stdin()
        for pipe in (self.wire.process.stdout, self.wire.process.stderr):
            assert pipe
            pipe.close()


def kept(environ: dict[str, str], stored: dict[str, str]) -> None:
    """Check that another process finds all of them."""
    with ProcessWire(environ) as wire:
        wire.handshake()
        ids = sorted(stored)
        for start in range(0, len(ids), 100):
            result = wire.call("memory_inspect", ids=ids[start : start + 100])["structuredContent"]
            assert "not_found" not in result
            assert {one["id"]: one["content"] for one in result["memories"]} == {
                key: stored[key] for key in ids[start : start + 100]
            }
        some = stored[ids[len(ids) // 2]]
        found = wire.call("memory_recall", query=f'"{" ".join(some.split()[:3])}"')["_meta"]["memoryd/ids"]
        assert ids[len(ids) // 2] in found


def test_killed_servers_lose_no_acknowledged_write(tmp_path: Path) -> None:
    dice, stored = random.Random(7), dict[str, str]()
    environ = environment(tmp_path, MEMORY_DURABILITY="normal")  # the kernel keeps what was written
    for turn in range(2):
        writers = [Writer(f"turn{turn} writer{number}", environ) for number in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.await_stored(len(writer.stored) + dice.randint(3, 15))
            time.sleep(dice.random() / 50)  # at a random moment of a write
            writer.kill()
            stored |= writer.stored
        assert problems(tmp_path) == []
    kept(environ, stored)
    number = len(rows_of(tmp_path))
    assert len(stored) <= number <= len(stored) + 6  # one per writer may be written but not acknowledged


@pytest.mark.storeless
def test_killed_servers_with_models_lose_nothing(tmp_path: Path, model_dir: Path) -> None:
    environ = environment(tmp_path, model_dir, MEMORY_RERANKER="none", MEMORY_MODELS="english")
    stored: dict[str, str] = {}
    writers = [Writer(f"writer{number}", environ) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.await_stored(15)
        writer.kill()
        stored |= writer.stored
    assert problems(tmp_path) == []
    assert ids_of(tmp_path, "embeddings") <= ids_of(tmp_path)
    kept(environment(tmp_path), stored)
    with ProcessWire(environ) as wire:  # records that have no vector yet get one now
        wire.handshake()
        until(lambda: has_all(wire.call("memory_inspect")["structuredContent"]["stats"]), "vectors", PATIENCE)
    assert ids_of(tmp_path) == ids_of(tmp_path, "embeddings")


def has_all(stats: dict[str, Any]) -> bool:
    """Return whether every record has a vector."""
    return bool(sum(stats["embedded"].values()) >= stats["total"])


def ids_of(home: Path, table: str = "records") -> set[str]:
    return {row["id"] for row in rows_of(home, table)}


STORE = """
import json, sys
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings

name, count = sys.argv[1], int(sys.argv[2])
engine = Engine(Settings.read())
memories = Memories(Scope(engine, engine.workspaces.ensure("default"), name))
print("ready", flush=True)
sys.stdin.readline()
stored = [memories.store(f"process {name} memory {n}").id for n in range(count)]
print(json.dumps(stored), flush=True)
engine.close()
"""


def script(code: str, environ: dict[str, str], *arguments: object, **options: Any) -> Fork[str]:
    """Start a process that prints `ready` and then waits for a line."""
    process = Fork[str](
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
        **options,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def output(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate("go\n", timeout=PATIENCE)
    assert process.returncode == 0, errors
    return out


def test_eight_processes_store_at_once(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    processes = [script(STORE, environ, number, 20) for number in range(8)]
    printed: dict[int, str] = {}
    assert together(lambda n: printed.update({n: output(processes[n])}), 8) == []
    ids = [key for out in printed.values() for key in json.loads(out)]
    assert len(ids) == len(set(ids)) == 8 * 20
    assert problems(tmp_path) == []
    assert ids_of(tmp_path) == set(ids)
    with Engine(Settings.read(environ)) as engine:
        assert [one.name for one in engine.workspaces.all()] == ["default"]


def test_processes_that_store_the_same_merge_it(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    processes = [script(STORE.replace("process {name} ", ""), environ, number, 20) for number in range(4)]
    printed: dict[int, str] = {}
    assert together(lambda n: printed.update({n: output(processes[n])}), 4) == []
    assert len({tuple(json.loads(out)) for out in printed.values()}) == 1
    assert len(rows_of(tmp_path)) == 20


# locks ---------------------------------------------------------------------------------------------------------------

HOLD = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(20_000)
connection.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
connection.close()
"""


def test_a_write_waits_for_a_lock_of_another_process(tmp_path: Path) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
        holder = script(HOLD, environment(tmp_path), file)
        done = threading.Event()
        raised: list[BaseException] = []

        def write() -> None:
            try:
                put(store, here, "waited for")
            except StoreError as error:
                raised.append(error)
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert not done.wait(1.0)  # it is still waiting
        assert words(store, here, "earlier waited") == ["earlier"]
        output(holder)
        assert done.wait(PATIENCE)
        writer.join()
        assert raised == []
        assert set(words(store, here, "earlier waited")) == {"earlier", "waited for"}


def test_a_lock_that_is_held_too_long_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_MS", 300)
    environ = environment(tmp_path)
    settings = Settings.read({"MEMORY_DATA_DIR": environ["MEMORY_DATA_DIR"], **NO_MODELS})
    with Engine(settings) as engine:
        memories = Memories(Scope(engine, engine.workspaces.ensure("default")))
        first = memories.store("first")
        holder = script(HOLD, environ, settings.data_dir / "memory.db")
        with pytest.raises(StoreBusyError, match=r"kept .*memory\.db locked for 0\.3 s.*Nothing was stored.*try again"):
            memories.store("second")
        output(holder)
        memories.store("third")
        assert {hit.record.body for hit in memories.recent(5)} == {"first", "third"}
        assert memories.get([first.id])


def test_closing_does_not_hang_on_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "CLOSING", 0.1)
    file, here = tmp_path / "memory.db", workspace()
    store = made(SingleFile(file))
    put(store, here, "earlier")
    holder = script(HOLD, environment(tmp_path), file)
    writer = threading.Thread(target=put, args=(store, here, "late"))
    writer.start()
    until(
        lambda: store._files._open[file]._writer.is_interrupted is False and store._files._open[file].users, "the write"
    )
    store.close()
    output(holder)
    writer.join(PATIENCE)
    assert not writer.is_alive()
    with closing(SqliteStore(SingleFile(file))) as again:
        assert set(words(again, here, "earlier late")) == {"earlier", "late"}


# a full disk ---------------------------------------------------------------------------------------------------------


def fill_up(write: Callable[[int], object]) -> tuple[list[int], StoreError]:
    """Write until it fails; return the acknowledged numbers and the failure."""
    for number in range(10_000):
        try:
            write(number)
        except StoreError as error:
            return list(range(number)), error
    raise AssertionError("it never failed")


def limit(store: SqliteStore, pages: int) -> None:
    """Limit the pages of the file, which SQLite treats like a full disk."""

    def work(queries: Queries) -> None:
        assert isinstance(queries, SqliteQueries)
        queries.connection.pragma("max_page_count", pages)

    store.write(workspace(), work)


def big(number: int) -> str:
    return f"item{number} " + "x" * 9_000


def test_a_full_database_is_reported_and_recovers(tmp_path: Path) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file), "normal")) as store:
        put(store, here, "earlier")
        limit(store, 120)
        written, failure = fill_up(lambda n: put(store, here, big(n)))
        assert "The disk of" in str(failure)
        assert "Nothing was stored by this call" in str(failure)
        assert words(store, here, "earlier") == ["earlier"]
        assert set(words(store, here, "item*", limit=10_000)) == {big(n) for n in written}
        limit(store, 100_000)
        put(store, here, big(len(written)))
        assert len(words(store, here, "item*", limit=10_000)) == len(written) + 1
        assert store.upkeep.problems(here) == []
    integrity(file)


def test_a_full_database_fails_every_write_of_an_unwritten_group(tmp_path: Path) -> None:
    file, here = tmp_path / "memory.db", workspace()
    with closing(made(SingleFile(file), "normal")) as store:
        put(store, here, "earlier")
        limit(store, 200)
        acknowledged: list[int] = []

        def write(number: int) -> None:
            for turn in range(10):
                put(store, here, big(100 * number + turn))
                acknowledged.append(100 * number + turn)

        raised = together(write, 16)
        assert raised
        assert {type(error) for error in raised} == {StoreError}
        assert all("disk" in str(error) for error in raised)
        assert set(words(store, here, "item*", limit=10_000)) == {big(n) for n in acknowledged}
        assert store.upkeep.problems(here) == []


LIMITED = """
import resource, sys
from pathlib import Path
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.sqlite.layout import SingleFile
from tests.forks import Fork
from tests.store.kit import made, put, words

here, store = Workspace(id=sys.argv[2], name="one"), made(SingleFile(Path(sys.argv[1])), "full")
put(store, here, "earlier")
print("ready", flush=True)
sys.stdin.readline()
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
written = 0
try:
    while True:
        put(store, here, f"item{written} " + "x" * 9_000)
        written += 1
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(len(words(store, here, "item*", limit=10_000)) - written)
put(store, here, "item last")
print(len(words(store, here, "item*", limit=10_000)) - written, store.upkeep.problems(here))
store.close()
"""


def test_a_file_that_cannot_grow_is_reported_and_recovers(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    environ = environment(tmp_path)
    environ["PYTHONPATH"] += f":{Path(__file__).parents[2]}"
    message, *after = output(script(LIMITED, environ, file, workspace().id)).splitlines()
    assert "Nothing was stored by this call" in message
    assert "disk" in message
    assert after == ["0", "1 []"]
    integrity(file)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small(tmp_path / "disk") as place:
        yield place


def test_a_full_disk_is_reported_and_recovers(small_disk: Path) -> None:
    here = workspace()
    file, ballast = small_disk / "memory.db", small_disk / "ballast"
    ballast.write_bytes(bytes(400_000))
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
        written, failure = fill_up(lambda n: put(store, here, big(n)))
        assert "disk" in str(failure)
        assert "Nothing was stored by this call" in str(failure)
        assert len(words(store, here, "item*", limit=10_000)) == len(written) > 0
        ballast.unlink()
        put(store, here, big(len(written)))
        assert len(words(store, here, "item*", limit=10_000)) == len(written) + 1
        assert store.upkeep.problems(here) == []
    integrity(file)


@pytest.mark.files
def test_a_workspace_that_cannot_be_created_on_a_full_disk_leaves_no_file(small_disk: Path, tmp_path: Path) -> None:
    lines = tmp_path / "facts.jsonl"
    lines.write_text('{"content": "The dock is green."}\n')
    at = str(small_disk / "data")
    process(tmp_path, "workspace", "create", "earlier", MEMORY_DATA_DIR=at)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    files = set((small_disk / "data").rglob("*.db"))
    for command in (("workspace", "create", "one"), ("import", lines, "--from", "jsonl", "--workspace", "two")):
        assert "is full. Nothing was stored" in process(tmp_path, *command, code=1, MEMORY_DATA_DIR=at).stderr
    assert set((small_disk / "data").rglob("*.db")) == files
    found = process(tmp_path, "doctor", code=1, MEMORY_DATA_DIR=at).stdout
    assert "the words were not checked, because that requires writing and the disk is full" in " ".join(found.split())
    (small_disk / "ballast").unlink()
    process(tmp_path, "workspace", "create", "one", MEMORY_DATA_DIR=at)
    assert "no registered workspace" not in process(tmp_path, "doctor", code=1, MEMORY_DATA_DIR=at).stdout


def test_a_disk_without_any_space_is_read_and_takes_writes_once_there_is_some(small_disk: Path) -> None:
    here, file = workspace(), small_disk / "memory.db"
    with closing(made(SingleFile(file))) as store:
        put(store, here, "earlier")
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    with closing(SqliteStore(SingleFile(file))) as store:
        for _ in range(2):
            assert words(store, here, "earlier") == ["earlier"]
            with pytest.raises(StoreError, match=r"The disk of .* is full.*free some space"):
                put(store, here, "too much")
        (small_disk / "ballast").unlink()
        put(store, here, "later")
        assert words(store, here, "earlier") == ["earlier"]
        assert words(store, here, "later") == ["later"]
    integrity(file)


@pytest.mark.files
def test_a_server_on_a_full_disk_answers(small_disk: Path, tmp_path: Path) -> None:
    environ = environment(tmp_path, MEMORY_DATA_DIR=str(small_disk / "data"))
    with ProcessWire(environ) as wire:
        wire.handshake()
        answer: dict[str, Any] = {}
        stored = 0
        while not answer.get("isError"):
            answer = wire.call("memory_store", content=big(stored))
            stored += 1
            assert stored < 1000
        assert "Nothing was stored by this call" in answer["content"][0]["text"]
        found = wire.call("memory_inspect")["structuredContent"]["stats"]
        assert found["total"] == stored - 1
