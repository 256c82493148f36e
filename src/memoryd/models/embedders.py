"""The embedder protocol and its providers, whose modules are imported only when they are used."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memoryd.models.providers import Spec, load
from memoryd.settings import Settings

PROVIDERS = {
    "bundled": "memoryd.models.onnx:BundledEmbedder",
    "multilingual": "memoryd.models.multilingual:MultilingualEmbedder",
    "fastembed": "memoryd.models.fastembed:FastEmbedder",
    "ollama": "memoryd.models.ollama:OllamaEmbedder",
    "openai": "memoryd.models.openai:OpenAIEmbedder",
}

ENGLISH = "bundled:e5-small-v2"
"""The name of the English embedder's vectors."""
MULTILINGUAL = "multilingual:e5-small"
"""The name of the multilingual embedder's vectors."""
MULTILINGUAL_UNRELATED = 0.784
"""The mean cosine of unrelated passages, deviation .025; query to passage .737."""


class Embedder(Protocol):
    """Texts to unit vectors. Safe to use from several threads; any `str` is accepted."""

    name: str
    """The name that its vectors are stored under, e.g. `bundled:e5-small-v2`."""
    dim: int
    unrelated: float
    """The mean cosine of unrelated texts, used to rescale similarities; 0 if it was not measured."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); text beyond the model's window is cut off. Raise ModelError."""
        ...

    def embed_passage(self, text: str, *, hurry: bool = False) -> NDArray[np.float32]:
        """Return unit vectors, shape (chunks, dim): more than one if the text exceeds the window. Raise ModelError.

        With `hurry`, for a waiting caller, the request is abandoned after a few seconds, as every query is.
        """
        ...


def load_embedder(spec: str, settings: Settings) -> Embedder | None:
    """Return the embedder of `provider:model`, `provider` (its default model) or `owner/name`; None for `none`.

    This may take minutes, if a provider downloads or starts its model. Raise InvalidInputError for an unknown spec,
    ModelError with cause and next step for a model that cannot be loaded.
    """
    embedder: Embedder | None = load(Spec.parse(spec), PROVIDERS, settings)
    return embedder
