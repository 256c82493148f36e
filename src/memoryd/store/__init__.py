"""How rows are kept: on SQLite, or on Postgres where a URL names one; the journal in ChromaDB where that is set."""

import sys
from typing import Any

from memoryd import extras
from memoryd.errors import InvalidInputError, StoreError
from memoryd.settings import Settings
from memoryd.store.base import Store
from memoryd.store.sqlite.placement import DataDirectory, SingleFile
from memoryd.store.sqlite.store import SqliteStore

MANAGED = "postgresql:managed"


def open_store(settings: Settings) -> Store:
    """The store that the settings name. Opening touches nothing: first use does."""
    if settings.database_url:
        return _on_postgres(settings, settings.database_url)
    files = SingleFile(settings.db_path) if settings.db_path else DataDirectory(settings.data_dir)
    return SqliteStore(files, settings.durability)


def _on_postgres(settings: Settings, url: str) -> Store:
    server = url
    if url == MANAGED:
        if sys.platform == "win32":
            raise InvalidInputError(f"{MANAGED} runs on Linux and macOS only. Give MEMORY_DATABASE_URL a server's URL.")
        server = extras.load("memoryd.store.postgres.managed_server:ManagedServer", "managed", StoreError)(
            settings.data_dir
        )
    postgres = extras.load("memoryd.store.postgres.store:PostgresStore", "postgres", StoreError)
    store: Store = postgres(server, read_only=settings.read_only)
    return store


def open_chroma(settings: Settings) -> Any:
    """The ChromaDB of the journal; None where that is kept with all else. Opening touches nothing: first use does."""
    if settings.journal_store != "chroma":
        return None
    kept = extras.load("memoryd.store.chroma.client:Chroma", "", StoreError)
    if settings.chroma_url:
        return kept(extras.load("memoryd.store.chroma.client:External", "", StoreError)(settings.chroma_url))
    if sys.platform == "win32":
        raise InvalidInputError("memoryd runs ChromaDB on Linux and macOS only. Give MEMORY_CHROMA_URL a server's URL.")
    return kept(extras.load("memoryd.store.chroma.server:ChromaServer", "chroma", StoreError)(settings.data_dir))
