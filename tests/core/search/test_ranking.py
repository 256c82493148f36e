"""The arithmetic of search, as far as it is not a matter of taste."""

from typing import cast

import numpy as np
import pytest

from memoryd.core.records.spaces import Compared
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Candidates, uncrowded
from memoryd.core.search.ranking import RECALL
from memoryd.models.embedders import Embedder


def test_fusion_keeps_the_part_of_one_list() -> None:
    fused = ranking.fuse({"both": 1.0, "words": 1.0}, {"both": 1.0, "vectors": 1.0}, 0.5)
    assert fused == {"both": 1.0, "words": 0.5, "vectors": 0.5}
    assert ranking.fuse({}, {}, 0.5) == {}


@pytest.mark.parametrize("cut", [False, True])
def test_if_nothing_is_near_meaning_hardly_counts(cut: bool) -> None:
    far = ranking.spread({"near": 0.75, "far": 0.6, "farthest": -1.0}, 0.75, cut=cut)
    assert list(far) == sorted(far, key=lambda key: -far[key])
    assert 0 < min(far.values()) < max(far.values()) == ranking.FAINT
    fused = ranking.fuse({"word": 1.0}, far, RECALL.alpha)
    assert list(ranking.gate(fused, RECALL.gate)) == ["word"]
    assert ranking.gate(far, RECALL.gate).keys() == far.keys(), "alone they keep their order, and are all kept"


def test_one_list_is_spread_to_one() -> None:
    assert ranking.spread({}, 0.7, cut=False) == {}
    assert ranking.spread({"only": 0.8}, 0.7, cut=False) == {"only": 1.0}
    assert ranking.spread({"a": 0.9, "b": 0.8}, 0.7, cut=False) == pytest.approx({"a": 1.0, "b": 0.5})
    assert ranking.spread({"a": 0.9, "b": 0.8}, 0.7, cut=True) == {"a": 1.0, "b": 0.0}
    assert ranking.spread({"a": 0.9, "b": 0.9}, 0.7, cut=True) == {"a": 1.0, "b": 1.0}
    assert ranking.spread({"a": 0.9, "b": 0.6}, 0.7, cut=False) == {"a": 1.0, "b": 0.0}


def test_a_text_that_is_near_many_others_is_less_near_to_a_question() -> None:
    places = np.eye(32, dtype=np.float32)
    crowd = [places[0] + places[1 + n] / 4 for n in range(15)]
    vectors = {str(n): row / np.linalg.norm(row) for n, row in enumerate([*crowd, *places[16:]])}
    cosines = dict.fromkeys(vectors, 0.5)
    found = ranking.uncrowded(cosines, vectors, RECALL)
    assert all(found[str(n)] < 0.5 for n in range(15))
    assert all(found[str(n)] > 0.5 for n in range(15, len(vectors)))
    assert np.mean(list(found.values())) == pytest.approx(0.5)
    few = dict(list(vectors.items())[:19])
    assert ranking.uncrowded(cosines, few, RECALL) == dict.fromkeys(few, 0.5), "of few, all are near each other"
    assert ranking.uncrowded({}, {}, RECALL) == {}


def test_vectors_of_another_embedder_do_not_tell_how_crowded_a_place_is() -> None:
    embedder = cast(Embedder, None)  # only the vectors matter here
    compared = [Compared(model, embedder, np.ones(32, np.float32)) for model in ("one", "other")]
    rows = np.eye(32, dtype=np.float32) + 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    beside = np.zeros_like(rows)
    vectors = {f"one {n}": np.hstack([rows[n], beside[n]])[None] for n in range(32)}
    vectors |= {f"other {n}": np.hstack([beside[n], rows[n]])[None] for n in range(3)}
    given = Candidates({}, dict.fromkeys(vectors, 0.5), embedder, compared=compared)
    found = uncrowded(given, vectors, RECALL).vectors
    assert found == pytest.approx(given.vectors), "a few are as near each other as the many are"


def test_recency_and_access_fade_from_one() -> None:
    assert ranking.recency(0, RECALL) == 1.0
    assert 0 < ranking.recency(1000, RECALL) < ranking.recency(10, RECALL) < 1
    assert ranking.access(0, 0, RECALL) == 0.0
    assert ranking.access(5, 0, RECALL) < ranking.access(10, 0, RECALL) == ranking.access(99, 0, RECALL) == 1.0
    assert ranking.access(10, 100, RECALL) < 1.0


def test_cosines_are_rescaled_by_the_cosine_of_unrelated_texts() -> None:
    assert ranking.rescale(1.0, 0.74) == pytest.approx(1.0)
    assert ranking.rescale(0.74, 0.74) == pytest.approx(0.0)
    assert ranking.rescale(0.3, 0.0) == pytest.approx(0.3)


def test_the_best_match_with_every_term_scores_one() -> None:
    assert ranking.bm25_norm({}, {}) == {}
    assert ranking.bm25_norm({"only": 1e-6}, {"only": 1.0}) == {"only": 1.0}
    assert ranking.bm25_norm({"only": 1e-6}, {"only": 1 / 3}) == {"only": pytest.approx(1 / 3)}
    found = ranking.bm25_norm({"all": 2.0, "less": 1.0, "rare": 3.0, "common": 1e-6},
                              {"all": 1.0, "less": 1.0, "rare": 0.5, "common": 0.5})  # fmt: skip
    assert found == pytest.approx({"all": 1.0, "less": 0.6, "rare": 0.5, "common": 0.1}, abs=1e-6)


def test_relevance_blends_words_and_cosine() -> None:
    found = ranking.relevances({"both": 1.0, "words": 0.5, "against": 1.0}, {"both": 0.8, "near": 0.5, "against": -1.0})
    assert found == pytest.approx({"both": 0.88, "words": 0.5, "against": 0.4, "near": 0.3})
    assert ranking.relevances({"a": 0.0}, {"b": -0.1}) == {}
