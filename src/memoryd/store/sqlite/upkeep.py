"""Checks, repairs and backups of SQLite files."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import apsw

from memoryd.model import Workspace
from memoryd.store.base import Queries, Rows, StoredFile
from memoryd.store.sqlite import backup
from memoryd.store.sqlite.checks import damaged, file_size, journal, large_log, problems
from memoryd.store.sqlite.layout import Layout
from memoryd.store.sqlite.open_files import OpenFiles

TOMBSTONES = 100_000  # removals by which an index in memory may lag before it reloads


class SqliteUpkeep:
    """See `store.base.Upkeep`."""

    def __init__(self, rows: Rows, layout: Layout, files: OpenFiles) -> None:
        self._rows = rows
        self._layout = layout
        self._files = files

    def describe(self) -> str:
        return f"SQLite {apsw.sqlite_lib_version()}, {self._layout.path(None).parent}"

    def files(self, workspaces: Iterable[Workspace | None]) -> list[StoredFile]:
        found: dict[Path, Workspace | None] = {}
        for workspace in workspaces:
            found.setdefault(self._layout.path(workspace), workspace)
        return [StoredFile(str(path), file_size(path), inside) for path, inside in found.items()]

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Check the log, the journal mode, the pages, the foreign keys and, if the file is writable, the words."""
        with self._files.lent(workspace) as file:
            found = large_log(file.path) + problems(file) + journal(file)
            return [f"{file.path}: {problem}" for problem in found]

    def reindex(self, workspace: Workspace | None) -> None:
        self._rows.write(workspace, lambda q: q.run("words.rebuild"))

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        bad = list(damaged(lambda work: self._rows.read(workspace, work), dims))
        if bad and drop:
            self._rows.write(workspace, lambda q: q.run("doctor.drop", seqs=json.dumps(bad)))
        return len(bad)

    def scrub(self, workspace: Workspace) -> list[Path]:
        """Write the log back into the file and empty it; return every file of the directory, or of the single file."""
        with self._files.lent(workspace) as file:
            file.empty_log()
        return self._layout.every_file()

    def tend(self, workspace: Workspace) -> None:
        """Delete old tombstones of vectors: an index in memory that is further behind reloads."""
        if self._rows.read(workspace, _trimmable):
            self._rows.write(workspace, lambda q: q.run("vectors.trim", keep=TOMBSTONES))

    def backup(self, target: Path, workspaces: Sequence[Workspace], progress: Callable[[float], None]) -> int:
        """Write all workspaces and the registry into one consistent new file, and check it; return its records.

        The file can serve as MEMORY_DB_PATH. Raise StoreError if it exists or the copy fails the checks.
        """
        sources = {self._layout.path(workspace): workspace for workspace in (*workspaces, None)}
        return backup.write(self._files, target, list(sources.values()), progress)


def _trimmable(queries: Queries) -> bool:
    come = queries.marks()
    return bool(come["removals"] - come["oldest_removal"] >= TOMBSTONES)
