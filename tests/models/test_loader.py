import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memoryd.errors import ModelError
from memoryd.models.loader import Loader


class Attempts:
    """A load function that raises the given errors first, once it may continue."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.count = 0
        self.go = threading.Event()

    def __call__(self) -> str:
        self.count += 1
        assert self.go.wait(10)
        if self.errors:
            raise self.errors.pop(0)
        return "loaded"


def test_it_loads_once_in_the_background() -> None:
    load = Attempts()
    loader = Loader(load)
    assert (loader.state, loader.get()) == ("idle", None)
    for _ in range(3):
        loader.start()
    assert (loader.state, loader.get(), loader.get(0.02)) == ("loading", None, None)
    load.go.set()
    assert loader.get(10) == "loaded"
    loader.start()
    assert (loader.state, loader.reason, loader.get(), load.count) == ("ready", "", "loaded", 1)


def test_it_does_not_wait_without_a_start() -> None:
    assert Loader(Attempts()).get(3_600) is None


def test_a_failure_is_kept_with_its_reason_until_the_pause_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.models.loader.RETRY_PAUSE", 0.3)
    load = Attempts(ModelError("No such model. Pull it."))
    load.go.set()
    loader = Loader(load)
    loader.start()
    assert loader.get(10) is None
    assert (loader.state, loader.reason) == ("failed", "No such model. Pull it.")
    loader.start()
    assert (loader.state, load.count) == ("failed", 1)
    time.sleep(0.35)
    loader.start()
    assert loader.get(10) == "loaded"
    assert (loader.state, loader.reason, load.count) == ("ready", "", 2)


@pytest.mark.parametrize("error", [OSError("no disk"), ValueError("odd"), RuntimeError("broken"), MemoryError("full")])
def test_failures_of_libraries_are_states_too(error: Exception) -> None:
    load = Attempts(error)
    load.go.set()
    loader = Loader(load)
    loader.start()
    loader.get(10)
    assert loader.state == "failed"
    assert str(error) in loader.reason


def test_no_caller_waits_forever_after_an_unexpected_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: queue.Queue[type[BaseException]] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda args: logged.put(args.exc_type))
    load = Attempts(ZeroDivisionError())
    load.go.set()
    loader = Loader(load)
    loader.start()
    assert loader.get(10) is None
    assert loader.state == "failed"
    assert loader.reason
    assert logged.get(timeout=10) is ZeroDivisionError


def test_an_object_that_fails_later_is_absent_for_the_pause_and_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.models.loader.RETRY_PAUSE", 0.3)
    load = Attempts()
    load.go.set()
    loader = Loader(load)
    loader.start()
    assert (loader.get(10), loader.failed_before) == ("loaded", False)
    loader.fail("It hangs. Look at it.")
    loader.start()
    assert (loader.get(), loader.state, loader.reason, load.count) == (None, "failed", "It hangs. Look at it.", 1)
    time.sleep(0.35)
    loader.start()
    assert loader.get(10) == "loaded"
    assert (load.count, loader.failed_before) == (2, True)


def test_a_late_failure_changes_nothing() -> None:
    load = Attempts()
    loader = Loader(load)
    loader.start()
    loader.fail("This was the last one's.")
    assert (loader.state, loader.reason) == ("loading", "")
    load.go.set()
    assert loader.get(10) == "loaded"


def test_late_callers_and_callers_of_two_loaders_wait_no_longer() -> None:
    load = Attempts()
    loaders = [Loader(load), Loader(load)]
    for loader in loaders:
        loader.start()
    began = time.monotonic()
    assert [loader.get(0.6) for loader in loaders * 50] == [None] * 100
    assert time.monotonic() - began < 30, "one wait for each would be a minute"
    load.go.set()


def test_many_threads_share_one_load() -> None:
    load = Attempts()
    loader = Loader(load)
    seen: list[str | None] = []

    def ask() -> None:
        loader.start()
        seen.append(loader.get(10))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    load.go.set()
    for thread in threads:
        thread.join()
    assert (seen, load.count) == (["loaded"] * 8, 1)


@pytest.mark.process
def test_a_process_may_end_while_a_model_loads(model_dir: Path) -> None:
    code = (
        "import time\nfrom memoryd.models.embedders import load_embedder\nfrom memoryd.models.loader import Loader\n"
        "from memoryd.settings import Settings\n"
        f"settings = Settings.read({{'MEMORY_MODEL_DIR': {str(model_dir)!r}}})\n"
        f"loader = Loader(lambda: load_embedder('bundled', settings))\nloader.start()\ntime.sleep(0.1)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")
