"""Names of nodes that differ only in spelling: found, suggested, and shown as pairs, on every store."""

import unicodedata

import pytest

from tests.clients import Agent

SPELLINGS = [
    ("billing service", "Billing-Service"),
    ("claude code", "claude_code"),
    ("claudecode", "claude-code"),
    ("Müller GmbH", "MÜLLER  GMBH"),
    ("ÉLAN", "élan"),
    ("отдел продаж", "Отдел-Продаж"),
    ("release 1-2", "Release 1_2"),
    ("crane-one", "Crane\u2011One"),
    ("crane one", "crane\u00a0one"),
    ("crane", "cr\u200bane"),
    ("crane", "\uff43rane"),
]
OTHERS = [
    ("release 1-2", "release 12"),
    ("Ann", "Anna"),
    ("C", "C++"),
    ("resume", "résumé"),
    ("api.users", "api users"),
    ("billing", "billing service"),
]


@pytest.mark.parametrize(("there", "asked"), SPELLINGS)
def test_a_name_that_differs_only_in_spelling_is_suggested_but_not_taken(graph: Agent, there: str, asked: str) -> None:
    graph.node(there, "a fact")
    graph.node("Bob")
    (added,) = graph.ok("add_observations", observations=[{"entity_name": asked, "contents": ["x"]}])["result"]
    assert (added["not_found"], added["did_you_mean"]) == (True, [there])
    assert f"Did you mean {there!r}?" in graph.refused("set_summary", name=asked, summary="s")
    assert f"Did you mean {there!r}?" in graph.refused("get_path", from_entity=asked, to_entity="Bob")
    edge = {"from_entity": asked, "to_entity": "Bob", "relation_type": "r"}
    for tool, arguments in (
        ("open_nodes", {"names": [asked]}),
        ("delete_entities", {"entity_names": [asked]}),
        ("create_relations", {"relations": [edge]}),
        ("delete_relations", {"relations": [edge]}),
    ):
        assert graph.ok(tool, **arguments)["did_you_mean"] == {asked: [there]}
    assert graph.facts(there) == {0: "a fact"}


@pytest.mark.parametrize(("there", "new"), SPELLINGS)
def test_a_new_node_names_the_one_that_it_resembles_and_both_are_a_pair(graph: Agent, there: str, new: str) -> None:
    graph.node(there)
    (made,) = graph.ok("create_entities", entities=[{"name": new, "entity_type": "t"}])["result"]
    assert (made["already_existed"], made["did_you_mean"]) == (False, [there])
    (again,) = graph.ok("create_entities", entities=[{"name": new, "entity_type": "t"}])["result"]
    assert again["already_existed"]
    assert "did_you_mean" not in again
    (pair,) = graph.ok("find_similar_nodes", min_score=1)["result"]
    assert {pair["node_a"], pair["node_b"]} == {there, new}
    assert (pair["similarity"], pair["same_name"]) == (1.0, True)
    (candidate,) = graph.ok("get_consolidation_report")["relation_candidates"]
    assert {candidate["node_a"], candidate["node_b"]} == {there, new}
    assert "their names differ only in" in candidate["rationale"]
    graph.ok("create_relations", relations=[{"from_entity": new, "to_entity": there, "relation_type": "is"}])
    assert graph.ok("find_similar_nodes")["result"] == []
    assert graph.ok("get_consolidation_report")["relation_candidates"] == []


@pytest.mark.parametrize(("there", "other"), OTHERS)
def test_names_that_differ_in_more_are_neither_suggested_nor_a_pair(graph: Agent, there: str, other: str) -> None:
    graph.node(there)
    assert "Did you mean" not in graph.refused("set_summary", name=other, summary="s")
    assert "did_you_mean" not in graph.ok("open_nodes", names=[other])
    (made,) = graph.ok("create_entities", entities=[{"name": other, "entity_type": "t"}])["result"]
    assert "did_you_mean" not in made
    assert graph.ok("find_similar_nodes", min_score=1)["result"] == []


def test_nodes_of_one_call_are_compared_with_each_other(graph: Agent) -> None:
    names = ["Data Base", "data-base", "database"]
    made = graph.ok("create_entities", entities=[{"name": name, "entity_type": "t"} for name in names])["result"]
    assert [one.get("did_you_mean") for one in made] == [None, names[:1], names[:2]]
    assert len(graph.ok("find_similar_nodes")["result"]) == 2


@pytest.mark.parametrize("stored", ["Café", " Café "])
def test_names_are_compared_composed_and_without_blanks_around_them(graph: Agent, stored: str) -> None:
    graph.node(stored, "one")
    graph.node("Bob")
    for asked in (unicodedata.normalize("NFD", stored), f" {stored}\t", "Café"):
        (made,) = graph.ok("create_entities", entities=[{"name": asked, "entity_type": "t"}])["result"]
        assert (made["already_existed"], made["name"]) == (True, stored)
        (added,) = graph.ok("add_observations", observations=[{"entity_name": asked, "contents": ["one"]}])["result"]
        assert (added["not_found"], added["already_existed"]) == (False, ["one"])
        assert [node["name"] for node in graph.ok("open_nodes", names=[stored, asked])["entities"]] == [stored]
        edge = {"from_entity": asked, "to_entity": "Bob", "relation_type": f"r{len(asked)}{asked[-1:]}"}
        assert graph.ok("create_relations", relations=[edge])["created"][0]["from"] == stored
        assert graph.ok("delete_relations", relations=[edge])["deleted"] == 1
        assert graph.ok("replace_observation", entity_name=asked, ordinal=0, new_content="one")["entity_name"] == stored
    assert graph.ok("delete_entities", entity_names=["Cafe\u0301", stored])["deleted"] == [stored]


def test_of_many_spellings_a_few_are_named(graph: Agent) -> None:
    graph.nodes(*(f"a{'-' * number}b" for number in range(20)))
    assert len(graph.ok("open_nodes", names=["A B"])["did_you_mean"]["A B"]) == 5
    assert len(graph.ok("find_similar_nodes", limit=7)["result"]) == 7
