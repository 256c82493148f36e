"""Prompt recall: how often does it add the evidence, and how often anything when nothing is relevant?

    python -m bench.prompts DATA [SET ...] [--half dev] [--sample N] [--keep DIRECTORY]

DATA is as for bench.quality. Each store gets its own questions, those of another store, and everyday prompts for
agents, for which nothing is relevant. The table has, for each threshold of the cross-encoder's logit, the share of
prompts to which something is added, the share in which that has a piece of the evidence, and its tokens; then the CPU
per prompt.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from rich.progress import track

from bench.quality import Filled, filled, grid, sampled, stranger
from bench.questions import Asked, Store, load
from bench.tables import console
from memoryd.core.engine import Engine
from memoryd.core.memories import prompted
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.briefing import BulletsLayout, brief
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter, Hit
from memoryd.settings import Settings

BUDGET = 300
THRESHOLDS = (-6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
DAILY = (
    "Run the tests and fix what fails.",
    "Thanks, that looks good. Please commit it.",
    "Write a function that reverses a linked list.",
    "Why does this raise a KeyError? I don't understand it.",
    "Rename the variable x to count in the whole file.",
    "Add a docstring to every public function.",
    "Explain how a B-tree works.",
    "Make the button blue and move it to the left.",
    "Convert this script from bash to Python.",
    "Update the dependencies to their latest versions.",
    "Can you write a regular expression for e-mail addresses?",
    "Show me the diff of the last three commits.",
    "The build is broken since yesterday, please have a look.",
    "Split this class in two; it is too long.",
    "What does the flag --no-cache do?",
    "Write unit tests for the parser.",
    "Translate the error messages into German.",
    "Profile the start of the program and make it faster.",
    "Create a README with a short introduction.",
    "Revert your last change and try another approach.",
)


@dataclass(frozen=True, slots=True)
class Prompted:
    """The hits of a prompt, with every logit."""

    asked: Asked
    hits: Sequence[Hit]
    seconds: float

    def goes(self, least: float) -> tuple[bool, bool, int]:
        """Return whether something is added, whether that has evidence, and its tokens."""
        hits = [hit for hit in self.hits if hit.why["reranker"] >= least][: prompted.MOST]
        shown = brief(hits, BUDGET, BulletsLayout(self.asked.text))
        ids = {hit.record.id for hit in shown.hits}
        return bool(ids), bool(ids & self.asked.evidence), shown.tokens_used if ids else 0


def ask(search: Search, asked: Asked) -> Prompted:
    before = time.process_time()
    found, _ = search.read(asked.text[: prompted.LONGEST], Filter(kinds=prompted.KINDS), named=True)
    hits = prompted.bearing(search, found, least=-100.0)
    return Prompted(asked, hits, time.process_time() - before)


def run(place: Filled) -> tuple[list[Prompted], list[Prompted], list[Prompted]]:
    """Return the results of the store's own questions, of those of another store, and of everyday prompts."""
    daily = [Asked(text, text, frozenset(), ()) for text in DAILY]
    with Engine(place.settings) as engine:
        search = Search(Scope(engine, engine.workspaces.ensure(place.workspace)), ranking.PROMPT)
        engine.helpers.start()
        search.hits("warm up", Filter())
        groups = (place.store.questions, place.strange, daily)
        own, strange, every_day = (
            [ask(search, one) for one in track(group, place.store.name, transient=True)] for group in groups
        )
    return own, strange, every_day


def show(name: str, own: Sequence[Prompted], strange: Sequence[Prompted], daily: Sequence[Prompted]) -> None:
    table = grid(
        f"{name}: {len(own)} questions, {len(strange)} of another store, {len(daily)} of every day",
        "logit",
        "added",
        "evidence",
        "tokens",
        "of another: added",
        "every day: added",
    )
    for least in THRESHOLDS:
        added, evidence, tokens = np.array([one.goes(least) for one in own], float).mean(0)
        others = [float(np.mean([one.goes(least)[0] for one in group])) if group else 0.0 for group in (strange, daily)]
        spent = tokens / max(float(added), 1e-9)
        table.add_row(
            f"{least:g}", f"{added:.2f}", f"{evidence:.2f}", f"{spent:.0f}", *(f"{share:.3f}" for share in others)
        )
    output = console()
    output.print(table)
    spent = [1e3 * one.seconds for one in (*own, *strange, *daily)]
    output.print(f"CPU of a prompt: median {np.median(spent):.0f} ms, 95 % below {np.percentile(spent, 95):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=["locomo", "pmb"])
    parser.add_argument("--half", default="dev")
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    sets: dict[str, list[Store]] = {name: load(given.data / name / given.half) for name in given.sets}
    for stores in sets.values():
        sampled(stores, given.sample)
    strange, settings = stranger(sets), Settings.read(model_dir=Settings.read().models, durability="normal")
    with tempfile.TemporaryDirectory() as temporary:
        for name, stores in sets.items():
            paths = {
                (given.keep or Path(temporary)) / f"{name}-{store.name}.db": (
                    store,
                    strange.get((name, store.name), ()),
                )
                for store in stores
            }
            own, others, daily = zip(*map(run, filled(settings, None, paths, one_session=False)[""]), strict=True)
            show(name, *(list(chain.from_iterable(group)) for group in (own, others, daily)))


if __name__ == "__main__":
    main()
