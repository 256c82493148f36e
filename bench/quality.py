"""Evidence recall through the real pipeline: does a search bring back what answers the question?

    python -m bench.quality DATA [SET ...] [--half dev] [--one-session] [--keep DIRECTORY] [--database-url URL]

DATA holds SET/HALF/{corpus,haystacks,queries,qrels}.jsonl.gz: one row a turn {conv?, id, session, text, speaker?,
caption?}, a store's sessions {conv, sessions: [[session, time], ...]} (none: all of the corpus, without sessions), a
question {conv, qid, query, abstain?, adversarial?}, its evidence {conv, qid, doc}. Every turn is stored as a memory in
its session, then each question is searched in four ways: by words, with vectors, with the context of the session, with
the cross-encoder. `--one-session` stores all of a conversation in one session, as a careless client would.
`--keep` keeps the stores, so that a second run need not embed again. `--database-url` (or MEMORY_DATABASE_URL) names an
empty Postgres database, to be asked beside SQLite: with the same records and vectors, so that only the stores differ.
"""

import argparse
import gzip
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.pipeline import Search
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries

CUTS = (1, 5, 10)
WAYS = {
    "words": None,
    "+ vectors": replace(ranking.RECALL, lift=0.0, head=0),
    "+ context": replace(ranking.RECALL, head=0),
    "+ reranker": ranking.RECALL,
}


@dataclass
class Store:
    """One conversation: what is stored, in order, and what is asked."""

    name: str
    turns: list[tuple[str, str, str | None]] = field(default_factory=list)
    """(id, text, session)"""
    questions: list[tuple[str, set[str]]] = field(default_factory=list)
    """(question, ids of its evidence)"""


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def text(row: dict[str, Any]) -> str:
    caption = f" [shared image: {row['caption']}]" if row.get("caption") else ""
    speaker = f"{row['speaker']}: " if row.get("speaker") else ""
    return f"{speaker}{row['text']}{caption}"


def load(folder: Path) -> list[Store]:
    corpus, by_session = list(rows(folder, "corpus")), defaultdict(list)
    for row in corpus:
        by_session[row.get("conv"), row["session"]].append(row)
    evidence = defaultdict(set)
    for row in rows(folder, "qrels"):
        if row["doc"] is not None:
            evidence[row["qid"]].add(row["doc"])
    stores = {}
    for hay in rows(folder, "haystacks"):
        store = stores[hay["conv"]] = Store(str(hay["conv"]))
        if not hay["sessions"]:
            store.turns = [(row["id"], text(row), None) for row in corpus if row.get("conv") in (hay["conv"], None)]
        for session, _ in hay["sessions"]:
            found = by_session.get((hay["conv"], session)) or by_session[None, session]
            store.turns += [(row["id"], text(row), session) for row in found]
    for row in rows(folder, "queries"):
        if evidence[row["qid"]] and not row.get("abstain") and not row.get("adversarial"):
            stores[row["conv"]].questions.append((row["query"], evidence[row["qid"]]))
    return list(stores.values())


def fill(engine: Engine, workspace: Workspace, store: Store, *, one_session: bool) -> None:
    """Every turn with its vector, each a millisecond after the one before."""
    embedder = engine.helpers.embedder.get(60)
    assert embedder is not None, "run `memoryd models pull` first"
    for key, body, session in track(store.turns, f"{store.name}: embedding", transient=True):
        vectors = records.Embedded(embedder.name, embedder.embed_passage(body))
        record = Record(id=key, kind=Kind.MEMORY, body=body, session_id="one" if one_session else session)
        engine.store.write(workspace, lambda q: records.add(q, record, vectors, engine.clock.now()))  # noqa: B023


def measure(found: list[str], evidence: set[str]) -> list[float]:
    """Recall at each cut, then the reciprocal rank."""
    recalls = [len(evidence.intersection(found[:cut])) / len(evidence) for cut in CUTS]
    return [*recalls, next((1 / rank for rank, key in enumerate(found, 1) if key in evidence), 0.0)]


def copy(source: Engine, target: Engine, workspace: Workspace, store: Store, *, one_session: bool) -> None:
    """The same turns with the same vectors."""
    name = next(iter(source.embedding.sets(source.workspaces.ensure("default"))))
    ids = [key for key, _, _ in store.turns]
    here, among = source.workspaces.ensure("default"), VectorSet(GENERAL, name)
    vectors = source.store.read(here, lambda q: source.store.index.vectors(q, among, ids))

    def work(queries: Queries) -> None:
        for key, body, session in store.turns:
            record = Record(id=key, kind=Kind.MEMORY, body=body, session_id="one" if one_session else session)
            records.add(queries, record, records.Embedded(name, vectors[key]), target.clock.now())

    target.store.write(workspace, work)


def ask(base: Settings, asked: list[tuple[Settings, str, Store]], profile: ranking.Profile, title: str) -> list[str]:
    """One row of the table: the means over every question, the hits a question and its milliseconds of CPU."""
    scores, hits, spent = [], 0, 0.0
    for place, name, store in asked:
        chosen = {key: getattr(base, key) for key in ("embedder", "reranker")}
        with Engine(place.model_copy(update=chosen)) as engine:
            search = Search(Scope(engine, engine.workspaces.ensure(name)), profile)
            search.hits("warm up", Filter())
            for question, evidence in track(store.questions, f"{store.name}: {title}", transient=True):
                before = time.process_time()
                found = [hit.record.id for hit in search.hits(question, Filter()).best]
                spent += time.process_time() - before
                scores.append(measure(found, evidence))
                hits += len(found)
    number = len(scores)
    means = [sum(column) / number for column in zip(*scores, strict=True)]
    return [title, *(f"{mean:.3f}" for mean in means), f"{hits / number:.0f}", f"{1e3 * spent / number:.0f}"]


def filled(
    settings: Settings, url: str | None, stores: dict[Path, Store], *, one_session: bool
) -> dict[str, list[tuple[Settings, str, Store]]]:
    """The stores of each backend, with all that is stored in them."""
    backends: dict[str, list[tuple[Settings, str, Store]]] = {name: [] for name in ("", ", Postgres" * bool(url))}
    for path, store in stores.items():
        here = settings.model_copy(update={"db_path": path, "database_url": None})
        made = path.exists()
        with Engine(here) as engine:
            if not made:
                engine.helpers.start()
                fill(engine, engine.workspaces.ensure("default"), store, one_session=one_session)
            backends[""].append((here, "default", store))
            if url:
                there = settings.model_copy(update={"database_url": url})
                with Engine(there) as target:
                    if target.workspaces.get(path.stem) is None:
                        copy(engine, target, target.workspaces.ensure(path.stem), store, one_session=one_session)
                backends[", Postgres"].append((there, path.stem, store))
    return backends


def run(folder: Path, name: str, directory: Path, url: str | None, *, one_session: bool) -> None:
    suffix = "-one" if one_session else ""
    stores = {directory / f"{name}-{store.name}{suffix}.db": store for store in load(folder)}
    settings = Settings.read(model_dir=Settings.read().models, durability="normal")
    backends = filled(settings, url, stores, one_session=one_session)
    table = Table("", "R@1", "R@5", "R@10", "MRR", "hits", "CPU ms", title_justify="left",
                  title=f"{name}: {sum(len(s.questions) for s in stores.values())} questions")  # fmt: skip
    for title, profile in WAYS.items():
        used = settings if profile else settings.model_copy(update={"embedder": "none", "reranker": "none"})
        for backend, asked in backends.items():
            table.add_row(*ask(used, asked, profile or ranking.RECALL, title + backend))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--half", default="dev")
    parser.add_argument("--one-session", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--database-url", default=Settings.read().database_url)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.sets or sorted(path.name for path in given.data.iterdir() if (path / given.half).is_dir()):
            folder, directory = given.data / name / given.half, given.keep or Path(temporary)
            run(folder, name, directory, given.database_url, one_session=given.one_session)


if __name__ == "__main__":
    main()
