"""The vectors of a workspace in memory: exact up to EXACT rows, above that a binary scan rescored from the file.

The scan computes the Hamming distance over sign bits of centred unit vectors, column by column in blocks that stay in
the cache; its best rows are rescored with the stored float16 vectors.

An index catches up with other processes before each query: `seq` of embeddings and of their tombstones only grows. By
these numbers, an index that is ahead of a snapshot shows the contents of the snapshot, except for vectors that were
added and removed between two queries.
"""

import functools
import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.model import Filter, Kind, VectorSet
from memoryd.store.base import Queries, Row, Vector, visible

T = TypeVar("T")

EXACT = 20_000  # rows up to which a float32 product is as fast as the scan
BLOCK = 32_768  # rows in a block of the scan
RESCORED = 200  # minimum candidates; recall@10 .98 at 100,000 x 384
RESCORED_GROWTH = 0.3  # exponent: twice as many for ten times the rows; recall@10 .98 at 1,000,000 x 384
RESCORED_PER_HIT = 20
MEMORY = 2**30  # maximum bytes of all indexes together; the least recently used are dropped first
SPARSE = 4  # rows that pass a filter are gathered if they are fewer than one in this many
FIRST_ROWS = 1024
LOADED = 8192  # rows read from the file at a time
SAMPLE = 4096  # distances from which a cut is estimated
NARROW = 3  # words whose differing bits can be added up in a byte
FAR = np.iinfo(np.uint16).max
NEVER = np.iinfo(np.int64).max

Bits = NDArray[np.uint64]
Distances = NDArray[np.uint16]
Mask = NDArray[np.bool_] | None
"""The rows that may be found; None if all may."""
Slots = NDArray[np.intp]
Near = list[tuple[int, float]]
"""(rid, cosine), best first."""

_CODES = {kind: code for code, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve:
    """The records that a search may return, by rid."""

    kinds: Sequence[Kind] = ()
    """The allowed kinds; empty for all."""
    only: Sequence[int] | None = None
    """The allowed records; None for all."""
    hidden: Sequence[int] = ()


EVERY = Sieve()


def sieve_for(queries: Queries, allowed: Filter) -> Sieve:
    """Return the sieve of a filter."""
    asked = {
        "search.tagged": allowed.tags,
        "search.shelf": allowed.shelf,
        "search.among": allowed.among is not None,
        "search.spanned": allowed.after or allowed.before,
        "search.observations": allowed.entity,
        "search.hidden": queries.marks()["volatile"],
    }
    given = visible(allowed)
    found = {name: json.loads((queries.one(name, **given) or {})["rids"]) for name, wanted in asked.items() if wanted}
    hidden = found.pop("search.hidden", ())
    only = functools.reduce(_both, found.values()) if found else None
    return Sieve(kinds=allowed.kinds, only=only, hidden=hidden)


def _both(some: list[int], others: list[int]) -> list[int]:
    return list(set(some).intersection(others))


class VectorIndex:
    """The vectors of one workspace, perspective and model, one per row; a record may have several (chunks)."""

    def __init__(self, dim: int) -> None:
        self.added = self.removed = 0  # the last addition and removal that it has
        self._count = self._dead = self._last_rid = 0
        self._shown = self._as_of = 0
        """The number of rows that the present search may see, and the number of removals in its snapshot."""
        self._dim = dim
        self._chunked = False
        """Whether some record has several rows."""
        self._rids = np.empty(FIRST_ROWS, np.int64)
        self._seqs = np.empty(FIRST_ROWS, np.int64)
        self._kinds = np.empty(FIRST_ROWS, np.uint8)
        self._gone = np.empty(FIRST_ROWS, np.int64)  # the removal of each row, or NEVER
        self._exact: NDArray[np.float32] | None = np.empty((FIRST_ROWS, dim), np.float32)
        self._words: Bits = np.empty((0, 0), np.uint64)  # (dim / 64, rows), column-major
        self._distances: Distances = np.empty(0, np.uint16)  # reused: fresh memory costs more than the scan
        self._centre = np.zeros(dim, np.float32)

    def __len__(self) -> int:
        return self._count - self._dead

    @property
    def bytes(self) -> int:
        """The size in memory."""
        vectors = self._exact if self._exact is not None else self._words
        others = (self._rids, self._seqs, self._kinds, self._gone, self._distances)
        return vectors.nbytes + sum(array.nbytes for array in others)

    # updates ---------------------------------------------------------------------------------------------------------

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows (seq, rid, kind, vector), in the order of seq."""
        start, end = self._count, self._count + len(rows)
        self._reserve(end)
        self._seqs[start:end] = [row["seq"] for row in rows]
        self._rids[start:end] = [row["rid"] for row in rows]
        self._kinds[start:end] = [_CODES[row["kind"]] for row in rows]
        self._gone[start:end] = NEVER
        here = self._rids[start:end]
        self._chunked |= bool((here[1:] == here[:-1]).any())
        self._last_rid = max(self._last_rid, int(self._rids[start:end].max(initial=0)))
        vectors = _matrix(rows, self._dim)
        if self._exact is not None:
            self._exact[start:end] = vectors
        else:
            self._words[:, start:end] = self._pack(vectors)
        self._count = end
        if self._exact is not None and end > EXACT:
            self._to_bits(self._exact)

    def remove(self, rows: Sequence[Row]) -> None:
        """Mark the rows that removals (seq, embedding) have removed; ignore those of other indexes."""
        known = self._seqs[: self._count]  # grows with each row
        removals = np.asarray([(row["embedding"], row["seq"]) for row in rows], np.int64).reshape(-1, 2)
        slots = np.searchsorted(known, removals[:, 0])
        inside = slots < self._count
        slots, removals = slots[inside], removals[inside]
        mine = known[slots] == removals[:, 0]
        self._gone[slots[mine]] = removals[mine, 1]
        self._dead += int(mine.sum())

    def show(self, added: int, removed: int) -> None:
        """Limit searches to a snapshot that has these additions and removals."""
        self._shown = int(np.searchsorted(self._seqs[: self._count], added, "right"))
        self._as_of = removed

    @property
    def wasteful(self) -> bool:
        """Return whether most rows are dead, so that reloading is cheaper than scanning them."""
        return self._count > FIRST_ROWS and 2 * len(self) < self._count

    def _reserve(self, rows: int) -> None:
        capacity = len(self._seqs)
        if rows <= capacity:
            return
        capacity = max(rows, 3 * capacity // 2)
        self._seqs, self._rids = _grown(self._seqs, capacity), _grown(self._rids, capacity)
        self._kinds, self._gone = _grown(self._kinds, capacity), _grown(self._gone, capacity)
        if self._exact is not None:
            self._exact = _grown(self._exact, capacity)
        else:
            words = self._words
            self._words = np.empty((len(words), capacity), np.uint64)
            self._words[:, : self._count] = words[:, : self._count]
            self._distances = np.empty(capacity, np.uint16)

    def _to_bits(self, exact: NDArray[np.float32]) -> None:
        capacity = len(self._seqs)
        self._centre = exact[: self._count].mean(0)
        self._words = np.empty((-(-self._dim // 64), capacity), np.uint64)
        self._words[:, : self._count] = self._pack(exact[: self._count])
        self._distances = np.empty(capacity, np.uint16)
        self._exact = None

    def _pack(self, vectors: NDArray[np.floating]) -> Bits:
        """Return the sign bits of centred vectors: (rows, dim) -> (ceil(dim / 64), rows)."""
        bits = np.packbits(vectors > self._centre, axis=1)
        padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
        return np.ascontiguousarray(padded).view(np.uint64).T

    # searching -------------------------------------------------------------------------------------------------------

    def nearest(self, queries: Queries, vector: Vector, limit: int, sieve: Sieve = EVERY) -> Near:
        """Return the records nearest to a unit vector by their chunks."""
        slots = self._candidates(vector, self._mask(sieve), self._rescored(limit))
        if self._chunked and self._exact is None:  # a scan may have missed chunks of a record
            slots = self._slots(self._mask(Sieve(only=self._rids[slots].tolist())))
        return _by_record(self._rids[slots], self._cosines(queries, vector, slots), limit)

    def cosines(self, queries: Queries, vector: Vector, rids: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each record in this index, by its chunks."""
        slots = self._slots(self._mask(Sieve(only=rids)))
        return dict(_by_record(self._rids[slots], self._cosines(queries, vector, slots), len(rids)))

    def _rescored(self, limit: int) -> int:
        """Return how many candidates of a scan are rescored."""
        more_rows = (max(self._shown, 100_000) / 100_000) ** RESCORED_GROWTH
        fewer_signs = max(384 / self._dim, 1)
        return int(max(RESCORED * more_rows, RESCORED_PER_HIT * limit) * fewer_signs)

    def _mask(self, sieve: Sieve) -> Mask:
        masks = []
        if self._dead:
            masks.append(self._gone[: self._shown] > self._as_of)
        if sieve.kinds:
            wanted = np.zeros(len(_CODES), np.bool_)
            wanted[[_CODES[kind] for kind in sieve.kinds]] = True
            masks.append(wanted[self._kinds[: self._shown]])
        if sieve.only is not None:
            masks.append(self._among(sieve.only))
        if sieve.hidden:
            masks.append(~self._among(sieve.hidden))
        return functools.reduce(np.logical_and, masks) if masks else None

    def _among(self, rids: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask of the rows that belong to one of these records."""
        flags = np.zeros(self._last_rid + 1, np.bool_)
        known = np.asarray(rids, np.int64)
        flags[known[known <= self._last_rid]] = True
        return flags[self._rids[: self._shown]]

    def _slots(self, mask: Mask) -> Slots:
        return np.arange(self._shown) if mask is None else np.flatnonzero(mask)

    def _candidates(self, vector: Vector, mask: Mask, wanted: int) -> Slots:
        """Return the slots to rescore: all that may be found, or the `wanted` nearest by Hamming distance."""
        found = self._shown if mask is None else int(np.count_nonzero(mask))
        if self._exact is not None or found <= wanted:
            return self._slots(mask)
        code = self._pack(vector[None, :])[:, 0]
        if SPARSE * found < self._shown:  # few: gathering them is cheaper than scanning all
            slots = self._slots(mask)
            return slots[_smallest(_hamming(self._words[:, slots], code, self._distances[:found]), None, wanted)]
        every = self._words[:, : self._shown]
        return _smallest(_hamming(every, code, self._distances[: self._shown]), mask, wanted)

    def _cosines(self, queries: Queries, vector: Vector, slots: Slots) -> NDArray[np.float32]:
        if self._exact is not None:
            whole = len(slots) == self._shown
            return (self._exact[: self._shown] if whole else self._exact[slots]) @ vector
        seqs = self._seqs[slots].tolist()
        rows = queries.all("vectors.exact", seqs=json.dumps(seqs), dim=self._dim)
        exact = (_matrix(rows, self._dim) @ vector).tolist()
        found = {row["seq"]: cosine for row, cosine in zip(rows, exact, strict=True)}
        return np.asarray([found.get(seq, -1.0) for seq in seqs], np.float32)


def _hamming(words: Bits, code: Bits, total: Distances) -> Distances:
    """Fill `total` with the distance of each column of (dim / 64, rows) to one code, in blocks that fit the cache."""
    rows = len(total)
    differing = np.empty(BLOCK, np.uint64)
    ones, more = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, rows, BLOCK):
        size = min(BLOCK, rows - start)
        here, part = slice(start, start + size), slice(size)
        for line in range(0, len(code), NARROW):  # the sum of three words fits into a byte, and bytes add up faster
            np.bitwise_count(np.bitwise_xor(words[line, here], code[line], out=differing[part]), out=ones[part])
            for next_ in range(line + 1, min(line + NARROW, len(code))):
                np.bitwise_count(np.bitwise_xor(words[next_, here], code[next_], out=differing[part]), out=more[part])
                np.add(ones[part], more[part], out=ones[part])
            np.add(total[here] if line else 0, ones[part], out=total[here])
    return total


def _smallest(distances: Distances, mask: Mask, wanted: int) -> Slots:
    """Return the positions of the `wanted` smallest; a cut estimated from a sample avoids partitioning all."""
    step = max(1, len(distances) // SAMPLE)
    sample = distances[::step] if mask is None else distances[::step][mask[::step]]
    near: Slots = np.empty(0, np.intp)
    if len(sample):
        cut = np.sort(sample)[min(2 * wanted // step + 6, len(sample) - 1)]
        near = np.flatnonzero(distances <= cut)
        near = near if mask is None else near[mask[near]]
    if len(near) < wanted:  # the sample was misleading
        if mask is not None:
            distances[~mask] = FAR
        return np.argpartition(distances, wanted - 1)[:wanted]
    return near[np.argpartition(distances[near], wanted - 1)[:wanted]]


def _by_record(rids: NDArray[np.int64], cosines: NDArray[np.float32], limit: int) -> Near:
    """Return the best records, scored by the mean of the best chunk and all chunks.

    The best of many chunks is the best of many draws, so that score alone would favour long texts (R@10 .725 against
    .737 on chat); the mean compensates.
    """
    if not len(rids):
        return []
    order = np.argsort(rids, kind="stable")
    rids, cosines = rids[order], cosines[order]
    starts = np.flatnonzero(np.append(True, rids[1:] != rids[:-1]))
    chunks = np.diff(np.append(starts, len(rids)))
    scores = (np.maximum.reduceat(cosines, starts) + np.add.reduceat(cosines, starts) / chunks) / 2
    top = np.argpartition(-scores, limit - 1)[:limit] if limit < len(scores) else np.arange(len(scores))
    top = top[np.argsort(-scores[top], kind="stable")]
    return list(zip(rids[starts[top]].tolist(), scores[top].tolist(), strict=True))


def _matrix(rows: Sequence[Row], dim: int) -> NDArray[np.float32]:
    """Return the float16 vectors of rows as (rows, dim) float32."""
    # numpy converts number by number; shifting the bits into place is six times faster, and exact except for
    # infinities: sign, five bits of exponent, ten of fraction, and an exponent biased by 15, not 127.
    wide = np.frombuffer(b"".join([row["vector"] for row in rows]), "<i2").astype(np.int32)
    wide <<= 13
    wide &= np.int32(~0x70000000)
    vectors = wide.view(np.float32)
    vectors *= np.float32(2.0**112)
    return vectors.reshape(len(rows), dim)


def by_record(rows: Sequence[Row]) -> dict[str, Vector]:
    """Return the vectors of rows (id, dim, vector) as (chunks, dim) for each id.

    Only vectors with the most frequent dim: a model may have changed it under the same name, and they are incomparable.
    """
    if not rows:
        return {}
    ((dim, _),) = Counter(row["dim"] for row in rows).most_common(1)
    fitting = [row for row in rows if row["dim"] == dim]
    matrix = _matrix(fitting, dim)  # all at once: one by one would take as long as the search itself
    chunks = Counter(row["id"] for row in fitting)  # in the order of the rows, which are grouped by id
    ends = np.cumsum(list(chunks.values())).tolist()
    return {key: matrix[end - number : end] for (key, number), end in zip(chunks.items(), ends, strict=True)}


def means(queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
    """Return the entities whose observations have vectors in a set, and their unit means; read in pages."""
    sums: dict[int, _Sums] = {}
    seq = 0
    while rows := queries.all(
        "vectors.of_entities", perspective=among.perspective, model=among.model, seq=seq, limit=LOADED
    ):
        seq = rows[-1]["seq"]
        for dim in {row["dim"] for row in rows}:
            sums.setdefault(dim, _Sums(dim)).add([row for row in rows if row["dim"] == dim])
    return max(sums.values(), key=lambda each: each.rows, default=_Sums(0)).means()


class _Sums:
    """The sums of the vectors of each entity, for the most frequent dim: a model may have changed it."""

    def __init__(self, dim: int) -> None:
        self.rows = 0
        self._dim = dim
        self._places: dict[str, int] = {}
        self._sums: Vector = np.empty((0, dim), np.float32)

    def add(self, rows: Sequence[Row]) -> None:
        self.rows += len(rows)
        places = np.asarray([self._places.setdefault(row["entity_id"], len(self._places)) for row in rows])
        if len(self._places) > len(self._sums):
            more = np.zeros((2 * len(self._places) - len(self._sums), self._dim), np.float32)
            self._sums = np.concatenate([self._sums, more])
        order = np.argsort(places, kind="stable")
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        self._sums[places[order][starts]] += np.add.reduceat(_matrix(rows, self._dim)[order], starts)

    def means(self) -> tuple[list[str], Vector]:
        sums = self._sums[: len(self._places)]
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6))
        return list(self._places), sums


def _grown(values: NDArray[Any], rows: int) -> NDArray[Any]:
    grown = np.empty((rows, *values.shape[1:]), values.dtype)
    grown[: len(values)] = values
    return grown


class VectorIndexes:
    """The indexes in use, each loaded at first use and updated from the file."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[str, VectorSet, int], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def ask(
        self, queries: Queries, sets: Sequence[VectorSet], dim: int, question: Callable[[VectorIndex], T]
    ) -> list[T]:
        """Return the answer of each set's index, for the snapshot that `queries` reads."""
        return [self._ask(queries, among, dim, queries.marks(), question) for among in sets]

    def _ask(self, queries: Queries, among: VectorSet, dim: int, come: Row, question: Callable[[VectorIndex], T]) -> T:
        key = (queries.workspace_id, among, dim)
        with self._lock:
            kept = self._indexes.setdefault(key, _Kept())
            self._indexes.move_to_end(key)
            self._stay_small()
        with kept.lock:
            kept.index = _caught_up(kept.index, queries, among, dim, come)
            kept.index.show(come["vectors"], come["removals"])
            return question(kept.index)

    @property
    def bytes(self) -> int:
        """The size in memory of all indexes."""
        with self._lock:
            return self._size()

    def _size(self) -> int:
        return sum(kept.bytes for kept in self._indexes.values())

    def _stay_small(self) -> None:
        while len(self._indexes) > 1 and self._size() > MEMORY:
            self._indexes.popitem(last=False)


class _Kept:
    """An index and its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index: VectorIndex | None = None

    @property
    def bytes(self) -> int:
        return self.index.bytes if self.index else 0


def _caught_up(index: VectorIndex | None, queries: Queries, among: VectorSet, dim: int, come: Row) -> VectorIndex:
    """Return the index with all additions and removals since its last use; reload it if that is cheaper."""
    if index is None or index.wasteful or index.removed + 1 < come["oldest_removal"]:
        index = VectorIndex(dim)
        index.removed = come["removals"]
    if come["vectors"] > index.added:
        _add_missing(index, queries, among, dim)
        index.added = come["vectors"]
    if come["removals"] > index.removed:
        index.remove(queries.all("vectors.removed", seq=index.removed))
        index.removed = come["removals"]
    return index


def _add_missing(index: VectorIndex, queries: Queries, among: VectorSet, dim: int) -> None:
    while rows := queries.all(
        "vectors.added", perspective=among.perspective, model=among.model, dim=dim, seq=index.added, limit=LOADED
    ):
        index.add(rows)
        index.added = rows[-1]["seq"]
