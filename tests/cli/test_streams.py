"""Commands whose streams are closed or empty, as under a service manager or cron."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd import cli
from tests.clients import NO_MODELS, PATIENCE, environment
from tests.commands import run


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
    """A file on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["recall", "--help"]])
def test_output_that_cannot_be_printed_is_reported_in_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr(sys, "argv", ["memoryd", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.splitlines() == ["[Errno 28] No space left on device"]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_memory_whose_receipt_cannot_be_printed_is_not_reported_as_lost(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ({"MEMORY_DATA_DIR": str(tmp_path)} | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["memoryd", "store", "Tea is green.", *arguments])
    with monkeypatch.context() as full:
        full.setattr(sys, "stdout", FullDisk())
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "could not be written (No space left on device)" in line
    assert "check before you repeat it" in line
    assert "Tea is green." in run(tmp_path, "inspect", "--view", "recent", MEMORY_DATA_DIR=str(tmp_path)).stdout


@pytest.mark.parametrize(
    "command",
    [
        "store",
        "recall",
        "forget",
        "inspect",
        "restore",
        "purge --yes",
        "edit",
        "workspace use",
        "workspace create",
        "workspace include",
        "token create",
        "login set",
        "login remove",
        "token revoke",
        "migrate --to x --from",
    ],
)
def test_bytes_that_are_not_text_are_refused(command: str, tmp_path: Path) -> None:
    ended = run(tmp_path, *command.split(), os.fsdecode(b"gr\xfcn"), MEMORY_DATA_DIR=str(tmp_path / "data"), code=2)
    assert "'gr\\udcfcn' has bytes that are not UTF-8" in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n"), (tmp_path / "data").exists()) == ("", 1, False)


@pytest.mark.parametrize("given", [":memory:", "file:x.db", "sqlite:///x.db"])
def test_an_invalid_path_creates_no_file(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "it names no file" in run(tmp_path, "--db", given, "store", "x", code=2).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_reader_that_closes_the_pipe_causes_no_error(home: Path) -> None:
    run(home, "store", "Tea is green.")
    command = [sys.executable, "-m", "memoryd", "inspect"]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, env=environment(home), timeout=PATIENCE, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (1, b"")
