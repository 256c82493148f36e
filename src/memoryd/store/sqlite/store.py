"""The store on SQLite: a file for each workspace, or one for all; FTS5, and words and vectors in memory."""

import threading
from collections.abc import Callable
from typing import Literal, TypeVar

from memoryd.model import Workspace
from memoryd.store.base import Queries
from memoryd.store.journal import Unmanaged
from memoryd.store.sqlite.connection import SqliteQueries
from memoryd.store.sqlite.layout import Layout
from memoryd.store.sqlite.open_files import OpenFiles
from memoryd.store.sqlite.placement import SqlitePlacement
from memoryd.store.sqlite.search import SqliteIndex
from memoryd.store.sqlite.upkeep import SqliteUpkeep

T = TypeVar("T")

DURABILITY = {"full": "FULL", "normal": "NORMAL"}


class SqliteStore(Unmanaged):
    """See `store.base.Store`."""

    product = "SQLite"
    where = "embedded"

    def __init__(self, layout: Layout, durability: Literal["full", "normal"] = "full") -> None:
        self.layout = layout
        self.place = str(layout.path(None))
        self._files = OpenFiles(layout, DURABILITY[durability])
        self._written = threading.Event()
        self.index = SqliteIndex()
        self.placement = SqlitePlacement(layout, self._files)
        self.upkeep = SqliteUpkeep(self, layout, self._files)

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        with self._files.lent(workspace) as file, file.reader() as connection:
            return work(SqliteQueries(connection, workspace))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        with self._files.lent(workspace) as file:
            result = file.write(workspace, work)
        self._written.set()
        return result

    def changes(self, wait: float) -> set[str] | None:
        """Wait, or until this process writes; return None, since SQLite does not report writes of others."""
        self._written.wait(wait)
        self._written.clear()
        return None

    def wake(self) -> None:
        self._written.set()

    def close(self) -> None:
        self._written.set()
        self._files.close()
