"""The places of a service's socket, log and memory: full disks, unusual homes, no home."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from memoryd import environment as environment_of
from memoryd.settings import Settings
from tests import forks
from tests.clients import PATIENCE, environment
from tests.commands import REHEARSED
from tests.faults.disks import small
from tests.server.service.kit import ON, begun, connected, gone, state

pytestmark = pytest.mark.process


def fill(file: Path) -> None:
    """Leave only the space that SQLite needs to read two databases: 32 KiB of shared memory each."""
    with file.open("ab", buffering=0) as opened:
        with suppress(OSError):
            while opened.write(bytes(4096)):
                pass
        opened.truncate(opened.tell() - 2 * 40_960)


def test_a_full_disk(tmp_path: Path) -> None:
    with small(tmp_path / "disk") as disk:
        home, ballast = disk / "home", disk / "ballast"
        ballast.write_bytes(bytes(400_000))
        begun(home)
        with connected(home) as one, connected(home) as other:
            stored = 0
            while not (answer := one.call("memory_store", content=f"{stored} {'x' * 9_000}"))["isError"]:
                stored += 1
            assert "full" in json.dumps(answer)
            assert "Nothing was stored by this call" in json.dumps(answer)
            assert other.call("memory_inspect")["structuredContent"]["stats"]["total"] == stored
            with connected(home) as newcomer:
                assert newcomer.call("memory_inspect")["structuredContent"]["stats"]["total"] == stored
            assert state(home)["clients"] == 2
            ballast.unlink()
            assert not other.call("memory_store", content="There is room again.")["isError"]
        gone(home)


def test_a_disk_that_is_full_before_the_service_starts(tmp_path: Path) -> None:
    with small(tmp_path / "disk") as disk:
        home = disk / "home"
        begun(home)
        with connected(home) as wire:
            wire.call("memory_store", content="While there was room.")
        gone(home)
        fill(disk / "all")
        with connected(home) as wire:
            assert "room" in json.dumps(wire.call("memory_recall", query="room"))
            assert wire.call("memory_store", content="x" * 400_000)["isError"]
            (disk / "all").unlink()
            assert not wire.call("memory_store", content="There is room again.")["isError"]


@pytest.mark.parametrize("environ", [{}, {"XDG_RUNTIME_DIR": "/nowhere"}, {"XDG_DATA_HOME": " "}], ids=str)
def test_without_a_home_the_settings_name_the_data_directory(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "MEMORY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    resolved = environment_of.resolved(environment_of.current())["MEMORY_DATA_DIR"]
    assert Path(resolved).resolve() == Settings.read().data_dir.resolve()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")
def test_the_error_for_a_user_without_a_home_names_the_setting(tmp_path: Path) -> None:
    """Containers have such arbitrary users. Only such a user has no home: root becomes one after the imports."""
    script = (
        f"{REHEARSED}\nimport memoryd.server.stdio, memoryd.server.service\nfrom memoryd.__main__ import main\n"
        "rehearse(['recall', 'x'])\nos.setuid(54321)\nmain()"
    )
    environ = {name: value for name, value in (environment(tmp_path / "home") | ON).items() if name != "HOME"}
    del environ["MEMORY_DATA_DIR"]
    tmp_path.chmod(0o777)
    ended = forks.run(
        [sys.executable, "-c", script],
        input="",
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "no home directory" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
