"""Models from a hub, used through the optional dependency fastembed. They are downloaded on first use."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from fastembed import TextEmbedding  # type: ignore[import-not-found, unused-ignore]
from fastembed.common.model_description import (  # type: ignore[import-not-found, unused-ignore]
    ModelSource,
    PoolingType,
)
from fastembed.rerank.cross_encoder import TextCrossEncoder  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import NDArray

from memoryd.errors import ModelError
from memoryd.models.base import CHARACTERS, TextEmbedder, clean, unit
from memoryd.models.native import GATE, THREADS, TURNS
from memoryd.models.onnx import GRAPH_ERRORS
from memoryd.models.weights import place
from memoryd.settings import Settings
from memoryd.text import is_latin

DEFAULT = "BAAI/bge-base-en-v1.5"
DEFAULT_RERANKER = "Xenova/ms-marco-MiniLM-L-6-v2"

_XENOVA = "Xenova/"
"""The owner of the model conversions that seed d names; their files are:"""
_FILES = {"q8": "onnx/model_quantized.onnx", "fp16": "onnx/model_fp16.onnx", "fp32": "onnx/model.onnx"}

_POOLING = {
    "bge-": PoolingType.CLS,
    "all-minilm-": PoolingType.MEAN,
    "gte-": PoolingType.MEAN,
    "multilingual-e5-": PoolingType.MEAN,
}
"""The pooling of model families, by the start of their names; from their model cards."""

_DIMS = {"multilingual-e5-small": 384}
"""The dimensions of models that fastembed does not list; from their model cards."""

_ERRORS = (OSError, ValueError, RuntimeError, KeyError, *GRAPH_ERRORS)
_NEXT = "Check the model's name, the network and the free disk space."


class FastEmbedder(TextEmbedder):
    """A model of fastembed: see Embedder. `Xenova/NAME` means fastembed's own copy of NAME if it has one."""

    def __init__(self, model: str, settings: Settings) -> None:
        model, _, dtype = (model or DEFAULT).partition("@")  # the embedder's own name, with @dtype, is a valid spec too
        dtype = (dtype or settings.embedding_dtype or "").lower()
        super().__init__("fastembed", f"{model}@{dtype}" if dtype else model)
        name = _with_dtype(model, dtype) if dtype else _own_name(model)
        try:
            self._model = TextEmbedding(name, _cache(settings), THREADS)
        except _ERRORS as error:
            raise _failed(name, error) from error
        self._learn_dim()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See Embedder. Some models embed queries differently from passages."""
        asked = self._asked(text)
        vector: NDArray[np.float32] = unit(self._answers(self._model.query_embed, [asked]), 1, self.name)[0]
        return vector

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:  # noqa: ARG002 - a local computation cannot be interrupted
        return self._answers(self._model.passage_embed, texts)

    def _answers(self, embed: Any, texts: list[str]) -> object:
        try:
            with TURNS, GATE:
                return list(embed(texts, batch_size=1))
        except _ERRORS as error:
            raise _failed(self.name, error) from error


class FastReranker:
    """A cross-encoder of fastembed: see Reranker."""

    def __init__(self, model: str, settings: Settings) -> None:
        model = model or DEFAULT_RERANKER
        self.name = f"fastembed:{model}"
        self._english = "ms-marco" in model  # trained on English questions and passages only
        try:
            self._model = TextCrossEncoder(model, _cache(settings), THREADS)
        except _ERRORS as error:
            raise _failed(model, error) from error

    def reads(self, text: str) -> bool:
        return not self._english or is_latin(text)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker. Texts are cut by characters; if a pair is too long, the longer side is cut."""
        cut = [clean(text[: 4 * CHARACTERS]) for text in texts]
        try:
            with TURNS, GATE:
                return [float(score) for score in self._model.rerank(clean(query[:CHARACTERS]), cut, batch_size=1)]
        except _ERRORS as error:
            raise _failed(self.name, error) from error


def _cache(settings: Settings) -> str:
    return str(place(settings, lambda models: (models / "fastembed").is_dir()) / "fastembed")


def _known() -> list[dict[str, Any]]:
    known: list[dict[str, Any]] = TextEmbedding.list_supported_models()
    return known


def _twin(model: str) -> dict[str, Any] | None:
    """Return fastembed's description of `model`; for a Xenova name, also of the same model by another owner."""
    tail = model.lower().removeprefix(_XENOVA.lower())
    for description in _known():
        name = description["model"].lower()
        if name == model.lower() or (model.startswith(_XENOVA) and name.rpartition("/")[2] == tail):
            return description
    return None


def _own_name(model: str) -> str:
    twin = _twin(model)
    return twin["model"] if twin else model


def _with_dtype(model: str, dtype: str) -> str:
    """Return fastembed's name for `model` with a dtype. Raise ModelError if fastembed does not have it."""
    twin = _twin(model)
    if dtype not in _FILES:
        raise ModelError(f"MEMORY_EMBEDDING_DTYPE={dtype!r} is not known. Use one of {', '.join(_FILES)}.")
    if twin and not model.startswith(_XENOVA) and twin["model_file"].endswith(_FILES[dtype].removeprefix("onnx/")):
        return str(twin["model"])
    tail = model.removeprefix(_XENOVA).lower()
    pooling = next((pooling for start, pooling in _POOLING.items() if tail.startswith(start)), None)
    dim = twin["dim"] if twin else _DIMS.get(tail)
    if dim is None or pooling is None or not model.startswith(_XENOVA):
        raise ModelError(
            f"fastembed has {model!r} with one dtype only. Unset MEMORY_EMBEDDING_DTYPE, or use a conversion whose "
            f"dtypes are known, such as Xenova/bge-base-en-v1.5."
        )
    return _register(model, dtype, pooling, dim)


def _register(model: str, dtype: str, pooling: PoolingType, dim: int) -> str:
    name = f"{model}@{dtype}"
    if all(description["model"] != name for description in _known()):
        TextEmbedding.add_custom_model(
            name, pooling, normalization=True, sources=ModelSource(hf=model), dim=dim, model_file=_FILES[dtype]
        )
    return name


def _failed(model: str, error: BaseException) -> ModelError:
    return ModelError(f"fastembed cannot use {model!r}: {str(error)[:300]} {_NEXT}")
