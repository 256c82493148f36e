"""The vector index: exact if small, nearly exact if large, and always up to date with the file."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memoryd.core.base.clock import Clock
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.model import GENERAL, Filter, Kind, Workspace
from memoryd.store.base import Queries, Vector
from memoryd.store.sqlite import vector_index
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from memoryd.store.sqlite.vector_index import VectorIndex
from tests.clients import environment
from tests.forks import Fork
from tests.store.kit import (
    EVERY,
    MODEL,
    SET,
    add,
    axis,
    change,
    cosines,
    forget,
    made,
    near,
    nearest,
    purge,
    put,
    together,
    unit,
    workspace,
)

pytestmark = pytest.mark.slow

DIM, MANY, K = 384, 4_500, 10
FEW = 3_000  # rows up to which they are compared exactly in these tests: a sixth of the usual number
TOPICS = 200


class Draws:
    """Clustered unit vectors, as in embeddings of real texts (reference/binary_scan.py)."""

    def __init__(self, seed: int = 0, dim: int = DIM) -> None:
        self.dice = np.random.default_rng(seed)
        self.dim = dim
        self.topics = self.dice.standard_normal((TOPICS, 64))
        self.lift = self.dice.standard_normal((64, dim)) / 8

    def __call__(self, rows: int) -> Vector:
        latent = self.topics[self.dice.integers(0, TOPICS, rows)] + 0.7 * self.dice.standard_normal((rows, 64))
        return unit(latent @ self.lift + 0.15 * self.dice.standard_normal((rows, self.dim)) + 0.05)


def fill(
    store: SqliteStore, place: Workspace, rows: Vector, kinds: Sequence[Kind] = (Kind.MEMORY,), **fields: Any
) -> None:
    """Add a record for each row, with its number as text; kinds alternate."""

    def work(queries: Queries) -> None:
        queries.many("records.add", [
            {"id": f"{fields.get('scope', '')}{n:06}", "kind": str(kinds[n % len(kinds)]), "name": None, "type": "",
             "body": str(n), "tags": json.dumps(["all", *(["rare"] if n % 1000 == 7 else [])]), "scope": "",
             "session_id": None, "client": "", "tool": "", "now": "2026-01-01T00:00:00.000Z"} | fields
            for n in range(len(rows))
        ])  # fmt: skip
        queries.many("embeddings.add", [
            {"id": f"{fields.get('scope', '')}{n:06}", "chunk": 0, "perspective": "general", "model": MODEL,
             "dim": rows.shape[1], "vector": row.astype(np.float16)} for n, row in enumerate(rows)
        ])  # fmt: skip

    store.write(place, work)


def numbers(store: SqliteStore, place: Workspace, vector: Vector, allowed: Filter = EVERY, limit: int = K) -> list[int]:
    return [int(key) for key, _ in nearest(store, place, SET, vector, allowed, limit)]


def best(rows: Vector, vector: Vector, among: NDArray[Any] | None = None, limit: int = K) -> list[int]:
    """Return what numpy finds, among the given numbers."""
    slots = np.arange(len(rows)) if among is None else among
    return [int(slots[place]) for place in np.argsort(-(rows[slots] @ vector), kind="stable")[:limit]]


def recall(found: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> float:
    hits = sum(len(set(one) & set(other)) for one, other in zip(found, expected, strict=True))
    return hits / sum(len(one) for one in expected)


def embed(record_id: str, vector: Vector, queries: Queries) -> None:
    records.embed(queries, record_id, GENERAL, Embedded(MODEL, vector[None, :]))


def trim(store: SqliteStore, place: Workspace, keep: int) -> int:
    return store.write(place, lambda q: q.changed("vectors.trim", keep=keep))


def index(store: SqliteStore) -> VectorIndex:
    (kept,) = store.index._vectors._indexes.values()
    assert kept.index
    return kept.index


# exact ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [3, 64, 100, 384])
def test_few_rows_are_compared_exactly(store: SqliteStore, here: Workspace, dim: int) -> None:
    rows, questions = Draws(dim=dim)(1500), Draws(1, dim)(10)
    fill(store, here, rows)
    for question in questions:
        found = nearest(store, here, SET, question, Filter(), K)
        exact = rows @ question
        assert [int(key) for key, _ in found] == best(rows, question)
        assert [score for _, score in found] == pytest.approx([exact[n] for n in best(rows, question)], abs=1e-5)
    assert index(store)._exact is not None


def test_ties_and_a_limit_above_the_number_of_rows(store: SqliteStore, here: Workspace) -> None:
    same = np.repeat(Draws()(1), 5, axis=0)
    fill(store, here, same)
    assert sorted(numbers(store, here, same[0], limit=100)) == list(range(5))
    assert len(numbers(store, here, same[0], limit=3)) == 3
    assert [score for _, score in nearest(store, here, SET, same[0], Filter(), 9)] == pytest.approx([1.0] * 5, abs=1e-3)


# scanned -------------------------------------------------------------------------------------------------------------


class Large:
    """A store with more rows than are compared exactly; it is shared, so tests must not change it."""

    def __init__(self, file: Path) -> None:
        self.store = made(SingleFile(file), "normal")
        self.here = workspace()
        draws = Draws()
        self.rows, self.questions = draws(MANY), draws(25)
        fill(self.store, self.here, self.rows, (Kind.MEMORY, Kind.ENTITY, Kind.OBSERVATION))
        fill(self.store, self.here, self.rows[:200], scope="theirs")

    def find(self, allowed: Filter, limit: int = K) -> list[list[int]]:
        return [numbers(self.store, self.here, question, allowed, limit) for question in self.questions]

    def expect(self, among: NDArray[Any] | None = None, limit: int = K) -> list[list[int]]:
        return [best(self.rows, question, among, limit) for question in self.questions]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vector_index, "EXACT", FEW)
        large = Large(tmp_path_factory.mktemp("large") / "memory.db")
        with closing(large.store):
            yield large


@pytest.mark.parametrize("limit", [1, K, 50])
def test_many_rows_are_found_nearly_all(large: Large, limit: int) -> None:
    found = large.find(Filter(), limit)
    assert index(large.store)._exact is None
    assert all(len(one) == limit for one in found)
    assert recall(found, large.expect(limit=limit)) >= 0.95


def test_scores_of_a_scan_are_exact(large: Large) -> None:
    question = large.questions[0]
    for key, score in nearest(large.store, large.here, SET, question, Filter(), K):
        assert score == pytest.approx(float(large.rows[int(key)] @ question), abs=1e-5)
    ids = [f"{n:06}" for n in (0, 5, MANY - 1)]
    found = cosines(large.store, large.here, SET, question, [*ids, "unknown"])
    assert found == pytest.approx({key: float(large.rows[int(key)] @ question) for key in ids}, abs=1e-5)


@pytest.mark.parametrize(
    ("allowed", "among"),
    [
        (Filter(tags=("rare",)), np.arange(7, MANY, 1000)),  # 5 rows: fewer than are looked at closely
        (Filter(tags=("all",)), None),  # a filter that lets everything through
        (Filter(tags=("all", "rare")), np.arange(7, MANY, 1000)),
        (Filter(kinds=(Kind.ENTITY,)), np.arange(1, MANY, 3)),
        (Filter(kinds=(Kind.ENTITY, Kind.MEMORY)), np.setdiff1d(np.arange(MANY), np.arange(2, MANY, 3))),
        (Filter(kinds=tuple(Kind)), None),
        (Filter(kinds=(Kind.MEMORY,), tags=("rare",)), np.intersect1d(np.arange(7, MANY, 1000), np.arange(0, MANY, 3))),
        (Filter(kinds=(Kind.SUMMARY,)), np.arange(0)),
        (Filter(tags=("none",)), np.arange(0)),
    ],
)  # fmt: skip
def test_filters_apply_before_the_candidates_are_cut_off(
    large: Large, allowed: Filter, among: NDArray[Any] | None
) -> None:
    found, expected = large.find(allowed), large.expect(among)
    assert [len(one) for one in found] == [len(one) for one in expected]
    if among is not None:
        assert set().union(*found) <= set(among.tolist())
    if among is None or len(among):
        assert recall(found, expected) >= 0.95


def test_volatile_rows_of_others_are_hidden(large: Large) -> None:
    question = large.rows[11]
    found = nearest(large.store, large.here, SET, question, Filter(session="theirs"), 2)
    assert {key for key, _ in found} == {"000011", "theirs000011"}
    assert not [key for key, _ in nearest(large.store, large.here, SET, question, Filter(), 200) if "theirs" in key]


def test_half_a_file_of_hidden_rows(store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT", 500)
    rows = Draws()(1500)
    fill(store, here, rows, scope="s")
    fill(store, here, rows)
    for question in rows[:5]:
        assert recall([numbers(store, here, question)], [best(rows, question)]) >= 0.9


@pytest.mark.parametrize("dim", [8, 70, 129])
def test_dimensions_that_do_not_fill_a_word(
    store: SqliteStore, here: Workspace, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", 1000)
    draws = Draws(dim=dim)
    rows, questions = draws(2000), draws(20)
    fill(store, here, rows)
    found = [numbers(store, here, question) for question in questions]
    assert index(store)._words.shape[0] == -(-dim // 64)
    wanted = 0.95 if dim >= 100 else 0.9 if dim >= 70 else 0.6  # few signs carry little information
    assert recall(found, [best(rows, question) for question in questions]) >= wanted


def test_the_scan_counts_differing_bits() -> None:
    dice = np.random.default_rng(0)
    for lines, rows in ((1, 1), (2, 5), (6, vector_index.BLOCK + 3), (16, 3 * vector_index.BLOCK)):
        words = dice.integers(0, 2**64, (lines, rows), dtype=np.uint64)
        code = dice.integers(0, 2**64, lines, dtype=np.uint64)
        found = vector_index._hamming(words, code, np.full(rows, 7, np.uint16))
        np.testing.assert_array_equal(found, np.bitwise_count(words ^ code[:, None]).sum(0))


@pytest.mark.parametrize("shape", ["random", "equal", "rising", "falling", "sparse"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_smallest_are_the_smallest(shape: str, masked: bool) -> None:
    dice = np.random.default_rng(0)
    count = 50_000
    distances = {
        "random": dice.integers(0, 385, count), "equal": np.full(count, 7), "rising": np.arange(count),
        "falling": np.arange(count)[::-1], "sparse": np.where(np.arange(count) % 12 == 5, 1, 300),
    }[shape].astype(np.uint16)  # fmt: skip
    mask = np.arange(count) % 2 == 1 if masked else None  # the sample's step is even: it sees none of them
    allowed = distances if mask is None else distances[mask]
    for wanted in (1, 10, 400, 20_000):
        places = vector_index._smallest(distances.copy(), mask, wanted)
        assert len(set(places.tolist())) == wanted
        assert mask is None or mask[places].all()
        np.testing.assert_array_equal(np.sort(distances[places]), np.sort(allowed)[:wanted])


# chunks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [100_000, 50])
def test_a_record_counts_by_its_best_chunk_and_by_all(
    store: SqliteStore, here: Workspace, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    rows = Draws()(400)
    store.write(here, lambda q: [add(q, str(n), rows[4 * n : 4 * n + 4], id=str(n)) for n in range(100)])
    for question in Draws(1)(10):
        chunks = (rows @ question).reshape(100, 4)
        scores = (chunks.max(1) + chunks.mean(1)) / 2
        found = nearest(store, here, SET, question, Filter(), 20)
        assert [int(key) for key, _ in found] == np.argsort(-scores, kind="stable")[:20].tolist()
        assert [score for _, score in found] == pytest.approx(np.sort(scores)[::-1][:20].tolist(), abs=1e-5)
        every = cosines(store, here, SET, question, [str(n) for n in range(100)])
        assert [every[str(n)] for n in range(100)] == pytest.approx(scores.tolist(), abs=1e-5)


def test_a_record_of_many_chunks_does_not_crowd_out_the_others(store: SqliteStore, here: Workspace) -> None:
    rows = Draws()(3)
    put(store, here, "long", np.repeat(rows[:1], 300, axis=0))
    put(store, here, "second", rows[1])
    put(store, here, "third", rows[2])
    assert near(store, here, rows[0], limit=3)[0] == "long"
    assert sorted(near(store, here, rows[0], limit=3)) == ["long", "second", "third"]


# keeping up ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [100_000, 200])
def test_it_follows_a_random_workload(
    store: SqliteStore, here: Workspace, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    draws, dice, living = Draws(), np.random.default_rng(3), dict[str, Vector]()
    for turn in range(30):
        for row in draws(12):
            key = f"{turn}x{len(living)}x{dice.integers(1 << 30)}"
            put(store, here, key, row, id=key)
            living[key] = row
        for key in dice.choice(sorted(living), 4, replace=False).tolist():
            if dice.random() < 0.5:
                forget(store, here, key)
                del living[key]
            else:
                change(store, here, key, "changed")
                living[key] = draws(1)[0]
                store.write(here, partial(embed, key, living[key]))
        if turn % 10 == 5:
            purge(store, here)
        keys = sorted(living)
        rows = np.stack([living[key] for key in keys])
        question = draws(1)[0]
        found = [key for key, _ in nearest(store, here, SET, question, Filter(), 5)]
        assert found == [keys[n] for n in best(rows, question, limit=5)]
    assert len(index(store)) == len(living)


OTHER = """
import sys
from pathlib import Path
import numpy as np
from memoryd.model import GENERAL, Workspace
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import axis, change, forget, near, purge, put

here, store = Workspace(id=sys.argv[2], name="one"), SqliteStore(SingleFile(Path(sys.argv[1])), "normal")
for line in sys.stdin:
    verb, *words = line.split()
    match verb:
        case "put":
            print(put(store, here, words[0], axis(int(words[1]), 384), id=words[0]), flush=True)
        case "forget":
            print(forget(store, here, *words), flush=True)
        case "purge":
            print(purge(store, here), flush=True)
        case "change":
            print(change(store, here, words[0], "changed"), flush=True)
        case "near":
            print(*near(store, here, axis(int(words[0]), 384), limit=int(words[1])), flush=True)
store.close()
"""


class Other:
    """Another process on the same file."""

    def __init__(self, file: Path, place: Workspace) -> None:
        environ = environment(file.parent / "other")
        environ["PYTHONPATH"] += f":{Path(__file__).parents[3]}"
        self.process = Fork[str](
            [sys.executable, "-c", OTHER, str(file), place.id],
            stdin=PIPE, stdout=PIPE, text=True, env=environ,
        )  # fmt: skip

    def __call__(self, line: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0


@pytest.mark.process
@pytest.mark.parametrize("exact", [100_000, 100])
def test_what_another_process_does_is_seen_by_the_next_query(
    store: SqliteStore, file: Path, here: Workspace, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    fill(store, here, unit(np.abs(Draws()(600)) + 0.1)[:, ::-1])  # all of them far from every axis
    question = axis(3, DIM)
    with closing(Other(file, here)) as other:
        assert "theirs" not in near(store, here, question)
        assert other("put theirs 3") == "theirs"
        assert near(store, here, question, limit=1) == ["theirs"]
        assert other("put twin 3") == "twin"
        assert set(near(store, here, question, limit=2)) == {"theirs", "twin"}
        assert other("forget twin") == "1"
        assert near(store, here, question, limit=2)[0] == "theirs"
        assert "twin" not in near(store, here, question, limit=2)
        assert other("purge") == "1"
        assert other("change theirs") == "None"  # its vector is of the old text
        assert "theirs" not in near(store, here, question)
        put(store, here, "ours", question)
        assert other("near 3 1") == "ours"
        forget(store, here, *[key for key, _ in nearest(store, here, SET, question, Filter(), 1)])
        assert "ours" not in other("near 3 5").split()
        assert other("put last 3") == "last"
        assert near(store, here, question, limit=1) == ["last"]


def test_an_index_that_lags_behind_trimmed_removals_reloads(store: SqliteStore, file: Path, here: Workspace) -> None:
    rows = Draws()(50)
    fill(store, here, rows)
    with closing(SqliteStore(SingleFile(file), "normal")) as other:
        assert numbers(store, here, rows[7], limit=1) == numbers(other, here, rows[7], limit=1) == [7]
        for keep, gone in ((1, (7, 8, 9)), (0, (10, 11))):
            forget(other, here, *[f"{n:06}" for n in gone])
            trim(other, here, keep)
            for number in gone:
                assert number not in numbers(store, here, rows[number])
                assert number not in numbers(other, here, rows[number])
            assert len(numbers(store, here, rows[0], limit=100)) == len(index(store))
    assert len(index(store)) == 45


def test_trimming_keeps_the_given_number_of_removals(store: SqliteStore, here: Workspace) -> None:
    fill(store, here, Draws()(20))
    forget(store, here, *[f"{n:06}" for n in range(10)])
    assert [trim(store, here, keep) for keep in (100, 4, 4)] == [0, 6, 0]


def test_mostly_dead_rows_are_swept_out(store: SqliteStore, here: Workspace) -> None:
    rows = Draws(dim=64)(3000)
    fill(store, here, rows)
    numbers(store, here, rows[0])
    before = index(store)
    forget(store, here, *[f"{n:06}" for n in range(1800)])
    assert numbers(store, here, rows[2000], limit=1) == [2000]
    assert index(store) is before
    assert before.wasteful
    assert numbers(store, here, rows[2001], limit=1) == [2001]
    assert index(store) is not before
    assert len(index(store)) == index(store)._count == 1200


def test_a_large_file_is_loaded_in_pieces(store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "LOADED", 64)
    monkeypatch.setattr(vector_index, "EXACT", 100)
    rows = Draws()(1000)
    fill(store, here, rows)
    fill(store, workspace(), rows)  # rows of others are in between
    put(store, here, "1000", rows[3], id="1000")
    assert set(numbers(store, here, rows[3], limit=2)) == {3, 1000}
    assert len(index(store)) == 1001


def test_the_least_recently_used_indexes_are_dropped(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [workspace(str(n)) for n in range(5)]
    rows = Draws()(30)
    for place in places:
        put(store, place, place.name, rows[0])
    near(store, places[0], rows[0])
    assert index(store).bytes >= rows[:1].nbytes
    monkeypatch.setattr(vector_index, "MEMORY", 2 * index(store).bytes)
    for place in (*places, places[3], places[0]):
        assert near(store, place, rows[0]) == [place.name]
        assert len(store.index._vectors._indexes) <= 3
    assert [key[0] for key in store.index._vectors._indexes][-2:] == [places[3].id, places[0].id]
    monkeypatch.setattr(vector_index, "MEMORY", 1)
    assert near(store, places[1], rows[0]) == ["1"]
    assert len(store.index._vectors._indexes) == 1  # the one in use stays, whatever it takes


@pytest.mark.parametrize("exact", [100_000, 300])
def test_threads_search_while_others_write(
    store: SqliteStore, here: Workspace, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    fixed = Draws()(400)
    fill(store, here, fixed)
    finished, clock = list[int](), Clock()

    def work(number: int) -> None:
        draws = Draws(number)
        if number < 3:
            try:
                for row in draws(20):
                    key = put(store, here, "passing", -np.abs(row), now=clock.now())
                    assert near(store, here, -np.abs(row), limit=50).count("passing") >= 1
                    forget(store, here, key)
            finally:
                finished.append(number)
            return
        while len(finished) < 3:
            chosen = int(draws.dice.integers(400))
            assert numbers_of(store, here, fixed[chosen])[0] == chosen

    assert together(work, 6) == []
    assert (numbers_of(store, here, fixed[0])[0], len(index(store))) == (0, 400)


def numbers_of(store: SqliteStore, place: Workspace, vector: Vector) -> list[int]:
    return [int(key) for key, _ in nearest(store, place, SET, vector, Filter(), 3) if key.isdigit()]
