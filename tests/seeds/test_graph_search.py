"""Seeds b (4.2) and c: search_nodes, sentence by sentence, through a real client and a real server."""

import pytest

from memoryd.core.records.perspectives import DEFAULTS
from tests.clients import Agent, Json, figures, text_of


@pytest.fixture
def library(graph: Agent) -> Agent:
    return fill(graph)


@pytest.fixture
def understood(meaning: Agent) -> Agent:
    """Return the same library with models, completely embedded."""
    return fill(meaning).settle_graph()


def fill(graph: Agent) -> Agent:
    graph.node("Postgres", "Keeps rows in heaps.", "Its planner likes statistics.", kind="database")
    graph.node("SQLite", "Keeps a database in one file.", "Is embedded into a process.", kind="database")
    graph.node("Ann", "Plays the cello.", "Her dog barks at the postman.", kind="person", summary="A musician.")
    graph.node("Bob", "Repairs bicycles.", "Runs marathons in the planner's shoes.", kind="person", tags=["sport"])
    graph.relate("Ann uses SQLite", "Bob knows Ann")
    return graph


def search(graph: Agent, query: str, **arguments: object) -> list[Json]:
    found: list[Json] = graph.ok("search_nodes", query=query, **arguments)["result"]
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len({one["name"] for one in found}) == len(found), "each node once"
    return found


# words ---------------------------------------------------------------------------------------------------------------


SYNTAX: tuple[tuple[str, set[str]], ...] = (
    ("cello", {"Ann"}),
    ("CELLO", {"Ann"}),
    ("bicycle", {"Bob"}),  # stems
    ("planner", {"Postgres", "Bob"}),
    ("planner AND statistics", {"Postgres"}),
    ("planner NOT statistics", {"Bob"}),
    ("cello OR bicycles", {"Ann", "Bob"}),
    ("mara*", {"Bob"}),
    ("post*", {"Postgres", "Ann"}),
    ('"one file"', {"SQLite"}),
    ('"file one"', set()),
    ("(cello OR planner) NOT shoes", {"Ann", "Postgres"}),
    ("Which of them plays the cello?", {"Ann"}),
    ("quantum", set()),
    ("?!", set()),
    ("AND OR NOT", set()),
    ('"unclosed', set()),
    ("%", set()),
    ("'; DROP TABLE records; --", set()),
)


@pytest.mark.parametrize("mode", ["auto", "text"])
def test_words_and_their_syntax(library: Agent, mode: str) -> None:
    # b: "Search query (supports FTS5 syntax: AND, OR, NOT, prefix*)"
    for query, names in SYNTAX:
        assert {one["name"] for one in search(library, query, mode=mode)} == names, query


def test_names_types_summaries_and_tags_match_too(library: Agent) -> None:
    # b: "Searches entities_fts for matching entity names/types"
    for query, name in (("Postgres", "Postgres"), ("musician", "Ann"), ("sport", "Bob")):
        found = search(library, query)[0]
        assert (found["name"], found["matched_observation"], found["matched_perspective"]) == (name, None, None)
    assert {one["name"] for one in search(library, "database")} == {"Postgres", "SQLite"}


def test_the_matching_observation_is_reported(library: Agent) -> None:
    # b: "Searches observations_fts for matching observation content"; c: "matched_observation: str"
    (ann,) = search(library, "the postman's dog", mode="text")
    assert (ann["matched_observation"], ann["matched_perspective"]) == ("Her dog barks at the postman.", None)


def test_matches_are_complete(library: Agent) -> None:
    # b: "For each matched entity, loads all its active observations and relations"
    # c: "{ name, entity_type, summary, matched_observation, matched_perspective, score }"
    library.ok("delete_observations", deletions=[{"entity_name": "Ann", "ordinals": [1]}])
    (ann,) = search(library, "cello")
    assert (ann["entity_type"], ann["summary"], ann["tags"]) == ("person", "A musician.", [])
    assert ann["observations"] == [{"ordinal": 0, "content": "Plays the cello."}]
    assert {(one["from"], one["to"]) for one in ann["relations"]} == {("Ann", "SQLite"), ("Bob", "Ann")}
    assert (ann["id"], ann["observations_omitted"]) == (library.opened("Ann")[0]["id"], 0)


def test_a_node_is_found_once(graph: Agent) -> None:
    # b: "Deduplicates and merges results"
    graph.node("zebra", *(f"The zebra has {number} stripes." for number in range(300)), kind="zebra")
    graph.node("zoo", "There is a zebra in it.")
    assert sorted(one["name"] for one in search(graph, "zebra")) == ["zebra", "zoo"]


def test_better_matches_come_first(library: Agent) -> None:
    names = [one["name"] for one in search(library, "the planner likes shoes and marathons")]
    assert names == ["Bob", "Postgres"]


def test_a_limit(graph: Agent) -> None:
    for number in range(30):
        graph.node(f"n{number}", "About zebras.")
    assert len(search(graph, "zebras")) == 10  # c: "limit: int = 10"
    assert len(search(graph, "zebras", limit=3)) == 3
    assert len(search(graph, "zebras", limit=100)) == 30


@pytest.mark.slow
def test_a_budget_bounds_the_answer_and_counts_the_omitted(graph: Agent) -> None:
    for number in range(20):
        graph.node(f"n{number}", *(f"Zebra {fact} of {number}. " + "x" * 400 for fact in range(10)))
    graph.relate(*(f"n{one} next_to n{other}" for one in range(20) for other in range(20)))
    everything = graph.ok("search_nodes", query="zebra", limit=20, token_budget=0)
    assert everything["omitted"] == {"entities": 0, "observations": 0, "relations": 0}
    assert all(len(one["observations"]) == 10 and len(one["relations"]) == 39 for one in everything["result"])
    for budget in (500, 5_000, 20_000):
        answer = graph.call("search_nodes", {"query": "zebra", "limit": 20, "token_budget": budget})
        assert len(text_of(answer)) / 4 < budget + 50
        result = figures(answer)
        assert result["tokens_used"] <= budget
        facts = sum(len(one["observations"]) for one in result["result"])
        assert sum(one["observations_omitted"] for one in result["result"]) == result["omitted"]["observations"]
        assert result["omitted"]["entities"] == 20 - len(result["result"])
        assert facts + result["omitted"]["observations"] == 10 * len(result["result"])
    default = graph.ok("search_nodes", query="zebra", limit=20)
    assert default["tokens_used"] == result["tokens_used"], "20,000 is the default"


# meaning -------------------------------------------------------------------------------------------------------------

QUESTIONS = {
    "Who makes music?": "Ann",
    "someone who fixes two-wheelers": "Bob",
    "a household with a pet": "Ann",
}


@pytest.mark.parametrize("mode", ["auto", "embedding"])
def test_nodes_are_found_by_meaning(understood: Agent, mode: str) -> None:
    # c: "Default mode is semantic (multi-perspective embeddings)"
    for question, name in QUESTIONS.items():
        assert understood.hits(question, mode=mode)[0] == name
    assert understood.ok("search_nodes", query="music", mode=mode)["mode"] == mode


def test_the_best_score_and_its_perspective_are_reported(understood: Agent) -> None:
    # c: "query is embedded once per perspective, parallel searches run, results are merged and deduplicated, best
    # score and matched perspective returned."
    perspectives = set()
    for question in (*QUESTIONS, "cello", "a person who runs", "SQLite and Ann", "November 2026", "default workspace"):
        for one in search(understood, question, mode="embedding"):
            assert (one["matched_perspective"] is None) == (one["matched_observation"] is None)
            perspectives.add(one["matched_perspective"])
    assert perspectives <= {*DEFAULTS, None}
    assert len(perspectives - {None}) >= 3, "perspectives differ"


def test_a_perspective_finds_what_the_text_alone_does_not_say(understood: Agent) -> None:
    # c: "each observation is embedded from multiple perspectives (general, technical, relational, temporal, project)"
    understood.nodes("Hogwarts")
    understood.relate("Bob teaches_at Hogwarts")
    understood.settle_graph()
    question = "Who repairs bicycles and teaches at Hogwarts?"
    found = {one["name"]: one for one in search(understood, question, mode="embedding")}
    assert found["Bob"]["matched_perspective"] == "relational"


def test_text_mode_uses_no_model(understood: Agent) -> None:
    # c: "FTS mode is available for exact-term or keyword queries."
    assert understood.hits("Who makes music?", mode="text") == []
    (ann,) = search(understood, "cello", mode="text")
    assert ann["matched_perspective"] is None
    assert {one["name"] for one in search(understood, "planner NOT statistics")} == {"Bob"}, "syntax decides"


def test_without_a_model_the_search_is_by_words(library: Agent) -> None:
    # c: "FTS is useful when ... the embedding pipeline is unavailable."
    for mode in ("auto", "embedding", "text"):
        result = library.ok("search_nodes", query="Who plays the cello?", mode=mode)
        assert result["mode"] == "text"
        assert [one["name"] for one in result["result"]] == ["Ann"]


def test_new_observations_are_found_at_once(meaning: Agent) -> None:
    meaning.node("Lee", "Teaches chemistry.")
    meaning.settle_graph()
    meaning.node("Kim", "Collects stamps from Bhutan.")
    assert meaning.hits("a hobby with postage stamps", mode="embedding")[0] == "Kim"
    meaning.ok("replace_observation", entity_name="Kim", ordinal=0, new_content="Bakes sourdough bread.")
    assert search(meaning, "Who makes bread?")[0]["matched_observation"] == "Bakes sourdough bread."
    meaning.ok("delete_entities", entity_names=["Kim"])
    assert meaning.hits("Who makes bread?", mode="embedding") == ["Lee"]
