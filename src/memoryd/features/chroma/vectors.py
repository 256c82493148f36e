"""Vectors for ChromaDB, which stores exactly one vector for each text."""

from collections.abc import Sequence

import numpy as np

from memoryd.errors import ModelError, StoreError
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import Helpers

PIECES, PIECE = 16, 2_000  # excerpts of a long text that are embedded, and characters of each


class JournalVectors:
    """Unit vectors of texts and questions from the configured model. Each method raises StoreError without it."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers

    @property
    def model(self) -> str:
        """The name of the embedding model."""
        return self._embedder().name

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return for each text the mean vector of its chunks, of unit length."""
        embedder = self._embedder()
        try:
            return [_mean(embedder.embed_passage(_excerpt(text), hurry=True)) for text in texts]
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def question(self, text: str) -> list[float]:
        """Return the vector of a question."""
        embedder = self._embedder()
        try:
            return [float(number) for number in embedder.embed_query(text)]
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def _embedder(self) -> Embedder:
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            state = self._helpers.states()["embedder"]
            raise StoreError(
                f"The embedding model is not available ({state}), and ChromaDB can neither store nor search without "
                "vectors. Nothing was stored by this call. Try again when it is loaded, or check MEMORY_EMBEDDER."
            )
        return embedder

    def _failed(self, embedder: Embedder, error: ModelError) -> StoreError:
        self._helpers.failed(embedder, error)
        return StoreError(
            f"{error} ChromaDB can neither store nor search without vectors; nothing was stored by this call."
        )


def _excerpt(text: str) -> str:
    """Return evenly spaced pieces of a very long text: all of it would take minutes and hardly change the mean."""
    if len(text) <= PIECES * PIECE:
        return text
    step = (len(text) - PIECE) / (PIECES - 1)
    return "\n".join(text[round(step * number) :][:PIECE] for number in range(PIECES))


def _mean(chunks: np.typing.NDArray[np.float32]) -> list[float]:
    mean = chunks.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return [float(number) for number in (mean / length if length else chunks[0])]
