"""Finding nodes: modes, the best observation of each node, the best perspective of each observation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.graph import entities, relations
from memoryd.core.graph import search as node_search
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.search import MatchingNode, ScoredObservation
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope, together
from memoryd.core.search.pipeline import Mode
from memoryd.errors import NotFoundError
from tests.core.kit import Ollama, engine, never, with_ollama

NODES = {
    "Ann": ("engineer", ["drinks green tea every morning", "writes the invoicing service in Rust"]),
    "Bob": ("designer", ["keeps bees on the roof", "draws the icons of the mobile app"]),
    "Acme": ("company", ["was founded in 1950", "sells anvils by mail order"]),
    "Lisbon": ("place", ["the team meets there in May"]),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graph")


@pytest.fixture(scope="module")
def words(home: Path) -> Iterator[Graph]:
    """The graph without models."""
    with engine(home) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        news = [NewEntity(name=name, type=kind, observations=tuple(facts)) for name, (kind, facts) in NODES.items()]
        entities.create(graph, news)
        relations.create(graph, [Edge("Ann", "Acme", "works_at")])
        yield graph


@pytest.fixture(scope="module")
def graph(words: Graph, home: Path, model_dir: Path) -> Iterator[Graph]:
    with engine(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(model_dir)) as here:
        here.helpers.embedder.start()
        assert here.helpers.embedder.get(wait=60)
        here.embedding.catch_up(never)
        yield Graph(Scope(here, here.workspaces.ensure("default")))


def search(graph: Graph, query: str, limit: int, mode: Mode = "auto") -> list[MatchingNode]:
    return node_search.search(graph, query, limit, mode)[0].best


def within(graph: Graph, name: str, query: str, limit: int, mode: Mode = "embedding") -> list[ScoredObservation]:
    return node_search.within(graph, name, query, limit, mode)["result"]


def names(matches: list[MatchingNode]) -> list[str]:
    return [match.entity.name for match in matches]


@pytest.mark.parametrize("mode", ["auto", "embedding"])
def test_meaning_finds_what_shares_no_word(graph: Graph, mode: Mode) -> None:
    best = search(graph, "Who programs the billing software?", 3, mode)[0]
    assert (best.entity.name, best.observation) == ("Ann", "writes the invoicing service in Rust")
    assert best.perspective is not None
    assert 0 < best.score <= 1


def test_text_needs_a_word_and_has_no_perspective(graph: Graph) -> None:
    assert search(graph, "billing", 3, "text") == []
    (only,) = search(graph, "anvils", 3, "text")
    assert (only.entity.name, only.observation, only.perspective) == ("Acme", "sells anvils by mail order", None)


def test_a_node_matches_by_its_best_observation_once(graph: Graph) -> None:
    found = names(search(graph, "tea invoicing Rust morning", 10))
    assert found[0] == "Ann"
    assert len(set(found)) == len(found)


def test_a_name_matches_without_an_observation(words: Graph) -> None:
    assert [(match.entity.name, match.observation) for match in search(words, "lisbon", 5)] == [("Lisbon", None)]


def test_a_type_and_the_name_of_an_observations_entity_are_words_too(words: Graph) -> None:
    assert names(search(words, "designer", 5)) == ["Bob"]
    assert search(words, "Ann AND Rust", 5)[0].observation == "writes the invoicing service in Rust"


def test_the_context_of_a_node_matches_from_its_perspective(graph: Graph) -> None:
    best = search(graph, "Who at Acme writes the invoicing service?", 5, "embedding")
    assert {match.perspective for match in best if match.entity.name == "Ann"} == {"relational"}


def test_a_query_with_syntax_is_taken_literally(graph: Graph) -> None:
    assert names(search(graph, '"green tea" NOT bees', 5)) == ["Ann"]
    assert search(graph, '"green bees"', 5) == []


@pytest.mark.parametrize("query", ["", "   ", "***"])
def test_a_query_without_words_finds_by_meaning_alone(graph: Graph, query: str) -> None:
    assert search(graph, query, 5, "text") == []
    assert len(search(graph, query, 5, "embedding")) == len(search(graph, query, 5)) == len(NODES)


def test_a_few_nodes_with_most_matches_do_not_hide_the_others(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        many = tuple(f"tea number {n}" for n in range(500))
        entities.create(graph, [NewEntity(name="Drinker", type="t", observations=many)])
        entities.create(
            graph,
            [
                NewEntity(name=f"n{n}", type="t", observations=("once had some tea, long ago, and more words",))
                for n in range(5)
            ],
        )
        assert len(search(graph, "tea", 6)) == 6
        assert len(search(graph, "tea", 3)) == 3


def test_without_a_model_the_search_and_its_mode_are_by_words(words: Graph) -> None:
    assert node_search.search(words, "bees", 5, "embedding")[1] == node_search.search(words, "bees", 5)[1] == "text"
    assert node_search.within(words, "Bob", "bees", 5)["mode"] == "text"
    assert names(search(words, "Who keeps bees?", 5, "embedding")) == ["Bob"]


# within one node -----------------------------------------------------------------------------------------------------


def test_only_the_nodes_own_observations_are_searched(graph: Graph) -> None:
    found = within(graph, "Ann", "hot beverages", 10)
    assert [seen["ordinal"] for seen in found] == [0, 1]
    assert found[0]["score"] > found[1]["score"]
    (seen,) = within(graph, "Bob", "icons", 10, "text")
    assert seen["content"] == "draws the icons of the mobile app"
    assert within(graph, "Bob", "tea", 10, "text") == []
    assert len(within(graph, "Ann", "tea", 1)) == 1


def test_an_unknown_node_raises(graph: Graph) -> None:
    with pytest.raises(NotFoundError, match="Node 'Zed' not found"):
        within(graph, "Zed", "x", 5)


def test_included_workspaces_with_vectors_are_searched_by_meaning(tmp_path: Path, server: Ollama) -> None:
    for name, node, fact in (("shop", "Ann", "drinks green tea"), ("bare", "Bob", "grows green tea")):
        with with_ollama(tmp_path, server) if name == "shop" else engine(tmp_path) as here:
            place = here.workspaces.ensure(name)
            entities.create(Graph(Scope(here, place)), [NewEntity(name=node, type="person", observations=(fact,))])
            here.embedding.catch_up(never)
    with engine(tmp_path) as here:
        here.workspaces.include("shop", ["bare"])
        both = Graph(together(here, here.workspaces.find("shop")))
        found, mode = node_search.search(both, "green tea", 5, "embedding")
        assert mode == "text"
        assert {(one.entity.name, one.workspace and one.workspace.name) for one in found.best} == {
            ("Ann", "shop"),
            ("Bob", "bare"),
        }
    with with_ollama(tmp_path, server) as here:
        both = Graph(together(here, here.workspaces.find("shop")))
        for mode in ("auto", "embedding"):
            found, used = node_search.search(both, "green tea", 5, mode)
            assert used == mode
            assert {one.entity.name for one in found.best} == {"Ann", "Bob"}
            assert max(one.score for one in found.best) <= 1


def test_a_node_goes_before_its_observation_that_matches_as_well(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        people = [f"Ann {letter}" for letter in "ABCDEFGH"]
        entities.create(graph, [NewEntity(name=name, type="person", observations=("Likes tea",)) for name in people])
        relations.create(graph, [Edge(name, name, "knows") for name in people])
        found = search(graph, "Ann", 8)
        assert [match.observation for match in found] == [None] * 8
