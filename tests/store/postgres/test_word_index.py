"""What is in memory of the index of words finds what the database has, whatever happened to it since."""

import random
from collections.abc import Callable
from itertools import count

import psycopg
import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery, parse_query, typed_query
from memoryd.store import postings
from memoryd.store.base import Queries, Row, Scored
from memoryd.store.postgres import word_index
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.postgres.word_index import PostgresWordIndex
from tests.store.kit import EVERY, LATER, add, by_words, change, forget, put, words, workspace

COMMON = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
RARE = [f"rare{n}" for n in range(20)]
ONE_PASS = """
    WITH there AS (SELECT id, words FROM records WHERE workspace_id = %(workspace)s AND deleted_at IS NULL),
    extent AS (SELECT count(*) AS number, avg(length(words)) AS length FROM there),
    terms AS (
      SELECT t AS term, ln((number - hits + .5) / (hits + .5)) AS weight FROM extent, (
        SELECT t, (SELECT count(*) FROM there WHERE words @@ t) AS hits
        FROM (SELECT to_tsquery('memoryd', unnest(%(terms)s::text[])) AS t) asked) counted)
    SELECT r.id, sum(t.weight * 2.2 * c.times / (c.times + 1.2 * (.25 + .75 * length(r.words) / e.length)))
    FROM there r, extent e, terms t, LATERAL (
      SELECT greatest(1, 1 / (1.6550 - 1.64493 * least(1, ts_rank('{1,1,1,1}', r.words, t.term))) - .5)
        + (r.words @@ to_tsquery('memoryd', t.term::text || ':A'))::int AS times) c
    WHERE r.words @@ t.term GROUP BY r.id
"""
"""BM25 of single words, without an index in memory."""


def question(text: str) -> WordQuery:
    query = parse_query(text)
    assert query
    return query


def text(draw: random.Random) -> str:
    return " ".join(draw.choices(COMMON, k=draw.randint(1, 4)) + draw.choices(RARE, k=draw.randint(0, 2)))


def filled(store: PostgresStore, here: Workspace, number: int) -> list[str]:
    draw = random.Random(1)
    return store.write(here, lambda q: [add(q, text(draw)) for _ in range(number)])


def known_to_none(store: PostgresStore, here: Workspace, query: WordQuery, limit: int = 1_000) -> Scored:
    """What a process finds that has nothing in memory."""
    return store.read(here, lambda q: PostgresWordIndex().search(q, query, EVERY, limit))


def same(one: Scored, other: Scored) -> bool:
    return dict(one) == pytest.approx(dict(other), rel=1e-4, abs=1e-7) and len(one) == len(other)


def test_scores_are_those_of_one_pass(store: PostgresStore, here: Workspace, url: str) -> None:
    filled(store, here, 300)
    put(store, here, "nothing else", name="delta", type="beta", tags=("rare1",))
    with psycopg.connect(url) as connection:
        for asked in ("alpha", "alpha beta", "rare1 delta rare2", "rare1 rare2 rare3", "nothing alpha", "unknown"):
            given = {"workspace": here.id, "terms": [f"'{word}'" for word in asked.split()]}
            all_ = [(str(key), float(score)) for key, score in connection.execute(ONE_PASS, given)]
            found = by_words(store, here, question(asked), EVERY, 1_000)
            assert same(found, all_), asked
            assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
            best = by_words(store, here, question(asked), EVERY, 7)
            assert [score for _, score in best] == pytest.approx([score for _, score in found[:7]])


@pytest.mark.parametrize(("small", "off"), [(0, 1.0), (postings.SMALL, 1e-6)])
def test_it_keeps_up_with_every_change(
    store: PostgresStore, here: Workspace, small: int, off: float, monkeypatch: pytest.MonkeyPatch
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
    for _ in range(60):
        draw.choice(changes)()
        query = question(" ".join(draw.sample(COMMON, 2) + draw.sample(RARE, 2)))
        found, all_ = by_words(store, here, query, EVERY, 1_000), known_to_none(store, here, query)
        assert {key for key, _ in found} == {key for key, _ in all_}
        assert dict(found) == pytest.approx(dict(all_), rel=1e-4, abs=off)  # of a part the counts may be older


def test_a_change_that_is_too_long_ago_is_not_missed(
    store: PostgresStore, here: Workspace, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "SMALL", 0)
    first = filled(store, here, 100)[0]
    words(store, here, "alpha")
    change(store, here, first, "omega")
    put(store, here, "alpha")
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM word_changes WHERE seq < (SELECT max(seq) FROM word_changes)")
    query = question("alpha")
    assert same(by_words(store, here, query, EVERY, 1_000), known_to_none(store, here, query))


def test_changes_of_more_than_an_hour_ago_are_forgotten(store: PostgresStore, here: Workspace, url: str) -> None:
    put(store, here, "alpha")
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE word_changes SET seq = seq - 3700000000")
    key = put(store, here, "beta")

    def often(queries: Queries) -> None:
        for number in range(50):
            records.retag(queries, key, [str(number)], LATER)

    with psycopg.connect(url) as connection:
        old = "SELECT count(*) FROM word_changes WHERE seq < (SELECT max(seq) FROM word_changes) - 3600000000"
        while connection.execute(old).fetchone() != (0,):
            store.write(here, often)
            connection.rollback()


def test_what_was_never_committed_is_not_kept(store: PostgresStore, here: Workspace) -> None:
    put(store, here, "alpha one")

    def work(queries: Queries) -> None:
        add(queries, "alpha two")
        assert len(store.index.words(queries, question("alpha"), EVERY, 10)) == 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(here, work)
    put(store, here, "beta")
    assert words(store, here, "alpha") == ["alpha one"]
    assert words(store, here, "beta") == ["beta"]


def test_a_search_finds_what_its_snapshot_has_though_another_has_moved_the_index_on(
    store: PostgresStore, here: Workspace
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


def test_few_of_many_that_match_may_be_found(store: PostgresStore, here: Workspace) -> None:
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
    assert words(store, here, "alpha AND gamma", Filter(session="mine"), limit=1) == ["alpha beta gamma"]


def test_kinds_have_postings_of_their_own(store: PostgresStore, here: Workspace) -> None:
    put(store, here, "alpha one")
    put(store, here, "alpha two", kind=Kind.ENTITY, name="E")
    assert words(store, here, "alpha", Filter(kinds=(Kind.ENTITY,))) == ["alpha two"]
    assert len(words(store, here, "alpha")) == 2


def test_all_words_that_were_typed_are_in_what_is_found(store: PostgresStore, here: Workspace) -> None:
    def work(queries: Queries) -> None:
        for number in range(300):
            add(queries, f"alpha number{number}")
        add(queries, "alpha betray")
        add(queries, "beta")

    store.write(here, work)
    query = typed_query("alpha bet")
    assert query
    assert len(by_words(store, here, query, EVERY, 10)) == 1


def test_it_stays_small(store: PostgresStore, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(store, here, 300)
    monkeypatch.setattr(postings, "MEMORY", 5_000)
    monkeypatch.setattr(word_index, "MEMORY", 5_000)
    for asked in (*COMMON[:5], *RARE[:5], *COMMON[:5]):
        query = question(f"{asked} alpha")
        assert same(by_words(store, here, query, EVERY, 1_000), known_to_none(store, here, query))
    kept = store.index._words._known
    assert kept[here.id].postings.bytes <= 5_000
    other = workspace()
    put(store, other, "alpha")
    words(store, other, "alpha")
    assert list(kept) == [other.id]


def test_words_that_are_known_are_not_read_again(
    store: PostgresStore, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "SMALL", 0)
    filled(store, here, 100)
    statements: list[str] = []

    def traced(queries: Queries) -> list[str]:
        read = queries.all

        def noting(name: str, /, **given: object) -> list[Row]:
            statements.append(name)
            return read(name, **given)

        statements.clear()
        queries.all = noting  # type: ignore[method-assign]
        store.index.words(queries, question("alpha beta"), EVERY, 10)
        return list(statements)

    assert store.read(here, traced) == ["words.parts", "search.admitted"]
    assert store.read(here, traced) == ["search.admitted"]
    put(store, here, "alpha")
    assert store.read(here, traced) == ["words.further", "search.admitted"]


def test_nothing_is_kept_of_a_deleted_workspace(store: PostgresStore, here: Workspace, url: str) -> None:
    put(store, here, "alpha")
    store.placement.empty(here)
    store.write(None, lambda q: store.placement.erase(q, here))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM word_changes").fetchone() == (0,)
