"""Pages: within the budget, nothing twice, nothing lost, and what was left out is said."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core import entities, node_search, pages, relations
from memoryd.core.entities import NewEntity
from memoryd.core.graph import Graph
from memoryd.core.pages import Budget, Page
from memoryd.core.relations import Edge
from memoryd.errors import InvalidInputError
from tests.core.kit import engine


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        yield Graph(here, here.workspaces.ensure("default"))


def make(graph: Graph, name: str, *facts: str) -> None:
    entities.create(graph, [NewEntity(name=name, type="t", observations=facts)])


def cost(page: Page) -> float:
    return len(json.dumps([page.entities, page.relations], ensure_ascii=False)) / 4


def every_page(graph: Graph, tokens: int) -> list[Page]:
    found = [pages.whole(graph, tokens)]
    while found[-1].cursor:
        found.append(pages.whole(graph, tokens, found[-1].cursor))
        assert len(found) < 10_000
    return found


# the budget ----------------------------------------------------------------------------------------------------------


def test_zero_is_no_limit() -> None:
    assert Budget(0).take("x" * 1_000_000)
    assert not Budget(10).take("x" * 41)


def test_what_is_taken_is_counted_as_the_json_that_is_sent() -> None:
    budget = Budget(1_000)
    assert budget.fill([{"ordinal": n, "content": "ü"} for n in range(3)])
    assert budget.used == -(-3 * (len('{"ordinal": 0, "content": "ü"}') + 2) // 4)


# nodes by name -------------------------------------------------------------------------------------------------------


def test_a_page_stays_within_its_budget_and_says_what_it_left_out(graph: Graph) -> None:
    for n in range(30):
        make(graph, f"node {n}", *[f"fact {m} of node {n}" for m in range(30)])
    relations.create(graph, [Edge("node 0", f"node {n}", "knows") for n in range(30)])
    names = [f"node {n}" for n in range(30)]
    whole = pages.opened(graph, names, 0)
    assert whole.omitted == pages.Omitted()
    for tokens in (1, 50, 200, 1_000, 3_000, 9_000):
        page = pages.opened(graph, names, tokens)
        assert cost(page) <= tokens + 10
        assert page.tokens_used <= tokens
        told = [fact for one in page.entities for fact in one["observations"]]
        assert page.omitted.entities == 30 - len(page.entities)
        assert page.omitted.observations == 30 * len(page.entities) - len(told)
        assert sum(one["observations_omitted"] for one in page.entities) == page.omitted.observations
    assert pages.opened(graph, names, 1).entities == []


def test_many_relations_leave_room_for_observations_and_take_what_those_leave(graph: Graph) -> None:
    make(graph, "hub", "the fact")
    for n in range(200):
        make(graph, f"n{n}")
    relations.create(graph, [Edge("hub", f"n{n}", "knows") for n in range(200)])
    page = pages.opened(graph, ["hub"], 1_000)
    assert page.entities[0]["observations"] == [{"ordinal": 0, "content": "the fact"}]
    assert page.omitted.relations == 200 - len(page.relations) > 0
    assert page.tokens_used > 900


def test_each_match_has_its_own_relations(graph: Graph) -> None:
    for name in ("apple", "apple tree", "pear"):
        make(graph, name)
    relations.create(graph, [Edge("apple", "pear", "like"), Edge("apple tree", "apple", "bears")])
    page = pages.matched(graph, node_search.search(graph, "apple", 5)[0], 0)
    edges = {one["name"]: [edge["relation_type"] for edge in one["relations"]] for one in page.entities}
    assert edges == {"apple": ["like", "bears"], "apple tree": ["bears"]}


# the whole graph -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", ["", "x", "1:", "a.b:c", "1.2", "-1.0:x", "1.2.3:x", "²." + "0:x"])
def test_a_cursor_that_is_none_is_told(graph: Graph, cursor: str) -> None:
    with pytest.raises(InvalidInputError, match="is no cursor"):
        pages.whole(graph, 100, cursor)


def test_a_cursor_whose_node_is_gone_goes_on_with_the_next(graph: Graph) -> None:
    for name in ("a", "b", "c"):
        make(graph, name, "fact one", "fact two")
    first = pages.whole(graph, 1)
    assert first.cursor == "1.0:a"
    entities.delete(graph, ["a"])
    assert [one["name"] for one in pages.whole(graph, 0, first.cursor).entities] == ["b", "c"]


def test_a_node_larger_than_a_page_goes_on_on_the_next(graph: Graph) -> None:
    make(graph, "big", *[f"{n:03} " + "x" * 100 for n in range(50)])
    found = every_page(graph, 300)
    assert len(found) > 5
    assert all(page.entities[0]["name"] == "big" for page in found)
    told = [fact["ordinal"] for page in found for fact in page.entities[0]["observations"]]
    assert told == list(range(50))


Names = st.text(min_size=1, max_size=8).filter(lambda name: "\x00" not in name and name.isprintable())


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(Names, st.lists(st.sampled_from(["a", "bb" * 20, "ß" * 90]), max_size=6), min_size=1, max_size=12),
    st.integers(1, 400),
)
def test_the_pages_are_the_graph(nodes: dict[str, list[str]], tokens: int) -> None:
    with tempfile.TemporaryDirectory() as home, engine(Path(home)) as here:
        graph = Graph(here, here.workspaces.ensure("default"))
        entities.create(graph, [NewEntity(name=n, type="t", observations=tuple(o)) for n, o in nodes.items()])
        names = list(nodes)
        edges = [Edge(names[i % len(names)], names[(i * 7) % len(names)], f"r{i % 3}") for i in range(20)]
        relations.create(graph, edges)
        found = every_page(graph, tokens)
        told: dict[str, list[str]] = {name: [] for name in names}
        for page in found:
            for one in page.entities:
                told[one["name"]] += [fact["content"] for fact in one["observations"]]
        assert told == nodes
        pairs = [(e["from"], e["relation_type"], e["to"]) for page in found for e in page.relations]
        assert sorted(pairs) == sorted({(e.source, e.type, e.target) for e in edges})
        assert [one["name"] for page in found for one in page.entities] == sorted(
            (one["name"] for page in found for one in page.entities), key=lambda name: name.encode()
        )
        whole = pages.whole(graph, 0)
        assert whole.cursor is None
