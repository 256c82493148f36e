"""Answers of the graph: within the budget, without duplicates or losses, and with the number of omitted items."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.base.results import compact
from memoryd.core.graph import entities, observations, relations, view
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.names import composed
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import find
from memoryd.errors import InvalidInputError
from memoryd.store.base import Queries, Row
from tests.core.kit import engine

Json = Mapping[str, Any]

FRAME = 40  # tokens of an answer with empty lists
FIGURE = len(',"tokens_used":1000000') / 4  # the field with the cost of an answer


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        yield Graph(Scope(here, here.workspaces.ensure("default")))


def make(graph: Graph, name: str, *facts: str, summary: str | None = None) -> None:
    entities.create(graph, [NewEntity(name=name, type="t", observations=facts, summary=summary)])


def cost(answer: Json) -> float:
    return len(compact(answer)) / 4 + FIGURE


def assert_within(answer: Json, tokens: int) -> None:
    """The answer fits the budget; even the smallest answer contains its frame."""
    assert cost(answer) <= max(tokens, FRAME)


def every_page(graph: Graph, tokens: int) -> list[Json]:
    found: list[Json] = [view.page(graph, tokens)]
    while found[-1]["next_cursor"]:
        found.append(view.page(graph, tokens, found[-1]["next_cursor"]))
        assert len(found) < 10_000
    return found


def facts(pages: Sequence[Json]) -> dict[str, list[str]]:
    """The observations on the pages, by node."""
    found: dict[str, list[str]] = {}
    for node in (node for page in pages for node in page["entities"]):
        found.setdefault(node["name"], []).extend(fact["content"] for fact in node["observations"])
    return found


def edges(pages: Sequence[Json]) -> list[Edge]:
    return [Edge(one["from"], one["to"], one["relation_type"]) for page in pages for one in page["relations"]]


# nodes by name -------------------------------------------------------------------------------------------------------


def test_an_answer_stays_within_its_budget_and_says_what_it_left_out(graph: Graph) -> None:
    for n in range(30):
        make(graph, f"node {n}", *[f"fact {m} of node {n}" for m in range(30)])
    relations.create(graph, [Edge("node 0", f"node {n}", "knows") for n in range(30)])
    names = [f"node {n}" for n in range(30)]
    whole = view.opened(graph, names, 0)
    assert whole["omitted"] == {"entities": 0, "observations": 0, "relations": 0}
    for tokens in (1, 50, 200, 1_000, 3_000, 9_000):
        answer = view.opened(graph, names, tokens)
        assert_within(answer, tokens)
        shown = [fact for one in answer["entities"] for fact in one["observations"]]
        assert answer["omitted"]["entities"] == 30 - len(answer["entities"])
        assert answer["omitted"]["observations"] == 30 * len(answer["entities"]) - len(shown)
        assert sum(one["observations_omitted"] for one in answer["entities"]) == answer["omitted"]["observations"]
    assert view.opened(graph, names, 1)["entities"] == []


def test_many_relations_leave_room_for_observations_and_take_the_rest(graph: Graph) -> None:
    make(graph, "hub", "the fact")
    for n in range(200):
        make(graph, f"n{n}")
    relations.create(graph, [Edge("hub", f"n{n}", "knows") for n in range(200)])
    answer = view.opened(graph, ["hub"], 1_000)
    assert answer["entities"][0]["observations"] == [{"ordinal": 0, "content": "the fact"}]
    assert answer["omitted"]["relations"] == 200 - len(answer["relations"]) > 0
    assert cost(answer) > 900
    assert len({one["to"] for one in answer["relations"]}) == len(answer["relations"])


def test_names_that_are_not_found_are_part_of_the_cost(graph: Graph) -> None:
    make(graph, "a")
    make(graph, "b", "a fact")
    answer = view.opened(graph, ["a", "b", "x" * 4_000], 1_100)
    assert_within(answer, 1_100)
    assert answer["omitted"]["entities"] == 1


@pytest.mark.slow
def test_only_as_much_of_a_large_node_is_read_as_fits(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    make(graph, "hub", *[f"fact {n}" for n in range(400)])
    entities.create(graph, [NewEntity(name=f"n{n}", type="t") for n in range(400)])
    relations.create(graph, [Edge("hub", f"n{n}", "knows") for n in range(400)])
    read = graph.read
    rows: list[Row] = []

    class Watched:
        """Queries that record the rows they return."""

        def __init__(self, queries: Queries) -> None:
            self._queries = queries

        def all(self, name: str, **parameters: Any) -> list[Row]:
            rows.extend(found := self._queries.all(name, **parameters))
            return found

        def one(self, name: str, **parameters: Any) -> Row | None:
            return self._queries.one(name, **parameters)

    monkeypatch.setattr(graph, "read", lambda work: read(lambda q: work(Watched(q))))
    view.opened(graph, ["hub"], 500)
    assert len(rows) < 200
    rows.clear()
    page = view.page(graph, 500)
    view.page(graph, 500, page["next_cursor"])
    assert len(rows) < 400, "two pages"


# search --------------------------------------------------------------------------------------------------------------


def found(graph: Graph, query: str, tokens: int) -> Json:
    return view.matched(graph, query, 100, "auto", tokens)


def test_each_match_has_its_own_relations(graph: Graph) -> None:
    for name in ("apple", "apple tree", "pear"):
        make(graph, name)
    relations.create(graph, [Edge("apple", "pear", "like"), Edge("apple tree", "apple", "bears")])
    answer = found(graph, "apple", 0)
    shown = {one["name"]: {edge["relation_type"] for edge in one["relations"]} for one in answer["result"]}
    assert shown == {"apple": {"like", "bears"}, "apple tree": {"bears"}, "pear": {"like"}}  # which names the apple


def test_matches_that_do_not_fit_completely_are_named(graph: Graph) -> None:
    for n in range(20):
        make(graph, f"node {n}", "A zebra.", "Another fact.", summary="long " * 400)
    relations.create(graph, [Edge("node 0", "node 1", "knows")])
    for tokens in (100, 500, 2_000, 5_000, 20_000):
        answer = found(graph, "zebra", tokens)
        assert_within(answer, tokens)
        named = [one for one in answer["result"] if one["name_only"]]
        whole = [one for one in answer["result"] if not one["name_only"]]
        assert answer["result"] == whole + named, "the best are whole"
        assert all(one["summary"] and one["matched_observation"] == "A zebra." for one in whole)
        assert all((one["summary"], one["observations"], one["observations_omitted"]) == (None, [], 2) for one in named)
        assert all(one["entity_type"] == "t" and one["score"] > 0 for one in named)
        assert answer["omitted"]["entities"] == 20 - len(answer["result"])
        if tokens in (2_000, 5_000):
            assert whole
            assert named
    assert [one["name_only"] for one in found(graph, "zebra", 0)["result"]] == [False] * 20
    assert found(graph, "zebra", 1)["omitted"]["entities"] == 20


# the whole graph -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cursor", ["", "x", "1|", "a|||c", "1.0:x", "-1|||x", "1||x", "²|||x", "1|é||x", f"{10**18}|||x"]
)
def test_a_malformed_cursor_is_refused(graph: Graph, cursor: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a cursor"):
        view.page(graph, 100, cursor)


def test_a_cursor_of_a_deleted_node_continues_with_the_next(graph: Graph) -> None:
    for name in ("a", "b", "c"):
        make(graph, name, "fact one", "fact two")
    first = view.page(graph, 1)
    assert first["next_cursor"] == "1|||a"
    entities.delete(graph, ["a"])
    assert list(facts([view.page(graph, 0, first["next_cursor"])])) == ["b", "c"]


def test_a_node_may_have_no_name_or_one_that_looks_like_a_cursor(graph: Graph) -> None:
    nodes = {"": ["1", "2", "3"], "0|||": ["4", "5"], "7|2026|a|\n|": ["6", "7"]}
    for name, contents in nodes.items():
        make(graph, name, *contents)
    relations.create(graph, [Edge("", "", "is"), Edge("", "0|||", "is")])
    pages = every_page(graph, 1)
    assert facts(pages) == nodes
    assert len(edges(pages)) == 2


def test_a_node_larger_than_a_page_continues_on_the_next(graph: Graph) -> None:
    make(graph, "big", *[f"{n:03} " + "x" * 100 for n in range(50)])
    found = every_page(graph, 300)
    assert len(found) > 5
    assert all(page["entities"][0]["name"] == "big" for page in found)
    shown = [fact["ordinal"] for page in found for fact in page["entities"][0]["observations"]]
    assert shown == list(range(50))


def test_mandatory_parts_are_charged_and_the_rest_keeps_to_the_budget(graph: Graph) -> None:
    make(graph, "a", "x" * 4_000, *["short"] * 50, summary="y" * 4_000)
    first, second, *_ = every_page(graph, 500)
    assert len(first["entities"][0]["observations"]) == 1, "a node and one observation, even beyond the budget"
    assert cost(first) > 2_000
    assert len(second["entities"][0]["observations"]) == 1
    for tokens in (1_100, 1_500, 3_000):
        for page in every_page(graph, tokens)[1:]:
            assert_within(page, tokens)


def test_a_deletion_between_two_pages_neither_skips_nor_repeats_anything(graph: Graph) -> None:
    make(graph, "a", *[f"fact {n}" for n in range(10)])
    entities.create(graph, [NewEntity(name=f"n{n}", type="t") for n in range(10)])
    relations.create(graph, [Edge("a", f"n{n}", "knows") for n in range(10)])
    pages = [view.page(graph, 150)]
    assert 1 < len(facts(pages)["a"]) < 9
    observations.delete(graph, [Deletion(entity="a", ordinals=(0, 1))])
    while len(edges(pages)) < 3:
        pages.append(view.page(graph, 150, pages[-1]["next_cursor"]))
    relations.delete(graph, edges(pages)[:2])
    while cursor := pages[-1]["next_cursor"]:
        pages.append(view.page(graph, 150, cursor))
    assert facts(pages)["a"] == [f"fact {n}" for n in range(10)]
    assert sorted(one.target for one in edges(pages)) == [f"n{n}" for n in range(10)]


Names = st.text(min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name == composed(name) and not any(find(name))
)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    st.dictionaries(Names, st.lists(st.sampled_from(["a", "bb" * 20, "ß" * 90]), max_size=6), min_size=1, max_size=12),
    st.integers(1, 400),
)
def test_the_pages_are_the_graph(nodes: dict[str, list[str]], tokens: int) -> None:
    with tempfile.TemporaryDirectory() as home, engine(Path(home)) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        entities.create(graph, [NewEntity(name=n, type="t", observations=tuple(o)) for n, o in nodes.items()])
        names = list(nodes)
        related = [Edge(names[i % len(names)], names[(i * 7) % len(names)], f"r{i % 3}") for i in range(20)]
        relations.create(graph, related)
        pages = every_page(graph, tokens)
        assert facts(pages) == nodes
        assert len(edges(pages)) == len(set(related))
        assert set(edges(pages)) == set(related)
        shown = [one["name"] for page in pages for one in page["entities"]]
        assert shown == sorted(shown, key=lambda name: name.encode())
        assert view.page(graph, 0)["next_cursor"] is None


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.integers(1, 150))
def test_parts_that_exist_throughout_the_reading_are_shown_exactly_once(random: Any, tokens: int) -> None:
    names = list("abcd")
    with tempfile.TemporaryDirectory() as home, engine(Path(home)) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        entities.create(
            graph, [NewEntity(name=n, type="t", observations=tuple(f"{n}{i}" for i in range(8))) for n in names]
        )
        related = [Edge(one, other, f"r{i}") for one in names for other in names for i in range(2)]
        relations.create(graph, related)
        contents, cursor, pages = {n: [f"{n}{i}" for i in range(8)] for n in names}, None, list[Json]()
        while not pages or cursor:
            pages.append(view.page(graph, tokens, cursor))
            cursor = pages[-1]["next_cursor"]
            name = random.choice(names)
            if contents[name]:
                gone = contents[name].pop(random.randrange(len(contents[name])))
                observations.delete(graph, [Deletion(entity=name, contents=(gone,))])
            if related:
                relations.delete(graph, [related.pop(random.randrange(len(related)))])
            if len(pages) < 10:
                observations.add(graph, [(name, ["new"])])
                relations.create(graph, [Edge(name, random.choice(names), f"new {len(pages)}")])
            assert len(pages) < 1_000
        shown = facts(pages)
        assert all(shown[n].count(text) == 1 for n in names for text in contents[n])
        assert all(edges(pages).count(one) == 1 for one in related)


@pytest.mark.parametrize("tokens", [1, 30, 45, 60, 100, 300])
def test_all_pending_summaries_are_counted_even_if_they_do_not_fit(graph: Graph, tokens: int) -> None:
    for number in range(9):
        make(graph, f"node {number}", "a fact")
    answer = view.pending_summaries(graph, tokens)
    assert_within(answer, tokens)
    assert len(answer["result"]) + answer["omitted"] == 9
    assert bool(answer["result"]) == (tokens >= 60), "as soon as one fits"
