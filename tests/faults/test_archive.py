"""Archiving is safe: no acknowledged write is lost, and what kill -9 interrupts is finished or can be repeated."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, NotFoundError, StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store.sqlite.connection import equipped
from tests.clients import environment, process_agent, until
from tests.core.kit import memories, never
from tests.faults.places import PLACES, leftovers, opened, texts
from tests.store.kit import output, python

pytestmark = [pytest.mark.process, pytest.mark.slow]

every_place = pytest.mark.parametrize("place", PLACES)


def prepare(home: Path, place: str) -> Workspace:
    """Create project `p` with a text in it, and another workspace."""
    with opened(home, place) as engine:
        memories(engine).store("of another workspace")
        found = engine.workspaces.ensure("p") if place == "shared file" else engine.workspaces.create("p")
        memories(engine, name="p").store("kept")
    return found


def integrity(home: Path) -> None:
    for file in home.rglob("*.db"):
        with closing(equipped(apsw.Connection(str(file)))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            connection.execute("INSERT INTO records_fts(records_fts, rank) VALUES ('integrity-check', 1)")


# kill -9 -------------------------------------------------------------------------------------------------------------

DIES = """
import os, signal, sys
from pathlib import Path
from memoryd.store.sqlite import placement
from memoryd.store.sqlite.connection import equipped
from memoryd.store.sqlite.placement import SqlitePlacement
from tests.faults.places import opened

home, place, verb, point, when = sys.argv[1:]
owner, name = {
    "archive": (SqlitePlacement, "archive"), "restore": (SqlitePlacement, "restore"),
    "erase": (SqlitePlacement, "erase"), "create": (SqlitePlacement, "create"),
    "beside": (SqlitePlacement, "_beside"), "move": (placement, "move"), "rename": (Path, "replace"),
    "unlink": (Path, "unlink"),
}[point]
real = getattr(owner, name)

def die(*args, **kwargs):
    result = real(*args, **kwargs) if when == "after" else None
    if point != "create" or args[1] is not None:  # None is the registry, which already exists
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs) if when == "before" else result

engine = opened(Path(home), place)
setattr(owner, name, die)
getattr(engine.workspaces, verb)("new" if verb == "create" else "p")
"""


def die(home: Path, place: str, verb: str, point: str, when: str) -> None:
    """Run an operation in a process that is killed at one point of it."""
    with python(DIES, home, place, verb, point, when) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors


ARCHIVE = [
    ("archive", "before"),
    ("beside", "before"),
    ("beside", "after"),
    ("move", "before"),
    ("rename", "before"),
    ("rename", "after"),
    ("archive", "after"),
]
RESTORE = [
    ("restore", "before"),
    ("move", "before"),
    ("rename", "before"),
    ("rename", "after"),
    ("beside", "before"),
    ("beside", "after"),
    ("restore", "after"),
]
DELETE = [
    ("archive", "before"),
    ("beside", "before"),
    ("rename", "after"),
    ("erase", "before"),
    ("unlink", "before"),
    ("unlink", "after"),
    ("beside", "after"),
    ("erase", "after"),
]
MOVES = ("move", "rename", "unlink")


def reached(points: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return each point with the places that have such a step: only own files are moved and removed.

    A single file takes the same steps as a shared one: there only the first half of them is tried.
    """
    rest = [point for point in points if point[0] not in MOVES]
    where = {"own file": points, "shared file": rest, "single file": rest[: len(rest) // 2]}
    return [(place, *point) for place in PLACES for point in where[place]]


def both_ways(points: list[tuple[str, str]]) -> list[tuple[str, str, str, bool]]:
    """Return the reached points with True, and those with an own file, where most can go wrong, also with False."""
    return [(*step, way) for step in reached(points) for way in (True, False) if way or step[0] == "own file"]


def settled(engine: Engine, home: Path, workspace: Workspace) -> None:
    """Check that the workspace is archived, in its place, and refuses writes."""
    assert engine.workspaces.find("p").status == "archived"
    engine.retention.settle(never)
    known = engine.workspaces.find("p")
    assert engine.store.placement.is_archived(known)
    with pytest.raises(StoreError, match=r"was archived or deleted meanwhile.*Nothing was stored"):
        engine.write(known, lambda q: None)
    if known.db_path.startswith(("projects/", "archive/")):
        assert known.db_path == f"archive/{workspace.id}.db"
        assert leftovers(home, workspace) == [known.db_path]


@pytest.mark.parametrize(("place", "point", "when"), reached(ARCHIVE))
def test_a_killed_archiving_is_finished_at_the_next_start(tmp_path: Path, place: str, point: str, when: str) -> None:
    workspace = prepare(tmp_path, place)
    die(tmp_path, place, "archive", point, when)
    with opened(tmp_path, place) as engine:
        settled(engine, tmp_path, workspace)
        with pytest.raises(InvalidInputError, match="already archived"):
            engine.workspaces.archive("p")
        engine.workspaces.restore("p")
        assert texts(engine, "p") == ["kept"]
        memories(engine, name="p").store("more")
        assert texts(engine, "default") == ["of another workspace"]
    integrity(tmp_path)


@pytest.mark.files
def test_a_server_finishes_what_a_killed_one_began(tmp_path: Path) -> None:
    workspace = prepare(tmp_path, "own file")
    die(tmp_path, "own file", "archive", "archive", "before")
    assert leftovers(tmp_path, workspace)[0] == f"projects/{workspace.id}.db"
    environ = environment(tmp_path) | {"MEMORY_DATA_DIR": str(tmp_path)}
    with process_agent(environ, "--toolsets", "projects", log=tmp_path / "log"):
        until(lambda: leftovers(tmp_path, workspace) == [f"archive/{workspace.id}.db"], "the move")


@pytest.mark.parametrize(("place", "point", "when", "at_once"), both_ways(RESTORE))
def test_a_killed_restore_leaves_it_archived_and_can_be_repeated(
    tmp_path: Path, place: str, point: str, when: str, at_once: bool
) -> None:
    workspace = prepare(tmp_path, place)
    with opened(tmp_path, place) as engine:
        engine.workspaces.archive("p")
    die(tmp_path, place, "restore", point, when)
    with opened(tmp_path, place) as engine:
        if not at_once:
            settled(engine, tmp_path, workspace)
        engine.workspaces.restore("p")
        assert engine.workspaces.find("p").db_path == workspace.db_path
        memories(engine, name="p").store("more")
        assert sorted(texts(engine, "p")) == ["kept", "more"]
    integrity(tmp_path)


@pytest.mark.parametrize(
    ("place", "point", "when", "archived"),
    [step for step in both_ways(DELETE) if step[1] != "rename" or not step[3]],  # an archived file need not be moved
)
def test_a_killed_deletion_leaves_nothing_active_and_can_be_repeated(
    tmp_path: Path, place: str, point: str, when: str, archived: bool
) -> None:
    workspace = prepare(tmp_path, place)
    if archived:
        with opened(tmp_path, place) as engine:
            engine.workspaces.archive("p")
    die(tmp_path, place, "delete", point, when)
    with opened(tmp_path, place) as engine:
        engine.retention.settle(never)
        assert engine.workspaces.find("p").status == "archived"
        assert [w.name for w in engine.workspaces.all("active")] == ["default"]
        engine.workspaces.delete("p")
        with pytest.raises(NotFoundError):
            engine.workspaces.delete("p")
        gone(engine, workspace)
        assert texts(engine, "default") == ["of another workspace"]
    assert leftovers(tmp_path, workspace) == []
    integrity(tmp_path)


def gone(engine: Engine, workspace: Workspace) -> None:
    """Check that no row of a workspace is left in a shared file."""
    if not workspace.db_path.startswith("projects/"):
        assert engine.store.read(workspace, lambda q: q.all("records.kinds", session="")) == []
        assert engine.store.upkeep.problems(workspace) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_creation_leaves_the_name_free(tmp_path: Path, when: str) -> None:
    prepare(tmp_path, "own file")
    die(tmp_path, "own file", "create", "create", when)
    with opened(tmp_path, "own file") as engine:
        assert [w.name for w in engine.workspaces.all()] == ["default", "p"]
        engine.workspaces.create("new")
        memories(engine, name="new").store("kept")


# other processes that have it open -----------------------------------------------------------------------------------

HOLDS = """
import sys
from pathlib import Path
from memoryd.errors import MemorydError
from tests.core.kit import never
from tests.faults.places import opened, texts
from tests.store.kit import add

engine = opened(Path(sys.argv[1]), "own file")
where = engine.workspaces.active("p")
for line in sys.stdin:
    if line == "settle\\n":
        engine.retention.settle(never)
    elif line == "read\\n":
        seen = engine.store.read(where, lambda q: q.all("memories.recent", kind="memory", session="", limit=100))
        print(len(seen), flush=True)
        continue
    try:
        engine.write(where, lambda q: add(q, line.strip()))
        print("stored", flush=True)
    except MemorydError as error:
        print(error, flush=True)
engine.close()
"""


class Holder:
    """A process that has the file of project `p` open, with a write that is only in the write-ahead log."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert self.ask("written beside") == "stored"

    def ask(self, line: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        output(self.process)


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """Return project `p`, in its own file."""
    return prepare(tmp_path, "own file")


@pytest.fixture
def holder(tmp_path: Path, project: Workspace) -> Iterator[Holder]:
    with python(HOLDS, tmp_path) as process:
        yield Holder(process)
        process.communicate()


@pytest.fixture
def engine(tmp_path: Path, holder: Holder) -> Iterator[Engine]:
    """Yield an engine in this process, while the holder runs."""
    with opened(tmp_path, "own file") as engine:
        yield engine


def test_a_file_that_another_process_has_open_is_moved_once_released(
    tmp_path: Path, project: Workspace, holder: Holder, engine: Engine
) -> None:
    archived = engine.workspaces.archive("p")
    assert (archived.status, archived.db_path) == ("archived", project.db_path)
    assert "was archived or deleted meanwhile" in holder.ask("too late")
    engine.retention.settle(never)
    assert engine.workspaces.find("p").db_path == project.db_path
    holder.end()
    engine.retention.settle(never)
    assert engine.workspaces.find("p").db_path == f"archive/{project.id}.db"
    assert leftovers(tmp_path, project) == [f"archive/{project.id}.db"]
    with closing(apsw.Connection(str(tmp_path / f"archive/{project.id}.db"))) as alone:
        assert alone.execute("SELECT count(*) FROM records").get == 2


def test_a_server_releases_what_another_one_archived(project: Workspace, holder: Holder, engine: Engine) -> None:
    engine.workspaces.archive("p")
    assert "was archived" in holder.ask("settle")
    assert engine.workspaces.find("p").db_path == f"archive/{project.id}.db"
    assert holder.ask("read") == "2"
    engine.workspaces.restore("p")
    assert holder.ask("written after") == "stored"
    assert sorted(texts(engine, "p")) == ["kept", "written after", "written beside"]


def test_a_file_that_is_archived_but_not_moved_can_be_restored(
    project: Workspace, holder: Holder, engine: Engine
) -> None:
    engine.workspaces.archive("p")
    assert engine.workspaces.restore("p").db_path == project.db_path
    assert holder.ask("written after") == "stored"


def test_an_archived_file_that_is_being_read_is_not_restored_yet(tmp_path: Path, project: Workspace) -> None:
    with opened(tmp_path, "own file") as engine:
        engine.workspaces.archive("p")
        with closing(apsw.Connection(str(tmp_path / f"archive/{project.id}.db"))) as reader:
            reader.execute("BEGIN; SELECT count(*) FROM records")
            with pytest.raises(StoreBusyError, match=r"being read.*Nothing was changed.*try again"):
                engine.workspaces.restore("p")
            assert engine.workspaces.find("p").status == "archived"
        engine.workspaces.restore("p")
        assert texts(engine, "p") == ["kept"]


def test_a_deleted_file_refuses_writes(tmp_path: Path, project: Workspace, holder: Holder, engine: Engine) -> None:
    engine.workspaces.delete("p")
    assert "Nothing was stored" in holder.ask("too late")
    assert leftovers(tmp_path, project) == []


# many processes ------------------------------------------------------------------------------------------------------

WRITES = """
import sys
from pathlib import Path
from memoryd.errors import MemorydError
from tests.faults.places import opened
from tests.store.kit import add

home, place, writer = sys.argv[1:]
number = 0
while not (Path(home) / "stop").exists():
    engine = opened(Path(home), place)
    for _ in range(5):
        number += 1
        try:
            where = engine.workspaces.active("p")
            engine.write(where, lambda q: add(q, f"{writer} {number}"))
        except MemorydError as error:
            print("refused:", error)
        else:
            print("stored:", writer, number, flush=True)
    engine.close()
"""

TOGGLES = """
import sys
from pathlib import Path
from memoryd.errors import StoreBusyError
from tests.core.kit import never
from tests.faults.places import leftovers, opened

home, place, rounds = sys.argv[1:]
engine = opened(Path(home), place)

def number():
    return len(engine.store.read(known, lambda q: q.all("memories.recent", kind="memory", session="", limit=100_000)))

known = engine.workspaces.find("p")

for _ in range(int(rounds)):
    before = number()
    engine.workspaces.archive("p")
    for _ in range(50):
        engine.retention.settle(never)
        if engine.store.placement.is_archived(known := engine.workspaces.find("p")):
            break
    print(known.db_path, flush=True)
    if known.db_path.startswith("archive/"):
        assert leftovers(Path(home), known) == [known.db_path]
    assert number() >= before
    while engine.workspaces.find("p").status == "archived":
        try:
            engine.workspaces.restore("p")
        except StoreBusyError:
            pass
engine.close()
"""


@every_place
def test_no_acknowledged_write_is_lost_to_archiving(tmp_path: Path, place: str) -> None:
    workspace = prepare(tmp_path, place)
    writers = [python(WRITES, tmp_path, place, f"writer{n}") for n in range(3)]
    with opened(tmp_path, place) as engine:
        until(lambda: len(memories(engine, name="p").recent(2)) > 1, "a first write")
    toggler = python(TOGGLES, tmp_path, place, 5)
    try:
        paths = output(toggler).split()
    finally:
        (tmp_path / "stop").touch()
    lines = [line for writer in writers for line in output(writer).splitlines()]
    stored = [line.removeprefix("stored: ") for line in lines if line.startswith("stored: ")]
    refused = [line for line in lines if line.startswith("refused: ")]
    assert stored
    assert all("is archived" in line or "was archived" in line for line in refused), refused
    with opened(tmp_path, place) as engine:
        rows = engine.store.read(
            workspace, lambda q: q.all("memories.recent", kind="memory", session="", limit=100_000)
        )
        assert len(rows) == len(stored) + 1
        bodies = {hit.record.body for hit in memories(engine, name="p").recent(100_000)}
    assert bodies == {*stored, "kept"}
    if place == "own file":
        assert any(path.startswith("archive/") for path in paths)
    integrity(tmp_path)
