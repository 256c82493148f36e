"""The store: on SQLite, or on Postgres if a URL names one; the journal in ChromaDB if that is set."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd import extras
from memoryd.errors import InvalidInputError, StoreError
from memoryd.settings import Settings
from memoryd.store.base import Store
from memoryd.store.sqlite.layout import DataDirectory, SingleFile
from memoryd.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from memoryd.store.chroma.client import Chroma, ChromaHost
    from memoryd.store.postgres.server import Server

MANAGED = "postgresql:managed"
TIMELINES = "postgres-timelines.json"
"""The file in the data directory with the newest timeline of each database system that was met."""


def open_store(settings: Settings) -> Store:
    """Return the store that the settings name. Opening touches nothing: first use does."""
    if settings.database_url:
        return _on_postgres(settings, settings.database_url)
    layout = SingleFile(settings.db_path) if settings.db_path else DataDirectory(settings.data_dir)
    return SqliteStore(layout, settings.durability)


def _on_postgres(settings: Settings, url: str) -> Store:
    server: Server | str = url
    if url == MANAGED:
        if sys.platform == "win32":
            raise InvalidInputError(f"{MANAGED} runs on Linux and macOS only. Give MEMORY_DATABASE_URL a server's URL.")
        managed: Callable[[Path], Server] = extras.load(
            "memoryd.store.postgres.managed_server:ManagedServer", "managed", StoreError
        )
        server = managed(settings.data_dir)
    postgres: Callable[..., Store] = extras.load("memoryd.store.postgres.store:PostgresStore", "postgres", StoreError)
    return postgres(server, read_only=settings.read_only, timelines=settings.data_dir / TIMELINES)


def open_chroma(settings: Settings) -> "Chroma | None":
    """Return the ChromaDB of the journal, or None if the store keeps it. Opening touches nothing: first use does."""
    if settings.journal_store != "chroma":
        return None
    chroma: Callable[[ChromaHost], Chroma] = extras.load("memoryd.store.chroma.client:Chroma", "chroma", StoreError)
    if settings.chroma_url:
        external: Callable[[str], ChromaHost] = extras.load(
            "memoryd.store.chroma.client:ExternalChroma", "chroma", StoreError
        )
        return chroma(external(settings.chroma_url))
    if sys.platform == "win32":
        raise InvalidInputError("memoryd runs ChromaDB on Linux and macOS only. Give MEMORY_CHROMA_URL a server's URL.")
    own: Callable[[Path], ChromaHost] = extras.load("memoryd.store.chroma.server:ChromaServer", "chroma", StoreError)
    return chroma(own(settings.data_dir))
