"""Evidence recall through the real pipeline: does a search return what answers the question?

    python -m bench.quality DATA [SET ...] [--half dev] [--one-session] [--sample N] [--keep DIRECTORY]
                            [--write FILE] [--against FILE] [--database-url URL]

DATA has SET/HALF/{corpus,haystacks,queries,qrels}.jsonl.gz: one row per turn {conv?, id, session, text, speaker?,
caption?}, per store's sessions {conv, sessions: [[session, time], ...]} (none: the whole corpus, without sessions), per
question {conv, qid, query, answer?, category?, language?, abstain?, adversarial?}, and per evidence {conv, qid, doc}.
Every turn is stored as a memory in its session, then each question is searched in four ways: by words, with vectors,
with the context of the session, with the cross-encoder. Tables show recall and the reciprocal rank; evidence within 300
and 2,000 tokens of a summary (above 500 with what is only related), the share of these tokens that are evidence
(precision), and the share of the answer's words in it; hits and CPU per question; the last way also
by class and language; and the hits of a store for questions of another one, for which it has nothing relevant.

`--sample` asks this many questions of each set, the same in every run. `--one-session` stores all of a conversation in
one session, as a careless client would. `--keep` keeps the stores, so that a second run need not embed again. `--write`
writes the figures of each question to a file, and `--against` compares with such a file, question by question: run it
on two commits. `--database-url` (or MEMORY_DATABASE_URL) names an empty Postgres database, which is asked in addition
to SQLite, with the same records and vectors, so that only the stores differ.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.progress import track
from rich.table import Table

from bench.questions import BUDGETS, MEASURES, Answer, Asked, Store, interval, load, mean, measure
from bench.tables import console
from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.briefing import SummaryLayout, brief, chosen, pack
from memoryd.core.search.pipeline import Search
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries
from memoryd.text import estimate_tokens

WAYS = {
    "words": None,
    "+ vectors": replace(ranking.RECALL, lift=0.0, head=0),
    "+ context": replace(ranking.RECALL, head=0),
    "+ reranker": ranking.RECALL,
}
Written = dict[str, dict[str, list[float]]]
"""What is written about a set: the figures of each question, by way and key."""
DEFAULT = 500  # tokens of an answer for which a caller does not ask
STRANGE = 20  # questions of another store that each store is asked


@dataclass
class Result:
    """The figures of one way of searching."""

    measured: dict[str, list[float]] = field(default_factory=dict)
    """By the question's key: MEASURES, then the number of hits and milliseconds of CPU."""
    strange: list[tuple[int, int]] = field(default_factory=list)
    """Hits, and tokens within the largest budget, for each question of another store."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The place of a store's turns, and its questions."""

    settings: Settings
    workspace: str
    store: Store
    strange: Sequence[Asked]


def fill(engine: Engine, workspace: Workspace, store: Store, *, one_session: bool) -> None:
    """Store every turn with its vector, each a millisecond after the one before."""
    embedder = engine.helpers.embedder.get(60)
    assert embedder is not None, "run `memoryd models pull` first"
    for key, body, session in track(store.turns, f"{store.name}: embedding", transient=True):
        vectors = records.Embedded(embedder.name, embedder.embed_passage(body))
        record = Record(id=key, kind=Kind.MEMORY, body=body, session_id="one" if one_session else session)
        engine.store.write(workspace, lambda q: records.add(q, record, vectors, engine.clock.now()))  # noqa: B023


def copy(source: Engine, target: Engine, workspace: Workspace, store: Store, *, one_session: bool) -> None:
    """Copy turns with their vectors."""
    name = next(iter(source.embedding.sets(source.workspaces.ensure("default"))))
    ids = [key for key, _, _ in store.turns]
    here, among = source.workspaces.ensure("default"), VectorSet(GENERAL, name)
    vectors = source.store.read(here, lambda q: source.store.index.vectors(q, among, ids))

    def work(queries: Queries) -> None:
        for key, body, session in store.turns:
            record = Record(id=key, kind=Kind.MEMORY, body=body, session_id="one" if one_session else session)
            records.add(queries, record, records.Embedded(name, vectors[key]), target.clock.now())

    target.store.write(workspace, work)


def asked(search: Search, question: str) -> tuple[Answer, float, int]:
    """Return the answer of one question, the CPU milliseconds of the search, and the tokens of the longest briefing."""
    before = time.process_time()
    hits = search.hits(question, Filter()).best
    spent = 1e3 * (time.process_time() - before)
    layout = SummaryLayout(question)
    shown = [(chosen(hits, budget / DEFAULT), budget) for budget in BUDGETS]
    briefings = [brief(some, budget, layout) for some, budget in shown]
    lines = [
        [(line.hit.record.id, estimate_tokens(line.text)) for line in pack(some, budget, layout)]
        for some, budget in shown
    ]
    used = briefings[-1].tokens_used if hits else 0
    answer = Answer([hit.record.id for hit in hits], lines, [briefing.text for briefing in briefings])
    return answer, spent, used


def ask(base: Settings, places: Sequence[Filled], profile: ranking.Profile, title: str) -> Result:
    """Ask every question of every store in one way, and return the figures."""
    result = Result()
    for place in places:
        chosen = {key: getattr(base, key) for key in ("embedder", "reranker")}
        with Engine(place.settings.model_copy(update=chosen)) as engine:
            search = Search(Scope(engine, engine.workspaces.ensure(place.workspace)), profile)
            search.hits("warm up", Filter())
            for question in track(place.store.questions, f"{place.store.name}: {title}", transient=True):
                answer, spent, _ = asked(search, question.text)
                figures = [*measure(answer, question), len(answer.found), spent]
                result.measured[f"{place.store.name} {question.key}"] = figures
            for question in place.strange:
                answer, _, used = asked(search, question.text)
                result.strange.append((len(answer.found), used))
    return result


def filled(
    settings: Settings, url: str | None, stores: Mapping[Path, tuple[Store, Sequence[Asked]]], *, one_session: bool
) -> dict[str, list[Filled]]:
    """Fill the stores of each backend, and return their places."""
    backends: dict[str, list[Filled]] = {name: [] for name in ("", ", Postgres" * bool(url))}
    for path, (store, strange) in stores.items():
        here = settings.model_copy(update={"db_path": path, "database_url": None})
        made = path.exists()
        with Engine(here) as engine:
            if not made:
                engine.helpers.start()
                fill(engine, engine.workspaces.ensure("default"), store, one_session=one_session)
            backends[""].append(Filled(here, "default", store, strange))
            if url:
                there = settings.model_copy(update={"database_url": url})
                with Engine(there) as target:
                    if target.workspaces.get(path.stem) is None:
                        copy(engine, target, target.workspaces.ensure(path.stem), store, one_session=one_session)
                backends[", Postgres"].append(Filled(there, path.stem, store, strange))
    return backends


# tables --------------------------------------------------------------------------------------------------------------


def means(figures: Sequence[Sequence[float]]) -> list[float]:
    return [mean(column) for column in zip(*figures, strict=True)]


def row(figures: Sequence[Sequence[float]]) -> list[str]:
    *measures, hits, spent = means(figures)
    return [*(f"{measure:.3f}" for measure in measures), f"{hits:.0f}", f"{spent:.0f}"]


def grid(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left")


def by_class(stores: Sequence[Store], result: Result) -> Iterator[list[str]]:
    """Yield a row per class of questions, the largest first."""
    members: dict[str, list[list[float]]] = {}
    for store in stores:
        for question in store.questions:
            for name in question.classes:
                members.setdefault(name, []).append(result.measured[f"{store.name} {question.key}"])
    for name, figures in sorted(members.items(), key=lambda item: -len(item[1])):
        yield [name, str(len(figures)), *row(figures)]


def compared(now: Mapping[str, Sequence[float]], then: Mapping[str, Sequence[float]]) -> list[str]:
    """Return for each measure the mean difference over the questions of both, with its interval."""
    both = [key for key in now if key in then]
    return [str(len(both)), *(interval([now[key][n] - then[key][n] for key in both]) for n in range(len(MEASURES)))]


def show(name: str, stores: Sequence[Store], results: Mapping[str, Result], before: Written) -> None:
    """Print the tables of one set; `before` has what --write wrote about it."""
    output = console()
    table = grid(f"{name}: {sum(len(s.questions) for s in stores)} questions", "", *MEASURES, "hits", "CPU ms")
    for title, result in results.items():
        table.add_row(title, *row(list(result.measured.values())))
    output.print(table)
    *_, last = results
    table = grid(f"{name}, {last}, by class", "", "n", *MEASURES, "hits", "CPU ms")
    for cells in by_class(stores, results[last]):
        table.add_row(*cells)
    output.print(table)
    if results[last].strange:
        table = grid(f"{name}: questions of another store", "", "n", "no hit", "hits", f"tokens of {BUDGETS[-1]:,}")
        for title, result in results.items():
            number, empty = len(result.strange), sum(not hits for hits, _ in result.strange)
            hits, tokens = means(result.strange)
            table.add_row(title, str(number), f"{empty / number:.2f}", f"{hits:.1f}", f"{tokens:.0f}")
        output.print(table)
    if before:
        table = grid(f"{name}: against the file, by question", "", "n", *MEASURES)
        for title in results.keys() & before.keys():
            table.add_row(title, *compared(results[title].measured, before[title]))
        output.print(table)


# the run -------------------------------------------------------------------------------------------------------------


def sampled(stores: Sequence[Store], number: int) -> None:
    """Reduce the stores to `number` questions in total, chosen by their keys."""
    drawn = sorted((hashlib.sha256(q.key.encode()).digest(), q.key) for store in stores for q in store.questions)
    kept = {key for _, key in drawn[:number]}
    for store in stores:
        store.questions = [question for question in store.questions if question.key in kept]


def stranger(sets: Mapping[str, Sequence[Store]]) -> dict[tuple[str, str], Sequence[Asked]]:
    """Return for each store the first questions of the next one, if there are several."""
    flat = [(name, store) for name, stores in sets.items() for store in stores]
    following = [*flat[1:], *flat[:1]] if len(flat) > 1 else []
    return {
        (name, store.name): other.questions[:STRANGE]
        for (name, store), (_, other) in zip(flat, following, strict=False)
    }


def run(given: argparse.Namespace, sets: Mapping[str, Sequence[Store]], directory: Path) -> dict[str, Written]:
    """Fill the stores, ask them in each way and print the tables; return the figures for --write."""
    before = json.loads(given.against.read_text()) if given.against else {}
    settings, strange = Settings.read(model_dir=Settings.read().models, durability="normal"), stranger(sets)
    suffix, written = "-one" if given.one_session else "", {}
    for name, stores in sets.items():
        paths = {
            directory / f"{name}-{store.name}{suffix}.db": (store, strange.get((name, store.name), ()))
            for store in stores
        }
        backends = filled(settings, given.database_url, paths, one_session=given.one_session)
        results = {}
        for title, profile in WAYS.items():
            used = settings if profile else settings.model_copy(update={"embedder": "none", "reranker": "none"})
            for backend, places in backends.items():
                results[title + backend] = ask(used, places, profile or ranking.RECALL, title + backend)
        show(name, stores, results, before.get(name, {}))
        written[name] = {title: result.measured for title, result in results.items()}
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--half", default="dev")
    parser.add_argument("--one-session", action="store_true")
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--database-url", default=Settings.read().database_url)
    given = parser.parse_args()
    names = given.sets or sorted(path.name for path in given.data.iterdir() if (path / given.half).is_dir())
    sets = {name: load(given.data / name / given.half) for name in names}
    for stores in sets.values():
        sampled(stores, given.sample)
    with tempfile.TemporaryDirectory() as temporary:
        written = run(given, sets, given.keep or Path(temporary))
    if given.write:
        given.write.write_text(json.dumps(written))


if __name__ == "__main__":
    main()
