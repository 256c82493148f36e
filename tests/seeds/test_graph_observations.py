"""Seeds b (4.2) and c: observations, sentence by sentence, through a real client and a real server."""

import uuid

from memoryd.core.base.clock import moment
from tests.clients import Agent, Json


def add(graph: Agent, name: str, *contents: str) -> list[int]:
    """Add observations and return their ordinals."""
    (result,) = graph.ok("add_observations", observations=[{"entity_name": name, "contents": list(contents)}])["result"]
    assert not result["not_found"]
    return [one["ordinal"] for one in result["added"]]


def delete(graph: Agent, name: str, **which: object) -> Json:
    return graph.ok("delete_observations", deletions=[{"entity_name": name} | which])


# add_observations ----------------------------------------------------------------------------------------------------


def test_append_observations_to_existing_nodes(graph: Agent) -> None:
    # c: "Append observations to existing nodes. Each observation gets the next ordinal for that node."
    # c: "list of { entity_name, added: list of { ordinal, content }, not_found }"
    # b: "Returns: Array of created observation objects"
    graph.node("Ann", "zero")
    graph.nodes("Bob")
    result = graph.ok(
        "add_observations",
        observations=[
            {"entity_name": "Ann", "contents": ["one", "two"]},
            {"entity_name": "Unknown", "contents": ["lost"]},
            {"entity_name": "Bob", "contents": ["zero"]},
            {"entity_name": "Ann", "contents": ["three"]},
        ],
    )["result"]
    added = [(one["entity_name"], {f["ordinal"]: f["content"] for f in one["added"]}) for one in result]
    assert added == [("Ann", {1: "one", 2: "two"}), ("Unknown", {}), ("Bob", {0: "zero"}), ("Ann", {3: "three"})]
    assert [one["not_found"] for one in result] == [False, True, False, False]
    assert all(uuid.UUID(fact["id"]) and moment(fact["created_at"]) for one in result for fact in one["added"])
    # c: "Reads always return in ordinal order."
    assert list(graph.facts("Ann").items()) == [(0, "zero"), (1, "one"), (2, "two"), (3, "three")]


def test_an_observation_that_a_node_has_is_left_out_and_named(graph: Agent) -> None:
    graph.node("Ann", "first")
    wanted = [
        {"entity_name": "Ann", "contents": ["same", "first", "same", "Same"]},
        {"entity_name": "Ann", "contents": ["same", "other"]},
    ]
    one, two = graph.ok("add_observations", observations=wanted)["result"]
    assert [fact["content"] for fact in one["added"]] == ["same", "Same"], "other letters are another text"
    assert one["already_existed"] == ["same", "first"]
    assert ([fact["content"] for fact in two["added"]], two["already_existed"]) == (["other"], ["same"])
    assert graph.facts("Ann") == {0: "first", 1: "same", 2: "Same", 3: "other"}
    delete(graph, "Ann", ordinals=[1])
    assert add(graph, "Ann", "same") == [4], "a deleted one can be added again"
    (new,) = graph.ok("add_observations", observations=[{"entity_name": "Ann", "contents": ["new"]}])["result"]
    assert "already_existed" not in new


def test_an_empty_list_adds_nothing(graph: Agent) -> None:
    graph.node("Ann")
    assert add(graph, "Ann") == []


def test_observations_are_kept_verbatim(graph: Agent) -> None:
    for content in ("x" * 10_000, "💥" * 10_000, " kept \n\n verbatim\t", "'; DROP TABLE x; -- %s _ {}"):
        name = content[:40]
        graph.node(name, content)
        assert add(graph, name, f"{content[1:]}2") == [1]
        assert graph.facts(name) == {0: content, 1: f"{content[1:]}2"}
        assert delete(graph, name, observations=[content])["deleted_count"] == 1


# replace_observation -------------------------------------------------------------------------------------------------


def test_replace_a_single_observation_by_its_ordinal(graph: Agent) -> None:
    # c: "Replace a single observation by its ordinal. Preserves ordinal (in-place replacement)."
    graph.node("Ann", "one", "two", "three")
    result = graph.ok("replace_observation", entity_name="Ann", ordinal=1, new_content="TWO zebras")
    # c: "{ entity_name, ordinal, old_content: str, new_content: str }"
    assert result == {"entity_name": "Ann", "ordinal": 1, "old_content": "two", "new_content": "TWO zebras"}
    assert list(graph.facts("Ann").values()) == ["one", "TWO zebras", "three"]
    assert graph.hits("zebras", mode="text") == ["Ann"]
    assert graph.hits("two NOT zebras", mode="text") == [], "the old words are gone"


def test_only_existing_observations_can_be_replaced(graph: Agent) -> None:
    graph.node("Ann", "one", "two")
    delete(graph, "Ann", ordinals=[0])
    for ordinal in (0, 2, 10**9):
        message = graph.refused("replace_observation", entity_name="Ann", ordinal=ordinal, new_content="x")
        assert f"'Ann' has no observation {ordinal}." in message
    assert "'Unknown'" in graph.refused("replace_observation", entity_name="Unknown", ordinal=0, new_content="x")
    assert graph.facts("Ann") == {1: "two"}


# delete_observations -------------------------------------------------------------------------------------------------


def test_delete_specific_observations_by_ordinal(graph: Agent) -> None:
    # c: "Delete specific observations by ordinal. Ordinals of remaining observations are not renumbered."
    # c: "list of { entity_name, deleted_ordinals: list[int], not_found_ordinals: list[int] }"
    graph.node("Ann", "zero", "one", "two", "three")
    answer = delete(graph, "Ann", ordinals=[1, 3, 9, 1])
    assert answer["result"] == [
        {
            "entity_name": "Ann",
            "deleted_ordinals": [1, 3],
            "not_found_ordinals": [9],
            "not_found_observations": [],
        }
    ]
    assert graph.facts("Ann") == {0: "zero", 2: "two"}
    assert delete(graph, "Ann", ordinals=[1])["result"][0]["not_found_ordinals"] == [1]


def test_an_ordinal_is_stable_and_never_used_again(graph: Agent) -> None:
    # c: "with a stable per-node ordinal"
    graph.node("Ann", "zero", "one", "two")
    delete(graph, "Ann", ordinals=[2])
    assert add(graph, "Ann", "three") == [3], "the ordinal of the deleted one is not reused"
    delete(graph, "Ann", ordinals=[0, 1, 3])
    assert add(graph, "Ann", "four", "five") == [4, 5]
    assert graph.node("Ann", "six")["already_existed"]
    assert graph.facts("Ann") == {4: "four", 5: "five", 6: "six"}


def test_delete_observations_by_their_texts(graph: Agent) -> None:
    # b: "Observation content strings to match and delete" "Returns: Count of deleted observations"
    graph.node("Ann", "same", "other", "Same", "last", "once more")
    graph.ok("replace_observation", entity_name="Ann", ordinal=4, new_content="same")
    answer = delete(graph, "Ann", observations=["same", "nothing"])
    assert answer["deleted_count"] == 2
    assert answer["result"][0]["deleted_ordinals"] == [0, 4]
    assert answer["result"][0]["not_found_observations"] == ["nothing"]
    both = delete(graph, "Ann", observations=["Same"], ordinals=[1])
    assert (both["deleted_count"], graph.facts("Ann")) == (2, {3: "last"})


def test_an_unknown_node_is_named_and_nothing_deleted(graph: Agent) -> None:
    graph.node("Ann", "one")
    deletions = [{"entity_name": "Ann", "ordinals": [0]}, {"entity_name": "Unknown", "ordinals": [0]}]
    assert "'Unknown' not found" in graph.refused("delete_observations", deletions=deletions)
    assert graph.facts("Ann") == {0: "one"}


def test_a_deletion_must_name_observations(graph: Agent) -> None:
    graph.node("Ann", "one")
    nothing: tuple[Json, ...] = ({}, {"ordinals": []}, {"observations": []}, {"ordinals": [], "observations": []})
    for which in nothing:
        message = graph.refused("delete_observations", deletions=[{"entity_name": "Ann"} | which])
        assert "deletions.0: give ordinals, observations" in message
    assert graph.facts("Ann") == {0: "one"}


def test_deleted_observations_are_not_found(graph: Agent) -> None:
    graph.node("Ann", "Likes zebras.", "Likes tea.")
    delete(graph, "Ann", observations=["Likes zebras."])
    assert graph.hits("zebras") == []
    assert graph.ok("query_observations", entity_name="Ann", query="zebras")["result"] == []


# query_observations --------------------------------------------------------------------------------------------------


def query(graph: Agent, name: str, words: str, **more: object) -> list[tuple[int, str]]:
    found = graph.ok("query_observations", entity_name=name, query=words, **more)["result"]
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert all(0 <= one["score"] <= 1 for one in found)
    return [(one["ordinal"], one["content"]) for one in found]


FACTS = ("She plays the cello.", "Her dog is called Rex.", "The car is a red Fiat.", "She was born in Oslo.")


def test_text_finds_exact_terms_within_a_node(graph: Agent) -> None:
    # c: "Search within a single node's observations." "list of { ordinal, content, score }"
    # c: "FTS is useful when you need exact-term matching"
    graph.node("Ann", *FACTS)
    graph.node("Bob", "His dog plays the cello in Oslo.")
    assert query(graph, "Ann", "cello", mode="text") == [(0, FACTS[0])]
    assert query(graph, "Ann", "dog OR car", mode="text", limit=1)[0] in [(1, FACTS[1]), (2, FACTS[2])]
    assert query(graph, "Ann", "dog AND car", mode="text") == []
    assert query(graph, "Ann", "bor*", mode="text") == [(3, FACTS[3])]
    assert query(graph, "Ann", "instrument", mode="text") == []


def test_without_a_model_the_search_is_by_words(graph: Agent) -> None:
    # c: "or when the embedding pipeline is unavailable"
    graph.node("Ann", *FACTS)
    result = graph.ok("query_observations", entity_name="Ann", query="a dog")
    assert result["mode"] == "text"
    assert [one["ordinal"] for one in result["result"]] == [1]


def test_embedding_finds_by_meaning_within_a_node(meaning: Agent) -> None:
    # c: "Supports both embedding similarity (default) and full-text search."
    meaning.node("Ann", *FACTS)
    meaning.node("Bob", "Plays an instrument and has a pet.")
    meaning.settle_graph()
    assert query(meaning, "Ann", "Which musical instrument does she play?")[0] == (0, FACTS[0])
    assert query(meaning, "Ann", "What vehicle does she drive?")[0] == (2, FACTS[2])
    assert len(query(meaning, "Ann", "pets", limit=2)) == 2
    result = meaning.ok("query_observations", entity_name="Ann", query="birthplace")
    assert (result["mode"], result["result"][0]["ordinal"]) == ("embedding", 3)


def test_an_unknown_node_cannot_be_queried(graph: Agent) -> None:
    assert "'Unknown' not found" in graph.refused("query_observations", entity_name="Unknown", query="x")
