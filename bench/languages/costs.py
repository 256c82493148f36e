"""What other languages cost a service: memory, a start, a store and a recall, in English alone and with both models.

    python -m bench.languages.costs

Each row is a process of its own with the models on the disk, in which 60 facts are stored and 30 questions are asked.
Memory is the process's own (PSS) at the end, in MB; `start` is the seconds until a first recall is answered; `store`
and `recall` are medians of CPU milliseconds.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.languages.__main__ import Answers, facts
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.settings import Settings

CASES = {"English": ("en", "en"), "German": ("de", "de"), "both, asked in English": ("both", "en")}


def timed(work: Callable[[Any], object], each: Sequence[str]) -> float:
    """Return the median of the CPU milliseconds of some calls."""
    took = []
    for one in each:
        began = time.process_time()
        work(one)
        took.append(1000 * (time.process_time() - began))
    return statistics.median(took)


def measured(case: str) -> list[str]:
    stored, asked = CASES[case]
    texts = [fact["text"] for language in (("en", "de") if stored == "both" else (stored,)) for fact in facts(language)]
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as place,
        Engine(Settings.read(db_path=Path(place) / "memory.db")) as engine,
    ):
        engine.helpers.start()
        answers, questions = Answers(engine), [fact["question"] for fact in facts(asked) if "question" in fact]
        assert engine.helpers.embedder.get(60), "run `memoryd models pull --all` first"
        assert asked == "en" or engine.helpers.other(600), "run `memoryd models pull --all` first"
        answers.recalled("here", questions[0])
        start = time.perf_counter() - began
        store = timed(lambda text: answers.fill("here", [text]), texts)
        recall = timed(lambda question: answers.recalled("here", question), questions)
        pss = Path("/proc/self/smaps_rollup").read_text().split("Pss:")[1].split()[0]
        return [case, f"{int(pss) / 1024:.0f}", f"{start:.2f}", f"{store:.0f}", f"{recall:.0f}"]


def main() -> None:
    rows = []
    for case in sys.argv[1:] or CASES:
        with get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measured, (case,)))
    show("Costs", ["", "memory, MB", "start, s", "store, ms", "recall, ms"], rows)


if __name__ == "__main__":
    main()
