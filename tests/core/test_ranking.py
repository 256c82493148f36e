"""The arithmetic of search, where it is no matter of taste."""

import pytest

from memoryd import ranking
from memoryd.ranking import RECALL


def test_fusion_keeps_the_part_of_one_list() -> None:
    fused = ranking.fuse({"both": 1.0, "words": 1.0}, {"both": 1.0, "vectors": 1.0}, 0.5)
    assert fused == {"both": 1.0, "words": 0.5, "vectors": 0.5}
    assert ranking.fuse({}, {}, 0.5) == {}


def test_recency_and_access_fade_from_one() -> None:
    assert ranking.recency(0, RECALL) == 1.0
    assert 0 < ranking.recency(1000, RECALL) < ranking.recency(10, RECALL) < 1
    assert ranking.access(0, 0, RECALL) == 0.0
    assert ranking.access(5, 0, RECALL) < ranking.access(10, 0, RECALL) == ranking.access(99, 0, RECALL) == 1.0
    assert ranking.access(10, 100, RECALL) < 1.0


def test_cosines_are_rescaled_to_what_is_unrelated() -> None:
    assert ranking.rescale(1.0, 0.74) == pytest.approx(1.0)
    assert ranking.rescale(0.74, 0.74) == pytest.approx(0.0)
    assert ranking.rescale(0.3, 0.0) == pytest.approx(0.3)
