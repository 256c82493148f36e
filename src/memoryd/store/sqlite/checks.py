"""The checks of a SQLite file other than of its rows: the log, the journal mode, the words, the vectors."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import apsw
import numpy as np

from memoryd.errors import StoreError
from memoryd.store.base import UNIT, Queries, Row
from memoryd.store.sqlite.connection import is_full
from memoryd.store.sqlite.file import SqliteFile

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
