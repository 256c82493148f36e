"""A user's first minute: nothing is there, no model and no memory, and the first text is not English."""

import time

import pytest

from tests.clients import until
from tests.conftest import Start

FACT = "歯医者が予約を木曜日の四時に変更した。"
QUESTION = "Wann muss ich zum Zahnarzt?"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.long
def test_a_fact_in_one_language_is_found_by_a_question_in_another(spawn: Start, wheelhouses: str) -> None:
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheelhouses}
    server = spawn(MEMORY_EMBEDDER="bundled", MEMORY_RERANKER="bundled", MEMORY_MODELS="all", **pip)
    server.store(FACT)
    assert "Searched by words alone: the " in server.text("memory_recall", query=QUESTION)

    def found() -> bool:
        time.sleep(0.5)
        return FACT in server.text("memory_recall", query=QUESTION)

    until(found, "the models")
    assert "Searched by words alone" not in server.text("memory_recall", query=QUESTION)
