"""What is in memory of the index of words finds what the file has, whatever happened to it since."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery, parse_query, typed_query
from memoryd.store import postings
from memoryd.store.base import Queries, Row, Scored
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import EVERY, LATER, add, by_words, change, forget, made, put, value, words, workspace

COMMON = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
RARE = [f"rare{n}" for n in range(20)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "one.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with closing(made(SingleFile(file))) as store:
        yield store


@pytest.fixture
def here() -> Workspace:
    return workspace()


def question(text: str) -> WordQuery:
    query = parse_query(text)
    assert query
    return query


def text(draw: random.Random) -> str:
    return " ".join(draw.choices(COMMON, k=draw.randint(1, 4)) + draw.choices(RARE, k=draw.randint(0, 2)))


def filled(store: SqliteStore, here: Workspace, number: int) -> list[str]:
    draw = random.Random(1)
    return store.write(here, lambda q: [add(q, text(draw)) for _ in range(number)])


def of_fts5(store: SqliteStore, here: Workspace, query: WordQuery, limit: int = 1_000) -> Scored:
    """What FTS5 finds in one pass."""
    return by_words(store, here, replace(query, syntax=True), EVERY, limit)


def same(one: Scored, other: Scored) -> bool:
    return dict(one) == pytest.approx(dict(other), rel=1e-4, abs=1e-7) and len(one) == len(other)


def test_scores_are_those_of_fts5(store: SqliteStore, here: Workspace) -> None:
    filled(store, here, 300)
    put(store, here, "nothing else", name="alpha", type="beta", tags=("rare1",))
    for asked in ("alpha", "alpha beta", "rare1 alpha rare2", "rare1 rare2 rare3", "nothing alpha", "unknown"):
        query = question(asked)
        found = by_words(store, here, query, EVERY, 1_000)
        assert same(found, of_fts5(store, here, query)), asked
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        best = by_words(store, here, query, EVERY, 7)
        assert [score for _, score in best] == pytest.approx([score for _, score in found[:7]])


@pytest.mark.parametrize(("small", "off"), [(0, 1.0), (postings.SMALL, 1e-6)])
def test_it_keeps_up_with_every_change(
    store: SqliteStore, here: Workspace, small: int, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "SMALL", small)
    draw, ids = random.Random(2), filled(store, here, 60)
    gone: list[str] = []
    names = (f"rare{n % 20} {n}" for n in count())

    def restore(queries: Queries) -> None:
        queries.run("records.restore", ids=f'["{gone.pop()}"]', now=LATER)

    def forget_one() -> None:
        gone.append(ids.pop(draw.randrange(len(ids))))
        forget(store, here, gone[-1])

    changes: list[Callable[[], object]] = [
        lambda: ids.append(put(store, here, text(draw))),
        lambda: change(store, here, draw.choice(ids), text(draw)),
        lambda: store.write(here, lambda q: records.retag(q, draw.choice(ids), ["alpha", "rare3"], LATER)),
        lambda: store.write(
            here,
            lambda q: q.run("entities.rename", ids=f'["{draw.choice(ids)}"]', name=next(names), client="", tool=""),
        ),
        forget_one,
        lambda: store.write(here, lambda q: records.erase(q, [ids.pop(0)], LATER)),
        lambda: gone and store.write(here, restore),
    ]
    for _ in range(80):
        draw.choice(changes)()
        query = question(" ".join(draw.sample(COMMON, 2) + draw.sample(RARE, 2)))
        found, all_ = by_words(store, here, query, EVERY, 1_000), of_fts5(store, here, query)
        assert {key for key, _ in found} == {key for key, _ in all_}
        assert dict(found) == pytest.approx(dict(all_), rel=1e-4, abs=off)  # of a part the counts may be older


def test_a_change_that_is_too_long_ago_is_not_missed(
    store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "SMALL", 0)
    first = filled(store, here, 100)[0]
    words(store, here, "alpha")
    change(store, here, first, "omega")
    other = put(store, here, "alpha")

    def often(queries: Queries) -> None:
        for _ in range(600):  # two changes each
            queries.run("records.delete", ids=f'["{other}"]', now=LATER)
            queries.run("records.restore", ids=f'["{other}"]', now=LATER)

    store.write(here, often)
    query = question("alpha")
    assert same(by_words(store, here, query, EVERY, 1_000), of_fts5(store, here, query))
    assert value(Path(store.place), "SELECT count(*) FROM word_changes") == 1_000


def test_what_was_never_committed_is_not_kept(store: SqliteStore, here: Workspace) -> None:
    put(store, here, "alpha one")

    def work(queries: Queries) -> None:
        add(queries, "alpha two")
        assert len(store.index.words(queries, question("alpha"), EVERY, 10)) == 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(here, work)
    put(store, here, "beta")  # gets the number of what came to nothing
    assert words(store, here, "alpha") == ["alpha one"]
    assert words(store, here, "beta") == ["beta"]


def test_a_search_finds_what_its_snapshot_has_though_another_has_moved_the_index_on(
    store: SqliteStore, here: Workspace
) -> None:
    changed, gone = put(store, here, "alpha one"), put(store, here, "alpha two")

    def look(queries: Queries) -> None:
        before = store.index.words(queries, question("alpha"), EVERY, 10)
        change(store, here, changed, "beta")
        forget(store, here, gone)
        put(store, here, "alpha three")
        assert words(store, here, "alpha") == ["alpha three"]
        assert store.index.words(queries, question("alpha"), EVERY, 10) == before
        assert store.index.words(queries, question("beta"), EVERY, 10) == []

    store.read(here, look)
    assert words(store, here, "alpha") == ["alpha three"]
    assert words(store, here, "beta") == ["beta"]


def test_few_of_many_that_match_may_be_found(store: SqliteStore, here: Workspace) -> None:
    def work(queries: Queries) -> None:
        for number in range(100):
            add(queries, "alpha alpha", scope="other")
            add(
                queries, "alpha beta" if number % 50 else "alpha beta gamma", name=None if number % 50 else f"k{number}"
            )

    store.write(here, work)
    keyed = Filter(shelf="vault", session="mine")
    assert words(store, here, "alpha", keyed, limit=5) == ["alpha beta gamma"] * 2
    assert words(store, here, "alpha", Filter(session="mine"), limit=5) == ["alpha beta"] * 5
    assert len(words(store, here, "alpha", Filter(session="other"), limit=150)) == 150


def test_all_words_that_were_typed_are_in_what_is_found(store: SqliteStore, here: Workspace) -> None:
    def work(queries: Queries) -> None:
        for number in range(300):
            add(queries, f"alpha number{number}")
        add(queries, "alpha betray")
        add(queries, "beta")

    store.write(here, work)
    query = typed_query("alpha bet")
    assert query
    assert len(by_words(store, here, query, EVERY, 10)) == 1


def test_it_stays_small(store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(store, here, 300)
    monkeypatch.setattr(postings, "MEMORY", 5_000)
    for asked in (*COMMON[:5], *RARE[:5], *COMMON[:5]):
        query = question(f"{asked} alpha")
        assert same(by_words(store, here, query, EVERY, 1_000), of_fts5(store, here, query))
    kept = store.index._words._postings
    assert kept._bytes == sum(posting.bytes for posting in kept._kept.values()) <= 5_000


def test_words_that_are_known_are_not_read_again(store: SqliteStore, here: Workspace) -> None:
    filled(store, here, 200)
    put(store, here, "another one", kind=Kind.ENTITY, name="E")
    statements: list[str] = []

    def traced(queries: Queries) -> list[str]:
        read, one = queries.all, queries.one

        def noting(name: str, /, **given: Any) -> list[Row]:
            statements.append(name)
            return read(name, **given)

        def noting_one(name: str, /, **given: Any) -> Row | None:
            statements.append(name)
            return one(name, **given)

        statements.clear()
        queries.all, queries.one = noting, noting_one  # type: ignore[method-assign]
        store.index.words(queries, question("alpha beta"), EVERY, 10)
        return list(statements)

    assert store.read(here, traced) == ["search.marks", "words.parts", "search.admitted"]
    assert store.read(here, traced) == ["search.marks", "search.admitted"]
    put(store, here, "alpha")
    assert store.read(here, traced) == ["search.marks", "words.parts", "search.admitted"]
