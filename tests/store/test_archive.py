"""The effects of archiving, restoring and erasing a workspace on files and rows."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Queries
from memoryd.store.sqlite.connection import equipped
from memoryd.store.sqlite.file import move
from memoryd.store.sqlite.layout import DataDirectory, SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import NOW, add, axis, forget, made, put, value, words, workspace

KEPT_ON_PURPOSE = {"put_away", "embedding_tombstones"}


@pytest.fixture
def one() -> Workspace:
    return workspace("one", "projects/1.db")


@pytest.fixture
def shared() -> tuple[Workspace, Workspace]:
    return workspace("left", "memory.db"), workspace("right", "memory.db")


@pytest.fixture
def several(tmp_path: Path, one: Workspace, shared: tuple[Workspace, Workspace]) -> Iterator[SqliteStore]:
    """A store in a data directory, with a text in each of its workspaces."""
    with closing(made(DataDirectory(tmp_path), "normal", (one, *shared))) as store:
        for place in (one, *shared):
            put(store, place, f"text in {place.name}", axis(0), tags=("t",))
        yield store


def within(store: SqliteStore, verb: Callable[[Queries, Workspace], str | None], place: Workspace) -> str | None:
    """Call a method of the placement in a transaction of the registry, as it requires."""
    return store.write(None, lambda q: verb(q, place))


def files(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and not p.match("_meta.db*"))


# files of their own --------------------------------------------------------------------------------------------------


def test_a_separate_file_is_moved_completely(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    assert not several.placement.is_archived(one)
    assert within(several, several.placement.archive, one) == "archive/1.db"
    assert [path for path in files(tmp_path) if "memory.db" not in path] == ["archive/1.db"]
    assert value(tmp_path / "archive/1.db", "SELECT body FROM records") == "text in one"
    assert value(tmp_path / "archive/1.db", "PRAGMA journal_mode") == "delete"
    assert within(several, several.placement.restore, workspace_at(one, "archive/1.db")) == "projects/1.db"
    assert words(several, one, "text") == ["text in one"]
    put(several, one, "more")
    assert value(tmp_path / "projects/1.db", "PRAGMA journal_mode") == "wal"


def workspace_at(place: Workspace, db_path: str) -> Workspace:
    return Workspace(id=place.id, name=place.name, db_path=db_path)


def test_a_process_that_does_not_know_yet_can_read_the_moved_file_and_cannot_write(
    several: SqliteStore, one: Workspace
) -> None:
    within(several, several.placement.archive, one)
    assert words(several, one, "text") == ["text in one"]
    assert several.upkeep.problems(one) == []
    with pytest.raises(StoreError, match=r'project "one" was archived or deleted.*Nothing was stored.*restore it'):
        put(several, one, "too late")
    assert words(several, one, "text late") == ["text in one"]


def test_a_file_in_the_archive_is_open_only_while_it_is_read(
    tmp_path: Path, several: SqliteStore, one: Workspace
) -> None:
    within(several, several.placement.archive, one)
    assert words(several, one, "text") == ["text in one"]
    assert [path for path in files(tmp_path) if "memory.db" not in path] == ["archive/1.db"]
    assert move(tmp_path / "archive/1.db", tmp_path / "elsewhere.db")


def test_each_step_can_be_repeated(several: SqliteStore, one: Workspace) -> None:
    for place in (one, workspace_at(one, "archive/1.db")):
        assert within(several, several.placement.archive, place) == "archive/1.db"
    assert several.placement.is_archived(workspace_at(one, "archive/1.db"))
    assert not several.placement.is_archived(one), "the registry does not know yet where it is"
    for place in (workspace_at(one, "archive/1.db"), one):
        assert within(several, several.placement.restore, place) == "projects/1.db"
    for _ in range(2):
        within(several, several.placement.erase, one)


def test_nothing_is_overwritten(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/1.db").write_text("somebody's")
    assert within(several, several.placement.archive, one) == "projects/1.db"
    assert (tmp_path / "archive/1.db").read_text() == "somebody's"
    assert words(several, one, "text") == ["text in one"]


@pytest.mark.slow
def test_a_thread_that_is_reading_is_not_disturbed(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    reading, go_on, seen = threading.Event(), threading.Event(), list[int]()

    def look(queries: Queries) -> None:
        reading.set()
        go_on.wait(30)
        seen.append(len(queries.all("memories.recent", kind="memory", session="", limit=9)))

    thread = threading.Thread(target=several.read, args=(one, look))
    thread.start()
    reading.wait(30)
    assert within(several, several.placement.archive, one) == "projects/1.db"
    go_on.set()
    thread.join(30)
    assert seen == [1]
    assert within(several, several.placement.archive, one) == "archive/1.db"


def test_a_read_that_ends_soon_is_waited_for(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    reading = threading.Event()

    def look(_: Queries) -> None:
        reading.set()
        time.sleep(0.2)

    thread = threading.Thread(target=several.read, args=(one, look))
    thread.start()
    assert reading.wait(10)
    assert within(several, several.placement.archive, one) == "archive/1.db"
    thread.join()
    assert [path for path in files(tmp_path) if "memory.db" not in path] == ["archive/1.db"]


def test_a_lost_file_is_left_to_the_doctor(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    within(several, several.placement.archive, one)
    (tmp_path / "archive/1.db").unlink()
    lost = workspace_at(one, "archive/1.db")
    assert within(several, several.placement.archive, lost) == "archive/1.db"
    assert several.placement.is_archived(lost)
    with pytest.raises(StoreError, match=r"1\.db is missing"):
        within(several, several.placement.restore, lost)
    within(several, several.placement.erase, lost)


@pytest.mark.parametrize("archived", [True, False])
def test_erasing_removes_the_file_with_its_log(
    tmp_path: Path, several: SqliteStore, one: Workspace, archived: bool
) -> None:
    if archived:
        within(several, several.placement.archive, one)
    within(several, several.placement.erase, one)
    assert [path for path in files(tmp_path) if "memory.db" not in path] == []


def test_a_lost_registry_is_detected_by_archived_files_too(tmp_path: Path, one: Workspace) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/1.db").touch()
    with closing(SqliteStore(DataDirectory(tmp_path))) as store, pytest.raises(StoreError, match=r"_meta\.db is miss"):
        store.placement.exists()


# files that are shared -----------------------------------------------------------------------------------------------


def test_in_a_shared_file_one_is_archived_and_the_other_stays_usable(
    tmp_path: Path, several: SqliteStore, shared: tuple[Workspace, Workspace]
) -> None:
    left, right = shared
    assert within(several, several.placement.archive, left) == "memory.db"
    assert (several.placement.is_archived(left), several.placement.is_archived(right)) == (True, False)
    with pytest.raises(StoreError, match=r'"left" was archived'):
        put(several, left, "too late")
    put(several, right, "more text")
    assert words(several, left, "text") == ["text in left"]
    assert within(several, several.placement.restore, left) == "memory.db"
    put(several, left, "more")
    assert (tmp_path / "memory.db").exists()


def test_a_refused_write_does_not_affect_those_that_share_its_commit(
    several: SqliteStore, shared: tuple[Workspace, Workspace]
) -> None:
    left, right = shared
    within(several, several.placement.archive, left)
    entered, go_on, raised = threading.Event(), threading.Event(), list[str]()

    def slow(queries: Queries) -> None:
        entered.set()
        go_on.wait(30)
        add(queries, "slow text")

    def late() -> None:
        with pytest.raises(StoreError) as caught:
            put(several, left, "too late")
        raised.append(str(caught.value))

    threads = [
        threading.Thread(target=several.write, args=(right, slow)),
        threading.Thread(target=late),
        threading.Thread(target=put, args=(several, right, "quick text")),
    ]
    threads[0].start()
    entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(raised) == 1
    assert set(words(several, right, "slow quick")) == {"slow text", "quick text"}


@pytest.mark.parametrize("alone", [True, False])
def test_erasing_empties_every_table_and_leaves_other_workspaces(tmp_path: Path, alone: bool) -> None:
    left, right = workspace("left", "memory.db"), workspace("right", "memory.db")
    where = SingleFile(tmp_path / "memory.db") if alone else DataDirectory(tmp_path)
    with closing(made(where, "normal", (left, right))) as store:
        for place in (left, right):
            fill(store, place)
        before = rows_of(tmp_path / "memory.db", right)
        assert all(before.values()), before
        within(store, store.placement.archive, left)
        within(store, store.placement.erase, left)
        after = rows_of(tmp_path / "memory.db", left)
        assert {table for table, number in after.items() if number} <= KEPT_ON_PURPOSE
        assert rows_of(tmp_path / "memory.db", right) == before
        assert store.upkeep.problems(right) == []
        assert words(store, right, "living") == ["a living text"]
        with pytest.raises(StoreError, match="was archived or deleted"):
            put(store, left, "too late")


def fill(store: SqliteStore, place: Workspace) -> None:
    """Add a row to each table that belongs to a workspace."""
    put(store, place, "a living text", axis(0), tags=("t",))
    forget(store, place, put(store, place, "a deleted text", axis(1), tags=("t",)))
    with closing(equipped(apsw.Connection(str(store.layout.path(place))))) as other:
        record = other.execute("SELECT id FROM records WHERE workspace_id = ? AND deleted_at IS NULL", (place.id,)).get
        row = {"w": place.id, "id": record, "now": NOW}
        for statement in (
            "INSERT INTO entity_details VALUES (:w, :id, NULL, 0)",
            "INSERT INTO observation_details VALUES (:w, :id, 0, :id)",
            "INSERT INTO interaction_details VALUES (:w, :id, 0, 0)",
            "INSERT INTO summary_details (workspace_id, id, memory_count) VALUES (:w, :id, 1)",
            "INSERT INTO versions VALUES (:w, :id, :now, NULL, 'earlier text', '[]', .5, '', '')",
            "INSERT INTO relations VALUES (:w, :id, :id, :id, 'is', :now, NULL)",
            "INSERT INTO perspectives VALUES (:w, 'own', '{text}')",
            "INSERT INTO synced VALUES (:w, 'commit', 1)",
            "INSERT INTO events (workspace_id, at, operation, subject) VALUES (:w, :now, 'create', :id)",
        ):
            other.execute(statement, row)


def rows_of(file: Path, place: Workspace) -> dict[str, int]:
    """Return the number of rows of a workspace in each table."""
    with closing(apsw.Connection(str(file))) as connection:
        tables = connection.execute(
            "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'workspace_id' "
            "WHERE m.type = 'table' AND m.name <> 'put_away'"
        ).fetchall()
        return {
            str(name): connection.execute(f"SELECT count(*) FROM {name} WHERE workspace_id = ?", (place.id,)).get
            for (name,) in tables
        }


# backups -------------------------------------------------------------------------------------------------------------


def test_a_backup_keeps_archived_workspaces_archived(
    tmp_path: Path, several: SqliteStore, one: Workspace, shared: tuple[Workspace, Workspace]
) -> None:
    for place in (one, *shared):
        row = {"id": place.id, "name": place.name, "description": "", "db_path": place.db_path, "now": NOW}
        several.write(None, lambda q: q.run("workspaces.add", **row))  # noqa: B023
    for place in (one, shared[0]):
        within(several, several.placement.archive, place)
        several.write(None, lambda q: q.run("workspaces.mark", id=place.id, status="archived", now=NOW))  # noqa: B023
    several.upkeep.backup(tmp_path / "backup.db", [one, *shared], lambda _part: None)
    with closing(SqliteStore(SingleFile(tmp_path / "backup.db"))) as copy:
        for place in (one, shared[0]):
            assert words(copy, place, "text") == [f"text in {place.name}"]
            with pytest.raises(StoreError, match="was archived"):
                put(copy, place, "too late")
            within(copy, copy.placement.restore, place)
            put(copy, place, "more")
        put(copy, shared[1], "more")


# moving --------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_open_is_not_moved(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    source, target = tmp_path / "projects/1.db", tmp_path / "target.db"
    assert not move(source, target), "this store has it open"
    assert next(path for path in files(tmp_path) if "1.db" in path) == "projects/1.db"
    several.close()
    with closing(apsw.Connection(str(source))) as reader:
        reader.execute("SELECT count(*) FROM records").fetchall()
        assert not move(source, target)
    assert move(source, target)
    assert value(target, "SELECT body FROM records") == "text in one"


def test_an_opening_while_a_file_is_moved_waits_and_then_finds_it(
    several: SqliteStore, one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, found, threads = Path.replace, list[list[str]](), list[threading.Thread]()

    def slow(path: Path, target: Path) -> Path:
        threads.append(threading.Thread(target=lambda: found.append(words(several, one, "text"))))
        threads[0].start()
        threads[0].join(0.2)  # it has opened the file, which still has its old name, and waits for the lock
        return real(path, target)

    monkeypatch.setattr(Path, "replace", slow)
    within(several, several.placement.archive, one)
    threads[0].join(30)
    assert found == [["text in one"]]


def test_restoring_a_file_that_is_being_read_is_busy(tmp_path: Path, several: SqliteStore, one: Workspace) -> None:
    within(several, several.placement.archive, one)
    with closing(apsw.Connection(str(tmp_path / "archive/1.db"))) as reader:
        reader.execute("BEGIN; SELECT count(*) FROM records")
        with pytest.raises(StoreBusyError, match="try again"):
            within(several, several.placement.restore, one)
    assert within(several, several.placement.restore, one) == "projects/1.db"
