"""Seed c: statistics and reports of the graph, sentence by sentence, through a real client and a real server."""

import pytest

from memoryd.core.base.clock import moment
from tests.clients import Agent, Json


def names(nodes: list[Json]) -> list[str]:
    return [one["name"] for one in nodes]


@pytest.fixture
def team(meaning: Agent) -> Agent:
    """Return a graph with two musicians, two databases, and a node similar to no other."""
    meaning.node("Ann", "Plays the cello in an orchestra.", "Practises the cello every morning.", kind="person")
    meaning.node("Ben", "Plays the violin in an orchestra.", "Practises the violin every morning.", kind="person")
    for name in ("Postgres", "PostgreSQL"):
        meaning.node(name, "A relational database server with tables, transactions and a planner.", kind="software")
    meaning.node("Moss", "Grows on the north side of trees in damp forests.", kind="plant", summary="Green.")
    return meaning.settle_graph()


# get_stats -----------------------------------------------------------------------------------------------------------


def test_summary_statistics(graph: Agent) -> None:
    # c: "{ node_count, observation_count, relation_count, embedding_coverage: fraction of observations with embeddings,
    # workspace }"
    assert graph.ok("get_stats") == {
        "node_count": 0,
        "observation_count": 0,
        "relation_count": 0,
        "embedding_coverage": 1.0,
        "workspace": "default",
    }
    graph.node("Ann", "one", "two")
    graph.nodes("Bob", "Eve").relate("Ann knows Bob", "Bob knows Eve")
    graph.ok("delete_observations", deletions=[{"entity_name": "Ann", "ordinals": [0]}])
    graph.ok("delete_entities", entity_names=["Eve"])
    assert graph.ok("get_stats").items() >= {"node_count": 2, "observation_count": 1, "relation_count": 1}.items()
    assert graph.ok("get_stats")["embedding_coverage"] == 0, "there is no model"


@pytest.mark.stores
def test_embeddings_finally_cover_everything(team: Agent) -> None:
    assert team.ok("get_stats")["embedding_coverage"] == 1


# get_pending_consolidation -------------------------------------------------------------------------------------------


def test_nodes_without_a_current_summary(graph: Agent) -> None:
    # c: "just the nodes that haven't been summarized or haven't had their summary updated since their last observation
    # was added." "{ name, entity_type, observation_count, last_observation_at, summary_updated_at | None }"
    graph.node("never", "one", "two", kind="thing")
    graph.node("done", "one", summary="About one.")
    graph.nodes("empty")
    only, empty = graph.ok("get_pending_consolidation")["result"]
    assert (empty["name"], empty["observation_count"], empty["last_observation_at"]) == ("empty", 0, None)
    graph.ok("set_summary", name="empty", summary="Nothing is known of it.")
    assert (only["name"], only["entity_type"], only["observation_count"]) == ("never", "thing", 2)
    assert only["summary_updated_at"] is None
    assert moment(only["last_observation_at"])
    graph.ok("add_observations", observations=[{"entity_name": "done", "contents": ["two"]}])
    late, _ = graph.ok("get_pending_consolidation")["result"]
    assert late["name"] == "done"
    assert moment(late["summary_updated_at"]) < moment(late["last_observation_at"])
    for name in ("done", "never"):
        graph.ok("set_summary", name=name, summary="All of it.")
    assert graph.ok("get_pending_consolidation")["result"] == []
    graph.ok("set_summary", name="done", summary="")
    assert names(graph.ok("get_pending_consolidation")["result"]) == ["done"]


@pytest.mark.slow
def test_pending_nodes_fit_the_budget(graph: Agent) -> None:
    nodes = [{"name": f"n{number}", "entity_type": "thing", "observations": ["one"]} for number in range(30)]
    graph.ok("create_entities", entities=nodes)
    result = graph.ok("get_pending_consolidation", token_budget=400)
    assert result["tokens_used"] <= 400
    assert 0 < len(result["result"]) == 30 - result["omitted"] < 30


# find_similar_nodes --------------------------------------------------------------------------------------------------


def similar(graph: Agent, **arguments: float) -> list[set[str]]:
    found = graph.ok("find_similar_nodes", **arguments)["result"]
    assert [one["similarity"] for one in found] == sorted((one["similarity"] for one in found), reverse=True)
    assert all(one["similarity"] >= arguments.get("min_score", 0.75) for one in found)
    return [{one["node_a"], one["node_b"]} for one in found]


@pytest.mark.stores
def test_similar_pairs_without_a_relation(team: Agent) -> None:
    # c: "Find pairs of nodes that are semantically similar based on their full observation content, but have no
    # existing relation between them." "{ node_a, node_b, similarity, node_a_type, node_b_type }"
    best = similar(team, min_score=0.3)
    assert {"Postgres", "PostgreSQL"} in best[:2]
    assert {"Ann", "Ben"} in best[:2]
    assert len(similar(team, min_score=-1)) == 10, "every pair once"
    assert len(similar(team, min_score=-1, limit=3)) == 3
    assert similar(team, min_score=1) == []
    (pair,) = team.ok("find_similar_nodes", min_score=0.3, limit=1)["result"]
    assert (pair["node_a"], pair["node_b"]) == tuple(sorted((pair["node_a"], pair["node_b"])))
    assert pair["node_a_type"] == pair["node_b_type"] in ("person", "software")
    team.relate("Ben knows Ann")
    team.settle_graph()
    assert {"Ann", "Ben"} not in similar(team, min_score=-1)


def test_without_embeddings_nothing_is_similar(graph: Agent) -> None:
    graph.node("Ann", "same")
    graph.node("Ben", "same")
    assert similar(graph) == []


def test_similar_nodes_out_of_range(graph: Agent) -> None:
    for name, number in (("limit", 0), ("limit", 1_001), ("min_score", 1.01), ("min_score", -1.01)):
        assert f"{name}: " in graph.refused("find_similar_nodes", **{name: number})


# get_consolidation_report --------------------------------------------------------------------------------------------


def test_a_report_names_what_needs_attention(team: Agent) -> None:
    # c: "Returns a structured report identifying areas where the graph needs attention."
    team.relate("Postgres rivals Moss")
    team.settle_graph()
    result = team.ok("get_consolidation_report")
    stale = {one["name"]: one for one in result["stale_summaries"]}
    # c: "{ name, entity_type, last_modified, observation_count, draft_summary }"
    assert set(stale) == {"Ann", "Ben", "Postgres", "PostgreSQL"}, "Moss has a summary"
    assert (stale["Ann"]["entity_type"], stale["Ann"]["observation_count"]) == ("person", 2)
    assert "cello" in stale["Ann"]["draft_summary"]
    assert moment(stale["Ann"]["last_modified"])
    # c: "{ node_a, node_b, similarity_score, rationale }"
    (candidate,) = result["relation_candidates"]
    assert (candidate["node_a"], candidate["node_b"]) == ("PostgreSQL", "Postgres")
    assert candidate["similarity_score"] >= 0.75
    assert "database" in candidate["rationale"]
    # c: "{ name, entity_type, updated_at }"
    assert set(names(result["orphaned_nodes"])) == {"Ann", "Ben", "PostgreSQL"}
    # c: "{ cluster_id, node_names, centroid_label }"
    clusters = {cluster["centroid_label"]: cluster["node_names"] for cluster in result["cluster_summary"]}
    assert sorted(clusters.values()) == [["Ann", "Ben"], ["PostgreSQL", "Postgres"]]
    assert all(clusters), "labels"
    assert result["omitted"] == dict.fromkeys(result["omitted"], 0)


def test_a_report_counts_events(graph: Agent) -> None:
    # c: "event_summary: { since, creates, updates, deletes }" "events table with operation type + timestamp"
    before = graph.ok("get_consolidation_report")["event_summary"]
    graph.node("Ann", "one", "two")
    graph.nodes("Bob").relate("Ann knows Bob")
    graph.ok("set_tags", name="Ann", tags=["t"])
    graph.ok("set_summary", name="Ann", summary="S")
    graph.ok("replace_observation", entity_name="Ann", ordinal=0, new_content="ONE")
    graph.ok("update_relation_type", from_entity="Ann", to_entity="Bob", old_type="knows", new_type="likes")
    graph.ok("delete_observations", deletions=[{"entity_name": "Ann", "ordinals": [1]}])
    graph.ok("delete_relations", relations=[{"from": "Ann", "to": "Bob", "relation_type": "likes"}])
    graph.ok("delete_entities", entity_names=["Bob"])
    after = graph.ok("get_consolidation_report")["event_summary"]
    assert {verb: after[verb] - before[verb] for verb in ("creates", "updates", "deletes")} == {
        "creates": 5,
        "updates": 4,
        "deletes": 3,
    }
    month = moment(graph.opened("Ann")[0]["updated_at"]) - moment(after["since"])
    assert month.days in (29, 30)


def test_a_report_without_models_is_complete(graph: Agent) -> None:
    empty = graph.ok("get_consolidation_report")
    assert empty["stale_summaries"] == empty["relation_candidates"] == empty["orphaned_nodes"] == []
    for number in range(25):
        graph.node(f"n{number}", f"The fact {number}. It is about zebras.")
    result = graph.ok("get_consolidation_report", limit=20)
    assert len(result["stale_summaries"]) == len(result["orphaned_nodes"]) == 20
    assert result["omitted"]["stale_summaries"] == result["omitted"]["orphaned_nodes"] == 5
    assert all("zebras" in one["draft_summary"] for one in result["stale_summaries"])
    assert result["relation_candidates"] == []
    assert "limit: " in graph.refused("get_consolidation_report", limit=101)
