"""A model that failed a caller is absent for a while, so that no caller waits for one that hangs."""

from collections.abc import Sequence

import pytest

from memoryd.errors import ModelError
from memoryd.models import helpers
from memoryd.models.helpers import Helpers
from memoryd.settings import Settings


class Broken:
    """A reranker that breaks."""

    name = "broken"
    asked = 0

    def reads(self, text: str) -> bool:
        return True

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked += 1
        raise ModelError("It broke. Mend it.")


def test_a_reranker_that_failed_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Broken()
    monkeypatch.setattr(helpers, "load_reranker", lambda *_: broken)
    here = Helpers(Settings.read({"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "fastembed"}))
    here.start()
    reranker = here.reranker.get(10)
    assert reranker is not None
    assert here.patience == helpers.PATIENCE
    with pytest.raises(ModelError):
        reranker.score("who?", ["me"])
    here.start()
    assert here.reranker.get(10) is None
    assert here.states()["reranker"] == "fastembed: It broke. Mend it."
    assert here.patience == 0, "no caller waits while it is loaded again"
    assert broken.asked == 1
