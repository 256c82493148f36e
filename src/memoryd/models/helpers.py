"""The learned helpers of one process: each is loaded in the background on first need, and may be absent."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from memoryd.errors import ModelError
from memoryd.models import weights
from memoryd.models.embedders import Embedder, load_embedder
from memoryd.models.llm import TimedWriter, Writer, configured, load_llm
from memoryd.models.loader import Loader
from memoryd.models.providers import Spec, fetch
from memoryd.models.rerankers import Reranker, load_reranker
from memoryd.settings import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 10.0
"""Seconds after its start until which callers wait for a model that is being loaded."""

NOUNS = {"embedder": "embedding model", "reranker": "reranker"}
UNUSABLE = {name: f"the {noun} cannot be used; `memoryd doctor` tells why" for name, noun in NOUNS.items()}
"""Why a helper that failed is not there, as the end of a sentence: its own words may hold addresses, or be long."""

LOADING = 3_600.0
"""Seconds until background work gives up to wait for what is being loaded."""

BACKGROUND = 4
"""Times MEMORY_LLM_TIMEOUT that background work waits for each answer."""


class Helpers:
    """The embedder and the reranker that the settings name. One that failed a caller is absent for a while.

    The bundled models are fetched where they are missing; without `fetch` they are loaded only if they are there.
    """

    def __init__(self, settings: Settings, *, fetch: bool = True) -> None:
        self._settings = settings
        self._fetch = fetch
        self._specs = {"embedder": Spec.parse(settings.embedder), "reranker": Spec.parse(settings.reranker_spec)}
        self.embedder = self._loader(self._specs["embedder"], lambda: load_embedder(settings.embedder, settings))
        self.reranker = self._loader(self._specs["reranker"], self._load_reranker)
        self._loaders: dict[str, Loader[Any]] = {"embedder": self.embedder, "reranker": self.reranker}
        self.llm = Loader(lambda: load_llm(settings))
        self._older: dict[str, Loader[Embedder | None]] = {}

    def start(self) -> None:
        """Begin to load what is neither loaded nor being loaded. Returns at once."""
        self.embedder.start()
        self.reranker.start()
        if configured(self._settings):
            self.llm.start()

    @property
    def patience(self) -> float:
        """How long a caller may wait: not at all while files are still to be fetched, or after a failure."""
        return 0.0 if self._fetching or self.embedder.failed_before or self.reranker.failed_before else PATIENCE

    def states(self) -> dict[str, str]:
        """How each helper stands: `off`, or its spec and `ready`, `idle`, `loading`, or why not."""
        return {
            name: "off" if spec.off else f"{spec}: {self._loaders[name].reason or self._loaders[name].state}"
            for name, spec in self._specs.items()
        }

    def why_not(self, name: str) -> str:
        """Why a helper that the settings name is not there, as the end of a sentence; '' where there shall be none."""
        if self._specs[name].off:
            return ""
        if self._loaders[name].state == "failed":
            return UNUSABLE[name]
        fetching = self._fetching and self._specs[name].bundled
        return f"the {NOUNS[name]} is still being {'fetched' if fetching else 'loaded'}"

    @property
    def _fetching(self) -> bool:
        """Whether files are still to be fetched."""
        bundled = any(spec.bundled for spec in self._specs.values())
        return self._fetch and bundled and not weights.present(weights.place(self._settings))

    def writer(self) -> Writer | None:
        """The language model for a call that somebody waits for: all that it asks ends within the time-out.

        None where there is none, or what speaks to it is not loaded yet, or cannot be.
        """
        if not configured(self._settings):
            return None
        seconds = self._settings.llm_timeout
        until = time.monotonic() + seconds
        self.llm.start()
        llm = self.llm.get(min(PATIENCE, seconds))
        return TimedWriter(llm, seconds, until) if llm else None

    def background_writer(self) -> Writer | None:
        """The language model for work that nobody waits for; None where there is none.

        Waits until what speaks to it is loaded. Raises ModelError where that cannot be.
        """
        if not configured(self._settings):
            return None
        self.llm.start()
        llm = self.llm.get(LOADING)
        if llm is None:
            raise ModelError(f"The language model cannot be asked: {self.llm.reason or 'it is still being loaded'}")
        return TimedWriter(llm, BACKGROUND * self._settings.llm_timeout)

    def usage(self) -> dict[str, int]:
        """What the language model was asked for so far."""
        llm = self.llm.get()
        return vars(llm.usage).copy() if llm else {}

    def older(self, name: str) -> Embedder | None:
        """The embedder that made an older set of vectors, if it is still to be had."""
        if name not in self._older:
            self._older[name] = self._loader(Spec.parse(name), lambda: load_embedder(name, self._settings))
        self._older[name].start()
        return self._older[name].get(self.patience)

    def failed(self, embedder: Embedder, error: ModelError) -> None:
        """An embedder has failed a caller. The next ones do without it for a while: it may hang."""
        self._older.get(embedder.name, self.embedder).fail(str(error))

    def _load_reranker(self) -> Reranker | None:
        found = load_reranker(self._settings.reranker_spec, self._settings)
        return _Watched(found, self.reranker.fail) if found else None

    def _loader(self, spec: Spec, load: Callable[[], T]) -> Loader[T]:
        def fetch_and_load() -> T:
            if self._fetch and spec.bundled and not weights.present(weights.place(self._settings)):
                fetch(spec, self._settings.models, _tell)
            return load()

        return Loader(fetch_and_load)


class _Watched:
    """A reranker that tells when it fails."""

    def __init__(self, reranker: Reranker, failed: Callable[[str], None]) -> None:
        self.name = reranker.name
        self._reranker = reranker
        self._failed = failed

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker."""
        try:
            return self._reranker.score(query, texts)
        except ModelError as error:
            self._failed(str(error))
            raise


def _tell(what: str, done: float) -> None:
    log.info("models: %s, %.0f %%", what, 100 * done)
