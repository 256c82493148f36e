"""The learned helpers of one process: each is loaded in the background on first need, and may be absent."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from memoryd.models import weights
from memoryd.models.embedders import Embedder, load_embedder
from memoryd.models.loader import Loader
from memoryd.models.providers import NONE
from memoryd.models.rerankers import load_reranker
from memoryd.settings import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a caller may wait for a model which is being loaded."""
_BUNDLED = "bundled"


class Helpers:
    """The embedder and the reranker that the settings name.

    The bundled models are fetched where they are missing; without `fetch` they are loaded only if they are there.
    """

    def __init__(self, settings: Settings, *, fetch: bool = True) -> None:
        self._settings = settings
        self._fetch = fetch
        self.embedder = self._loader(settings.embedder, lambda: load_embedder(settings.embedder, settings))
        self.reranker = self._loader(settings.reranker_spec, lambda: load_reranker(settings.reranker_spec, settings))
        self._older: dict[str, Loader[Embedder | None]] = {}

    def start(self) -> None:
        """Begin to load what is neither loaded nor being loaded. Returns at once."""
        self.embedder.start()
        self.reranker.start()

    @property
    def patience(self) -> float:
        """How long a caller may wait: not at all while files are still to be fetched."""
        bundled = any(spec.startswith(_BUNDLED) for spec in (self._settings.embedder, self._settings.reranker_spec))
        fetching = self._fetch and bundled and not weights.present(self._settings.models)
        return 0.0 if fetching else PATIENCE

    def states(self) -> dict[str, str]:
        """How each helper stands: `off`, or its spec and `ready`, `idle`, `loading`, or why not."""
        loaders: dict[str, tuple[str, Loader[Any]]] = {
            "embedder": (self._settings.embedder, self.embedder),
            "reranker": (self._settings.reranker_spec, self.reranker),
        }
        return {
            name: "off" if spec == NONE else f"{spec}: {loader.reason or loader.state}"
            for name, (spec, loader) in loaders.items()
        }

    def older(self, name: str) -> Embedder | None:
        """The embedder that made an older set of vectors, if it is still to be had."""
        if name not in self._older:
            self._older[name] = self._loader(name, lambda: load_embedder(name, self._settings))
        self._older[name].start()
        return self._older[name].get(self.patience)

    def _loader(self, spec: str, load: Callable[[], T]) -> Loader[T]:
        def fetch_and_load() -> T:
            if self._fetch and spec.startswith(_BUNDLED) and not weights.present(self._settings.models):
                weights.pull(self._settings.models, _tell)
            return load()

        return Loader(fetch_and_load)


def _tell(what: str, done: float) -> None:
    log.info("models: %s, %.0f %%", what, 100 * done)
