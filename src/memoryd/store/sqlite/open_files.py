"""The SQLite files that this process has open."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import closed
from memoryd.store.sqlite.file import SqliteFile
from memoryd.store.sqlite.layout import Layout

OPEN_FILES = 16


class OpenFiles:
    """The open files of workspaces; beyond OPEN_FILES the least recently used ones are closed."""

    def __init__(self, layout: Layout, durability: str) -> None:
        self._layout = layout
        self._durability = durability
        self._open: OrderedDict[Path, SqliteFile] = OrderedDict()
        self._lock = threading.Condition()
        self._closed = False
        self._private = False

    @contextmanager
    def lent(self, workspace: Workspace | None, *, create: bool = False) -> Iterator[SqliteFile]:
        """Yield the open file of a workspace, which stays open inside the block. Raise StoreError."""
        file = self._opened(workspace, create=create)
        try:
            yield file
        finally:
            self._give_back(file)

    def has(self, path: Path) -> bool:
        """Return whether a file is open in this process."""
        with self._lock:
            return path in self._open

    def let_go(self, path: Path, wait: float = 0) -> None:
        """Close a file so that it can be moved, unless this process uses it for longer than `wait` seconds."""
        with self._lock:
            self._lock.wait_for(lambda: path not in self._open or not self._open[path].users, wait)
            file = self._open.get(path)
            if file is None or file.users:
                return
            del self._open[path]
        file.close()

    def close(self) -> None:
        """Commit accepted jobs and close every file."""
        with self._lock:
            self._closed = True
            every, self._open = self._open, OrderedDict()
        for file in every.values():
            file.close()

    def _opened(self, workspace: Workspace | None, *, create: bool) -> SqliteFile:
        path = self._layout.path(workspace)
        file = self._take(path)
        try:
            file.open(create=create)  # may take long, so not under the common lock
        except StoreError:
            self._give_back(file)
            if create or self._layout.path(workspace) == path:
                raise
            return self._opened(workspace, create=False)  # another process has just moved it
        if not self._private:  # once, and only after the file has proved to be ours
            self._private = True
            self._layout.close_to_others()
        return file

    def _take(self, path: Path) -> SqliteFile:
        with self._lock:
            if self._closed:
                raise closed()
            file = self._open.get(path) or SqliteFile(path, self._durability, at_rest=self._layout.at_rest(path))
            self._open[path] = file
            self._open.move_to_end(path)
            file.users += 1
            idle = [p for p, f in self._open.items() if not f.users][: max(0, len(self._open) - OPEN_FILES)]
            unused = [self._open.pop(p) for p in idle]
        for old in unused:
            old.close()
        return file

    def _give_back(self, file: SqliteFile) -> None:
        with self._lock:
            file.users -= 1
            self._lock.notify_all()
        if file.at_rest:
            self.let_go(file.path)
