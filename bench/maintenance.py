"""The cost of maintenance and of `as_of`: `python -m bench.maintenance [MEMORIES]`, 10,000 by default."""

import sys
import tempfile
import threading
import time
import uuid

from bench.speed import clustered, fact, median_ms, question
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.maintenance import consolidation
from memoryd.core.maintenance.consolidation import MemoriesByKey
from memoryd.core.maintenance.scheduler import maintain
from memoryd.core.memories.memories import Memories
from memoryd.core.records import records
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.model import Kind, Record, Workspace
from memoryd.models.llm import CountingWriter
from memoryd.settings import Settings
from memoryd.store.base import Queries

INTERVAL = 50  # memories between two passes, the setting's default
CHANGED = 300  # memories that are superseded after the `as_of` time
TWINS = 50  # one in this many repeats the one before in another form


def fill(engine: Engine, workspace: Workspace, number: int) -> None:
    """Store memories with vectors like embeddings, all of them new to maintenance."""
    vectors = clustered(number)
    name = engine.helpers.embedder.get(60).name  # type: ignore[union-attr]

    def work(queries: Queries) -> None:
        for place in range(number):
            twin = place % TWINS == TWINS - 1
            text = f"- {fact(place - 1)}  " if twin else fact(place)
            vector = vectors[place - twin]
            record = Record(id=str(uuid.uuid4()), kind=Kind.MEMORY, body=text)
            records.add(queries, record, Embedded(name, vector[None, :]), engine.clock.now())
            queries.run("memories.add", id=record.id, fingerprint=fingerprint(text), importance=0.5, consolidated=0)

    engine.store.write(workspace, work)


def recalls(memories: Memories) -> float:
    """Return the median milliseconds of a recall."""
    median, _ = median_ms(lambda n: memories.recall(question(n), 500), 50)
    return median


def passes(engine: Engine, workspace: Workspace, number: int) -> None:
    """Measure a first pass over everything during recalls, and one after INTERVAL more memories."""
    memories = Memories(Scope(engine, workspace, "bench"))
    idle = recalls(memories)
    took: list[float] = []

    def run() -> None:
        began = time.perf_counter()
        merged = sum(1 for _ in maintain(engine, workspace, lambda: False))
        took.extend([time.perf_counter() - began, merged])

    thread = threading.Thread(target=run)
    thread.start()
    during = recalls(memories)
    thread.join()
    began = time.perf_counter()
    for more in range(INTERVAL):
        memories.store(fact(10**6 + more))
    stored = time.perf_counter() - began
    ids = [hit.record.id for hit in memories.recent(INTERVAL)]
    counted = CountingWriter()
    consolidation.judge(engine, workspace, ids, counted, MemoriesByKey(list))
    began = time.perf_counter()
    list(maintain(engine, workspace, lambda: False))
    regular = time.perf_counter() - began
    rows = [
        ["a first pass over all of them, s", f"{took[0]:.1f}"],
        ["merged by it", f"{took[1]:,.0f}"],
        ["a recall during it / alone", f"{during:.1f} / {idle:.1f} ms = {during / idle:.2f}"],
        [f"a pass after {INTERVAL} more, ms", f"{1e3 * regular:.0f}"],
        [f"that / storing those {INTERVAL}", f"{regular / stored:.2f}"],
        [f"asked about {INTERVAL}, answers at their longest", f"{counted.prompts} prompts, {counted.tokens:,} tokens"],
    ]
    show(f"maintenance, {number:,} memories, no language model", ["", ""], rows)


def past(engine: Engine, workspace: Workspace, number: int) -> None:
    """Measure a recall as of a time before some memories were superseded, and one of the present."""
    memories = Memories(Scope(engine, workspace, "bench"))
    before = engine.clock.now()
    for place, hit in enumerate(memories.recent(CHANGED)):
        memories.store(fact(10**7 + place), supersedes=[hit.record.id])
    now = recalls(memories)
    then, _ = median_ms(lambda n: memories.recall(question(n), 500, as_of=before), 20)
    rows = [["a recall, ms", f"{now:.1f}"], ["one as_of a time before, ms", f"{then:.1f}"]]
    show(f"the past, {number:,} memories, {CHANGED} of them superseded since", ["", ""], rows)


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings.read(data_dir=directory, model_dir=Settings.read().models, reranker="none")
        with Engine(settings) as engine:
            engine.helpers.embedder.start()
            assert engine.helpers.embedder.get(60), "run `memoryd models pull` first"
            workspace = engine.workspaces.ensure("default")
            fill(engine, workspace, number)
            passes(engine, workspace, number)
            past(engine, workspace, number)


if __name__ == "__main__":
    main()
