"""The index of words in memory finds what the file has, whatever has happened to the file since."""

from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.model import Workspace
from memoryd.query_syntax import WordQuery
from memoryd.store import postings
from memoryd.store.base import Queries, Scored, Store
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import EVERY, LATER, by_words, change, put, value, words
from tests.store.word_indexes import COMMON, RARE, WordIndexes, filled, question, same


def of_fts5(store: Store, here: Workspace, query: WordQuery, limit: int = 1_000) -> Scored:
    """Return what FTS5 finds in one pass."""
    return by_words(store, here, replace(query, syntax=True), EVERY, limit)


class TestKept(WordIndexes):
    behind = "words.parts"

    def afresh(self, store: Store, here: Workspace, query: WordQuery) -> Scored:
        return of_fts5(store, here, query)


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


def test_an_old_change_is_not_missed(store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(("limited", "limit"), [("MEMORY", 5_000), ("TERMS", 4)])
def test_it_stays_small(
    limited: str, limit: int, store: SqliteStore, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, here, 300)
    monkeypatch.setattr(postings, limited, limit)
    for asked in (*COMMON[:5], *RARE[:5], *COMMON[:5]):
        query = question(f"{asked} alpha")
        assert same(by_words(store, here, query, EVERY, 1_000), of_fts5(store, here, query))
    kept = store.index._words._postings
    assert kept._bytes == sum(posting.bytes for posting in kept._kept.values())
    assert 0 < {"MEMORY": kept._bytes, "TERMS": len(kept._kept)}[limited] <= limit
