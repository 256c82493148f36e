"""Duplicates without a language model: how many are found, and how many pairs are mistaken for duplicates?

    python -m bench.duplicates [--half dev] [--half test] [--half fresh] [--wrong]

`pairs.jsonl` in this directory has pairs of memories and whether they mean the same, {category, same, one, other}:
written by hand, before anything was measured. A hash of its texts puts a pair into one of two halves; rules are tuned
only on `dev`. `pairs_fresh.jsonl` was written after `test` had been seen, for later changes. Each pair is judged in
four ways: by its fingerprints, as on store; by the rescaled cosine of the bundled embedder alone; by that and
`may_differ`, as search omits hits that repeat a better one; and by the rule of core/records/deduplication.py.
`--wrong` names the pairs that the rule gets wrong.
"""

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from memoryd.core.records.deduplication import fingerprint, may_differ, same
from memoryd.core.search import ranking
from memoryd.models.embedders import Embedder, load_embedder
from memoryd.settings import Settings

PAIRS, FRESH = (Path(__file__).parent / name for name in ("pairs.jsonl", "pairs_fresh.jsonl"))
HALVES = ("dev", "test")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories, whether they mean the same, and the kind of their difference."""

    category: str
    same: bool
    one: str
    other: str

    @property
    def half(self) -> str:
        return HALVES[hashlib.sha256(f"{self.one}\n{self.other}".encode()).digest()[0] % 2]


Judge = Callable[[Pair, float], bool]
"""Returns whether a pair with this rescaled cosine is judged to be the same."""

WAYS: dict[str, Judge] = {
    "fingerprint": lambda pair, _: fingerprint(pair.one) == fingerprint(pair.other),
    "cosine alone": lambda _, similarity: similarity >= ranking.RECALL.same,
    "cosine and may_differ": lambda pair, similarity: (
        similarity >= ranking.RECALL.same and not may_differ(pair.one, pair.other)
    ),
    "the rule": lambda pair, _: same(pair.one, pair.other),
}


def load(half: str) -> list[Pair]:
    path = PAIRS if half in HALVES else FRESH
    pairs = [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return [pair for pair in pairs if half not in HALVES or pair.half == half]


def similarity(embedder: Embedder, pair: Pair) -> float:
    one, other = (_whole(embedder.embed_passage(text)) for text in (pair.one, pair.other))
    return ranking.rescale(float(one @ other), embedder.unrelated)


def _whole(chunks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector of a text of several chunks."""
    mean: NDArray[np.float32] = chunks.mean(0)
    return mean / np.float32(np.linalg.norm(mean))


def judged(pairs: Sequence[Pair], embedder: Embedder) -> dict[Pair, dict[str, bool]]:
    near = {pair: similarity(embedder, pair) for pair in pairs}
    return {pair: {name: judge(pair, near[pair]) for name, judge in WAYS.items()} for pair in pairs}


def summary(found: dict[Pair, dict[str, bool]], half: str) -> Table:
    """Return a table of precision and recall of each way, with the counts behind each share."""
    table = Table("", "precision", "recall", "F1", "found of", "wrong of", title=half, title_justify="left")
    alike = sum(pair.same for pair in found)
    for name in WAYS:
        right = sum(pair.same and by[name] for pair, by in found.items())
        wrong = sum(not pair.same and by[name] for pair, by in found.items())
        precision, recall = right / max(right + wrong, 1), right / alike
        shares = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))
        table.add_row(
            name, *(f"{share:.3f}" for share in shares), f"{right} / {alike}", f"{wrong} / {len(found) - alike}"
        )
    return table


def categories(found: dict[Pair, dict[str, bool]]) -> Table:
    """Return a table of how many pairs of each category are judged to be the same: all of them should be, or none."""
    groups: dict[tuple[bool, str], list[dict[str, bool]]] = defaultdict(list)
    for pair, by in found.items():
        groups[not pair.same, pair.category].append(by)
    table = Table("taken for the same", "should be", "pairs", *WAYS)
    for (distinct, category), rows in sorted(groups.items()):
        counts = (str(sum(row[name] for row in rows)) for name in WAYS)
        table.add_row(category, "none" if distinct else "all", str(len(rows)), *counts)
    return table


def wrong(found: dict[Pair, dict[str, bool]]) -> Iterable[str]:
    for pair, by in found.items():
        if by["the rule"] != pair.same:
            yield f"{pair.category}, {'kept apart' if pair.same else 'TAKEN FOR THE SAME'}: {pair.one!r} {pair.other!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", action="append", choices=(*HALVES, "fresh"), help="default: dev")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args()
    embedder = load_embedder("bundled", Settings.read(model_dir=Settings.read().models))
    assert embedder is not None, "run `memoryd models pull` first"
    console = Console(width=120, soft_wrap=True, highlight=False, markup=False)
    for half in given.half or ["dev"]:
        found = judged(load(half), embedder)
        console.print(summary(found, half), categories(found), sep="\n")
        for line in wrong(found) if given.wrong else ():
            console.print(line)


if __name__ == "__main__":
    main()
