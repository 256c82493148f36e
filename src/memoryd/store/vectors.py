"""The vectors of a workspace in memory: exact up to EXACT rows, above that a binary scan rescored from the file.

The scan is a Hamming distance over sign bits of centred unit vectors, column by column in blocks that stay in the
first-level cache; its best rows are rescored with the stored float16 vectors. An index catches up with other
processes before each query: `seq` of embeddings and of their tombstones only grows.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.model import Workspace
from memoryd.store.base import Queries, Row, Vector

EXACT = 20_000  # rows up to which a float32 product is as fast as the scan
BLOCK = 16_384  # rows a block of the scan
RESCORED = 400  # candidates at least; recall@10 .98 at 1,000,000 x 384
RESCORED_PER_HIT = 20
MEMORY = 2**30  # bytes all indexes together may take; the least recently used go first
SPARSE = 4  # rows that a filter leaves are gathered where they are fewer than one in this many
FIRST_ROWS = 1024

Bits = NDArray[np.uint64]
Slots = NDArray[np.intp]
Near = list[tuple[int, float]]
"""(rid, cosine), best first."""


class VectorIndex:
    """The vectors of one workspace, perspective and model. One vector a row; a record may have several (chunks)."""

    def __init__(self, dim: int) -> None:
        self.added = self.removed = 0  # how far it has come
        self._count = self._dead = 0
        self._dim = dim
        self._rids = np.empty(FIRST_ROWS, np.int64)
        self._seqs = np.empty(FIRST_ROWS, np.int64)
        self._alive = np.empty(FIRST_ROWS, np.bool_)
        self._exact: NDArray[np.float32] | None = np.empty((FIRST_ROWS, dim), np.float32)
        self._words: Bits = np.empty((0, 0), np.uint64)  # (dim / 64, rows), column-major
        self._centre = np.zeros(dim, np.float32)

    def __len__(self) -> int:
        return self._count - self._dead

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        vectors = self._exact if self._exact is not None else self._words
        return vectors.nbytes + self._rids.nbytes + self._seqs.nbytes + self._alive.nbytes

    # keeping up ------------------------------------------------------------------------------------------------------

    def add(self, seqs: Sequence[int], rids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Append rows; `vectors` is (rows, dim), unit length."""
        start, end = self._count, self._count + len(seqs)
        self._reserve(end)
        self._seqs[start:end], self._rids[start:end], self._alive[start:end] = seqs, rids, True
        if self._exact is not None:
            self._exact[start:end] = vectors
        else:
            self._words[:, start:end] = self._pack(vectors)
        self._count = end
        if self._exact is not None and end > EXACT:
            self._to_bits(self._exact)

    def remove(self, seqs: Sequence[int]) -> None:
        """Forget rows; unknown ones are none of this index's."""
        known = self._seqs[: self._count]  # grows with each row
        gone = np.asarray(seqs, np.int64)
        slots = np.searchsorted(known, gone)
        inside = slots < self._count
        slots, gone = slots[inside], gone[inside]
        slots = slots[known[slots] == gone]
        self._dead += int(self._alive[slots].sum())
        self._alive[slots] = False

    @property
    def wasteful(self) -> bool:
        """Whether most rows are dead, so that loading anew is cheaper than scanning them."""
        return self._count > FIRST_ROWS and 2 * len(self) < self._count

    def _reserve(self, rows: int) -> None:
        capacity = len(self._seqs)
        if rows <= capacity:
            return
        capacity = max(rows, 2 * capacity)
        self._seqs, self._rids = _grown(self._seqs, capacity), _grown(self._rids, capacity)
        self._alive = _grown(self._alive, capacity)
        if self._exact is not None:
            self._exact = _grown(self._exact, capacity)
        else:
            self._words = np.ascontiguousarray(_grown(self._words.T, capacity).T)

    def _to_bits(self, exact: NDArray[np.float32]) -> None:
        self._centre = exact[: self._count].mean(0)
        self._words = np.empty((-(-self._dim // 64), len(self._seqs)), np.uint64)
        self._words[:, : self._count] = self._pack(exact[: self._count])
        self._exact = None

    def _pack(self, vectors: NDArray[np.floating]) -> Bits:
        """Sign bits of centred vectors: (rows, dim) -> (ceil(dim / 64), rows)."""
        bits = np.packbits(vectors > self._centre, axis=1)
        padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
        return np.ascontiguousarray(padded).view(np.uint64).T

    # searching -------------------------------------------------------------------------------------------------------

    def nearest(
        self, queries: Queries, vector: Vector, limit: int, *, only: Sequence[int] | None, hidden: Sequence[int]
    ) -> Near:
        """The records nearest to a unit vector by their best chunk; `only` and `hidden` are rids let in or kept out."""
        mask = self._mask(only, hidden)
        slots = np.arange(self._count) if mask is None else np.flatnonzero(mask)
        wanted = max(RESCORED, RESCORED_PER_HIT * limit)
        if self._exact is None and len(slots) > wanted:
            slots = self._scan(vector, mask, slots, wanted)
        return _best_chunks(self._rids[slots], self._cosines(queries, vector, slots), limit)

    def cosines(self, queries: Queries, vector: Vector, rids: Sequence[int]) -> dict[int, float]:
        """The cosine of each record that is here, by its best chunk."""
        mask = self._mask(rids, ())
        slots = np.arange(self._count) if mask is None else np.flatnonzero(mask)
        return dict(_best_chunks(self._rids[slots], self._cosines(queries, vector, slots), len(rids)))

    def _mask(self, only: Sequence[int] | None, hidden: Sequence[int]) -> NDArray[np.bool_] | None:
        """Which rows may be found; None where all may."""
        if only is None and not hidden and not self._dead:
            return None
        mask = self._alive[: self._count].copy()
        rids = self._rids[: self._count]
        if only is not None:
            mask &= np.isin(rids, np.asarray(only, np.int64))
        if hidden:
            mask &= ~np.isin(rids, np.asarray(hidden, np.int64))
        return mask

    def _cosines(self, queries: Queries, vector: Vector, slots: Slots) -> NDArray[np.float32]:
        if self._exact is not None:
            whole = len(slots) == self._count
            return (self._exact[: self._count] if whole else self._exact[slots]) @ vector
        seqs = self._seqs[slots].tolist()
        rows = queries.all("vectors.exact", seqs=json.dumps(seqs))
        found = dict(zip((row["seq"] for row in rows), (_matrix(rows) @ vector).tolist(), strict=True))
        return np.asarray([found.get(seq, -1.0) for seq in seqs], np.float32)

    def _scan(self, vector: Vector, mask: NDArray[np.bool_] | None, slots: Slots, wanted: int) -> Slots:
        """About `wanted` of the slots, the nearest by Hamming distance."""
        code = self._pack(vector[None, :])[:, 0]
        if SPARSE * len(slots) < self._count:  # few: gathering them is cheaper than scanning all
            return slots[_smallest(_hamming(self._words[:, slots], code), wanted)]
        distance = _hamming(self._words[:, : self._count], code)
        if mask is not None:
            distance[~mask] = np.iinfo(distance.dtype).max
        return _smallest(distance, wanted)


def _hamming(words: Bits, code: Bits) -> NDArray[np.uint16]:
    """The distance of each column of (dim / 64, rows) to one code, in blocks that fit the cache."""
    rows = words.shape[1]
    distance = np.empty(rows, np.uint16)
    differing, ones = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8)
    for start in range(0, rows, BLOCK):
        size = min(BLOCK, rows - start)
        total = distance[start : start + size]
        total[:] = 0
        for line, word in zip(words, code, strict=True):
            np.bitwise_xor(line[start : start + size], word, out=differing[:size])
            np.bitwise_count(differing[:size], out=ones[:size])
            np.add(total, ones[:size], out=total)
    return distance


def _smallest(distance: NDArray[np.uint16], wanted: int) -> Slots:
    """The places of about the `wanted` smallest: a cut estimated from a sample spares a partition of all."""
    rows = len(distance)
    if rows <= wanted:
        return np.arange(rows)
    sample = np.sort(distance[:: max(1, rows // 8192)])
    cut = sample[min(int(4 * len(sample) * wanted / rows) + 3, len(sample) - 1)]
    near = np.flatnonzero(distance <= cut)
    if len(near) < wanted:
        return np.argpartition(distance, wanted)[:wanted]
    return near[np.argpartition(distance[near], wanted - 1)[:wanted]]


def _best_chunks(rids: NDArray[np.int64], cosines: NDArray[np.float32], limit: int) -> Near:
    """The best records, each by its best chunk."""
    wanted = min(2 * limit, len(rids))
    while True:
        top = np.argpartition(-cosines, wanted - 1)[:wanted] if wanted < len(rids) else np.arange(len(rids))
        top = top[np.argsort(-cosines[top], kind="stable")]
        best: dict[int, float] = {}
        for rid, cosine in zip(rids[top].tolist(), cosines[top].tolist(), strict=True):
            best.setdefault(rid, cosine)
        if len(best) >= limit or wanted == len(rids):
            return list(best.items())[:limit]
        wanted = min(4 * wanted, len(rids))  # long texts took several places


def _matrix(rows: Sequence[Row]) -> NDArray[np.float32]:
    """The float16 vectors of rows as (rows, dim) float32."""
    joined = np.frombuffer(b"".join(row["vector"] for row in rows), np.float16)
    return joined.reshape(len(rows), -1).astype(np.float32)


def _grown(values: NDArray[Any], rows: int) -> NDArray[Any]:
    grown = np.empty((rows, *values.shape[1:]), values.dtype)
    grown[: len(values)] = values
    return grown


class VectorIndexes:
    """The indexes in use, each loaded on first need and kept up with the file."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[str, str, str, int], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def current(
        self, queries: Queries, workspace: Workspace, perspective: str, model: str, dim: int
    ) -> Iterator[VectorIndex]:
        """The index as of the snapshot that `queries` reads, for this thread alone."""
        key = (workspace.id, perspective, model, dim)
        with self._lock:
            kept = self._indexes.setdefault(key, _Kept())
            self._indexes.move_to_end(key)
            self._stay_small()
        with kept.lock:
            kept.index = _caught_up(kept.index, queries, perspective, model, dim)
            yield kept.index

    def _stay_small(self) -> None:
        while len(self._indexes) > 1 and sum(kept.bytes for kept in self._indexes.values()) > MEMORY:
            self._indexes.popitem(last=False)


class _Kept:
    """A place for an index, and the lock of who uses it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index: VectorIndex | None = None

    @property
    def bytes(self) -> int:
        return self.index.bytes if self.index else 0


def _caught_up(index: VectorIndex | None, queries: Queries, perspective: str, model: str, dim: int) -> VectorIndex:
    """The index with all that has come and gone since it was last used; loaded anew where that is cheaper."""
    marks = queries.one("vectors.marks")
    assert marks is not None
    if index is None or index.wasteful or index.removed + 1 < marks["oldest"]:
        index = VectorIndex(dim)
        index.removed = marks["removed"]
    if marks["added"] > index.added:
        rows = queries.all("vectors.added", perspective=perspective, model=model, dim=dim, seq=index.added)
        if rows:
            index.add([row["seq"] for row in rows], [row["rid"] for row in rows], _matrix(rows))
        index.added = marks["added"]
    if marks["removed"] > index.removed:
        index.remove([row["embedding"] for row in queries.all("vectors.removed", seq=index.removed)])
        index.removed = marks["removed"]
    return index
