import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memoryd.errors import ModelError
from memoryd.models.native import Gate, ModelTurns
from tests.clients import until


def test_a_closed_gate_admits_no_calls() -> None:
    gate = Gate()
    assert gate.close(0)
    with pytest.raises(ModelError, match="ending"), gate:
        pass


def test_closing_waits_for_calls_inside_but_not_forever() -> None:
    gate = Gate()
    with gate:
        assert not gate.close(0.02)
        closing = threading.Timer(0, gate.close, [10])
        closing.start()
    closing.join(5)
    assert not closing.is_alive()


def test_turns_are_given_in_order_and_a_few_at_a_time() -> None:
    turns, begun, over = ModelTurns(1), list[int](), threading.Event()
    turns.allow(2)

    def work(number: int) -> None:
        with turns:
            begun.append(number)
            assert over.wait(20)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        until(lambda number=number: len(begun) + len(turns._waiting) == number + 1, "a turn")  # type: ignore[misc]
    assert begun == [0, 1]
    turns.allow(1)
    over.set()
    for thread in threads:
        thread.join(20)
    assert begun == [0, 1, 2, 3, 4]
    assert turns._free == 1


@pytest.mark.process
def test_a_process_may_end_while_models_work(model_dir: Path) -> None:
    code = f"""
import threading, time
from memoryd.models.embedders import load_embedder
from memoryd.settings import Settings
embedder = load_embedder("bundled", Settings.read({{"MEMORY_MODEL_DIR": {str(model_dir)!r}}}))
def work():
    while True:
        embedder.embed_passage('the old pump ' * 300)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
threading.excepthook = lambda _: None
time.sleep(0.1)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.process
def test_models_neither_keep_nor_send_telemetry(model_dir: Path, tmp_path: Path) -> None:
    """On import, onnxruntime would create an id of this machine and a queue of events in the user's cache."""
    code = """
from memoryd.models.embedders import load_embedder
from memoryd.settings import Settings
load_embedder("bundled", Settings.read()).embed_query("Is the pump broken?")
"""
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "MEMORY_MODEL_DIR": str(model_dir)}
    subprocess.run([sys.executable, "-c", code], env=environ, timeout=60, check=True)
    assert list(tmp_path.rglob("*")) == []
