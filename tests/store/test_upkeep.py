"""The store on SQLite when things go wrong: lost files, closing, slow files, damaged vectors, programming errors."""

import os
import threading
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Filter, Workspace
from memoryd.store.base import Queries, visible
from memoryd.store.sqlite import connection, vector_index
from memoryd.store.sqlite.connection import SqliteQueries
from memoryd.store.sqlite.file import SqliteFile
from memoryd.store.sqlite.layout import DataDirectory, SingleFile
from memoryd.store.sqlite.search import WEIGHTS
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import (
    SET,
    axis,
    cosines,
    made,
    near,
    nearest,
    purge,
    put,
    together,
    value,
    vectors_of,
    words,
    workspace,
)


def sql(store: SqliteStore, statement: str, *values: object) -> None:
    def work(queries: Queries) -> None:
        assert isinstance(queries, SqliteQueries)
        queries.connection.execute(statement, values)

    store.write(None, work)


# lost files ----------------------------------------------------------------------------------------------------------


def test_only_create_makes_a_file(tmp_path: Path) -> None:
    place = workspace("one", "projects/one.db")
    with closing(SqliteStore(DataDirectory(tmp_path / "data"))) as store:
        assert not store.placement.exists()
        for access in (
            lambda: put(store, place, "x"),
            lambda: words(store, place, "x"),
            lambda: store.upkeep.problems(None),
        ):
            with pytest.raises(StoreError, match=r"is missing.*Nothing was stored.*Put the file back"):
                access()
        assert not (tmp_path / "data").exists()
        store.placement.create(None)
        store.placement.create(place)
        store.placement.create(place)
        assert store.placement.exists()
        put(store, place, "kept")
        assert words(store, place, "kept") == ["kept"]


@pytest.mark.files
@pytest.mark.parametrize("kind", ["own", "single"])
def test_a_database_that_is_emptied_takes_nothing(tmp_path: Path, kind: str) -> None:
    own = kind == "own"
    layout = DataDirectory(tmp_path / "data") if own else SingleFile(tmp_path / "all.db")
    place = workspace("one", "projects/one.db" if own else "")
    file = layout.path(place)
    beside = file.with_name(f"{file.name}-wal")
    with closing(made(layout, places=[place])) as store:
        put(store, place, "kept")
        log = beside.read_bytes()
        store.upkeep.scrub(place)
        os.truncate(file, 0)
        for access in (lambda: put(store, place, "lost"), lambda: store.upkeep.problems(place)):
            with pytest.raises(StoreError, match=r"is empty.*Nothing was stored by this call"):
                access()
    beside.write_bytes(log)  # as if the process had been killed, and the file emptied then
    with closing(SqliteStore(layout)) as store:
        with pytest.raises(StoreError, match=r"is empty.*Nothing was stored by this call"):
            put(store, place, "lost")
        if not own:
            with pytest.raises(StoreError, match=r"is empty.*Nothing was stored by this call"):
                store.placement.create(None)
    assert not file.stat().st_size
    assert beside.read_bytes() == log


# the end and the beginning -------------------------------------------------------------------------------------------


def test_a_job_that_comes_after_the_end_is_refused(file: Path, here: Workspace) -> None:
    database = SqliteFile(file, "NORMAL")
    database.open(create=True)
    assert database.write(here, lambda _: 1) == 1
    database.close()
    raised = together(lambda _: database.write(here, lambda _q: 1), 2)
    assert [str(error) for error in raised] == ["The store is closed."] * 2
    with pytest.raises(StoreError, match="closed"):
        database.open()


def test_threads_that_write_while_it_closes_are_all_answered(file: Path, here: Workspace) -> None:
    for _ in range(20):
        store = made(SingleFile(file), "normal")
        before = int(str(value(file, "SELECT count(*) FROM records")))
        stored = list[str]()

        def work(number: int, store: SqliteStore = store, stored: list[str] = stored) -> None:
            if number == 0:
                store.close()
                return
            stored.extend(put(store, here, f"text {number} {turn}") for turn in range(5))

        assert {str(error) for error in together(work, 8)} <= {"The store is closed."}
        assert value(file, "SELECT count(*) FROM records") == before + len(stored)


def test_a_file_that_is_slow_to_open_does_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = workspace("slow", "slow.db"), workspace("quick", "quick.db")
    with closing(made(DataDirectory(tmp_path), "normal", [slow, quick])) as store:
        put(store, slow, "kept")
    entered, release = threading.Event(), threading.Event()
    real = SqliteFile._open_writer

    def wait(database: SqliteFile, create: bool) -> apsw.Connection:
        if database.path.name == "slow.db":
            entered.set()
            assert release.wait(30)
        return real(database, create)

    monkeypatch.setattr(SqliteFile, "_open_writer", wait)
    with closing(SqliteStore(DataDirectory(tmp_path), "normal")) as store:
        found: list[str] = []
        reader = threading.Thread(target=lambda: found.extend(words(store, slow, "kept")))
        reader.start()
        assert entered.wait(30)
        writer = threading.Thread(target=put, args=(store, quick, "meanwhile"))
        writer.start()
        writer.join(10)
        waited = writer.is_alive()
        release.set()
        for thread in (reader, writer):
            thread.join(30)
        assert not waited
        assert found == ["kept"]


# checks and backups --------------------------------------------------------------------------------------------------


def test_problems_are_reported_even_if_the_words_cannot_be_checked(
    store: SqliteStore, file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, here, "text")
    with closing(apsw.Connection(str(file))) as other:
        other.execute("INSERT INTO memory_details (workspace_id, id) VALUES ('unknown', 'none')")
    monkeypatch.setattr(connection, "BUSY_MS", 100)
    with closing(SqliteStore(SingleFile(file))) as again, closing(apsw.Connection(str(file))) as other:
        other.execute("BEGIN IMMEDIATE")
        row, unchecked = again.upkeep.problems(here)
    assert "refers to nothing" in row
    assert "the words were not checked: Another process kept" in unchecked
    monkeypatch.setattr(connection, "frozen", lambda path: path.exists())
    store.close()
    with closing(SqliteStore(SingleFile(file))) as frozen:
        row, unchecked = frozen.upkeep.problems(here)
    assert "refers to nothing" in row
    assert "the words were not checked, because that requires writing and the file is read-only" in unchecked


def test_an_incomplete_backup_is_deleted(
    store: SqliteStore, tmp_path: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, here, "text")
    target = tmp_path / "backup" / "all.db"
    with monkeypatch.context() as patch:
        patch.setattr("memoryd.store.sqlite.file.copying", lambda *_: "SELECT 1")
        with pytest.raises(StoreError, match=r"records has 0 rows instead of 1.*deleted.*doctor"):
            store.upkeep.backup(target, [here], lambda _part: None)
    assert list(target.parent.iterdir()) == []


# errors --------------------------------------------------------------------------------------------------------------


def test_programming_errors_are_not_translated(store: SqliteStore, here: Workspace) -> None:
    with pytest.raises(apsw.SQLError):
        sql(store, "SELECT nothing FROM nowhere")
    with pytest.raises(apsw.BindingsError):
        sql(store, "SELECT ?")
    with pytest.raises(apsw.SQLError):
        store.read(here, lambda q: q.all("search.words", match="AND", limit=1, **visible(Filter()), **WEIGHTS))
    put(store, here, "and the writer lives")


def test_a_fault_of_a_whole_batch_reaches_its_caller_and_the_writer_lives(
    store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("memoryd.store.sqlite.file.immediate", lambda _connection: 1 / 0)
        assert {type(error) for error in together(lambda n: put(store, here, f"text {n}"), 4)} == {ZeroDivisionError}
    put(store, here, "later")


def test_a_violated_constraint_is_reported(store: SqliteStore, here: Workspace) -> None:
    put(store, here, "text", id="same")
    with pytest.raises(StoreError, match=r"(?s)would violate a constraint of .*UNIQUE.*Nothing was stored") as raised:
        put(store, here, "text", id="same")
    assert not isinstance(raised.value, StoreBusyError)


# damaged vectors -----------------------------------------------------------------------------------------------------


def test_float16_is_read_as_numpy_reads_it() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    read = vector_index._matrix([{"vector": finite.tobytes()}], len(finite))
    np.testing.assert_array_equal(read[0], finite.astype(np.float32))


DAMAGES = [
    ("vector = ?", axis(0, 5).astype(np.float16)),
    ("vector = ?", b""),
    ("vector = ?", b"odd"),
    ("dim = 4, vector = ?", axis(0, 4).astype(np.float16)),
]


@pytest.mark.parametrize("exact", [10_000, 2])
@pytest.mark.parametrize(("change", "vector"), DAMAGES)
def test_a_damaged_vector_does_not_displace_other_records(
    store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch, exact: int, change: str, vector: object
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    ids = [put(store, here, f"text {n}", axis(n)) for n in range(6)]
    loaded = exact < len(ids)
    if loaded:
        near(store, here, axis(0))  # what is scanned is rescored from the file later
    sql(store, f"UPDATE embeddings SET {change} WHERE seq = 3", vector)
    found = near(store, here, axis(4))
    assert found[0] == "text 4"
    assert set(found) - {"text 2"} == {f"text {n}" for n in range(6) if n != 2}
    assert cosines(store, here, SET, axis(4), ids)[ids[4]] == pytest.approx(1)
    stored = vectors_of(store, here, SET, ids)
    assert list(stored) == sorted(key for key in ids if key != ids[2])
    assert {vector.shape for vector in stored.values()} == {(1, 8)}


def test_no_vector_at_all_is_not_an_error(store: SqliteStore, here: Workspace) -> None:
    assert vectors_of(store, here, SET, [put(store, here, "text")]) == {}
    assert nearest(store, here, SET, axis(0), Filter(), 5) == []
    purge(store, here)
