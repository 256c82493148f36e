"""Commands whose streams are closed or empty, as under a service manager or cron."""

import errno
import io
import os
import sys
from pathlib import Path

import pytest

from memoryd import cli
from tests.clients import NO_MODELS


@pytest.mark.parametrize(("arguments", "code"), [(["store"], 2), (["store", "Tea is green.", "--json"], 0)])
def test_a_command_does_its_work_though_its_streams_are_closed(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ({"MEMORY_DATA_DIR": str(tmp_path)} | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr(sys, "argv", ["memoryd", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()
    assert ended.value.code == code


class FullDisk(io.StringIO):
    """A file on a disk that takes nothing more."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["recall", "--help"], ["store", "Tea is green."]])
def test_what_cannot_be_printed_is_said_in_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ({"MEMORY_DATA_DIR": str(tmp_path)} | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr(sys, "argv", ["memoryd", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[Errno 28] No space left on device")
    assert ("stays changed" in line) == (arguments[0] == "store")
