"""The journal: its calls as it grows, its files, and the summaries of many sessions.

    python -m bench.journal [TURNS] [--database-url URL]
    python -m bench.journal --files [TURNS]

The first adds and searches at 1,000 turns and at TURNS (50,000 by default), and summarizes 1,000 sessions, with the
bundled embedder and without the cross-encoder. The second exports and imports TURNS without vectors, each in its own
process: turns per second, and peak memory. Times are medians of wall time. The URL names an empty Postgres database to
use instead of a file.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import psycopg

from bench.speed import clustered, fact, median_ms, question
from bench.tables import show
from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import journal_file, jsonl
from memoryd.model import GENERAL, Interaction, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries

FIRST, LAST = 1_000, 50_000
SESSION = 50  # turns
BATCH = 500
SESSIONS = 1_000
START = "2026-01-01T00:00:00.000Z"


def turn(number: int) -> Interaction:
    """Return a turn of about sixty words."""
    return Interaction(
        id=f"mem_{number:09}",
        session_id=f"s{number // SESSION}",
        created_at=START,
        prompt=fact(3 * number),
        thought=fact(3 * number + 1),
        response=f"{fact(3 * number + 2)} {fact(3 * number + 3)}",
    )


def fill(engine: Engine, workspace: Workspace, numbers: range, model: str) -> None:
    """Store turns with random vectors instead of computed ones."""
    kept, vectors = Journal(Scope(engine, workspace)).kept, clustered(LAST)

    def embed(queries: Queries, batch: range) -> None:
        for number in batch:
            vector = vectors[number % LAST : number % LAST + 1]
            records.embed(queries, f"mem_{number:09}", GENERAL, Embedded(model, vector))

    for start in range(numbers.start, numbers.stop, BATCH):
        batch = range(start, min(start + BATCH, numbers.stop))
        kept.put(list(map(turn, batch)))
        engine.store.write(workspace, partial(embed, batch=batch))


def calls(settings: Settings, last: int) -> None:
    """Measure the growth of the calls, then summaries."""
    rows = []
    with Engine(settings, fetch=False) as engine:
        engine.helpers.embedder.start()
        embedder = engine.helpers.embedder.get(60)
        assert embedder is not None, "run `memoryd models pull` first"
        workspace = engine.workspaces.ensure("bench")
        journal, before = Journal(Scope(engine, workspace)), 0
        for size in (FIRST, last):
            fill(engine, workspace, range(before, size), embedder.name)
            if settings.database_url:
                with psycopg.connect(settings.database_url, autocommit=True) as connection:
                    connection.execute("ANALYZE")  # autovacuum does it within minutes of an import
            before = size
            find, _ = median_ms(lambda n: journal.kept.find(question(n), 10, ""), 30)
            scoped, _ = median_ms(lambda n: journal.kept.find(question(n), 10, f"s{n % 20}"), 30)
            listed, _ = median_ms(lambda n: journal.kept.of_session(f"s{n % 20}", 100, 0), 30)
            add, _ = median_ms(lambda n: journal.add(fact(10**6 + n), fact(n), fact(10**7 + n), "new"), 50)
            rows.append([f"{size:,}", *(f"{ms:.1f}" for ms in (add, find, scoped, listed))])
        began = time.perf_counter()
        made = journal.summarize_all("", lambda _done, _total: None)
        seconds = time.perf_counter() - began
    head = ["turns", "add", "query", "query, one session", "read a session"]
    show("the journal, ms", head, rows)
    show(
        "summaries",
        ["sessions", "seconds", "a second"],
        [[str(len(made)), f"{seconds:.1f}", f"{len(made) / seconds:.0f}"]],
    )


# files ---------------------------------------------------------------------------------------------------------------


def opened(directory: str) -> Engine:
    return Engine(Settings.read(data_dir=directory, embedder="none", reranker="none"), fetch=False)


def write(directory: str, last: int) -> None:
    with opened(directory) as engine:
        kept = Journal(Scope(engine, engine.workspaces.ensure("default"))).kept

        def turns() -> Iterator[Interaction]:
            yield from map(turn, range(last))

        kept.replace(turns(), None)


def export(directory: str, _last: int) -> None:
    with opened(directory) as engine:
        kept = Journal(Scope(engine, engine.workspaces.ensure("default"))).kept
        journal_file.export(kept, Path(directory) / "all.jsonl", ["memories", "summaries"], ignore_progress)


def load(directory: str, last: int, mode: jsonl.ImportMode, into: str) -> None:
    with opened(directory) as engine, jsonl.opened(Path(directory) / "all.jsonl") as source:
        kept = Journal(Scope(engine, engine.workspaces.ensure(into))).kept
        assert journal_file.load(kept, source, mode, ignore_progress, Secrets("mask")).new["memories"] == last


def measured(work: Callable[[str, int], None], directory: str, last: int) -> tuple[float, float]:
    """Run a step; return its seconds, and the peak memory in MB."""
    began = time.perf_counter()
    work(directory, last)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def files(last: int) -> None:
    """Measure an export, a merge into an empty workspace, and the replacement of a full one."""
    rows = []
    parts: dict[str, Callable[[str, int], None]] = {
        "write": write,
        "export": export,
        "import, merge": partial(load, mode="merge", into="other"),
        "import, replace": partial(load, mode="replace", into="other"),
    }
    with tempfile.TemporaryDirectory() as directory:
        for name, work in parts.items():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                seconds, most = alone.submit(measured, work, directory, last).result()
            rows.append([name, f"{last / seconds:,.0f}", f"{most:.0f}"])
        size = (Path(directory) / "all.jsonl").stat().st_size
    show(f"{last:,} turns, {size / 1e6:.0f} MB", ["", "turns a second", "most memory, MB"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", nargs="?", type=int, default=LAST)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--database-url")
    given = parser.parse_args()
    if given.files:
        files(given.turns)
        return
    with tempfile.TemporaryDirectory() as directory:
        models = Settings.read().models
        calls(
            Settings.read(data_dir=directory, model_dir=models, reranker="none", database_url=given.database_url),
            given.turns,
        )


if __name__ == "__main__":
    main()
