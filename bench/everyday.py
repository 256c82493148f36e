"""Answers of memory_recall to everyday questions: is the right memory first, can a reader see what was asked for?

    python -m bench.everyday [--of NAME] [--keep DIRECTORY] [--show N] [--write FILE] [--against FILE]

`bench/everyday/` has what one person's agents stored in eight months, and is written by hand. memories.jsonl: {id, at,
text, tags, importance?, session?}. questions.jsonl: {query, class, ids, says, old?, now?}: the memories that answer,
best first; a text that an answer should contain; of the class `changed` the outdated memory. nothing.jsonl: {query,
class} without an answer. pairs.jsonl, if it is there: {class: change, old, new}, {class: both, one, other} and, if the
other one is a change of another attribute of what the first one is about, {class: aside, one, other}, each with
{question, asked, apart: minutes or months}; each pair is asked alone in a workspace, then among the memories.

Every question is one `Memories.recall` of 500 tokens in the default format, in process, at the time `now` or NOW. The
tables show, by class: the right memory among the first 1 and 5 hits; the share of the right ones in the answer; whether
it says what was asked for; tokens at the median and at the 90th percentile; precision, the share of the tokens that
lines about the right memories (and the outdated one) take; CPU. `new first`: the newer memory comes before the outdated
one, or alone. `kept apart`: the line of the outdated one has the word "older", or it is absent.

`--of` asks about one of four other persons, the names of folders there, each written without a look at the search.
`--keep` keeps the filled store, so that a second run need not embed again. `--show` prints this many answers, of all
classes. `--write` writes the figures of each question, `--against` compares with such a file, question by question.
"""

import argparse
import hashlib
import json
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.progress import track

from bench.questions import interval, mean
from bench.tables import show
from memoryd.core.base.clock import Clock, moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.core.search.briefing import Briefing
from memoryd.model import Hit
from memoryd.settings import Settings
from memoryd.text import estimate_tokens, words

DATA = Path(__file__).parent / "everyday"
FILE = "everyday.db"
NOW = "2026-11-20T12:00:00Z"
TOKENS = 500  # the default budget of memory_recall
LAST = moment(NOW) - timedelta(minutes=1)  # the time of the newer memory of a pair
APART = {"minutes": timedelta(minutes=2), "months": timedelta(days=150)}
OLDER = re.compile(r"\bolder\b", re.IGNORECASE)

Row = Mapping[str, Any]
"""A line of a file of DATA."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one group of tables, its class, and its figures by the names of columns."""

    group: str
    category: str
    key: str
    figures: Mapping[str, float]

    @property
    def identity(self) -> str:
        return f"{self.group}: {self.key}"


class SetClock(Clock):
    """A clock that shows the time that was set."""

    shown = NOW

    def now(self) -> str:
        return timestamp(moment(self.shown))


class Answers:
    """The memories of one workspace, asked at set times."""

    def __init__(self, engine: Engine, clock: SetClock, workspace: str) -> None:
        self._engine, self._clock = engine, clock
        self._workspace = engine.workspaces.ensure(workspace)
        self.memories = Memories(Scope(engine, self._workspace))

    def store(self, row: Row) -> str:
        """Store a memory at its time, as a client does; return its id."""
        self._clock.shown = row["at"]
        memories = Memories(Scope(self._engine, self._workspace, row.get("session", "")))
        return memories.store(row["text"], row.get("tags"), row.get("importance")).id

    def ask(self, query: str, at: str = NOW) -> tuple[Briefing, float]:
        """Return the answer, and the milliseconds of CPU that it took."""
        self._clock.shown = at
        before = time.process_time()
        briefing = self.memories.recall(query, TOKENS, note=False)
        return briefing, 1e3 * (time.process_time() - before)


def rows(data: Path, name: str) -> list[dict[str, Any]]:
    path = data / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# reading an answer ---------------------------------------------------------------------------------------------------


def blocks(text: str) -> list[str]:
    """Return the lines of each memory in a text, without headings and notes."""
    return re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)


def lines(briefing: Briefing) -> dict[str, tuple[Hit, str]]:
    """Return for the time of each memory its hit and its lines, those that share the most words with its text."""
    left, found = list(briefing.hits), {}
    for block in blocks(briefing.text):
        shown = words(block)
        best = max(left, key=lambda hit: sum(word in words(hit.record.body) for word in shown), default=None)
        if best:
            left.remove(best)
            found[best.record.created_at] = best, block
    return found


def marked(found: Mapping[str, tuple[Hit, str]], old: str) -> bool:
    """Return whether an answer marks a memory as older, beyond its own words; also if it is absent."""
    if old not in found:
        return True
    hit, block = found[old]
    return len(OLDER.findall(block)) > len(OLDER.findall(hit.record.body))


def compared(briefing: Briefing, new: str, old: str) -> dict[str, float]:
    """Return whether the newer of two memories comes first, and whether a reader can tell which is outdated."""
    order = [hit.record.created_at for hit in briefing.hits]
    first = new in order and (old not in order or order.index(new) < order.index(old))
    return {"new first": first, "kept apart": new in order and marked(lines(briefing), old)}


def measured(briefing: Briefing, row: Row, times: Mapping[str, str]) -> dict[str, float]:
    """Return the figures of a question with an answer; `times` has the time of each memory."""
    right = {times[key] for key in row["ids"]}
    order = [hit.record.created_at for hit in briefing.hits]
    figures = {
        "hit@1": bool(right.intersection(order[:1])), "hit@5": bool(right.intersection(order[:5])),
        "of all": len(right.intersection(order)) / len(right),
    }  # fmt: skip
    if row["says"]:
        figures["readable"] = row["says"].lower() in briefing.text.lower()
    if old := row.get("old"):
        figures |= compared(briefing, times[row["ids"][0]], times[old])
        right.add(times[old])
    about = sum(estimate_tokens(block) for key, (_, block) in lines(briefing).items() if key in right)
    return figures | {"tokens": briefing.tokens_used, "precision": about / max(briefing.tokens_used, 1)}


def paired(briefing: Briefing, row: Row, times: Mapping[str, str]) -> dict[str, float]:
    """Return the figures of a pair; of two memories that both hold, the asked one is first and not marked."""
    order = [hit.record.created_at for hit in briefing.hits]
    if row["class"] == "change":
        return compared(briefing, times["new"], times["old"]) | {"old absent": times["old"] not in order}
    asked = times[row["asked"]]
    return {"asked first": order[:1] == [asked] and not marked(lines(briefing), asked)}


# asking --------------------------------------------------------------------------------------------------------------


def ask_all(data: Path, answers: Answers, shown: int) -> Iterator[Asked]:
    """Yield the figures of the questions with an answer and without; print `shown` answers."""
    times = {row["id"]: timestamp(moment(row["at"])) for row in rows(data, "memories")}
    questions, nothing = rows(data, "questions"), rows(data, "nothing")
    every = -(-len(questions + nothing) // shown) if shown else 0
    for number, row in enumerate(track([*questions, *nothing], "asking", transient=True)):
        briefing, spent = answers.ask(row["query"], row.get("now", NOW))
        if every and number % every == 0:
            print(f"\n{row['class']}: {row['query']} ({briefing.tokens_used} tokens)\n{briefing.text}")
        if "ids" in row:
            figures = measured(briefing, row, times) | {"CPU ms": spent}
            yield Asked("questions", row["class"], row["query"], figures)
        else:
            used = briefing.tokens_used * bool(briefing.hits)
            yield Asked("no answer", row["class"], row["query"], {"empty": not used, "tokens": used, "CPU ms": spent})


def ask_pairs(data: Path, engine: Engine, clock: SetClock, everything: Answers) -> Iterator[Asked]:
    """Yield the figures of each pair, alone and among everything."""
    for number, row in enumerate(track(rows(data, "pairs"), "pairs", transient=True)):
        first, second = ("old", "new") if row["class"] == "change" else ("one", "other")
        times = {first: timestamp(LAST - APART[row["apart"]]), second: timestamp(LAST)}
        category = f"{row['class']}, {row['apart']}"
        for group, answers in ("alone", Answers(engine, clock, f"pair-{number}")), ("among all", everything):
            ids = [answers.store({"at": at, "text": row[name]}) for name, at in times.items()]
            briefing, spent = answers.ask(row["question"])
            answers.memories.forget(Criteria(ids=tuple(ids)))
            figures = paired(briefing, row, times) | {"tokens": briefing.tokens_used, "CPU ms": spent}
            yield Asked(f"pairs {group}", category, f"{row['question']} {number}", figures)


@contextmanager
def opened(path: Path) -> Iterator[tuple[Engine, SetClock]]:
    """Yield an engine on a database file with its models loaded, and its clock."""
    settings = Settings.read(model_dir=Settings.read().models, durability="normal")
    with Engine(settings.model_copy(update={"db_path": path, "database_url": None})) as engine:
        engine.clock = clock = SetClock()
        engine.helpers.start()
        assert engine.helpers.embedder.get(60), "run `memoryd models pull` first"
        assert engine.helpers.reranker.get(60), "run `memoryd models pull` first"
        yield engine, clock


def run(data: Path, kept: Path | None, shown: int) -> list[Asked]:
    """Fill the store unless it is kept, and ask everything on a copy, because the pairs change it."""
    with tempfile.TemporaryDirectory() as temporary:
        name = hashlib.sha256((data / "memories.jsonl").read_bytes()).hexdigest()[:8]  # other memories, another store
        filled, copy = (kept or Path(temporary)) / name, Path(temporary) / "asked"
        if not filled.exists():
            with opened(filled / FILE) as (engine, clock):
                answers = Answers(engine, clock, "default")
                for row in track(rows(data, "memories"), "embedding", transient=True):
                    answers.store(row)
                engine.helpers.other(60)  # two of them are not English
                engine.embedding.complete(lambda _done: None)
        shutil.copytree(filled, copy)
        with opened(copy / FILE) as (engine, clock):
            answers = Answers(engine, clock, "default")
            answers.ask("warm up")
            return [*ask_all(data, answers, shown), *ask_pairs(data, engine, clock, answers)]


# tables --------------------------------------------------------------------------------------------------------------


def grouped(asked: Iterable[Asked]) -> dict[str, dict[str, list[Asked]]]:
    """Return the questions by group and class; each group ends with all of them."""
    groups: dict[str, dict[str, list[Asked]]] = {}
    for one in asked:
        groups.setdefault(one.group, {}).setdefault(one.category, []).append(one)
    return {name: by | {"all": [one for some in by.values() for one in some]} for name, by in groups.items()}


def columns(by: Mapping[str, Sequence[Asked]]) -> list[str]:
    return list(dict.fromkeys(name for some in by.values() for one in some for name in one.figures))


def values(name: str, some: Sequence[Asked]) -> list[float]:
    return sorted(one.figures[name] for one in some if name in one.figures)


def cell(name: str, some: Sequence[Asked]) -> str:
    """Return one figure of some questions; '' if they do not have it."""
    known = values(name, some)
    if name == "tokens":
        return f"{statistics.median(known):.0f} / {known[int(0.9 * (len(known) - 1))]:.0f}"
    return (f"{mean(known):.0f}" if name == "CPU ms" else f"{mean(known):.3f}") if known else ""


def print_tables(asked: Sequence[Asked]) -> None:
    for group, by in grouped(asked).items():
        names = columns(by)
        cells = [[label, str(len(some)), *(cell(name, some) for name in names)] for label, some in by.items()]
        show(f"{group}; tokens: median / 90th percentile", ["", "n", *names], cells)


def print_changes(asked: Sequence[Asked], before: Mapping[str, Mapping[str, float]]) -> None:
    """Print the mean differences from the figures in a file; of all questions of a group with their interval."""
    differing = []
    for one in asked:
        then = before.get(one.identity, {})
        figures = {name: now - then[name] for name, now in one.figures.items() if name in then}
        differing.append(replace(one, figures=figures))
    for group, by in grouped(differing).items():
        cells = [
            [name, interval(values(name, by["all"])), *(cell(name, some) for some in by.values())]
            for name in columns(by)
        ]
        show(f"{group}: against the file, by question", ["", "all, with interval", *by], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--keep", "--write", "--against"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--of", default="")
    given = parser.parse_args()
    asked = run(DATA / given.of, given.keep, given.show)
    print_tables(asked)
    if given.against:
        print_changes(asked, json.loads(given.against.read_text(encoding="utf-8")))
    if given.write:
        given.write.write_text(json.dumps({one.identity: one.figures for one in asked}), encoding="utf-8")


if __name__ == "__main__":
    main()
