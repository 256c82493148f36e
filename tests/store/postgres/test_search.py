"""Search on Postgres: which index, which plan, and which words must match."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, VectorSet, Workspace
from memoryd.store.base import Queries, Scored, Vector
from memoryd.store.postgres import queries as postgres
from memoryd.store.postgres import search, word_index
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.postgres.word_index import Recent
from memoryd.store.sql import load, moving
from tests.clients import database
from tests.store.kit import EVERY, MODEL, SET, add, axis, forget, near, nearest, put, together, unit, words, workspace

DIM = 16
MANY = 600
ACROSS = {"doctor.owners", "upkeep.vacuum"}
"""Statements on the rows of more than one workspace: an operator's look at all that is stored, and freed room."""
OF_WORKSPACES = (
    r"\b(records|(memory|entity|observation|interaction|summary)_details|relations|perspectives|embeddings|events)\b"
)


@dataclass(frozen=True)
class Filled:
    """A database with many records in a workspace."""

    url: str
    here: Workspace
    ids: list[str]


@pytest.fixture(scope="module")
def filled(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """The database that tests copy if they ask for it, since writing so many records takes longer than the tests."""
    url, here = database(postgres, tmp_path_factory.mktemp("filled")), workspace()
    with closing(PostgresStore(url)) as store:
        return Filled(url, here, fill(store, here, cloud(MANY)))


def original(request: pytest.FixtureRequest) -> Filled | None:
    """The database of which a test's database is a copy."""
    return request.getfixturevalue("filled") if "filled" in request.fixturenames else None


@pytest.fixture
def url(request: pytest.FixtureRequest, postgres: str, tmp_path: Path) -> str:
    copied = original(request)
    return database(postgres, tmp_path, copied.url if copied else "")


@pytest.fixture
def store(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """A store that creates an index for a hundred vectors."""
    monkeypatch.setattr(search, "INDEXED", 100)
    monkeypatch.setattr(search, "PASSED", 1)
    with closing(PostgresStore(url)) as store:
        yield store


@pytest.fixture
def here(request: pytest.FixtureRequest) -> Workspace:
    copied = original(request)
    return copied.here if copied else workspace()


def cloud(rows: int, seed: int = 0) -> Vector:
    return unit(np.random.default_rng(seed).standard_normal((rows, DIM)))


def fill(store: PostgresStore, place: Workspace, vectors: Vector, **fields: str) -> list[str]:
    return store.write(place, lambda q: [add(q, f"row {n}", row, **fields) for n, row in enumerate(vectors)])


def closest(store: PostgresStore, place: Workspace, vector: Vector, allowed: Filter = EVERY, limit: int = 10) -> Scored:
    return nearest(store, place, SET, vector, allowed, limit)


def indexes(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indisvalid").fetchall()
    return {name for (name,) in rows if name.startswith("near_")}


@pytest.fixture
def indexed(store: PostgresStore, filled: Filled) -> list[str]:
    """The ids of many records, for which there is an index."""
    closest(store, filled.here, axis(0, DIM))
    store.upkeep.tend(filled.here)
    return filled.ids


# vectors -------------------------------------------------------------------------------------------------------------


def test_a_large_set_that_is_searched_gets_an_index(store: PostgresStore, url: str, here: Workspace) -> None:
    small = workspace("small")
    fill(store, small, cloud(50))
    closest(store, small, axis(0, DIM))
    store.upkeep.tend(here)
    assert not indexes(url)
    fill(store, here, cloud(MANY))
    store.upkeep.tend(here)
    assert not indexes(url)
    closest(store, here, axis(0, DIM))
    store.upkeep.tend(here)
    (name,) = indexes(url)
    assert re.fullmatch(r"near_16_general_\d+", name)
    assert store.upkeep.problems(here) == []


def test_the_planner_uses_the_index(
    store: PostgresStore, indexed: list[str], here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained = {"vectors.candidates": f"EXPLAIN {postgres.statements()['vectors.candidates']}"}
    seen: list[str] = []
    composed = postgres.PostgresQueries.composed

    def explain(
        self: postgres.PostgresQueries, name: str, parts: dict[str, int | str], **given: object
    ) -> list[dict[str, object]]:
        with monkeypatch.context() as patch:
            patch.setitem(postgres.statements(), name, explained[name])
            seen.extend(str(row["QUERY PLAN"]) for row in composed(self, name, parts, **given))
        return composed(self, name, parts, **given)

    monkeypatch.setattr(postgres.PostgresQueries, "composed", explain)
    for allowed in (EVERY, Filter(kinds=(Kind.MEMORY,)), Filter(session="s")):
        seen.clear()
        assert len(closest(store, here, axis(0, DIM), allowed)) == 10
        plan = "\n".join(seen)
        assert re.search(r"Index Scan using near_16_general_\d+ on embeddings_\d+", plan), plan
        assert "Sort" not in plan


def test_the_index_finds_the_same_as_comparing_all(
    store: PostgresStore, indexed: list[str], url: str, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = cloud(20, seed=1)
    by_index = [closest(store, here, vector) for vector in asked]
    monkeypatch.setattr(search, "PASSED", 10**9)
    one_by_one = [closest(store, here, vector) for vector in asked]
    same = sum(len({key for key, _ in a} & {key for key, _ in b}) for a, b in zip(by_index, one_by_one, strict=True))
    assert same >= 0.95 * 200
    assert all(scores == sorted(scores, reverse=True) for scores in ([c for _, c in found] for found in by_index))


def test_a_record_counts_by_all_its_chunks_there_too(store: PostgresStore, indexed: list[str], here: Workspace) -> None:
    half = (axis(0, DIM) + axis(1, DIM)) / np.sqrt(2)
    long = put(store, here, "long", np.stack([axis(0, DIM), *[-axis(0, DIM)] * 5]))
    short = put(store, here, "short", half)
    found = dict(closest(store, here, axis(0, DIM), limit=50))
    assert found[short] == pytest.approx(np.sqrt(0.5), abs=2e-3)
    assert long not in found  # its best chunk is the nearest of all, but its five others are opposite


def test_many_chunks_of_a_record_do_not_crowd_out_others(
    store: PostgresStore, indexed: list[str], here: Workspace
) -> None:
    crowd = np.stack([unit(axis(0, DIM) + 0.01 * row)[0] for row in cloud(90, seed=2)])
    long = put(store, here, "long", crowd)
    found = closest(store, here, axis(0, DIM))
    assert found[0][0] == long
    assert len(found) == 10


def test_what_may_not_be_seen_does_not_crowd_out_what_may(
    store: PostgresStore, indexed: list[str], here: Workspace
) -> None:
    fill(store, here, np.stack([axis(0, DIM)] * 300), scope="theirs")
    gone = fill(store, here, np.stack([axis(0, DIM)] * 20))
    forget(store, here, *gone)
    found = closest(store, here, axis(0, DIM), Filter(session="ours"))
    assert len(found) == 10
    assert {key for key, _ in found} <= set(indexed)


def test_the_few_records_of_a_rare_filter_are_compared_one_by_one(
    store: PostgresStore, indexed: list[str], here: Workspace
) -> None:
    put(store, here, "rare", -axis(0, DIM), tags=("rare",), kind=Kind.SUMMARY)
    assert near(store, here, axis(0, DIM), Filter(tags=("rare",))) == ["rare"]
    assert near(store, here, axis(0, DIM), Filter(kinds=(Kind.SUMMARY,))) == ["rare"]


def test_a_small_workspace_next_to_a_large_one_is_scanned(
    store: PostgresStore, indexed: list[str], here: Workspace
) -> None:
    small = workspace("small")
    ids = fill(store, small, cloud(30, seed=5))
    assert {key for key, _ in closest(store, small, axis(0, DIM), limit=50)} == set(ids)


def test_a_failed_index_is_rebuilt(store: PostgresStore, indexed: list[str], url: str, here: Workspace) -> None:
    (name,) = indexes(url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (name,))
    with closing(PostgresStore(url)) as another:
        assert len(closest(another, here, axis(0, DIM))) == 10
        another.upkeep.tend(here)
    assert indexes(url) == {name}


@pytest.mark.usefixtures("filled")
def test_others_write_and_search_while_an_index_is_built(store: PostgresStore, url: str, here: Workspace) -> None:
    closest(store, here, axis(0, DIM))

    def work(number: int) -> None:
        if number == 0:
            store.upkeep.tend(here)
        else:
            late = put(store, here, f"late {number}", axis(0, DIM))
            assert late in dict(closest(store, here, axis(0, DIM), limit=50))

    assert together(work, 8) == []
    assert indexes(url)
    assert sum(cosine > 0.99 for _, cosine in closest(store, here, axis(0, DIM))) == 7


@pytest.mark.usefixtures("filled")
def test_one_process_builds_at_a_time(store: PostgresStore, url: str, here: Workspace) -> None:
    closest(store, here, axis(0, DIM))
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_lock(1835363685)")
        store.upkeep.tend(here)
        assert not indexes(url)
        other.execute("SELECT pg_advisory_unlock(1835363685)")  # a connection may take a while to end
    store.upkeep.tend(here)
    assert indexes(url)


def test_other_perspectives_have_their_own_index(
    store: PostgresStore, filled: Filled, url: str, here: Workspace
) -> None:
    vectors = cloud(MANY, seed=7)

    def embed(queries: Queries) -> None:
        for key, vector in zip(filled.ids, vectors, strict=True):
            records.embed(queries, key, "x" * 50, records.Embedded(MODEL, vector[None, :]))

    store.write(here, embed)
    among = VectorSet("x" * 50, MODEL)
    nearest(store, here, among, vectors[3], EVERY, 10)
    store.upkeep.tend(here)
    (name,) = indexes(url)
    assert "x" * 50 in name
    assert nearest(store, here, among, vectors[3], EVERY, 10)[0][0] == filled.ids[3]


# words ---------------------------------------------------------------------------------------------------------------


def test_a_word_that_occurs_more_often_counts_more(store: PostgresStore, here: Workspace) -> None:
    put(store, here, "mill and road and hill and farm and barn")
    put(store, here, "mill and mill and hill and mill and barn")
    for n in range(9):
        put(store, here, f"filler {n}")
    assert words(store, here, "mill")[0].count("mill") == 3


def test_counts_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "REMEMBERED", 2)
    known = Recent()
    for number in range(3):
        known.put(number, str(number))
    assert [known.get(number) for number in range(3)] == [None, None, "2"]
    monkeypatch.setattr(word_index, "FRESH", -1.0)
    known.put(3, "3")
    assert known.get(3) is None


# one workspace a statement -------------------------------------------------------------------------------------------


def test_every_statement_on_a_workspace_s_rows_names_the_workspace() -> None:
    """This allows spreading workspaces over machines: no statement needs the rows of two."""
    across = set()
    for name, text in (load("postgres") | moving()).items():
        sql = re.sub(r"^\s*--.*", "", text, flags=re.MULTILINE)
        if re.search(OF_WORKSPACES, sql) and ":workspace" not in sql:
            across.add(name)
    assert across == ACROSS
