"""When the system allows no more threads, work that needs one fails with a clear error and recovers later."""

import threading
from pathlib import Path

import anyio
import pytest

from memoryd.core.engine import Engine
from memoryd.daemon import started
from memoryd.errors import NoThreadError
from memoryd.models.loader import Loader
from memoryd.server.calls import Calls
from tests.clients import PATIENCE, until
from tests.core.kit import engine, memories, no_threads


def test_a_refused_thread_raises_a_clear_error() -> None:
    done = threading.Event()
    with no_threads(), pytest.raises(NoThreadError, match="ulimit -u"):
        started(done.set, "one")
    started(done.set, "two")
    assert done.wait(PATIENCE)


def test_a_failed_write_succeeds_at_the_next_call(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        with no_threads(), pytest.raises(NoThreadError):
            memories(here).store("text")
        kept = memories(here).store("text").id
        assert [hit.record.id for hit in memories(here).recent(5)] == [kept]


def test_a_call_that_gets_no_thread_raises_a_clear_error(tmp_path: Path) -> None:
    def work() -> str:
        return "done"

    async def calls(of: Engine) -> str:
        here = Calls(of)
        with no_threads(), pytest.raises(NoThreadError):
            await here.hop(work)
        return await here.hop(work)

    with engine(tmp_path) as of:
        assert anyio.run(calls, of) == "done"


def test_a_model_that_gets_no_thread_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.models.loader.RETRY_PAUSE", 0.0)
    loader = Loader(lambda: "model")
    with no_threads():
        loader.start()
    assert (loader.state, loader.reason) == ("failed", str(NoThreadError()))
    loader.start()
    until(lambda: loader.get() == "model", "the model")


def test_a_watch_that_gets_no_thread_is_not_registered(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        with no_threads(), pytest.raises(NoThreadError):
            here.changes.watch(lambda: None, lambda _: None, None)
        assert here.changes._watchers == []
        here.changes.watch(lambda: None, lambda _: None, None)()
