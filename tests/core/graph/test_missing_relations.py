"""Gaps: names are found as whole words in any script, the longest first, and never if there is a relation."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core.graph import entities, missing_relations, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.missing_relations import NodeNames, RelationGap, phrase_of
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from tests.core.kit import engine


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        yield Graph(Scope(here, here.workspaces.ensure("default")))


def made(graph: Graph, **nodes: tuple[str, ...]) -> None:
    entities.create(graph, [NewEntity(name=name, type="t", observations=contents) for name, contents in nodes.items()])


def gap(node: str, other: str, number: int) -> RelationGap:
    return {"node": node, "referenced_name": other, "reference_count": number}


def mentioned(text: str, *names: str) -> list[str]:
    """The names that a text mentions."""
    known = NodeNames({name: name for name in names})
    return sorted({owner for phrase in known.mentioned(text) for owner in known.owners[phrase]})


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Go", ["we like Go", "go!", "(GO)", "Go's speed", "Go-based", "“go”"]),
        ("C++", ["C++ is fast", "in c++.", "C++, Rust"]),
        ("C", ["in C, mostly", "C's types"]),
        ("node.js", ["uses Node.js.", "(node.js)"]),
        ("%", ["50% more", "a % b"]),
        ("_", ["the _ name"]),
        ("my_table", ["see my_table."]),
        ('the "Big" one', ['is the "big" one here']),
        ("New York", ["in new york", "New\n  York", "NEW YORK."]),
        ("Two\nlines", ["has two lines"]),
        ("Straße", ["die STRASSE", "strasse"]),
        ("Ünal", ["by U\u0308nal", "ünal's"]),
        ("東京", ["私は東京に行く", "東京タワー", "(東京)"]),
        ("서울", ["서울에서 만나요"]),
        ("Москва", ["в москва."]),
        ("हिन्दी", ["वह हिन्दी बोलता है"]),
        ("Docker", ["Docker容器"]),
        ("🚀 launch", ["the 🚀 launch"]),
    ],
)
def test_a_name_is_found_as_whole_words(name: str, texts: list[str]) -> None:
    for text in texts:
        assert mentioned(text, name) == [name], text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Go", "good ergo goes G o"),
        ("C", "C++ and C# and cat"),
        ("C#", "C and C++"),
        ("node.js", "node js, nodexjs"),
        ("%", "percent"),
        ("a%b", "axxb"),
        ("_", "snake_case"),
        ("New York", "New Yorkers"),
        ("हिन", "हिन्दी"),
        ("Москва", "москвабад"),
    ],
)
def test_part_of_a_word_is_not_a_mention(name: str, text: str) -> None:
    assert mentioned(text, name) == []


def test_the_longest_name_wins() -> None:
    names = ("York", "New York", "New York City", "City Hall")
    assert mentioned("New York City Hall", *names) == ["New York City"]
    assert mentioned("from New York to York", *names) == ["New York", "York"]


def test_names_that_differ_only_in_case_are_both_mentioned() -> None:
    assert mentioned("we go", "Go", "go", "GO") == ["GO", "Go", "go"]


def test_gaps_are_counted_in_observations_and_the_most_mentioned_come_first(graph: Graph) -> None:
    made(
        graph,
        Ann=("met Bob, Bob and bob", "likes bob", "knows Carl", "Ann is Ann"),
        Bob=("knows Dora",),
        Carl=("is with Ann",),
        Dora=("met Bob",),
    )
    relations.create(graph, [Edge("Carl", "Ann", "with")])
    assert missing_relations.gaps(graph) == [gap("Ann", "Bob", 2), gap("Bob", "Dora", 1), gap("Dora", "Bob", 1)]


def test_a_relation_in_either_direction_closes_a_gap_and_its_end_opens_it_again(graph: Graph) -> None:
    made(graph, Ann=("met Bob",), Bob=())
    relations.create(graph, [Edge("Bob", "Ann", "met")])
    assert missing_relations.gaps(graph) == []
    relations.delete(graph, [Edge("Bob", "Ann", "met")])
    assert missing_relations.gaps(graph) == [gap("Ann", "Bob", 1)]


def test_deleted_nodes_and_observations_are_neither_read_nor_named(graph: Graph) -> None:
    made(graph, Ann=("met Bob", "met Carl"), Bob=(), Carl=())
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(0,))])
    entities.delete(graph, ["Carl"])
    assert missing_relations.gaps(graph) == []


def test_a_nodes_own_name_hides_the_names_in_it_and_means_no_namesake(graph: Graph) -> None:
    made(graph, York=("is old",))
    entities.create(graph, [NewEntity(name="New York", type="t", observations=("New York is big",))])
    entities.create(graph, [NewEntity(name="york", type="t", observations=("York is here",))])
    assert missing_relations.gaps(graph) == []


def test_another_workspace_is_not_read(graph: Graph) -> None:
    other = Graph(Scope(graph.engine, graph.engine.workspaces.ensure("other")))
    made(other, Bob=("met Ann",))
    made(graph, Ann=("met Bob",))
    assert missing_relations.gaps(graph) == []


def test_any_text_can_be_read() -> None:
    for text in ("", " \n", "\u200d", "+#+", "😀" * 3, "a" * 10_000):
        assert mentioned(text, "x") == []
    assert phrase_of("C++ & node.js") == ("c++", "&", "node", ".", "js")


SIMPLE = st.text("abc", min_size=1, max_size=3)


@settings(deadline=None)
@given(names=st.sets(SIMPLE, min_size=1, max_size=6), words=st.lists(SIMPLE, max_size=12))
def test_simple_words_are_found_where_a_pattern_finds_them(names: set[str], words: list[str]) -> None:
    text = " ".join(words)
    known = NodeNames({name: name for name in names})
    expected = Counter({name: len(re.findall(rf"\b{name}\b", text)) for name in names})
    assert Counter(phrase[0] for phrase in known.mentioned(text)) == +expected
