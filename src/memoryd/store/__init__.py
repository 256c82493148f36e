"""How rows are kept: on SQLite, or on Postgres where a URL names one."""

from memoryd import extras
from memoryd.errors import StoreError
from memoryd.settings import Settings
from memoryd.store.base import Store
from memoryd.store.files import DataDirectory, SingleFile
from memoryd.store.sqlite import SqliteStore


def open_store(settings: Settings) -> Store:
    """The store that the settings name. Opening touches nothing: first use does."""
    if settings.database_url:
        postgres = extras.load("memoryd.store.postgres:PostgresStore", "postgres", StoreError)
        store: Store = postgres(settings.database_url)
        return store
    files = SingleFile(settings.db_path) if settings.db_path else DataDirectory(settings.data_dir)
    return SqliteStore(files, settings.durability)
