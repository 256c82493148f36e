"""What places a text for a store that keeps one vector a text, and nothing without it."""

from collections.abc import Sequence

import numpy as np

from memoryd.errors import ModelError, StoreError
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import Helpers

PIECES, PIECE = 16, 2_000  # of a longer text so many pieces, so many characters each, stand for it


class JournalVectors:
    """Unit vectors of texts and of questions, by the model in force. Each method raises StoreError where it is away."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers

    @property
    def model(self) -> str:
        """Whose vectors they are."""
        return self._embedder().name

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """The mean of the vectors of each text's chunks, of length one."""
        embedder = self._embedder()
        try:
            return [_mean(embedder.embed_passage(_excerpt(text), hurry=True)) for text in texts]
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def question(self, text: str) -> list[float]:
        """The vector of a question."""
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
                f"There is no model to embed with ({state}), and ChromaDB keeps and finds nothing without vectors. "
                "Nothing was stored by this call; try again once the model is loaded, or see to MEMORY_EMBEDDER."
            )
        return embedder

    def _failed(self, embedder: Embedder, error: ModelError) -> StoreError:
        self._helpers.failed(embedder, error)
        return StoreError(f"{error} ChromaDB keeps and finds nothing without vectors: nothing was stored by this call.")


def _excerpt(text: str) -> str:
    """Of a very long text pieces from all over it: more of them would take minutes, and move their mean no further."""
    if len(text) <= PIECES * PIECE:
        return text
    step = (len(text) - PIECE) / (PIECES - 1)
    return "\n".join(text[round(step * number) :][:PIECE] for number in range(PIECES))


def _mean(chunks: np.typing.NDArray[np.float32]) -> list[float]:
    mean = chunks.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return [float(number) for number in (mean / length if length else chunks[0])]
