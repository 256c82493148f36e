"""The interface of a store: four roles, one file for each. A store knows nothing of MCP, ranking or models."""

from typing import Protocol

from memoryd.store.base.index import Index, Scored, Vector
from memoryd.store.base.placement import Placement
from memoryd.store.base.rows import AFTER_EVERY_ID, Queries, Row, Rows
from memoryd.store.base.upkeep import StoredFile, Upkeep
from memoryd.store.journal import Database

__all__ = [
    "AFTER_EVERY_ID",
    "Index",
    "Placement",
    "Queries",
    "Row",
    "Rows",
    "Scored",
    "Store",
    "StoredFile",
    "Upkeep",
    "Vector",
]


class Store(Rows, Database, Protocol):
    """A store: its rows, and its other three roles as attributes."""

    @property
    def index(self) -> Index:
        """Searches by words and by vectors."""

    @property
    def placement(self) -> Placement:
        """Where workspaces are kept."""

    @property
    def upkeep(self) -> Upkeep:
        """Checks and repairs."""

    def close(self) -> None:
        """Finish accepted work, and close files and connections. Every later call raises StoreError."""
