"""The common part of embedders: texts are cleaned and split, answers are checked and normalised."""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from memoryd.errors import ModelError

CHARACTERS = 2_000
"""The longest chunk, in characters, without the model's tokenizer: about 500 tokens of English, a common window."""

OVERLAP = 200
"""Characters that adjacent chunks share, so that a sentence at the border is complete in one of them."""

HURRY = 5.0
"""Seconds to wait for a service if a caller is waiting; the backfill waits longer."""

_BATCH = 64
"""Chunks in a request. The smallest known limit of a hosted service is 2,048."""

_PREFIXES = {
    "nomic-embed": ("search_query: ", "search_document: "),
    "e5": ("query: ", "passage: "),
    "mxbai-embed": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
}
"""The prefixes for queries and passages with which a model family was trained, from its model cards. bge v1.5 needs
none: with its prefix bge-small found .601 of LoCoMo's turns in the top ten, without it .614."""

_WITHOUT_PREFIX = ("snowflake-arctic-embed2", "e5-mistral")


def prefixes(model: str) -> tuple[str, str]:
    """Return the prefixes for queries and passages of the family of `model`; two '' if the family is unknown."""
    name = model.lower().rpartition("/")[2]
    if name.startswith(_WITHOUT_PREFIX):
        return "", ""
    family = (pair for start, pair in _PREFIXES.items() if name.startswith((start, f"multilingual-{start}")))
    return next(family, ("", ""))


def clean(text: str) -> str:
    """Return `text` in the same length, with `?` for lone surrogates and spaces for NULs, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def spans(length: int, window: int, overlap: int) -> list[tuple[int, int]]:
    """Return half-open spans that cover `length` items: of equal length, at most `window`, overlapping by `overlap`."""
    if length <= window:
        return [(0, length)]
    count = math.ceil((length - overlap) / (window - overlap))
    size = math.ceil((length + (count - 1) * overlap) / count)
    step = (length - size) / (count - 1)
    return [(start, start + size) for start in (round(step * i) for i in range(count))]


def unit(rows: object, count: int, name: str) -> NDArray[np.float32]:
    """Return the answer of a model for `count` texts as unit vectors, shape (count, dim).

    Raise ModelError unless there are `count` rows of the same length, with finite numbers that are not all zero.
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name} did not answer with vectors. {_ODD}") from error
    if vectors.ndim != 2 or vectors.shape[0] != count or not vectors.shape[1]:
        raise ModelError(f"{name} answered {count} texts with an array of shape {vectors.shape}. {_ODD}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ModelError(f"{name} answered with a zero or non-finite vector. {_ODD}")
    return np.asarray(vectors / lengths, dtype=np.float32)


_ODD = "Check that it is an embedding model and that its server is up to date."


class TextEmbedder(ABC):
    """An embedder without access to its tokenizer, which splits by characters. Subclasses implement `_vectors`."""

    unrelated: float = 0.0

    def __init__(self, provider: str, model: str) -> None:
        self.name = f"{provider}:{model}"
        self.dim = 0
        self._query, self._passage = prefixes(model)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See Embedder; a query is cut at CHARACTERS."""
        vector: NDArray[np.float32] = self._embed([self._asked(text)], hurry=True)[0]
        return vector

    def embed_passage(self, text: str, *, hurry: bool = False) -> NDArray[np.float32]:
        """See Embedder; chunks are at most CHARACTERS long."""
        chunks = [text[start:end] for start, end in spans(len(text), CHARACTERS, OVERLAP)]
        return self._embed([self._passage + _visible(chunk) for chunk in chunks], hurry=hurry)

    def _asked(self, text: str) -> str:
        return self._query + _visible(text[:CHARACTERS])

    def _learn_dim(self) -> None:
        """Request one vector, which shows that the model answers, and set the dimension."""
        self.dim = self._embed(["memory"], hurry=False).shape[1]

    def _embed(self, texts: list[str], *, hurry: bool) -> NDArray[np.float32]:
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        rows = [unit(self._vectors(batch, hurry=hurry), len(batch), self.name) for batch in batches]
        wrong = {block.shape[1] for block in rows} - {self.dim or rows[0].shape[1]}
        if wrong:
            raise ModelError(f"{self.name} changed its dimension from {self.dim} to {wrong.pop()}. Restart memoryd.")
        return np.concatenate(rows)

    @abstractmethod
    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        """Return an unchecked vector for each text, in order; with `hurry`, within HURRY seconds. Raise ModelError."""


def _visible(text: str) -> str:
    """Return the cleaned text, or a full stop if it is blank: services refuse empty inputs."""
    safe = clean(text)
    return safe if safe.strip() else "."
