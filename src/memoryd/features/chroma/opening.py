"""Opens the ChromaDB that the settings name; cheap to import, because every process with a journal asks."""

import sys

from memoryd import extras
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import JournalHome
from memoryd.errors import InvalidInputError, StoreError
from memoryd.settings import Settings


def opened(engine: Engine) -> JournalHome | None:
    """Return the ChromaDB of an engine's journal, which closes with the engine; None if the store has the journal.

    Only its first use touches anything. Raise MemorydError if it cannot be loaded.
    """
    settings = engine.settings
    if settings.journal_store != "chroma":
        return None
    home: JournalHome = extras.load("memoryd.features.chroma.journal:ChromaHome", "chroma", StoreError)(
        _server(settings)
    )
    engine.at_close(home.close)
    return home


def _server(settings: Settings) -> object:
    if settings.chroma_url:
        return extras.load("memoryd.features.chroma.client:ExternalChroma", "chroma", StoreError)(settings.chroma_url)
    if sys.platform == "win32":
        raise InvalidInputError("memoryd runs ChromaDB only on Linux and macOS. Set MEMORY_CHROMA_URL to a URL.")
    return extras.load("memoryd.features.chroma.server:ChromaServer", "chroma", StoreError)(settings.data_dir)
