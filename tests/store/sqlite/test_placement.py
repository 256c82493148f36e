"""Files of the store on SQLite: permissions, locks, backups."""

import os
import random
import resource
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Filter, Workspace
from memoryd.store.sqlite import connection
from memoryd.store.sqlite.layout import DataDirectory, SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import (
    LATER,
    add,
    axis,
    forget,
    made,
    near,
    output,
    put,
    python,
    words,
    workspace,
)

# permissions ---------------------------------------------------------------------------------------------------------

READ_ONLY = """
import os, sys
from pathlib import Path
from memoryd.errors import MemorydError
from memoryd.model import Filter
from memoryd.store import sql
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from memoryd.query_syntax import parse_query
from memoryd.model import Workspace
from tests.store.kit import SET, axis, by_words, nearest, put

if len(sys.argv) > 3:  # only now: another user may have no right to read the interpreter or the package
    sql.load("sqlite"), sql.migrations("sqlite"), parse_query("kept")
    os.setgroups([])
    os.setgid(int(sys.argv[3]))
    os.setuid(int(sys.argv[3]))
here, store = Workspace(id=sys.argv[2], name="one"), SqliteStore(SingleFile(Path(sys.argv[1])))
for _ in range(2):
    near = nearest(store, here, SET, axis(0), Filter(), 5)
    print(len(by_words(store, here, parse_query("kept"), Filter(), 5)), len(near))
try:
    store.placement.create(here)
    put(store, here, "more")
except MemorydError as error:
    print("refused:", error)
print(len(by_words(store, here, parse_query("kept"), Filter(), 5)))
store.close()
"""


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[tuple[list[int], Path]]:
    """A user without rights and a directory that it can reach; no user if the tests already run without rights."""
    if os.getuid() != 0:
        yield [], tmp_path
        return
    reachable = Path("/tmp") / f"memoryd-test-{os.getpid()}-{random.getrandbits(32):x}"
    reachable.mkdir(mode=0o755)
    yield [65534], reachable
    for path in (reachable, *reachable.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    shutil.rmtree(reachable)


def prepared(directory: Path, here: Workspace) -> Path:
    file = directory / "memory.db"
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept", axis(0))
    return file


@pytest.mark.process
def test_a_file_in_a_read_only_directory_is_read(unprivileged: tuple[list[int], Path], here: Workspace) -> None:
    user, directory = unprivileged
    file = prepared(directory, here)
    file.chmod(0o444)
    directory.chmod(0o555)
    before = file.read_bytes()
    lines = output(python(READ_ONLY, file, here.id, *user)).splitlines()
    assert lines[:2] == ["1 1", "1 1"]
    assert lines[2].startswith("refused:")
    assert "read-only" in lines[2]
    assert "writable" in lines[2]
    assert lines[3:] == ["1"]
    assert file.read_bytes() == before
    assert [path.name for path in directory.iterdir()] == ["memory.db"]


@pytest.mark.process
def test_a_read_only_file_is_read(unprivileged: tuple[list[int], Path], here: Workspace) -> None:
    user, directory = unprivileged
    file = prepared(directory, here)
    file.chmod(0o444)
    directory.chmod(0o777)
    lines = output(python(READ_ONLY, file, here.id, *user)).splitlines()
    assert lines[:2] == ["1 1", "1 1"]
    assert "read-only" in lines[2]
    assert lines[3:] == ["1"]


@pytest.mark.process
def test_a_read_only_directory_is_read_while_another_user_writes(
    unprivileged: tuple[list[int], Path], here: Workspace
) -> None:
    user, directory = unprivileged
    if not user:
        pytest.skip("takes two users, and so root")
    file = prepared(directory, here)
    directory.chmod(0o755)
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept too", axis(0))  # its log is next to the file now
        for path in directory.iterdir():
            path.chmod(0o644)
        lines = output(python(READ_ONLY, file, here.id, *user)).splitlines()
    assert lines[0] == "2 2"
    assert "read-only" in lines[2]


@pytest.mark.process
def test_a_directory_that_cannot_be_created_is_reported(unprivileged: tuple[list[int], Path], here: Workspace) -> None:
    user, directory = unprivileged
    directory.chmod(0o555)
    code = READ_ONLY.replace("for _ in range(2):", "for _ in ():").rpartition("print(len")[0]
    out = output(python(code, directory / "new" / "memory.db", here.id, *user))
    assert out.startswith("refused:")
    assert "cannot be opened" in out
    assert "which belongs to" in out


def test_too_many_open_files_are_named(tmp_path: Path, here: Workspace) -> None:
    file, (soft, hard) = tmp_path / "memory.db", resource.getrlimit(resource.RLIMIT_NOFILE)
    made(SingleFile(file)).close()
    with closing(SqliteStore(SingleFile(file))) as store:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(StoreError, match=r"too many files open.* raise `ulimit -n`"):
                put(store, here, "text")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        put(store, here, "kept")
        assert words(store, here, "kept") == ["kept"]


def test_a_directory_in_place_of_a_file_is_reported(tmp_path: Path, here: Workspace) -> None:
    with closing(SqliteStore(SingleFile(tmp_path))) as store, pytest.raises(StoreError, match="cannot be opened"):
        put(store, here, "text")


# locks and backups ---------------------------------------------------------------------------------------------------


def test_a_database_that_stays_locked_is_reported(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_MS", 200)
    with closing(made(SingleFile(file))) as store, closing(apsw.Connection(str(file))) as other:
        put(store, here, "earlier")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            StoreBusyError, match=r"Another process kept .* locked for 0\.2 s.*Nothing was stored.*again"
        ):
            put(store, here, "meanwhile")
        assert words(store, here, "earlier meanwhile") == ["earlier"]  # readers are not affected
        other.execute("ROLLBACK")
        put(store, here, "later")
        assert set(words(store, here, "earlier meanwhile later")) == {"earlier", "later"}


def test_a_backup_is_consistent_while_others_write(tmp_path: Path) -> None:
    root, target = tmp_path / "data", tmp_path / "backups" / "all.db"
    places = [workspace("one", "memory.db"), workspace("two", "projects/two.db")]
    stop, parts = threading.Event(), list[float]()
    with closing(made(DataDirectory(root), "normal", places)) as store:
        for place in places:
            register(store, place)
        gone = put(store, places[0], "text deleted", axis(0))
        forget(store, places[0], gone)

        def pairs() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                store.write(places[0], lambda q: [add(q, f"pair{number} {side}") for side in ("left", "right")])  # noqa: B023

        writer = threading.Thread(target=pairs)
        writer.start()
        try:
            assert store.upkeep.backup(target, places, parts.append) > 600
        finally:
            stop.set()
            writer.join(30)
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1.0)
    assert [path.name for path in target.parent.iterdir()] == ["all.db"]
    assert target.read_bytes()[18:20] == b"\1\1"  # the header's read and write version: no write-ahead log
    check_backup(target, places)


def register(store: SqliteStore, place: Workspace) -> None:
    """A registered workspace with 300 records."""
    row = {"id": place.id, "name": place.name, "description": "", "db_path": place.db_path, "now": LATER}
    store.write(None, lambda q: q.run("workspaces.add", **row))
    texts = [f"text {n} of {place.name}" for n in range(300)]
    store.write(place, lambda q: [add(q, text, axis(n % 8), tags=("t",)) for n, text in enumerate(texts)])


def check_backup(target: Path, places: list[Workspace]) -> None:
    with closing(SqliteStore(SingleFile(target))) as copy:
        assert copy.upkeep.problems(None) == []
        rows = copy.read(None, lambda q: q.all("workspaces.all"))
        assert {(row["id"], row["name"], row["db_path"]) for row in rows} == {(p.id, p.name, "") for p in places}
        for place in places:
            found = words(copy, place, "text", Filter(tags=("t",)), 1000)
            assert sorted(found) == sorted(f"text {n} of {place.name}" for n in range(300))
            assert len(near(copy, place, axis(0), limit=1000)) == 300
        assert copy.read(places[0], lambda q: q.one("records.deleted")) == {"number": 1}
        left, right = (words(copy, places[0], side, limit=100_000) for side in ("left", "right"))
        assert {text.split()[0] for text in left} == {text.split()[0] for text in right}


def test_a_workspace_whose_file_is_lost_cannot_be_backed_up(tmp_path: Path) -> None:
    lost, store = workspace("one", "memory.db"), made(DataDirectory(tmp_path / "data"))
    with closing(store), pytest.raises(StoreError, match=r"memory\.db is missing"):
        store.upkeep.backup(tmp_path / "all.db", [lost], lambda _part: None)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_backup_does_not_overwrite(tmp_path: Path, here: Workspace, store: SqliteStore) -> None:
    put(store, here, "text")
    target = tmp_path / "all.db"
    target.write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        store.upkeep.backup(target, [here], lambda _part: None)
    assert target.read_text() == "mine"


def test_a_backup_that_fails_leaves_nothing_behind(tmp_path: Path, here: Workspace, store: SqliteStore) -> None:
    put(store, here, "text")

    def stop(part: float) -> None:
        if part > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.upkeep.backup(tmp_path / "backup" / "all.db", [here], stop)
    assert list((tmp_path / "backup").iterdir()) == []
    store.upkeep.backup(tmp_path / "backup" / "all.db", [here], lambda _part: None)
    assert [path.name for path in (tmp_path / "backup").iterdir()] == ["all.db"]


def test_files_are_private_to_their_owner_or_as_the_umask_says(file: Path, here: Workspace, store: SqliteStore) -> None:
    put(store, here, "text")
    assert stat.S_IMODE(file.stat().st_mode) & 0o022 == 0
