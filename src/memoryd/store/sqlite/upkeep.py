"""Checks, repairs and backups of SQLite files."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw
import numpy as np

from memoryd import disk
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.base import UNIT, Queries, Row, Rows, StoredFile
from memoryd.store.columns import MOVED
from memoryd.store.sql import migrations
from memoryd.store.sqlite.connection import connect, explained, is_full
from memoryd.store.sqlite.file import SqliteFile, schema_version
from memoryd.store.sqlite.layout import REGISTRY, DataDirectory, Layout, SingleFile, remove
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
        return _back_up(self._files, target, list(sources.values()), progress)


def _trimmable(queries: Queries) -> bool:
    come = queries.marks()
    return bool(come["removals"] - come["oldest_removal"] >= TOMBSTONES)


# checks other than of rows: the log, the journal mode, the words, the vectors ----------------------------------------


LARGE_LOG = 256 * 2**20  # bytes of a write-ahead log; in daily use it has a few megabytes
BATCH = 2_000  # vectors checked at a time
Read = Callable[[Callable[[Queries], list[Row]]], list[Row]]


def file_size(path: Path) -> int:
    """Return the size in bytes; 0 if there is no file."""
    return path.stat().st_size if path.exists() else 0


def large_log(path: Path) -> list[str]:
    """Return a problem if the write-ahead log is so large that no process seems to checkpoint it."""
    size = file_size(path.with_name(f"{path.name}-wal"))
    if size <= LARGE_LOG:
        return []
    remedy = "Close the programs that have it open (a hanging server?): the last one to close it merges the log."
    return [f"its write-ahead log has grown to {size / 2**20:.0f} MiB. {remedy}"]


def journal(database: SqliteFile) -> list[str]:
    """Return a problem if the file system does not support a write-ahead log; read-only files need none."""
    if database.readonly or database.at_rest:
        return []
    with database.reader() as connection:
        mode = connection.pragma("journal_mode")
    if mode == "wal":
        return []
    remedy = "Move it to a local disk: network drives and synchronised folders do not work for a live database."
    return [f"its journal is {mode} instead of wal, so readers and writers wait for each other. {remedy}"]


def problems(file: SqliteFile) -> list[str]:
    """Return what is wrong with a file. Words come last, because checking them requires a write, which may fail."""
    found = file.check_rows()
    if file.readonly:
        why, remedy = "the file is read-only", "Run `memoryd doctor` as a user who can write to it."
        if is_full(file.path):
            why, remedy = "the disk is full", "Free space, then run `memoryd doctor` again."
        return [*found, f"the words were not checked, because that requires writing and {why}. {remedy}"]
    try:
        return found + file.write(None, _check_words)
    except StoreError as error:
        return [*found, f"the words were not checked: {error}"]


def _check_words(queries: Queries) -> list[str]:
    try:
        queries.run("words.check")
    except apsw.CorruptError:
        return ["the words do not match the rows. Repair them with `memoryd doctor --repair`."]
    return []


def damaged(read: Read, dims: Mapping[str, int]) -> Iterator[int]:
    """Yield the numbers of unusable vectors, read in batches."""
    after = 0
    while rows := read(lambda q: q.all("doctor.vectors", after=after, limit=BATCH)):  # noqa: B023 - run at once
        yield from (row["seq"] for row in rows if not _sound(row, dims))
        after = rows[-1]["seq"]


def _sound(row: Row, dims: Mapping[str, int]) -> bool:
    """Return whether a vector has its stated dimension, that of its model in `dims`, and unit length."""
    if len(row["vector"]) != 2 * row["dim"] or row["dim"] != dims.get(row["model"], row["dim"]):
        return False
    vector = np.frombuffer(row["vector"], np.float16).astype(np.float32)
    return bool(abs(np.linalg.norm(vector) - 1) <= UNIT)  # NaN is not


# backups: all files of a store copied into one -----------------------------------------------------------------------


COPYING = 0.9  # share of copying in the work of a backup; the rest is checking


def _back_up(
    files: OpenFiles, target: Path, sources: Sequence[Workspace | None], progress: Callable[[float], None]
) -> int:
    """Copy the files of some workspaces into a new file, the registry last; return its number of records."""
    with written(target) as unfinished, closing(SqliteFile(unfinished, "OFF")) as whole:
        whole.open(create=True)
        copied = _copy(files, whole, sources, progress)
        if found := problems(whole) + whole.lacking(copied):
            raise StoreError(
                f"The copy is incomplete: {'; '.join(found)}. It was deleted. Run `memoryd doctor`, then back up again."
            )
    progress(1.0)
    return copied["records"]


def _copy(
    files: OpenFiles, whole: SqliteFile, sources: Sequence[Workspace | None], progress: Callable[[float], None]
) -> Mapping[str, int]:
    """Copy every file into one; return the number of rows by table."""
    copied: Counter[str] = Counter()
    for number, workspace in enumerate(sources):
        with files.lent(workspace) as source:  # opening a file migrates it to the present schema
            for part, (table, count) in enumerate(whole.copy_from(source.path), 1):
                copied[table] += count
                progress(COPYING * (number + part / len(MOVED)) / len(sources))
    whole.write(None, lambda q: q.run("placement.follow"))
    return copied


@contextmanager
def written(target: Path) -> Iterator[Path]:
    """Yield a new database to fill and close; it becomes the single file `target` if the block succeeds.

    Raise StoreError if the file already exists.
    """
    _demand_new(target)
    with explained(target), ExitStack() as undo, disk.appearing(target) as unfinished:
        undo.callback(remove, unfinished)  # a failure leaves its log behind, too
        yield unfinished
        with closing(connect(unfinished, "FULL")) as connection:
            connection.pragma("journal_mode", "delete")  # no write-ahead log
        _demand_new(target)  # another backup may have created it


def _demand_new(target: Path) -> None:
    if target.exists():
        raise StoreError(f"{target} already exists. Nothing was written; choose a new file name.")


# memories from before the first release: their schemas are not known any more, but their tables are ------------------


def former(path: Path) -> Layout | None:
    """Return the layout of a data directory or a file of a former schema; None for anything else."""
    layout: Layout = SingleFile(path)
    with suppress(PermissionError):
        layout = DataDirectory(path) if (path / REGISTRY).is_file() else layout
    version = schema_version(layout.path(None))
    return layout if version is not None and version < min(migrations("sqlite")) else None


def copy(layout: Layout, target: Path) -> None:
    """Copy everything except tokens and people into a new file of the present schema. Raise StoreError."""
    with closing(SqliteFile(target, "OFF")) as whole:
        whole.open(create=True)
        for path in (*layout.others(), layout.path(None)):
            for _ in whole.copy_from(path):
                pass
        whole.write(None, lambda q: q.run("placement.follow"))
