"""Evidence recall through the doors of agent frameworks, beside that of the memory itself.

    build/frameworks/bin/python -m bench.doors DATA [SET ...] [--stores N] [--sample N]     # after `make frameworks`

DATA is as for bench/quality.py, LoCoMo by default. Each turn is put into LangGraph's `MemorydStore` as `{"text": ...}`
in one memory, and stored in another; each question is searched in both, for 10 hits.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from langgraph.store.base import PutOp
from rich.progress import track
from rich.table import Table

from bench.quality import sampled
from bench.questions import CUTS, Store, interval, load, mean
from bench.tables import console
from memoryd import Memory
from memoryd.langgraph import MemorydStore

PLACE = ("conversation",)
Find = Callable[[str], Sequence[str]]
"""From a question to the ids of the hits."""


def through_langgraph(store: Store, memory: Memory) -> Find:
    door = MemorydStore(memory)
    door.batch([PutOp(PLACE, key, {"text": body}) for key, body, _ in store.turns])
    return lambda text: [item.key for item in door.search(PLACE, query=text, limit=max(CUTS))]


def direct(store: Store, memory: Memory) -> Find:
    keys = {memory.store(body)["id"]: key for key, body, _ in track(store.turns, store.name, transient=True)}
    return lambda text: [keys[hit["id"]] for hit in memory.recall(text, limit=max(CUTS), token_budget=50_000)]


WAYS = {"direct": direct, "LangGraph": through_langgraph}


def load_models(memory: Memory) -> None:
    """Return once the models are loaded: before, a memory is stored without its vector, which follows later."""
    scope = memory._local.scope(make=True)  # noqa: SLF001 - what the door does, too
    assert scope
    helpers = scope.engine.helpers
    helpers.start()
    assert helpers.embedder.get(60), "run `memoryd models pull` first"
    assert helpers.reranker.get(60)


def recalls(store: Store, find: Find) -> list[list[float]]:
    """Return for each question the recall at each cut."""
    found = [(question, find(question.text)) for question in track(store.questions, store.name, transient=True)]
    return [
        [len(question.evidence.intersection(keys[:cut])) / len(question.evidence) for cut in CUTS]
        for question, keys in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=["locomo"])
    parser.add_argument("--half", default="dev")
    parser.add_argument("--stores", type=int, help="only the first conversations")
    parser.add_argument("--sample", type=int, default=10_000)
    given = parser.parse_args()
    for name in given.sets:
        stores = load(given.data / name / given.half)[: given.stores]
        sampled(stores, given.sample)
        figures: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        with tempfile.TemporaryDirectory() as directory:
            for store in stores:
                for way, fill in WAYS.items():
                    with Memory(data_dir=f"{directory}/{store.name}-{way}") as memory:
                        load_models(memory)
                        figures[way] += recalls(store, fill(store, memory))
        table = Table("", *(f"R@{cut}" for cut in CUTS), title=f"{name}: {len(figures['direct'])} questions")
        for way, rows in figures.items():
            table.add_row(way, *(f"{mean(column):.3f}" for column in zip(*rows, strict=True)))
        differences = zip(figures["LangGraph"], figures["direct"], strict=True)
        columns = zip(*([a - b for a, b in zip(one, other, strict=True)] for one, other in differences), strict=True)
        table.add_row("difference", *(interval(list(column)) for column in columns))
        console().print(table)


if __name__ == "__main__":
    main()
