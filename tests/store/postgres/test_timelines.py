"""What a machine records of the servers that have taken over, for processes that start later."""

import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from psycopg import conninfo

from memoryd.settings import Settings
from memoryd.store import open_store
from memoryd.store.postgres.timelines import Lineage, Timelines

OLD, NEW, OTHER = Lineage("7", 1), Lineage("7", 2), Lineage("8", 1)


def of(path: Path | None, *, read_only: bool = False) -> Timelines:
    return Timelines(path, read_only=read_only)


def test_a_process_that_starts_later_knows_the_newest_of_each_system(tmp_path: Path) -> None:
    file = tmp_path / "data" / "timelines.json"
    assert [of(file).meet(met) for met in (OLD, OTHER, NEW)] == [1, 1, 2]
    assert (of(file).meet(OLD), of(file).meet(OTHER)) == (2, 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_it_is_written_only_when_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    running.meet(NEW)
    before = file.stat().st_ino
    assert [running.meet(met) for met in (NEW, OLD)] == [2, 2]
    assert file.stat().st_ino == before


def test_a_process_learns_from_another_of_the_same_machine(tmp_path: Path) -> None:
    running, other = of(tmp_path / "file"), of(tmp_path / "file")
    assert running.meet(OLD) == 1
    other.meet(NEW)
    assert running.meet(OLD) == running.newest("7") == 2


def test_a_running_process_does_not_recreate_a_file_deleted_on_purpose(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    running = of(file)
    running.meet(NEW)
    file.unlink()
    assert running.meet(OLD) == 2
    assert not file.exists()
    assert of(file).meet(OLD) == 1


def test_a_read_only_process_reads_it_and_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "timelines.json"
    assert of(file, read_only=True).meet(NEW) == 2
    assert not file.exists()
    of(file).meet(NEW)
    assert of(file, read_only=True).meet(OLD) == 2


@pytest.mark.parametrize(
    "torn",
    [b"", b'{"7": ', b"[1]", b"null", b'{"7": "x"}', b'{"7": null}', b"\xff", b'{"7": Infinity}', b"[" * 100_000],
)
def test_a_damaged_file_counts_as_empty(tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "timelines.json"
    file.write_bytes(torn)
    timelines = of(file)
    assert [timelines.meet(OLD), timelines.meet(NEW), timelines.meet(OLD)] == [1, 2, 2]
    assert json.loads(file.read_text()) == {"7": 2}
    assert [record.message for record in caplog.records if str(file) in record.message] == [caplog.messages[0]]


def test_if_nothing_can_be_written_the_process_itself_remembers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way of a directory")
    timelines = of(tmp_path / "file" / "timelines.json")
    assert [timelines.meet(met) for met in (OLD, NEW, OLD)] == [1, 2, 2]
    assert len(caplog.messages) == 1


def test_it_is_in_the_data_directory_if_a_url_names_several_hosts(url: str, tmp_path: Path) -> None:
    one = conninfo.conninfo_to_dict(url)
    several = conninfo.make_conninfo("", **one | {"host": f"{one['host']},{one['host']}"})
    file = tmp_path / "data" / "postgres-timelines.json"
    for given, kept in ((url, False), (several, True)):
        settings = Settings.read({"MEMORY_DATABASE_URL": given, "MEMORY_DATA_DIR": str(file.parent)})
        with closing(open_store(settings)) as store:
            assert (", timeline 1, " in store.upkeep.describe()) is kept
        assert file.exists() is kept
    assert list(json.loads(file.read_text()).values()) == [1]
