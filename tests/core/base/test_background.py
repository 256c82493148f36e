"""The background thread: how it reports failed work."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event

import pytest

from memoryd.core.base.background import Worker
from memoryd.errors import StoreError
from tests.clients import PATIENCE


def test_a_failing_chore_is_logged_once_and_not_while_the_process_ends(caplog: pytest.LogCaptureFixture) -> None:
    runs, closed = SimpleQueue[int](), Event()

    def chore(_stopping: Callable[[], bool]) -> None:
        runs.put(1)
        if "The disk is full." in caplog.messages:
            closed.wait(PATIENCE)
            raise StoreError("The store is closed.")
        raise StoreError("The disk is full.")

    worker = Worker([chore])
    worker.start()
    for _ in range(2):
        worker.wake()
        runs.get(timeout=PATIENCE)
    worker.stop(0.0)
    closed.set()
    worker.stop(PATIENCE)
    assert caplog.messages == ["The disk is full."]
