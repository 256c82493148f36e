"""Every index of words in memory finds what the database has, whatever has happened to the database since."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count

import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery, parse_query, typed_query
from memoryd.store import postings
from memoryd.store.base import Queries, Row, Scored, Store
from tests.store.kit import EVERY, LATER, add, by_words, change, forget, put, words

COMMON = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
RARE = [f"rare{n}" for n in range(20)]


def question(text: str) -> WordQuery:
    query = parse_query(text)
    assert query
    return query


def text(draw: random.Random) -> str:
    return " ".join(draw.choices(COMMON, k=draw.randint(1, 4)) + draw.choices(RARE, k=draw.randint(0, 2)))


def filled(store: Store, here: Workspace, number: int) -> list[str]:
    draw = random.Random(1)
    return store.write(here, lambda q: [add(q, text(draw)) for _ in range(number)])


def same(one: Scored, other: Scored) -> bool:
    return dict(one) == pytest.approx(dict(other), rel=1e-4, abs=1e-7) and len(one) == len(other)


class WordIndexes(ABC):
    """The suite; a subclass defines what is found without anything in memory."""

    behind: str
    """The statement that brings a known posting up to date."""

    @abstractmethod
    def afresh(self, store: Store, here: Workspace, query: WordQuery) -> Scored: ...

    @pytest.mark.parametrize(("small", "off"), [(0, 1.0), (postings.SMALL, 1e-6)])
    def test_it_keeps_up_with_every_change(
        self, store: Store, here: Workspace, small: int, off: float, monkeypatch: pytest.MonkeyPatch
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
            found, all_ = by_words(store, here, query, EVERY, 1_000), self.afresh(store, here, query)
            assert {key for key, _ in found} == {key for key, _ in all_}
            assert dict(found) == pytest.approx(dict(all_), rel=1e-4, abs=off)  # of a part the counts may be older

    def test_what_was_never_committed_is_not_kept(self, store: Store, here: Workspace) -> None:
        put(store, here, "alpha one")

        def work(queries: Queries) -> None:
            add(queries, "alpha two")
            assert len(store.index.words(queries, question("alpha"), EVERY, 10)) == 2
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.write(here, work)
        put(store, here, "beta")  # on SQLite it gets the number of the record that was rolled back
        assert words(store, here, "alpha") == ["alpha one"]
        assert words(store, here, "beta") == ["beta"]

    def test_a_search_finds_what_its_snapshot_has_though_the_index_is_ahead(
        self, store: Store, here: Workspace
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

    def test_few_of_many_matches_may_be_found(self, store: Store, here: Workspace) -> None:
        def work(queries: Queries) -> None:
            for number in range(100):
                add(queries, "alpha alpha", scope="other")
                some = "alpha beta" if number % 50 else "alpha beta gamma"
                add(queries, some, name=None if number % 50 else f"k{number}")

        store.write(here, work)
        keyed = Filter(shelf="vault", session="mine")
        assert words(store, here, "alpha", keyed, limit=5) == ["alpha beta gamma"] * 2
        assert words(store, here, "alpha", Filter(session="mine"), limit=5) == ["alpha beta"] * 5
        assert len(words(store, here, "alpha", Filter(session="other"), limit=150)) == 150
        assert words(store, here, "alpha AND gamma", Filter(session="mine"), limit=1) == ["alpha beta gamma"]

    def test_every_result_has_all_typed_words(self, store: Store, here: Workspace) -> None:
        def work(queries: Queries) -> None:
            for number in range(300):
                add(queries, f"alpha number{number}")
            add(queries, "alpha betray")
            add(queries, "beta")

        store.write(here, work)
        query = typed_query("alpha bet")
        assert query
        assert len(by_words(store, here, query, EVERY, 10)) == 1

    def test_words_that_are_known_are_not_read_again(
        self, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postings, "SMALL", 0)
        filled(store, here, 200)
        put(store, here, "another one", kind=Kind.ENTITY, name="E")

        def traced(queries: Queries) -> list[str]:
            read, statements = queries.all, list[str]()

            def noting(name: str, /, **given: object) -> list[Row]:
                statements.append(name)
                return read(name, **given)

            queries.all = noting  # type: ignore[method-assign]
            store.index.words(queries, question("alpha beta"), EVERY, 10)
            return [name for name in statements if name.startswith("words.")]

        assert store.read(here, traced) == ["words.parts"]
        assert store.read(here, traced) == []
        put(store, here, "alpha")
        assert store.read(here, traced) == [self.behind]
