"""The vectors of the journal in ChromaDB."""

from collections.abc import Sequence

import numpy as np

from memoryd.core.records.spaces import Compared, OtherAbsentError, Spaces
from memoryd.errors import ModelError, StoreError
from memoryd.languages import is_english
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
            return [passage(embedder, text) for text in texts]
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def asked(self, text: str, *, mixed: bool) -> tuple[Sequence[Compared], str]:
        """Return the sets with which a question is compared, and why it is not compared across languages, or ''.

        `mixed` says that the journal has texts that are not English.
        """
        embedder = self._embedder()
        try:
            try:
                return Spaces(self._helpers).asked(embedder, text, mixed=mixed), ""
            except OtherAbsentError as error:
                why = f"Compared by the English model alone: {error}."
                return [Compared(embedder.name, embedder, embedder.embed_query(text))], why
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def across(self, texts: Sequence[str]) -> bool:
        """Return whether one of some texts has a multilingual vector, since it is not English."""
        return Spaces(self._helpers).splits(self._embedder()) and not all(map(is_english, texts))

    def other(self) -> Embedder | None:
        """Return the multilingual embedder, or None while it is absent."""
        return self._helpers.other()

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


def passage(embedder: Embedder, text: str) -> list[float]:
    """Return the mean vector of the chunks of a text, of unit length. Raise ModelError."""
    return _mean(embedder.embed_passage(_excerpt(text), hurry=True))


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
