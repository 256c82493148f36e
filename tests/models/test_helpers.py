"""A model that failed a caller is absent for a while, so that no caller waits for one that hangs."""

from pathlib import Path
from threading import Event

import pytest

from memoryd.errors import ModelError
from memoryd.models import helpers
from memoryd.models.helpers import Helpers
from memoryd.settings import Settings


def test_without_a_network_the_note_stays_the_same_while_the_models_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again, ended = Event(), Event()

    def away(*_: object) -> None:
        if again.is_set():
            ended.wait(60)
        raise ModelError("There is no network.")

    monkeypatch.setattr(helpers, "fetch", away)
    here = Helpers(Settings.read({"MEMORY_MODEL_DIR": str(tmp_path), "MEMORY_RERANKER": "none"}))
    here.start()
    here.embedder.get(60)
    assert (here.embedder.state, here.why_not("embedder")) == ("failed", helpers.UNUSABLE["embedder"])
    again.set()
    with monkeypatch.context() as sooner:
        sooner.setattr(here.embedder, "_retry_at", 0.0)
        here.start()
    assert (here.embedder.state, here.why_not("embedder")) == ("loading", helpers.UNUSABLE["embedder"])
    ended.set()
    here.embedder.get(60)
