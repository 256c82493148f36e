"""What a machine records of the servers that have taken over, for processes that start later."""

import json
import shutil
import stat
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import conninfo

from memoryd.errors import StoreError
from memoryd.settings import Settings
from memoryd.store import open_store
from memoryd.store.postgres import pool
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.postgres.timelines import Lineage, Timelines
from tests.store.clusters import cluster
from tests.store.kit import put, words, workspace

OLD, NEW, OTHER = Lineage("7", 1), Lineage("7", 2), Lineage("8", 1)


def of(path: Path | None, *, read_only: bool = False) -> Timelines:
    return Timelines(path, read_only=read_only)


def meet(timelines: Timelines, met: Lineage) -> str:
    return timelines.meet(met, timelines.known())


def refused(timelines: Timelines, *met: Lineage) -> list[bool]:
    return [bool(meet(timelines, each)) for each in met]


def kept(file: Path) -> dict[str, int]:
    return {system: known["timeline"] for system, known in json.loads(file.read_text()).items()}


def test_a_process_that_starts_later_knows_the_newest_of_each_system(tmp_path: Path) -> None:
    file = tmp_path / "data" / "timelines.json"
    assert refused(of(file), OLD, OTHER, NEW) == [False, False, False]
    assert "its timeline is older than that of a server that has taken over, 1 instead of 2" in meet(of(file), OLD)
    assert refused(of(file), OTHER) == [False]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_it_is_written_only_when_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    meet(running, NEW)
    before = file.stat().st_ino
    assert refused(running, NEW, OLD) == [False, True]
    running.close()
    assert file.stat().st_ino == before


def test_a_process_learns_from_another_of_the_same_machine(tmp_path: Path) -> None:
    running, other = of(tmp_path / "file"), of(tmp_path / "file")
    assert refused(running, OLD) == [False]
    meet(other, NEW)
    assert refused(running, OLD) == [True]
    assert running.newest("7") == 2


def test_a_running_process_does_not_recreate_a_file_deleted_on_purpose(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    meet(running, NEW)
    file.unlink()
    assert refused(running, OLD) == [True]
    running.acknowledged(NEW, 700, replicated=True)
    running.close()
    assert not file.exists()
    assert refused(of(file), OLD) == [False]


def test_a_read_only_process_reads_it_and_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    assert refused(of(file, read_only=True), NEW) == [False]
    assert not file.exists()
    meet(of(file), NEW)
    assert refused(of(file, read_only=True), OLD) == [True]


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b'{"7": ',
        b"[1]",
        b"null",
        b'{"7": "x"}',
        b'{"7": null}',
        b'{"7": {}}',
        b"\xff",
        b'{"7": 1}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_counts_as_empty(tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "timelines.json"
    file.write_bytes(torn)
    timelines = of(file)
    assert refused(timelines, OLD, NEW, OLD) == [False, False, True]
    assert kept(file) == {"7": 2}
    assert [record.message for record in caplog.records if str(file) in record.message] == [caplog.messages[0]]


def test_if_nothing_can_be_written_the_process_itself_remembers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way of a directory")
    assert refused(of(tmp_path / "file" / "timelines.json"), OLD, NEW, OLD) == [False, False, True]
    assert len(caplog.messages) == 1


# what was acknowledged -----------------------------------------------------------------------------------------------


def at(timeline: int, end: int | None) -> Lineage:
    return Lineage("7", timeline, end)


def test_a_server_whose_log_ends_before_an_acknowledged_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    assert refused(running, at(1, 0x5000000)) == [False]
    running.acknowledged(at(1, None), 0x5A00000, replicated=False)
    assert refused(running, at(1, 0x5A00000), at(1, 0x6000000)) == [False, False]
    lost = meet(running, at(1, 0x59FFFFF))
    assert "lost the last of what was stored: its log ends at 0/59FFFFF, that of acknowledged writes at 0/5A0" in lost
    assert meet(of(file), at(1, 0x59FFFFF)) == lost


def test_what_others_store_while_a_server_is_asked_is_not_lost(tmp_path: Path) -> None:
    running = of(tmp_path / "timelines.json")
    assert refused(running, at(1, 100)) == [False]
    before = running.known()
    running.acknowledged(at(1, None), 300, replicated=True)
    assert running.meet(at(1, 200), before) == ""
    assert refused(running, at(1, 200)) == [True]


def test_a_server_that_has_lost_writes_stays_refused_when_its_log_has_grown(tmp_path: Path) -> None:
    file, running = tmp_path / "timelines.json", of(tmp_path / "timelines.json")
    restored, right = replace(at(1, 100), address="one:5432"), replace(at(1, 300), address="two:5432")
    meet(running, restored)
    running.acknowledged(restored, 200, replicated=False)
    lost = meet(running, replace(restored, end=150))
    grown = replace(restored, end=250)
    assert "its log ends at 0/96, that of acknowledged writes at 0/C8" in lost
    assert [meet(running, grown), meet(of(file), grown)] == [lost, lost]
    running.acknowledged(right, 300, replicated=False)
    running.close()
    assert meet(of(file), replace(grown, end=400)) == lost
    assert refused(of(file), right, replace(restored, end=None), replace(grown, timeline=2, end=400)) == [False] * 3


def test_what_was_acknowledged_is_kept_when_a_process_ends(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    meet(running, at(1, 100))
    running.acknowledged(at(1, None), 200, replicated=False)
    assert refused(of(file), at(1, 150)) == [False]
    running.close()
    assert refused(of(file), replace(at(1, 150), address="other"), at(1, 200)) == [True, False]


def test_a_server_that_took_over_with_all_that_was_acknowledged_has_lost_nothing() -> None:
    running = of(None)
    running.acknowledged(at(1, None), 200, replicated=True)
    took_over = replace(at(2, 300), recovered=200)
    assert refused(running, took_over) == [False]
    running.acknowledged(took_over, 400, replicated=True)
    assert refused(running, replace(took_over, end=400), replace(took_over, end=350)) == [False, True]


def test_a_standby_may_be_behind() -> None:
    running = of(None)
    running.acknowledged(at(1, None), 200, replicated=True)
    assert refused(running, at(1, None), at(2, None)) == [False, False]


@pytest.mark.parametrize("replicated", [True, False])
def test_a_standby_that_takes_over_without_the_last_writes_is_refused_if_it_had_to_have_them(
    replicated: bool, caplog: pytest.LogCaptureFixture
) -> None:
    running = of(None)
    running.acknowledged(at(1, None), 200, replicated=replicated)
    assert refused(running, replace(at(2, 250), recovered=150)) == [replicated]
    assert bool(running.lost("7")) is not replicated
    assert ("timeline 2 has taken over, but it has lost the last of what was stored" in caplog.text) is not replicated
    running.acknowledged(at(2 - replicated, None), 160, replicated=False)
    assert refused(running, at(2, 170)) == [replicated]


@pytest.mark.process
def test_a_server_restored_from_an_old_copy_is_refused_until_a_person_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    known, here = tmp_path / "timelines.json", workspace()
    with cluster() as server, closing(PostgresStore(server.url, timelines=known)) as store:
        put(store, here, "in the copy")
        server.stop()
        subprocess.run(["cp", "-a", server.data, tmp_path / "copy"], check=True)
        server.start()
        put(store, here, "after the copy")
        server.stop()
        shutil.rmtree(server.data)
        subprocess.run(["cp", "-a", tmp_path / "copy", server.data], check=True)
        server.start()
        for access in (lambda: put(store, here, "lost"), lambda: words(store, here, "copy")) * 2:
            with pytest.raises(StoreError, match=rf"lost the last of what was stored.* delete {known} and restart"):
                access()
            server.ask(f"SELECT pg_logical_emit_message(false, 'other', repeat('x', {1 << 17}))")
        store.close()
        with closing(PostgresStore(server.url, timelines=known)) as later, pytest.raises(StoreError, match="has lost"):
            put(later, here, "lost by a process that starts later")
        known.unlink()
        with closing(PostgresStore(server.url, timelines=known)) as meant:
            put(meant, here, "on purpose")
        assert sorted(server.ask("SELECT body FROM records")) == ["in the copy", "on purpose"]


def test_it_is_in_the_data_directory(url: str, tmp_path: Path) -> None:
    one = conninfo.conninfo_to_dict(url)
    several = conninfo.make_conninfo("", **one | {"host": f"{one['host']},{one['host']}"})
    for given in (url, several):
        file = tmp_path / f"data{len(given)}" / "postgres-timelines.json"
        settings = Settings.read({"MEMORY_DATABASE_URL": given, "MEMORY_DATA_DIR": str(file.parent)})
        with closing(open_store(settings)) as store:
            assert ", timeline 1, " in store.upkeep.describe()
        assert list(kept(file).values()) == [1]
