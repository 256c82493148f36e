"""The models of a process: embedder, reranker, language model. Each is loaded in the background and may be absent."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from memoryd.errors import ModelError
from memoryd.models import weights
from memoryd.models.embedders import ENGLISH, MULTILINGUAL, Embedder, load_embedder
from memoryd.models.llm import TimedWriter, Writer, configured, load_llm
from memoryd.models.loader import Loader
from memoryd.models.native import TURNS
from memoryd.models.providers import Spec, fetch
from memoryd.models.rerankers import load_reranker
from memoryd.settings import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 10.0
"""Seconds after a model begins to load during which callers wait for it."""

NOUNS = {"embedder": "embedding model", "reranker": "reranker"}
UNUSABLE = {name: f"the {noun} cannot be used; `memoryd doctor` says why" for name, noun in NOUNS.items()}
"""Why a model that failed is absent, as the end of a sentence. Its own message may contain addresses, or be long."""

LOADING = 3_600.0
"""Seconds that background work waits for a model to load."""

BACKGROUND = 4
"""Background work waits this many times MEMORY_LLM_TIMEOUT for each answer."""


class Helpers:
    """The models that the settings name. A model that failed is absent for a while.

    Missing bundled models are downloaded, unless `fetch` is False.
    """

    def __init__(self, settings: Settings, *, fetch: bool = True) -> None:
        self._settings = settings
        self._fetch = fetch
        self._specs = {"embedder": Spec.parse(settings.embedder), "reranker": Spec.parse(settings.reranker_spec)}
        self.embedder = self._loader(self._specs["embedder"], lambda: load_embedder(settings.embedder, settings))
        self.reranker = self._loader(self._specs["reranker"], lambda: load_reranker(settings.reranker_spec, settings))
        self._loaders: dict[str, Loader[Any]] = {"embedder": self.embedder, "reranker": self.reranker}
        self.llm = Loader(lambda: load_llm(settings))
        self.multilingual = self._loader(Spec.parse(MULTILINGUAL), lambda: load_embedder(MULTILINGUAL, settings))
        self._older: dict[str, Loader[Embedder | None]] = {MULTILINGUAL: self.multilingual}
        TURNS.allow(settings.model_runs)

    def start(self) -> None:
        """Start loading what is neither loaded nor being loaded; return immediately."""
        self.embedder.start()
        self.reranker.start()
        if configured(self._settings):
            self.llm.start()

    @property
    def speaks(self) -> bool:
        """Whether texts that are not English have an embedder of their own."""
        english = self._specs["embedder"] in (Spec("bundled"), Spec.parse(ENGLISH))
        return english and self._settings.languages == "all"

    def other(self, wait: float | None = None) -> Embedder | None:
        """Return the multilingual embedder, or None; start to fetch or load it, and wait if that is no download."""
        self.multilingual.start()
        if wait is None:
            here = weights.present(weights.place(self._settings), weights.LANGUAGES)
            wait = PATIENCE if here and not self.multilingual.failed_before else 0.0
        return self.multilingual.get(wait)

    def why_not_other(self) -> str:
        """Return why the multilingual embedder is absent, as the end of a sentence."""
        here = weights.present(weights.place(self._settings), weights.LANGUAGES)
        if not (here or self._fetch):
            return "the multilingual model is missing; `memoryd models pull --all` fetches it"
        if self.multilingual.failed_before:
            asked = "used; `memoryd doctor`" if here else "fetched; `memoryd models pull --all`"
            return f"the multilingual model cannot be {asked} says why"
        return f"the multilingual model is still being {'loaded' if here else 'fetched'}"

    @property
    def patience(self) -> float:
        """Seconds that a caller may wait for a model; 0 while files are being downloaded, and after a failure."""
        return 0.0 if self._fetching or self.embedder.failed_before or self.reranker.failed_before else PATIENCE

    def states(self) -> dict[str, str]:
        """Return the state of each model: `off`, or its spec with `ready`, `idle`, `loading` or why it failed."""
        return {
            name: "off" if spec.off else f"{spec}: {self._loaders[name].reason or self._loaders[name].state}"
            for name, spec in self._specs.items()
        }

    def why_not(self, name: str) -> str:
        """Return why a model is absent, as the end of a sentence; '' if the settings disable it."""
        if self._specs[name].off:
            return ""
        if self._loaders[name].failed_before:  # also while it is tried again: without a network, time after time
            return UNUSABLE[name]
        fetching = self._fetching and self._specs[name].bundled
        return f"the {NOUNS[name]} is still being {'fetched' if fetching else 'loaded'}"

    @property
    def _fetching(self) -> bool:
        """Whether bundled model files are still to be downloaded."""
        bundled = any(spec.bundled for spec in self._specs.values())
        return self._fetch and bundled and not weights.present(weights.place(self._settings))

    def writer(self) -> Writer | None:
        """Return the language model for a waiting caller; all its requests end within the time-out.

        Return None if none is configured, or if its client is not loaded yet or cannot be loaded.
        """
        if not configured(self._settings):
            return None
        seconds = self._settings.llm_timeout
        until = time.monotonic() + seconds
        self.llm.start()
        llm = self.llm.get(min(PATIENCE, seconds))
        return TimedWriter(llm, seconds, until) if llm else None

    def background_writer(self) -> Writer | None:
        """Return the language model for background work, or None if none is configured.

        Wait until its client is loaded. Raise ModelError if it cannot be loaded.
        """
        if not configured(self._settings):
            return None
        self.llm.start()
        llm = self.llm.get(LOADING)
        if llm is None:
            raise ModelError(f"The language model cannot be used: {self.llm.reason or 'it is still being loaded'}")
        return TimedWriter(llm, BACKGROUND * self._settings.llm_timeout)

    def usage(self) -> dict[str, int]:
        """Return the counts of calls, failures and tokens of the language model so far."""
        llm = self.llm.get()
        return vars(llm.usage).copy() if llm else {}

    def older(self, name: str) -> Embedder | None:
        """Return the embedder that made an older set of vectors, or None if it is not available."""
        if name not in self._older:
            self._older[name] = self._loader(Spec.parse(name), lambda: load_embedder(name, self._settings))
        self._older[name].start()
        return self._older[name].get(self.patience)

    def failed(self, embedder: Embedder, error: ModelError) -> None:
        """Mark an embedder as failed, so that callers do without it for a while, because it may hang."""
        self._older.get(embedder.name, self.embedder).fail(str(error))

    def _loader(self, spec: Spec, load: Callable[[], T]) -> Loader[T]:
        def fetch_and_load() -> T:
            if self._fetch and spec.bundled and not weights.present(weights.place(self._settings), spec.files):
                fetch(spec, self._settings.models, _log_progress)
            return load()

        return Loader(fetch_and_load)


def _log_progress(what: str, done: float) -> None:
    log.info("models: %s, %.0f %%", what, 100 * done)
