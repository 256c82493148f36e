"""The index of words in memory finds what the database has, whatever has happened to the database since."""

import psycopg
import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery
from memoryd.store import postings
from memoryd.store.base import Queries, Scored, Store
from memoryd.store.postgres import word_index
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.postgres.word_index import PostgresWordIndex
from tests.store.kit import EVERY, LATER, by_words, change, put, words, workspace
from tests.store.word_indexes import COMMON, RARE, WordIndexes, filled, question, same

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


def known_to_none(store: Store, here: Workspace, query: WordQuery, limit: int = 1_000) -> Scored:
    """Return what a process without anything in memory finds."""
    return store.read(here, lambda q: PostgresWordIndex().search(q, query, EVERY, limit))


class TestKept(WordIndexes):
    behind = "words.further"

    def afresh(self, store: Store, here: Workspace, query: WordQuery) -> Scored:
        return known_to_none(store, here, query)


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


def test_an_old_change_is_not_missed(
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


def test_kinds_have_separate_postings(store: PostgresStore, here: Workspace) -> None:
    put(store, here, "alpha one")
    put(store, here, "alpha two", kind=Kind.ENTITY, name="E")
    assert words(store, here, "alpha", Filter(kinds=(Kind.ENTITY,))) == ["alpha two"]
    assert len(words(store, here, "alpha")) == 2


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


def test_nothing_is_kept_of_a_deleted_workspace(store: PostgresStore, here: Workspace, url: str) -> None:
    put(store, here, "alpha")
    store.placement.empty(here)
    store.write(None, lambda q: store.placement.erase(q, here))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM word_changes").fetchone() == (0,)
