"""Complete rows: move them from one database to another, and check that they have arrived.

Deleted rows move too. What a database derives (words, tags, running numbers) is not moved: the target derives it again.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryd.errors import StoreError
from memoryd.store.base import Queries, Row, number_of
from memoryd.store.columns import MOVED

PAGE = 2_000  # maximum rows
FIRST = 100  # rows of the first page, which may have long texts
EMPTIED = 1_000  # records and events of a deleted workspace that are deleted in one transaction
WEIGHT = 16_000_000  # approximate characters of text in a page
_BITS = 128


@dataclass(frozen=True, slots=True)
class Sum:
    """The number of some rows and the sum of their fingerprints, which does not depend on their order."""

    number: int = 0
    total: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.number + other.number, (self.total + other.total) % (1 << _BITS))


def page(queries: Queries, table: str, after: Row | None, limit: int) -> list[Row]:
    """Return the rows after `after` in the order of their key, or the first rows. Vectors are arrays of float16."""
    if after is None:
        rows = queries.all(f"moved.{table}_first", limit=limit)
    else:
        key = {column: after[column] for column in MOVED[table].order}
        rows = queries.all(f"moved.{table}_after", limit=limit, **key)
    return _with_vectors(rows) if "vector" in MOVED[table].columns else rows


def of(queries: Queries, table: str, ids: Iterable[str]) -> list[Row]:
    """Return the rows whose keys begin with one of the ids."""
    rows = queries.all(f"moved.{table}_of", ids=json.dumps(list(ids), ensure_ascii=False))
    return _with_vectors(rows) if "vector" in MOVED[table].columns else rows


def pages(queries: Queries, table: str) -> Iterator[list[Row]]:
    """Yield all rows of a table in pages; the longer the texts, the fewer rows in a page."""
    after, limit = None, FIRST
    while rows := page(queries, table, after, limit):
        yield rows
        after = rows[-1]
        mean = sum(len(row.get("body", "")) for row in rows) // len(rows) + 1
        limit = max(1, min(PAGE, 4 * limit, WEIGHT // mean))


def brought(queries: Queries) -> Iterator[list[Row]]:
    """Yield the vectors that callers supplied, in pages: no model can recreate them."""
    after: Row = {"id": "", "model": "", "chunk": -1}
    while rows := queries.all("exports.brought", **after, limit=PAGE):
        yield _with_vectors(rows)
        after = {column: rows[-1][column] for column in after}


def put(queries: Queries, table: str, rows: Iterable[Row]) -> None:
    """Add rows with all their columns; do not change rows whose keys already exist."""
    columns = MOVED[table].columns
    queries.many(f"moved.{table}_put", [{column: row[column] for column in columns} for row in rows])


def number(queries: Queries, table: str) -> int:
    """Return the number of rows of a table in the workspace."""
    return number_of(queries, f"moved.{table}_number")


def summed(table: str, rows: Sequence[Row]) -> Sum:
    """Return the sum of some rows."""
    return Sum(len(rows), sum(fingerprint(table, row) for row in rows) % (1 << _BITS))


def fingerprint(table: str, row: Row) -> int:
    """Return a hash of a row that is the same in every database: without its path and its running number."""
    values = [row[column] for column in MOVED[table].columns if column not in ("vector", "db_path")]
    digest = hashlib.blake2b(repr(values).encode(), digest_size=_BITS // 8)
    if "vector" in row:
        digest.update(row["vector"].astype("<f2").tobytes())
    return int.from_bytes(digest.digest())


def _with_vectors(rows: list[Row]) -> list[Row]:
    for row in rows:
        row["vector"] = _array(row)
    return rows


def _array(row: Row) -> NDArray[np.float16]:
    """Return a vector as float16; raise StoreError for a damaged one."""
    stored, dim = row["vector"], row["dim"]
    if isinstance(stored, np.ndarray):
        vector = stored.astype("<f2")
    else:
        whole = isinstance(stored, bytes) and len(stored) == 2 * dim
        vector = np.frombuffer(stored, "<f2") if whole else np.empty(0, "<f2")
    if len(vector) != dim or not np.isfinite(vector).all():
        raise StoreError(
            f"A vector of record {row['id']} is damaged. It was not moved; drop it with `memoryd doctor --repair`, "
            "and run this again."
        )
    return vector


def empty_some(queries: Queries) -> int:
    """Permanently delete some of the rows of a workspace; return how many."""
    each = ("workspaces.empty", "workspaces.silence", "workspaces.forget_acts")
    return sum(queries.changed(statement, limit=EMPTIED) for statement in each)
