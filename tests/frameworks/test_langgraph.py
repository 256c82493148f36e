"""LangGraph's store: the same random operations give the same results as in LangGraph's own stores."""

import random
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from memoryd import Memory
from memoryd.errors import InvalidInputError
from memoryd.langgraph import MemorydStore

LABELS = ("users", "a%b", "ü", "docs", "1")
KEYS = ("prefs", "a/b", "c%2Fd", "x y", "ключ")
ALL = 10_000


def _sqlite() -> BaseStore:
    store = SqliteStore(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None))
    store.setup()
    return store


STORES: dict[str, Callable[[], BaseStore]] = {"memoryd": lambda: MemorydStore("conformance"), "sqlite": _sqlite}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    made = STORES[request.param]()
    yield made
    if isinstance(made, MemorydStore):
        made.memory.close()


def _namespace(chance: random.Random, least: int = 1) -> tuple[str, ...]:
    return tuple(chance.choice(LABELS) for _ in range(chance.randint(least, 3)))


def _value(chance: random.Random) -> dict[str, Any]:
    text = chance.choice(("tea", "staging port", "", " ", "line\nbreak", "naïve 𝄞", '{"a": 1}'))
    whole = {"text": text, "n": chance.randint(0, 5), "deep": {"x": [1, None, True]}, "flag": chance.random() < 0.5}
    return chance.choice((whole, {"text": text, "n": chance.randint(0, 5)}, {"n": 3, "only": text}))


def _operation(chance: random.Random) -> Op:
    namespace, key = _namespace(chance), chance.choice(KEYS)
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            return PutOp(namespace, key, _value(chance), index=chance.choice((None, False)))
        case 4:
            return PutOp(namespace, key, None)
        case 5 | 6:
            return GetOp(namespace, key)
        case 7 | 8:
            order = chance.choice(("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"))
            wanted = chance.choice((None, {"n": {order: chance.randint(0, 5)}}, {"n": 2}))
            return SearchOp(_namespace(chance), filter=wanted, limit=ALL)
    conditions = tuple(
        MatchCondition(kind, tuple(chance.choice((*LABELS, "*")) for _ in range(chance.randint(1, 2))))  # type: ignore[arg-type]
        for kind in chance.sample(("prefix", "suffix"), chance.randint(0, 2))
    )
    return ListNamespacesOp(conditions or None, max_depth=chance.choice((None, 1, 2)), limit=ALL)


def _plain(result: Any) -> Any:
    """Return a result without times and order, in which the stores of LangGraph differ from each other."""
    if isinstance(result, list):
        return sorted(map(_plain, result), key=repr)
    return (result.namespace, result.key, result.value) if hasattr(result, "namespace") else result


def test_it_does_what_the_store_in_memory_does(store: BaseStore, operations: int) -> None:
    chance, reference = random.Random(7), InMemoryStore()
    for number in range(operations):
        operation = _operation(chance)
        if isinstance(operation, ListNamespacesOp):  # the store in memory lists namespaces that have become empty, too
            for namespace in [one for one, items in reference._data.items() if not items]:
                del reference._data[namespace]
        expected, found = reference.batch([operation])[0], store.batch([operation])[0]
        assert _plain(found) == _plain(expected), f"{number}: {operation}"


def test_a_batch_reads_what_was_stored_before_it_and_keeps_the_last_of_equal_puts(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 1})
    puts: list[Op] = [PutOp(("a",), "k", {"n": 2}), PutOp(("a",), "k", {"n": 3}), GetOp(("a",), "k")]
    (*_, found) = store.batch(puts)
    assert found.value == {"n": 1}  # type: ignore[union-attr]
    assert store.get(("a",), "k").value == {"n": 3}  # type: ignore[union-attr]


def test_dates_and_ids_become_texts(store: BaseStore) -> None:
    """As orjson writes them."""
    known, day = uuid.UUID(int=7), datetime(2026, 3, 4, tzinfo=UTC)
    store.put(("a",), "k", {"id": known, "at": day, "on": day.date()})
    found = store.get(("a",), "k")
    assert found
    assert found.value == {"id": str(known), "at": "2026-03-04T00:00:00+00:00", "on": "2026-03-04"}


@pytest.mark.parametrize("value", [{"of": {1, 2}}, "a text"])
def test_what_is_no_json_object_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="Nothing was stored"):
        MemorydStore("conformance").put(("a",), "k", value)


def test_a_time_to_live_is_refused() -> None:
    with pytest.raises(RuntimeError, match="TTL"):
        MemorydStore("a").put(("a",), "k", {"n": 1}, ttl=5)


def test_pages_follow_each_other() -> None:
    store = MemorydStore("a")
    for number in range(7):
        store.put(("a",), str(number), {"n": number})
    pages = [store.search(("a",), limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [item.key for page in pages for item in page] == [str(number) for number in reversed(range(7))]


def test_a_text_is_found_by_words_and_kept_as_it_is(tmp_path: Any) -> None:
    store = MemorydStore(Memory("a"))
    store.put(("users", "ann"), "tea", {"text": "Prefers tea in the morning."})
    store.put(("users", "ann"), "job", {"text": "Works as a baker.", "since": 2020})
    assert store.search(("users",), query="what does she drink: tea?")[0].value == {
        "text": "Prefers tea in the morning."
    }
    assert store.memory.recall("tea in the morning")[0]["content"] == "Prefers tea in the morning."
    assert store.search(("users",), query="baker")[0].value["since"] == 2020


def test_a_masked_secret_leaves_a_value_readable() -> None:
    store = MemorydStore("a")
    store.put(("a",), "k", {"config": {"password": "correct horse 7", "url": "postgres://u:hunter22@db/x"}, "n": 1})
    value = store.get(("a",), "k").value  # type: ignore[union-attr]
    assert value["n"] == 1
    assert "hunter22" not in str(value)
