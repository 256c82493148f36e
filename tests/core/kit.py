"""Engines without a server, and an Ollama that answers over real HTTP."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.daemon import REFUSED
from memoryd.model import GENERAL
from memoryd.settings import Settings
from tests.clients import environment
from tests.services import served

NOMIC = "ollama:nomic-embed-text"
NONE = {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}


def engine(home: Path, **variables: str) -> Engine:
    """An engine whose background work is done only when a test asks for it."""
    return Engine(Settings.read({"MEMORY_DATA_DIR": str(home), **NONE, **variables}))


@contextmanager
def with_models(home: Path, model_dir: Path) -> Iterator[Engine]:
    """An engine whose bundled models are loaded."""
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    with Engine(Settings.read(environment(home) | models)) as made:
        made.helpers.start()
        assert made.helpers.embedder.get(60)
        assert made.helpers.reranker.get(60)
        yield made


def memories(of: Engine, session: str = "", name: str = "default") -> Memories:
    return Memories(Scope(of, of.workspaces.ensure(name), session))


def never() -> bool:
    return False


@contextmanager
def no_threads() -> Iterator[None]:
    """Refuse new threads, as a system at its limit does."""
    with patch.object(threading.Thread, "start", side_effect=RuntimeError(REFUSED)):
        yield


def embedded(of: Engine, name: str = "default") -> dict[str, int]:
    """The number of records with vectors of each model."""
    rows = of.store.read(of.workspaces.ensure(name), lambda q: q.all("embeddings.models", perspective=GENERAL))
    return {row["model"]: row["number"] for row in rows}


def stored(home: Path, texts: list[str]) -> None:
    """Store memories without vectors."""
    with engine(home) as here:
        for text in texts:
            memories(here).store(text)


class Ollama:
    """Answers embeddings made of a text's words, unless `fails` says otherwise."""

    dim = 64

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[str] = []
        self.fails: Callable[[str], bool] = lambda _text: False

    def embed(self, text: str) -> list[float]:
        vector = np.zeros(self.dim)
        for word in text.casefold().replace("search_query:", "").replace("search_document:", "").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dim] += 1
        return [float(value) for value in vector + 0.01]


@contextmanager
def ollama() -> Iterator[Ollama]:
    def answer(_path: str, body: dict[str, Any]) -> tuple[int, object]:
        texts: list[str] = body["input"]
        here.asked.extend(texts)
        if any(here.fails(text) for text in texts):
            return 500, {"error": "out of memory"}
        return 200, {"embeddings": [here.embed(text) for text in texts]}

    here = Ollama("")
    with served(answer) as here.url:
        yield here


def with_ollama(home: Path, server: Ollama, model: str = NOMIC) -> Engine:
    """An engine whose model is loaded."""
    here = engine(home, MEMORY_EMBEDDER=model, OLLAMA_HOST=server.url)
    here.helpers.embedder.start()
    assert here.helpers.embedder.get(wait=30)
    server.asked.clear()
    return here
