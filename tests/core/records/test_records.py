"""The write side: workspaces, records, merged memories, recall counts, the purge."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any
from unittest.mock import patch

import apsw
import pytest

from memoryd.core.base.background import Worker
from memoryd.core.base.clock import timestamp
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.records import records
from memoryd.core.records.access_counts import Accesses
from memoryd.core.records.retention import WITNESSED, Retention
from memoryd.errors import InvalidInputError, ModelError, StoreError
from memoryd.model import Kind, Record, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries
from memoryd.store.sqlite.placement import SqlitePlacement
from tests.clients import environment, until
from tests.core.kit import engine, memories, never
from tests.forks import Fork
from tests.store.kit import together


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Engine]:
    with engine(tmp_path / "data") as here:
        yield here


def rows(file: Path, statement: str) -> list[Any]:
    with closing(apsw.Connection(str(file))) as connection:
        return connection.execute(statement).fetchall()


# workspaces ----------------------------------------------------------------------------------------------------------

ENSURE = """
import sys
from memoryd.core.engine import Engine
from memoryd.settings import Settings

engine = Engine(Settings.read())
print("ready", flush=True)
for name in sys.stdin:
    print(engine.workspaces.ensure(name.strip()).id, flush=True)
engine.close()
"""


@pytest.mark.process
def test_two_processes_that_first_use_a_workspace_create_one(tmp_path: Path) -> None:
    processes = [
        Fork[str]([sys.executable, "-c", ENSURE], stdin=PIPE, stdout=PIPE, text=True, env=environment(tmp_path))
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    names = [f"space {n}" for n in range(30)]
    made: dict[int, list[str]] = {}

    def work(number: int) -> None:
        made[number] = processes[number].communicate("\n".join(names) + "\n", timeout=60)[0].split()

    assert together(work, 2) == []
    assert made[0] == made[1]
    assert len(set(made[0])) == len(names)
    with Engine(Settings.read(environment(tmp_path))) as here:
        assert len(here.workspaces.all()) == len(names)


def test_threads_that_first_use_a_workspace_create_one(here: Engine) -> None:
    found: list[str] = []
    assert together(lambda _n: found.append(here.workspaces.ensure("one").id), 16) == []
    assert len(set(found)) == 1
    assert [space.name for space in here.workspaces.all()] == ["one"]
    assert here.workspaces.get("none") is None


def test_a_lost_file_is_reported_and_never_recreated(tmp_path: Path) -> None:
    with engine(tmp_path) as one:
        memories(one).store("kept")
    (tmp_path / "memory.db").rename(tmp_path / "elsewhere")
    with engine(tmp_path) as two:
        for name in ("default", "another of the same file"):
            lost = memories(two, name=name)
            for access in (partial(lost.store, "more"), partial(lost.recent, 5)):
                with pytest.raises(StoreError, match=r"memory\.db is missing.*Nothing was stored.*Put the file back"):
                    access()
        assert not (tmp_path / "memory.db").exists()
        (tmp_path / "elsewhere").rename(tmp_path / "memory.db")
        assert [hit.record.body for hit in memories(two).recent(5)] == ["kept"]


def test_a_file_that_is_lost_while_open_accepts_no_writes(tmp_path: Path) -> None:
    with engine(tmp_path) as one:
        memories(one).store("kept")
        (tmp_path / "memory.db").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match=r"memory\.db is missing"):
            memories(one).store("more")


def test_a_read_creates_no_registry(here: Engine, tmp_path: Path) -> None:
    assert here.workspaces.all() == []
    assert here.workspaces.get("default") is None
    here.retention.purge(never)
    assert list(tmp_path.rglob("*.db")) == []


@pytest.mark.parametrize("point", ["_meta.db", "memory.db"])
def test_a_process_that_dies_while_creating_a_workspace_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    real = SqlitePlacement.create

    def die(placement: SqlitePlacement, workspace: Workspace | None) -> None:
        real(placement, workspace)
        if placement.path(workspace).name == point:
            raise KeyboardInterrupt

    with engine(tmp_path) as one, monkeypatch.context() as patch:
        patch.setattr(SqlitePlacement, "create", die)
        with pytest.raises(KeyboardInterrupt):
            memories(one)
    with engine(tmp_path) as two:
        memories(two).store("kept")
        assert len(memories(two).recent(5)) == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "line\nbreak", "null\0", "\u202e"])
def test_invalid_names_are_refused(here: Engine, name: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a valid workspace name"):
        here.workspaces.ensure(name)


@pytest.mark.parametrize("name", ["default", "Ünï cödé 東京", "a/b", "../x", "it's", "x" * 200])
def test_any_other_name_is_accepted(here: Engine, name: str) -> None:
    memories(here, name=name).store("kept")
    assert [hit.record.body for hit in memories(here, name=name).recent(5)] == ["kept"]
    assert memories(here, name="another").recent(5) == []


# records -------------------------------------------------------------------------------------------------------------


def test_a_record_is_written_as_given_and_leaves_events(here: Engine, tmp_path: Path) -> None:
    place = here.workspaces.ensure("default")
    record = Record(id="i", kind=Kind.ENTITY, body="b", name="n", type="t", tags=("x", "y"), session_id="s")
    here.write(place, lambda q: records.add(q, record, None, "t1"))
    here.write(place, lambda q: records.change(q, "i", "b2", ("z",), None, "t2"))
    found = here.store.read(place, lambda q: records.fetch(q, ["i", "none"], ""))
    assert list(found) == ["i"]
    expected = Record(
        id="i",
        kind=Kind.ENTITY,
        body="b2",
        name="n",
        type="t",
        tags=("z",),
        session_id="s",
        created_at="t1",
        updated_at="t2",
    )
    assert found["i"] == expected
    assert here.write(place, lambda q: records.delete(q, ["i"], "t3")) == 1
    assert here.store.read(place, lambda q: records.fetch(q, ["i"], "")) == {}
    events = rows(tmp_path / "data" / "memory.db", "SELECT at, operation, subject FROM events ORDER BY seq")
    assert events == [("t1", "create_entity", "i"), ("t2", "update_entity", "i"), ("t3", "delete_entity", "i")]


def test_the_embedded_text_of_a_record() -> None:
    assert records.text_of("memory", None, "", "body") == records.text_of("memory", "", "", "body") == "body"
    assert records.text_of("observation", "name", "", "body") == "name: body"


# memories ------------------------------------------------------------------------------------------------------------


def test_threads_that_store_the_same_text_create_one_memory(here: Engine, tmp_path: Path) -> None:
    stored: list[tuple[str, str]] = []

    def work(number: int) -> None:
        result = memories(here).store(
            "The same text." if number % 2 else "the same text", [f"tag{number}"], number / 20
        )
        stored.append((result.id, result.status))

    assert together(work, 20) == []
    assert len({key for key, _ in stored}) == 1
    assert sorted(status for _, status in stored) == ["merged"] * 19 + ["stored"]
    (hit,) = memories(here).get([stored[0][0]])
    assert set(hit.record.tags) == {f"tag{n}" for n in range(20)}
    assert hit.record.importance == pytest.approx(19 / 20)
    assert rows(tmp_path / "data" / "memory.db", "SELECT count(*) FROM records") == [(1,)]


def test_what_differs_is_never_merged(here: Engine) -> None:
    texts = ["port 80", "port 81", "not port 80", "Port 80 of Ann", "Port 80 of Bob"]
    assert {memories(here).store(text).status for text in texts} == {"stored"}
    assert len(memories(here).recent(10)) == len(texts)


def test_a_merge_keeps_the_first_time_and_the_greater_importance(here: Engine) -> None:
    first = memories(here).store("It is so.", ["a"], 0.9)
    (before,) = memories(here).get([first.id])
    assert memories(here, "session").store("it is so", ["b", "a"], 0.1).id == first.id
    (after,) = memories(here).get([first.id])
    assert after.record.created_at == before.record.created_at < after.record.updated_at
    assert after.record.tags == ("a", "b")
    assert after.record.importance == 0.9


def test_a_deleted_memory_is_not_merged_with(here: Engine) -> None:
    first = memories(here).store("gone and back")
    memories(here).forget(Criteria(ids=(first.id,)))
    second = memories(here).store("gone and back")
    assert second.status == "stored"
    assert second.id != first.id


def test_the_order_of_writing_is_the_order_of_times(here: Engine) -> None:
    for number in range(20):
        memories(here, "talk").store(f"turn {number}")
    found = [hit.record for hit in memories(here).recent(20)]
    assert [record.body for record in found] == [f"turn {n}" for n in reversed(range(20))]
    assert len({record.created_at for record in found}) == 20


def test_forgetting_before_an_early_time_forgets_nothing(here: Engine) -> None:
    memories(here).store("of today")
    assert memories(here).forget(Criteria(before="0999-01-01"), confirm=True).best == []
    assert memories(here).forget(Criteria(before="2020-01-01T00:00:00+01:00"), confirm=True).best == []
    assert len(memories(here).forget(Criteria(before="2999-01-01"), confirm=True).best) == 1


# recalls -------------------------------------------------------------------------------------------------------------


def count(of: Engine, key: str) -> tuple[int, str | None]:
    (hit,) = memories(of).get([key])
    return hit.record.access_count, hit.record.accessed_at


def written(file: Path, key: str) -> int:
    ((number,),) = rows(file, f"SELECT access_count FROM memory_details WHERE id = '{key}'")
    return int(number)


def test_recalls_are_visible_at_once_and_written_with_the_next_write(here: Engine, tmp_path: Path) -> None:
    file = tmp_path / "data" / "memory.db"
    key = memories(here).store("the quick fox").id
    changes = file.stat().st_mtime_ns
    for _ in range(3):
        memories(here).recall("fox", 500)
    assert count(here, key)[0] == 3
    assert count(here, key)[1] is not None
    assert (written(file, key), file.stat().st_mtime_ns) == (0, changes)
    memories(here).store("something else")
    assert written(file, key) == 3
    assert count(here, key)[0] == 3


def test_recalls_survive_the_close(tmp_path: Path) -> None:
    with engine(tmp_path) as one:
        key = memories(one).store("the quick fox").id
        memories(one, name="other").store("elsewhere")
        memories(one).recall("fox", 500)
        memories(one).context(None, 500)
    assert written(tmp_path / "memory.db", key) == 2
    with engine(tmp_path) as two:
        assert count(two, key)[0] == 2


def test_recalls_of_a_write_that_fails_are_not_lost(here: Engine, tmp_path: Path) -> None:
    key = memories(here).store("the quick fox").id
    memories(here).recall("fox", 500)

    def fail(_queries: Queries) -> None:
        raise StoreError("as planned")

    with pytest.raises(StoreError, match="as planned"):
        here.write(here.workspaces.ensure("default"), fail)
    assert written(tmp_path / "data" / "memory.db", key) == 0
    assert count(here, key)[0] == 1
    memories(here).store("more")
    assert written(tmp_path / "data" / "memory.db", key) == 1


def test_recalls_of_many_threads_add_up(here: Engine) -> None:
    noted, place = Accesses(), here.workspaces.ensure("default")

    def work(_number: int) -> None:
        for turn in range(50):
            noted.note(place, ["a", "b"], f"t{turn:02}")
            noted.give_back(place, noted.take(place))

    assert together(work, 8) == []
    taken = noted.take(place)
    assert {key: one.times for key, one in taken.items()} == {"a": 400, "b": 400}
    assert taken["a"].at == "t49"
    assert noted.take(place) == {}
    assert noted.workspaces() == []


# purge ---------------------------------------------------------------------------------------------------------------


def aged(of: Engine, texts: list[str], days: float) -> list[str]:
    """Add memories that were deleted the given numbers of days ago."""
    ids = [memories(of).store(text).id for text in texts]
    then = timestamp(datetime.now(UTC) - timedelta(days=days))
    of.write(of.workspaces.ensure("default"), lambda q: records.delete(q, ids, then))
    return ids


def purge(of: Engine, days: float) -> None:
    """Purge with a clock that has been right for long enough."""
    keeper = Retention(of.store, of.workspaces, of.clock, of.leases, days)
    for ago in (WITNESSED, timedelta()):
        time = of.clock.ago(ago)
        with patch.object(of.clock, "now", lambda time=time: time):
            keeper.purge(never)


def there(tmp_path: Path) -> set[str]:
    return {key for (key,) in rows(tmp_path / "data" / "memory.db", "SELECT id FROM records")}


def test_the_purge_honours_the_retention(here: Engine, tmp_path: Path) -> None:
    living = memories(here).store("living").id
    old, young = aged(here, ["old"], 31)[0], aged(here, ["young"], 29)[0]
    purge(here, 30)
    assert there(tmp_path) == {living, young}
    purge(here, 0)
    assert there(tmp_path) == {living}
    assert old not in there(tmp_path)
    assert here.store.upkeep.problems(here.workspaces.ensure("default")) == []


def test_the_purge_spares_the_originals_of_a_living_summary(here: Engine, tmp_path: Path) -> None:
    summary = memories(here).store("summary").id
    originals, others = aged(here, ["one", "two"], 90), aged(here, ["three"], 90)
    supersede(here, originals, summary)
    before = here.store.read(here.workspaces.ensure("default"), lambda q: q.one("records.purgeable", before="9999"))
    assert before
    purge(here, 30)
    assert there(tmp_path) == {summary, *originals}
    place = here.workspaces.ensure("default")
    assert here.store.read(place, lambda q: q.one("records.purgeable", before="9999")) is None  # nothing to write again
    memories(here).forget(Criteria(ids=(summary,)))
    purge(here, 0)
    assert there(tmp_path) == set()
    assert others


def supersede(of: Engine, ids: list[str], by: str) -> None:
    file = of.store.placement.path(of.workspaces.ensure("default"))
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(
            "UPDATE memory_details SET superseded_by = ? WHERE id IN (SELECT value FROM json_each(?))",
            (by, json.dumps(ids)),
        )


def test_one_workspace_is_purged(here: Engine, tmp_path: Path) -> None:
    ids = {}
    for name in ("default", "other"):
        ids[name] = memories(here, name=name).store("text").id
        memories(here, name=name).forget(Criteria(ids=(ids[name],)))
    keeper = Retention(here.store, here.workspaces, here.clock, here.leases, 0)
    keeper.purge_workspace(here.workspaces.ensure("other"))
    assert there(tmp_path) == {ids["default"]}


def test_a_purge_is_logged_with_its_time(here: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "memoryd.core.records.retention")
    aged(here, ["old"], 32)
    purge(here, 30)
    (message,) = caplog.messages
    assert message.startswith("purged 1 record(s) of default that were deleted until ")
    purge(here, 30)
    assert caplog.messages == [message]


def purge_later(of: Engine, days: float) -> None:
    later = of.clock.ago(timedelta(days=-days))
    with patch.object(of.clock, "now", lambda: later):
        of.retention.purge(never)


@pytest.mark.parametrize("wrong", [5000, -5000])
def test_a_clock_that_is_wrong_for_less_than_a_day_purges_nothing(here: Engine, tmp_path: Path, wrong: float) -> None:
    old, young = aged(here, ["old"], 32)[0], aged(here, ["young"], 1)[0]
    purge_later(here, 0)
    assert there(tmp_path) == {old, young}, "how long the clock has been right is unknown"
    for days in (wrong, wrong + 0.9, 1):
        purge_later(here, days)
        assert young in there(tmp_path)
    purge_later(here, 2.1)
    assert there(tmp_path) == {young}, "it has been right for a day"


def test_forgotten_records_are_purged_even_if_a_server_rarely_runs(here: Engine, tmp_path: Path) -> None:
    aged(here, ["old"], 20)
    for days in (40, 130):
        purge_later(here, days)
    assert there(tmp_path) == set()


@pytest.mark.slow
def test_what_is_purged_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with engine(tmp_path) as one:
        for number in range(500):
            memories(one).store(f"Memory {number} is about {'Zanzibarquux' if number == 250 else 'some other thing'}.")
    assert b"zanzibarquux" in file.read_bytes().lower()
    with engine(tmp_path, MEMORY_RETENTION_DAYS="0") as one:
        found = memories(one).recall("Zanzibarquux", 500).hits
        memories(one).forget(Criteria(ids=tuple(hit.record.id for hit in found)))
        one.retention.purge(never)
        assert one.store.upkeep.problems(one.workspaces.ensure("default")) == []
    assert b"zanzibarquux" not in file.read_bytes().lower()
    assert {path.name for path in tmp_path.iterdir()} == {"_meta.db", "memory.db"}


@pytest.mark.parametrize("days", ["0", "36500", "1e7"])
def test_any_retention_can_be_kept(tmp_path: Path, days: str) -> None:
    with engine(tmp_path / "data", MEMORY_RETENTION_DAYS=days) as one:
        key = memories(one).store("text").id
        memories(one).forget(Criteria(ids=(key,)))
        one.retention.purge(never)
        assert there(tmp_path) == (set() if days == "0" else {key})


# the worker ----------------------------------------------------------------------------------------------------------


def test_the_worker_survives_a_failing_task_and_stops_in_the_middle() -> None:
    done: list[str] = []

    def failing(_stopping: Any) -> None:
        done.append("failing")
        raise ModelError("as planned")

    def long(stopping: Any) -> None:
        done.append("long")
        until(stopping, "the stop")

    worker = Worker([failing, long])
    worker.start()
    worker.wake()
    until(lambda: done == ["failing", "long"], "both chores")
    worker.stop(30)
    assert worker._thread
    assert not worker._thread.is_alive()
