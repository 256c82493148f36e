"""What scores texts against a query, and which class does it. Light to import, as embedders.py is."""

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

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The raw logit of each text, in order; higher is more relevant, about -11 to 11 for ms-marco models.

        One pair at a time, so that a score does not depend on the other texts. A long text loses its end, the query
        stays whole as long as it leaves room. Raises ModelError.
        """
        ...


def load_reranker(spec: str, settings: Settings) -> Reranker | None:
    """The reranker of `provider:model`, `provider` or `owner/name`; None for `none`. Raises as load_embedder does."""
    reranker: Reranker | None = load(Spec.parse(spec), PROVIDERS, settings)
    return reranker
