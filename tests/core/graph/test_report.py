"""The report on the graph: counted and quoted, the same with and without vectors where possible."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memoryd.core.graph import clustering, entities, keywords, observations, relations, similarity
from memoryd.core.graph import report as consolidate
from memoryd.core.graph.clustering import Nearest
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.keywords import Rarity
from memoryd.core.graph.names import named
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.similarity import BestPairs
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.model import GENERAL, VectorSet
from memoryd.store.base import Row, Vector
from memoryd.store.sqlite import vector_index
from memoryd.text import estimate_tokens
from tests.core.kit import Ollama, engine, never, ollama
from tests.store.kit import unit

MODEL = "ollama:nomic-embed-text"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """A graph without models."""
    with engine(tmp_path) as here:
        yield Graph(Scope(here, here.workspaces.ensure("default")))


@pytest.fixture
def server() -> Iterator[Ollama]:
    with ollama() as server:
        yield server


def make(graph: Graph, nodes: Mapping[str, Sequence[str]], kind: str = "t") -> None:
    entities.create(
        graph, [NewEntity(name=name, type=kind, observations=tuple(texts)) for name, texts in nodes.items()]
    )
    graph.engine.embedding.catch_up(never)


def pairs(graph: Graph, limit: int = 20, min_score: float = 0.75) -> list[tuple[str, str]]:
    return [(pair.one.name, pair.other.name) for pair in similarity.similar(graph, limit, min_score).best]


def relate(graph: Graph, *edges: str) -> None:
    ends = [edge.partition(">") for edge in edges]
    relations.create(graph, [Edge(source, target, "r") for source, _, target in ends])


TEA = ["green tea leaves steep slowly", "a porcelain pot keeps warm"]
SHIP = ["the hull was painted red last spring", "seven sailors hoist canvas at dawn"]


# stats ---------------------------------------------------------------------------------------------------------------


def test_an_empty_graph_has_full_coverage(graph: Graph) -> None:
    found = consolidate.stats(graph)
    assert (found["node_count"], found["observation_count"], found["relation_count"]) == (0, 0, 0)
    assert (found["embedding_coverage"], found["workspace"]) == (1.0, "default")


def test_stats_count_living_parts_of_this_workspace_only(graph: Graph) -> None:
    make(Graph(Scope(graph.engine, graph.engine.workspaces.ensure("other"))), {"z": ["1", "2"]})
    make(graph, {"a": ["1", "2", "3"], "b": ["4"], "c": []})
    relate(graph, "a>b", "b>a", "a>c", "a>a")
    entities.delete(graph, ["c"])
    observations.delete(graph, [Deletion(entity="a", ordinals=(0,))])
    found = consolidate.stats(graph)
    assert (found["node_count"], found["observation_count"], found["relation_count"]) == (2, 3, 3)
    assert found["embedding_coverage"] == 0.0


def test_coverage_is_the_share_of_living_observations_with_vectors(embedded: Graph, server: Ollama) -> None:
    make(embedded, {"a": ["one", "two", "three"], "b": ["gone"]})
    server.fails = lambda text: "refused" in text
    observations.add(embedded, [("a", ["refused"])])
    entities.delete(embedded, ["b"])
    assert consolidate.stats(embedded)["embedding_coverage"] == 0.75
    observations.delete(embedded, [Deletion(entity="a", ordinals=(0, 3))])
    assert consolidate.stats(embedded)["embedding_coverage"] == 1.0


# pending -------------------------------------------------------------------------------------------------------------


def pending(graph: Graph) -> list[Row]:
    return consolidate.pending(graph, 1_000)[0]


def test_a_new_observation_makes_a_summary_pending(graph: Graph) -> None:
    make(graph, {"a": ["1"], "b": ["1", "2"], "c": []})
    assert [(node["name"], node["observation_count"]) for node in pending(graph)] == [("a", 1), ("b", 2), ("c", 0)]
    for name in "abc":
        entities.set_summary(graph, name, "s")
    assert consolidate.pending(graph, 9) == ([], 0)
    observations.replace(graph, "b", 1, "3")
    (waiting,) = pending(graph)
    assert waiting["name"] == "b"
    assert (waiting["last_observation_at"] or "") > (waiting["summary_updated_at"] or "~")
    entities.set_summary(graph, "b", "")
    assert [node["summary_updated_at"] for node in pending(graph)] == [None]


def test_a_node_without_a_summary_is_pending_even_without_observations(graph: Graph) -> None:
    make(graph, {"a": [], "b": ["1"]})
    observations.delete(graph, [Deletion(entity="b", ordinals=(0,))])
    assert [(node["name"], node["observation_count"], node["last_observation_at"]) for node in pending(graph)] == [
        ("a", 0, None),
        ("b", 0, None),
    ]
    report = consolidate.report(graph)
    assert [(one["name"], one["draft_summary"]) for one in report["stale_summaries"]] == [("a", None), ("b", None)]
    entities.set_summary(graph, "a", "s")
    entities.set_tags(graph, "a", ["changed"])
    entities.delete(graph, ["b"])
    assert pending(graph) == []


def test_only_the_first_pending_nodes_are_listed_but_all_are_counted(graph: Graph) -> None:
    make(graph, {name: ["1"] for name in "abcde"} | {"f": []})
    found, number = consolidate.pending(graph, 2)
    assert ([node["name"] for node in found], number) == (["a", "b"], 6)


def test_the_last_observed_come_first_and_other_changes_do_not_count(graph: Graph) -> None:
    make(graph, {"a": ["1"], "b": ["1"], "c": ["1"]})
    observations.add(graph, [("b", ["2"])])
    entities.set_summary(graph, "c", "s")
    entities.set_tags(graph, "a", ["t"])
    entities.set_tags(graph, "c", ["t"])
    assert [node["name"] for node in pending(graph)] == ["b", "a"]
    observations.delete(graph, [Deletion(entity="b", ordinals=(0, 1))])
    assert [node["name"] for node in pending(graph)] == ["a", "b"]


# similar nodes -------------------------------------------------------------------------------------------------------


def test_without_a_model_or_vectors_nothing_is_similar(graph: Graph, embedded: Graph) -> None:
    assert similarity.similar(embedded).best == []
    make(graph, {"a": TEA, "b": TEA})
    assert similarity.similar(graph).best == []


def test_nodes_with_the_same_text_are_similar_unless_they_are_related(embedded: Graph) -> None:
    make(embedded, {"x": TEA, "y": TEA, "z": SHIP})
    assert pairs(embedded) == [("x", "y")]
    (pair,) = similarity.similar(embedded).best
    assert 0.75 <= pair.similarity <= 1.0
    relate(embedded, "y>x")
    assert pairs(embedded) == []
    relations.delete(embedded, [Edge("y", "x", "r")])
    assert pairs(embedded, 1, -1.0) == [("x", "y")]
    entities.delete(embedded, ["y"])
    assert pairs(embedded) == []


def test_a_similarity_is_rescaled_by_the_models_cosine_of_unrelated_texts(
    embedded: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(embedded, {"x": TEA, "y": [*TEA, *SHIP]})
    (plain,) = similarity.similar(embedded, min_score=0.1).best
    served = embedded.engine.embedding.serving(embedded.workspace)
    assert served
    monkeypatch.setattr(served, "unrelated", 0.5)
    (pair,) = similarity.similar(embedded, min_score=0.1).best
    assert pair.similarity == pytest.approx((plain.similarity - 0.5) / 0.5, abs=1e-3)
    assert similarity.similar(embedded, min_score=pair.similarity + 0.01).best == []
    assert similarity.similar(embedded, min_score=pair.similarity - 0.0001).best != []


def observe(change: Change, name: str, text: str, vector: Embedded) -> None:
    """Add an observation with a given vector."""
    observations.append(change, named(change.queries, [name])[name], [text], {f"{name}: {text}": vector})


def drawn(seed: int, number: int, dim: int = 6) -> Vector:
    return unit(np.random.default_rng(seed).standard_normal((number, dim)))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), number=st.integers(0, 23), limit=st.integers(1, 9), least=st.floats(-1, 1))
def test_the_best_pairs_are_those_of_the_whole_matrix_in_any_tiling(
    seed: int, number: int, limit: int, least: float
) -> None:
    vectors = drawn(seed, number)
    dice = np.random.default_rng(seed)
    related = {pair for pair in combinations(range(number), 2) if dice.random() < 0.2}
    every = {pair: float(vectors[pair[0]] @ vectors[pair[1]]) for pair in combinations(range(number), 2)}
    assume(all(abs(cosine - least) > 2 * similarity.SLACK for cosine in every.values()))
    good = sorted((cosine for pair, cosine in every.items() if pair not in related and cosine >= least), reverse=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "TILE", 4)
        best = BestPairs(number, limit, least, np.asarray(sorted(related), np.int64).reshape(-1, 2))
        for tile in similarity.tiles(vectors):
            best.offer(tile)
    assert best.total == len(good)
    assert [cosine for _, _, cosine in best.found()] == pytest.approx(good[:limit], abs=1e-5)
    assert all(one < other and (one, other) not in related for one, other, _ in best.found())


def test_many_equal_nodes_have_the_maximum_similarity(embedded: Graph) -> None:
    names = [f"n{number:02}" for number in range(30)]
    make(embedded, {name: [] for name in names})
    same = Embedded(MODEL, unit(np.ones((1, 8))))

    def work(change: Change) -> None:
        for name in names:
            observe(change, name, "same", same)

    embedded.change(work)
    found = similarity.similar(embedded, 7, 1.0).best
    assert [pair.similarity for pair in found] == [1.0] * 7
    report = consolidate.report(embedded)
    assert report["omitted"]["relation_candidates"] == 30 * 29 // 2 - 20
    assert [cluster["node_count"] for cluster in report["cluster_summary"]] == [30]


def test_means_are_read_in_pages_and_in_the_most_common_dimension(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LOADED", 7)
    rows = drawn(1, 40)

    def work(change: Change) -> None:
        for number, row in enumerate(rows):
            observe(change, f"n{number % 9}", f"t{number}", Embedded(MODEL, row[None, :]))
        observe(change, "n0", "odd", Embedded(MODEL, drawn(2, 1, dim=4)))

    entities.create(graph, [NewEntity(name=f"n{number}", type="t") for number in range(10)])
    graph.change(work)
    ids, means = graph.read(lambda q: graph.engine.store.index.means(q, VectorSet(GENERAL, MODEL)))
    names = {row["id"]: row["name"] for row in graph.read(lambda q: q.all("entities.names"))}
    assert sorted(names[key] for key in ids) == [f"n{number}" for number in range(9)]
    for key, mean in zip(ids, means, strict=True):
        expected = rows[int(names[key][1:]) :: 9].sum(0)
        assert mean == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)


# clusters ------------------------------------------------------------------------------------------------------------


def linked(vectors: Vector, least: float) -> list[list[int]]:
    nearest = Nearest(len(vectors), least)
    for tile in similarity.tiles(vectors):
        nearest.offer(tile)
    return clustering.joined(nearest.links())


def test_a_node_near_all_others_does_not_join_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "NEAREST", 2)
    monkeypatch.setattr(similarity, "TILE", 4)
    groups = [np.eye(8)[number] + 0.05 * drawn(number, 3, 8) for number in range(4)]
    everything = np.ones((1, 8))
    assert linked(unit(np.concatenate([*groups, everything])), 0.3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), number=st.integers(0, 25), least=st.floats(-1, 1))
def test_links_are_mutual_and_the_same_in_any_tiling(seed: int, number: int, least: float) -> None:
    vectors = drawn(seed, number)
    cosines = vectors @ vectors.T - 3 * np.eye(number)
    assume(bool((np.abs(cosines - least) > 2 * similarity.SLACK).all()))
    nearest = [
        {other for other in np.argsort(-row)[: clustering.NEAREST].tolist() if row[other] >= least} for row in cosines
    ]
    mutual = [(one, other) for one, near in enumerate(nearest) for other in near if one in nearest[other]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "TILE", 4)
        assert linked(vectors, least) == clustering.joined(mutual)


def test_without_vectors_clusters_are_nodes_with_the_same_neighbors(graph: Graph) -> None:
    make(graph, {name: ["quiet"] for name in "abcdefghxyz"})
    relate(graph, "a>b", "b>c", "c>a", "x>y", "a>x", "d>e", "e>f", "f>g", "g>d", "d>f", "e>g")
    named = [cluster["node_names"] for cluster in consolidate.report(graph)["cluster_summary"]]
    assert named == [["d", "e", "f", "g"], ["a", "b", "c"], ["x", "y"]]


# the report ----------------------------------------------------------------------------------------------------------


def test_the_report_of_an_empty_graph_is_empty(graph: Graph) -> None:
    report = consolidate.report(graph)
    assert (report["stale_summaries"], report["relation_candidates"], report["orphaned_nodes"]) == ([], [], [])
    assert report["cluster_summary"] == []
    events = report["event_summary"]
    assert (events["creates"], events["updates"], events["deletes"]) == (0, 0, 0)


def test_a_report_lists_similar_nodes_with_a_rationale(embedded: Graph) -> None:
    make(embedded, {"x": ["the pot of porcelain"], "y": ["the pot of porcelain"], "z": SHIP})
    report = consolidate.report(embedded)
    (candidate,) = report["relation_candidates"]
    assert (candidate["node_a"], candidate["node_b"]) == ("x", "y")
    assert candidate["rationale"] == "both mention porcelain, pot"
    (cluster,) = report["cluster_summary"]
    assert (cluster["cluster_id"], cluster["node_names"], cluster["node_count"]) == (0, ["x", "y"], 2)
    assert cluster["centroid_label"] == "porcelain, pot"
    assert report["omitted"] == {
        "stale_summaries": 0,
        "relation_candidates": 0,
        "orphaned_nodes": 0,
        "cluster_summary": 0,
    }


def test_a_label_and_a_rationale_exist_without_a_word_in_common(graph: Graph) -> None:
    make(graph, {"a": ["1 2"], "b": ["one"], "c": ["two"]}, kind="person")
    relate(graph, "a>b", "b>c", "c>a")
    assert [cluster["centroid_label"] for cluster in consolidate.report(graph)["cluster_summary"]] == ["person"]


def test_each_list_is_limited_and_says_how_much_it_left_out(embedded: Graph) -> None:
    make(embedded, {f"n{number}": TEA for number in range(5)} | {f"m{number}": SHIP for number in range(4)})
    report = consolidate.report(embedded, limit=1)
    assert [node["name"] for node in report["stale_summaries"]] == ["m0"]
    assert [node["name"] for node in report["orphaned_nodes"]] == ["m0"]
    assert [cluster["node_count"] for cluster in report["cluster_summary"]] == [5]
    assert report["omitted"] == {
        "stale_summaries": 8,
        "relation_candidates": 15,
        "orphaned_nodes": 8,
        "cluster_summary": 1,
    }


def test_events_of_the_last_thirty_days_are_counted_for_the_graph_only(graph: Graph) -> None:
    make(graph, {"a": ["1", "2"], "b": []})
    relate(graph, "a>b")
    observations.replace(graph, "a", 0, "3")
    entities.set_summary(graph, "b", "s")
    entities.delete(graph, ["a"])

    def others(change: Change) -> None:
        queries = change.queries
        queries.run("events.add", operation="create_memory", subject="m", now="2099-01-01T00:00:00.000Z")
        queries.run("events.add", operation="create_entity", subject="e", now="2020-01-01T00:00:00.000Z")

    graph.change(others)
    found = consolidate.report(graph)["event_summary"]
    assert (found["creates"], found["updates"], found["deletes"]) == (5, 2, 4)
    assert found["since"] < graph.engine.clock.now()


# drafts and keywords -------------------------------------------------------------------------------------------------

PLAIN = Rarity(keywords.terms(["the service runs", "the service stops", "bees"]), 3)


def test_a_draft_quotes_typical_sentences_in_their_order() -> None:
    texts = [
        "It was a day like any other day. Postgres holds the invoices.",
        "We talked about this and that for quite a while, as one does on a long afternoon with nothing else to do.",
        "Invoices in Postgres are archived nightly!",
        "Postgres holds the invoices.",
        "Nothing else happened at all that anyone would remember afterwards, so we went home and slept",
    ]
    draft = keywords.draft(texts, PLAIN, tokens=25)
    assert draft == "Postgres holds the invoices. Invoices in Postgres are archived nightly!"


@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=300), max_size=8), tokens=st.integers(2, 60))
def test_any_draft_keeps_its_budget_and_only_quotes(texts: list[str], tokens: int) -> None:
    draft = keywords.draft(texts, PLAIN, tokens)
    assert estimate_tokens(draft) <= tokens
    source = " ".join(" ".join(texts).split())
    assert all(word.rstrip(".…") in source for word in draft.split())


def test_shared_words_are_listed_rarest_first() -> None:
    one = keywords.terms(["the service keeps bees and honey in 2024"])
    other = keywords.terms(["a service for bees, honey and wax in 2024"])
    assert keywords.shared(one, other, PLAIN) == ["honey", "bees", "service"]
