"""The reranker protocol and its providers, whose modules are imported only when they are used."""

from collections.abc import Sequence
from typing import Protocol

from memoryd.models.providers import Spec, load
from memoryd.settings import Settings

PROVIDERS = {
    "bundled": "memoryd.models.onnx:BundledReranker",
    "fastembed": "memoryd.models.fastembed:FastReranker",
}


class Reranker(Protocol):
    """A cross-encoder. Safe to use from several threads; any `str` is accepted."""

    name: str

    def reads(self, text: str) -> bool:
        """Return whether it was trained on the language of a question or a text."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the raw logit of each text, in order; higher is more relevant, about -11 to 11 for ms-marco models.

        A score does not depend on the other texts. A text that is too long is cut at its end; the query is kept
        complete if it leaves room for the text. Raise ModelError.
        """
        ...


def load_reranker(spec: str, settings: Settings) -> Reranker | None:
    """Return the reranker of `provider:model`, `provider` or `owner/name`; None for `none`. See load_embedder."""
    reranker: Reranker | None = load(Spec.parse(spec), PROVIDERS, settings)
    return reranker
