"""What turns texts into vectors, and which class does it. Light to import: a provider's module comes when asked for."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memoryd.models.providers import Spec, load
from memoryd.settings import Settings

PROVIDERS = {
    "bundled": "memoryd.models.onnx:BundledEmbedder",
    "fastembed": "memoryd.models.fastembed:FastEmbedder",
    "ollama": "memoryd.models.ollama:OllamaEmbedder",
    "openai": "memoryd.models.openai:OpenAIEmbedder",
}


class Embedder(Protocol):
    """Texts to unit vectors. Safe to use from several threads; any `str` is accepted."""

    name: str
    """What its vectors are marked with, e.g. `bundled:e5-small-v2`."""
    dim: int
    unrelated: float
    """The mean cosine of unrelated texts by this model, to rescale similarities with; 0 where it was not measured."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dim,). What exceeds the model's window is cut off. Raises ModelError."""
        ...

    def embed_passage(self, text: str, *, hurry: bool = False) -> NDArray[np.float32]:
        """Unit rows, shape (chunks, dim): one, or more for a text longer than the window. Raises ModelError.

        `hurry` where a caller waits, as for every query: a service that hangs is given up after a few seconds.
        """
        ...


def load_embedder(spec: str, settings: Settings) -> Embedder | None:
    """The embedder of `provider:model`, `provider` (its usual model) or `owner/name`; None for `none`.

    Takes from a moment to minutes (a provider may download or start its model). Raises InvalidInputError for a spec
    that names nothing, ModelError with cause and next step for a model that cannot be loaded.
    """
    embedder: Embedder | None = load(Spec.parse(spec), PROVIDERS, settings)
    return embedder
