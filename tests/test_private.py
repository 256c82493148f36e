"""Other users of the machine cannot read what memoryd stores, whatever the umask."""

import logging
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryd import private
from memoryd.core.admin.doctor import Doctor
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.models.workplace import workplace
from memoryd.settings import Settings, user_data
from tests.core.kit import NONE, engine, memories
from tests.test_disk import backup, export, ignored, journal, noted

pytestmark = [
    pytest.mark.files,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes"),
]


@pytest.fixture(autouse=True)
def _usual() -> Iterator[None]:
    """Set the umask of most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def loose(home: Path) -> dict[str, str]:
    """Return the paths that others may access, with their modes."""
    return {
        path.relative_to(home.parent).as_posix(): oct(mode(path))
        for path in (home, *home.rglob("*"))
        if mode(path) & 0o077
    }


def test_everything_written_is_private_to_the_user(tmp_path: Path) -> None:
    home = tmp_path / "new" / "data"
    with engine(home) as here:
        memories(here).store("a secret")
        here.workspaces.create("one")
        for act in (export, journal, backup, noted):
            act(home)
        names = {path.name for path in home.rglob("*")}
        assert {"memory.db-wal", "memory.db-shm", "_meta.db-wal", "backup.db", "all.jsonl", "turns.jsonl"} <= names
        assert loose(home.parent) == {}
        here.workspaces.archive("one")
    assert list((home / "archive").iterdir())
    assert loose(home.parent) == {}


def test_a_single_file_is_private_and_its_directory_unchanged(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    with engine(tmp_path / "data", MEMORY_DB_PATH=str(shared / "x.db")) as here:
        memories(here).store("a secret")
        assert {path.name: mode(path) for path in shared.iterdir()} == dict.fromkeys(
            ["x.db", "x.db-wal", "x.db-shm"], 0o600
        )
    assert mode(shared) == 0o755


def opened_up(home: Path) -> None:
    """Create a data directory as an older version left it under this umask."""
    with engine(home) as here:
        memories(here).store("a secret")
        here.workspaces.create("one")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_readable_directory_becomes_private_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "data"
    opened_up(home)
    for _ in range(2):
        with engine(home) as here:
            assert [hit.record.body for hit in memories(here).recent(10)] == ["a secret"]
    assert loose(home) == {}
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert str(home) in warning
    assert "now only this user can" in warning


def test_files_of_others_stay_unchanged(tmp_path: Path) -> None:
    home, foreign = tmp_path / "data", tmp_path / "data" / "site" / "index.html"
    opened_up(home)
    foreign.parent.mkdir(0o755)
    foreign.write_text("for all")
    with engine(home) as here:
        memories(here).store("more")
    assert set(loose(home)) == {"data", "data/site", "data/site/index.html"}


def test_a_world_writable_directory_stays_unchanged(tmp_path: Path) -> None:
    home = tmp_path / "tmp"
    home.mkdir()
    home.chmod(0o1777)
    with engine(home) as here:
        memories(here).store("a secret")
        assert set(loose(home)) == {"tmp"}
    assert mode(home) == 0o1777


def test_a_link_to_a_data_directory_is_followed_and_links_in_it_are_not(tmp_path: Path) -> None:
    home, link, elsewhere = tmp_path / "data", tmp_path / "link", tmp_path / "elsewhere"
    opened_up(home)
    elsewhere.mkdir(0o755)
    (home / "exports").symlink_to(elsewhere)
    link.symlink_to(home)
    with engine(link) as here:
        memories(here).store("more")
    assert mode(home) == 0o700
    assert mode(elsewhere) == 0o755


@pytest.mark.parametrize(
    ("before", "after"),
    [(0o644, 0o600), (0o666, 0o660), (0o664, 0o660), (0o660, 0o660), (0o640, 0o640), (0o444, 0o444)],
)
def test_a_single_file_keeps_the_group_that_its_owner_gave_it(tmp_path: Path, before: int, after: int) -> None:
    file = tmp_path / "x.db"
    with engine(tmp_path / "data", MEMORY_DB_PATH=str(file)) as here:
        memories(here).store("a secret")
    file.chmod(before)
    with engine(tmp_path / "data", MEMORY_DB_PATH=str(file)) as here:
        memories(here).recent(1)
    assert mode(file) == after


def test_a_directory_that_others_may_only_traverse_stays_unchanged(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with engine(home) as here:
        memories(here).store("a secret")
    home.chmod(0o711)  # for the account of a Postgres that root runs
    with engine(home) as here:
        memories(here).recent(1)
    assert mode(home) == 0o711
    assert private.exposed(home) == []


def test_the_data_directory_is_private_if_models_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    with workplace(user_data() / "models"):
        pass
    assert mode(user_data()) == 0o700


def test_a_user_without_a_home_can_name_the_model_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # an account without an entry, as in a container
    with pytest.raises(InvalidInputError):
        user_data()
    with workplace(tmp_path / "models") as place:
        assert place.is_dir()


def test_doctor_does_not_warn_about_an_unused_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with engine(tmp_path / "data") as here:
        assert not [one for one in Doctor(here, ignored).examine().findings if "read it" in one.problem]


def test_doctor_reports_directories_that_it_cannot_make_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "data"
    opened_up(home)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # not the owner
    with closing(Engine(Settings.read({"MEMORY_DATA_DIR": str(home), **NONE}), fetch=False)) as here:
        findings = Doctor(here, ignored).examine().findings
    assert str(home) in {finding.subject for finding in findings if "other users" in finding.problem}
    assert mode(home) == 0o755


def test_a_directory_that_its_owner_shares_with_a_group_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "volume"
    home.mkdir()
    (home / "memory.db").touch()
    owner = home.stat().st_uid
    for mode, owned, found in ((0o770, False, False), (0o770, True, True), (0o775, False, True)):
        home.chmod(mode)
        monkeypatch.setattr(os, "geteuid", lambda owned=owned: owner if owned else owner + 1)
        assert bool(private.exposed(home)) == found
