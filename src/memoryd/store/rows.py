"""Rows as they are: how they move from one database to another, and whether they have arrived.

A row is read and written with every column, deleted ones too. What a database makes by itself (words, tags, running
numbers) stays behind: it is made anew where the row arrives.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryd.errors import StoreError
from memoryd.store.base import Queries, Row
from memoryd.store.columns import MOVED

PAGE = 2_000  # rows at most
FIRST = 100  # rows of the first page, which may hold long texts
EMPTIED = 1_000  # records and events of a deleted workspace that go in one transaction
WEIGHT = 16_000_000  # characters of text in a page, more or less
_BITS = 128


@dataclass(frozen=True, slots=True)
class Sum:
    """How many rows there are and the sum of their fingerprints, in whichever order they come."""

    number: int = 0
    total: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        """Both together."""
        return Sum(self.number + other.number, (self.total + other.total) % (1 << _BITS))


def page(queries: Queries, table: str, after: Row | None, limit: int) -> list[Row]:
    """The rows that follow `after` by their key, or the first ones. Vectors are arrays of float16."""
    if after is None:
        rows = queries.all(f"moved.{table}_first", limit=limit)
    else:
        key = {column: after[column] for column in MOVED[table].order}
        rows = queries.all(f"moved.{table}_after", limit=limit, **key)
    return _with_vectors(rows) if "vector" in MOVED[table].columns else rows


def of(queries: Queries, table: str, ids: Iterable[str]) -> list[Row]:
    """Return the rows whose keys begin with one of some ids."""
    rows = queries.all(f"moved.{table}_of", ids=json.dumps(list(ids), ensure_ascii=False))
    return _with_vectors(rows) if "vector" in MOVED[table].columns else rows


def pages(queries: Queries, table: str) -> Iterator[list[Row]]:
    """All rows of a table, page by page; the longer the texts, the fewer in a page."""
    after, limit = None, FIRST
    while rows := page(queries, table, after, limit):
        yield rows
        after = rows[-1]
        mean = sum(len(row.get("body", "")) for row in rows) // len(rows) + 1
        limit = max(1, min(PAGE, 4 * limit, WEIGHT // mean))


def brought(queries: Queries) -> Iterator[list[Row]]:
    """The vectors that callers brought, page by page: nobody could make them anew."""
    after: Row = {"id": "", "model": "", "chunk": -1}
    while rows := queries.all("exports.brought", **after, limit=PAGE):
        yield _with_vectors(rows)
        after = {column: rows[-1][column] for column in after}


def put(queries: Queries, table: str, rows: Iterable[Row]) -> None:
    """Add rows as they are; those whose keys are there already stay as they are there."""
    columns = MOVED[table].columns
    queries.many(f"moved.{table}_put", [{column: row[column] for column in columns} for row in rows])


def number(queries: Queries, table: str) -> int:
    """How many rows of a table the workspace has."""
    row = queries.one(f"moved.{table}_number")
    return row["number"] if row else 0


def summed(table: str, rows: Sequence[Row]) -> Sum:
    """The sum of some rows."""
    return Sum(len(rows), sum(fingerprint(table, row) for row in rows) % (1 << _BITS))


def fingerprint(table: str, row: Row) -> int:
    """What a row says as one number, the same in every database: but not where it lies, nor a running number."""
    said = [row[column] for column in MOVED[table].columns if column not in ("vector", "db_path")]
    digest = hashlib.blake2b(repr(said).encode(), digest_size=_BITS // 8)
    if "vector" in row:
        digest.update(row["vector"].astype("<f2").tobytes())
    return int.from_bytes(digest.digest())


def _with_vectors(rows: list[Row]) -> list[Row]:
    for row in rows:
        row["vector"] = _array(row)
    return rows


def _array(row: Row) -> NDArray[np.float16]:
    """A vector as float16. Raises StoreError for a damaged one."""
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
    """Remove a part of the rows of a workspace for good; how many that was."""
    return queries.run("workspaces.empty", limit=EMPTIED) + queries.run("workspaces.silence", limit=EMPTIED)
