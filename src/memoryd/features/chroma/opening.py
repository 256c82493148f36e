"""Opens the ChromaDB that the settings name; cheap to import, because every process with a journal asks."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd import extras
from memoryd.core.engine import Engine
from memoryd.core.journal.home import JournalHome
from memoryd.errors import InvalidInputError, StoreError
from memoryd.settings import Settings

if TYPE_CHECKING:
    from memoryd.features.chroma.client import ChromaHost


def opened(engine: Engine) -> JournalHome | None:
    """Return the ChromaDB of an engine's journal, which closes with the engine; None if the store has the journal.

    Only its first use touches anything. Raise MemorydError if it cannot be loaded.
    """
    if engine.settings.journal_store != "chroma":
        return None
    made: Callable[[ChromaHost], JournalHome] = extras.load(
        "memoryd.features.chroma.home:ChromaHome", "chroma", StoreError
    )
    home = made(_host(engine.settings))
    engine.at_close(home.close)
    return home


def _host(settings: Settings) -> "ChromaHost":
    if settings.chroma_url:
        external: Callable[[str], ChromaHost] = extras.load(
            "memoryd.features.chroma.client:ExternalChroma", "chroma", StoreError
        )
        return external(settings.chroma_url)
    if sys.platform == "win32":
        raise InvalidInputError("memoryd runs ChromaDB only on Linux and macOS. Set MEMORY_CHROMA_URL to a URL.")
    own: Callable[[Path], ChromaHost] = extras.load("memoryd.features.chroma.server:ChromaServer", "chroma", StoreError)
    return own(settings.data_dir)
