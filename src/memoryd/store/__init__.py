"""The store: SQLite, or Postgres if a URL names it."""

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
    from memoryd.store.postgres.server import Server

MANAGED = "postgresql:managed"
TIMELINES = "postgres-timelines.json"
"""The file in the data directory with the newest known timeline of each database system."""


def open_store(settings: Settings) -> Store:
    """Return the store that the settings name. Only the first use touches files or a server."""
    if settings.database_url:
        return _on_postgres(settings, settings.database_url)
    layout = SingleFile(settings.db_path) if settings.db_path else DataDirectory(settings.data_dir)
    return SqliteStore(layout, settings.durability)


def _on_postgres(settings: Settings, url: str) -> Store:
    server: Server | str = url
    if url == MANAGED:
        if sys.platform == "win32":
            raise InvalidInputError(f"{MANAGED} runs only on Linux and macOS. Set MEMORY_DATABASE_URL to a URL.")
        managed: Callable[[Path], Server] = extras.load(
            "memoryd.store.postgres.managed_server:ManagedServer", "managed", StoreError
        )
        server = managed(settings.data_dir)
    postgres: Callable[..., Store] = extras.load("memoryd.store.postgres.store:PostgresStore", "postgres", StoreError)
    return postgres(server, read_only=settings.read_only, timelines=settings.data_dir / TIMELINES)
