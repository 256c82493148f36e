"""Sets of questions with their evidence, and the measures of a list of hits; bench/quality.py describes the files."""

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.text import content_words, words

CUTS = (1, 5, 10)
BUDGETS = (300, 2_000)
MEASURES = [
    *(f"R@{cut}" for cut in CUTS), "MRR",
    *(f"in {budget:,}" for budget in BUDGETS),
    *(f"words in {budget:,}" for budget in BUDGETS),
    *(f"precision in {budget:,}" for budget in BUDGETS),
]  # fmt: skip
DRAWS = 2_000  # draws of the bootstrap

CLASSES = {
    "single-hop": "single",
    "single-session-user": "single",
    "single-session-assistant": "single",
    "single-session-preference": "single",
    "multi-session": "multi-hop",
    "temporal-reasoning": "temporal",
    "open-domain": "open",
}
"""The class names in the tables for those in the data; a class that is not here keeps its name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the ids of its evidence, and its classes."""

    key: str
    text: str
    evidence: frozenset[str]
    classes: tuple[str, ...]
    expected_words: frozenset[str] = frozenset()
    """The words of the expected answer that the evidence contains."""


@dataclass
class Store:
    """One conversation: its turns in order, and its questions."""

    name: str
    turns: list[tuple[str, str, str | None]] = field(default_factory=list)
    """(id, text, session)"""
    questions: list[Asked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one question: the hits in order, what fits each of BUDGETS, and its text."""

    found: Sequence[str]
    within: Sequence[Sequence[tuple[str, int]]]
    """The ids of the hits and the tokens of their lines."""
    texts: Sequence[str]
    """The briefings with these hits."""


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
            store, among = stores[row["conv"]], frozenset(evidence[row["qid"]])
            there = {word for key, body, _ in store.turns if key in among for word in words(body)}
            expected = there.intersection(content_words(str(row.get("answer") or "")))
            store.questions.append(Asked(row["qid"], row["query"], among, tuple(classes(row)), frozenset(expected)))
    return list(stores.values())


def classes(row: dict[str, Any]) -> Iterator[str]:
    """Yield the classes of a question: its category as in the tables, and its language."""
    if category := row.get("category"):
        yield CLASSES.get(category, category)
    if language := row.get("language"):
        yield f"in {language}"


def measure(answer: Answer, question: Asked) -> list[float]:
    """Return recall at each cut, the reciprocal rank of the first evidence, and per budget three shares.

    These are recall, the share of the expected answer's words in the text (evidence that is shortened until it says
    nothing still counts as found; nan if the evidence has none of these words), and precision: of the answer's tokens,
    those of evidence.
    """

    def recall(keys: Sequence[str]) -> float:
        return len(question.evidence.intersection(keys)) / len(question.evidence)

    def word_share(text: str) -> float:
        expected = question.expected_words
        return len(expected.intersection(words(text))) / len(expected) if expected else math.nan

    def precision(lines: Sequence[tuple[str, int]]) -> float:
        total = sum(tokens for _, tokens in lines)
        return sum(tokens for key, tokens in lines if key in question.evidence) / total if total else math.nan

    rank = next((1 / rank for rank, key in enumerate(answer.found, 1) if key in question.evidence), 0.0)
    recalls = (recall(answer.found[:cut]) for cut in CUTS)
    within = [recall([key for key, _ in lines]) for lines in answer.within]
    return [*recalls, rank, *within, *map(word_share, answer.texts), *map(precision, answer.within)]


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not nan; nan if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def interval(differences: Sequence[float]) -> str:
    """Return the mean of paired differences with its 95 % bootstrap interval, without those that are nan."""
    values = np.array([value for value in differences if not math.isnan(value)])
    if not len(values):
        return ""
    picks = np.random.default_rng(0).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.percentile(values[picks].mean(1), [2.5, 97.5])
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
