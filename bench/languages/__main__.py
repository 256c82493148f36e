"""Questions in ten languages and English over sixty facts: what does the default answer of memory_recall have?

    python -m bench.languages [LANGUAGE ...]

The facts and questions (LANGUAGE.jsonl here) are the same in every language, so that those in one language can be asked
about facts in another. A cell of the first table is the share of questions whose fact is the first hit of the answer,
and that whose fact is among its first five: asked in the language of the facts, in English, of the English facts, in
English of the facts of both languages, of which the English one is right, and in both of facts of which half are
English; `half, apart` has the English ones in a project that is read together with a workspace for the others. `no
answer` asks the facts that answer nothing: in which share does the answer say that something bears on the question, and
in which does it name something as nearest? `prompt` is prompt recall: how often does it add the right fact, and how
often anything if nothing answers?
`beside` has its answers to a hundred other prompts (beside/LANGUAGE.txt, the same in every language), asked of all 60
facts, of which none answers: how often does it add anything to the first fifty, work for a coding agent, and to the
other fifty, most of which are about what a fact is about, or about a person that one names?

The second table has pairs of a fact and its change, and of two facts that hold (changes.jsonl), alone in a workspace:
how often the change comes first, with the older fact marked or absent, and how often none of two that hold is marked;
`among` has all pairs of a language and class in one workspace with its 60 facts, so that changes of other facts may be
taken for one of what is asked about. `across` are pairs in two languages.

The third table has the size of the word index, compared with an index that treats a run of letters as one word, on
texts drawn from the language's facts.
"""

import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw
from rich.progress import track

from bench.questions import mean
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.prompted import bearing_on
from memoryd.core.scope import Scope, together
from memoryd.model import Hit
from memoryd.settings import Settings
from memoryd.text import segmented

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "es", "fr", "pt", "ru", "zh", "ja", "ko", "hi", "ar")
TOKENS, PROMPTED = 500, 300  # the default budgets of memory_recall and of prompt recall
WORK = 50  # of the prompts beside the facts, so many at first are work for a coding agent
TEXTS, SENTENCES = 10_000, 4  # texts in the measured index, and sentences per text
COLUMNS = "x, content='', tokenize='porter unicode61 remove_diacritics 2'"


def facts(language: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()]


def texts(language: str, *, asked: bool = True) -> list[str]:
    """Return the facts of a language; without those that have a question, if `asked` is False."""
    return [fact["text"] for fact in facts(language) if asked or "question" not in fact]


def half(language: str) -> list[str]:
    """Return every second fact of a language, and the others in English."""
    return [
        own if number % 2 else english
        for number, (own, english) in enumerate(zip(texts(language), texts("en"), strict=True))
    ]


def nothing(done: float) -> None:
    """Report no progress."""


class Answers:
    """Workspaces with facts, and the answers from them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def scope(self, workspace: str) -> Scope:
        return together(self._engine, self._engine.workspaces.ensure(workspace))

    def fill(self, workspace: str, stored: Sequence[str]) -> None:
        for text in stored:
            Memories(self.scope(workspace)).store(text)

    def recalled(self, workspace: str, question: str) -> tuple[Hit, ...]:
        return Memories(self.scope(workspace)).recall(question, TOKENS, note=False).hits

    def found(self, workspace: str, asked: str, stored: Sequence[str]) -> str:
        """Return how often the question of a language finds its fact, first and among the first five."""
        first, five = [], []
        for number, fact in enumerate(facts(asked)):
            if "question" in fact:
                hits = [hit.record.body == stored[number] for hit in self.recalled(workspace, fact["question"])]
                first.append(any(hits[:1]))
                five.append(any(hits[:5]))
        return f"{mean(first):.2f} / {mean(five):.2f}"

    def unanswered(self, workspace: str, asked: str) -> str:
        """Return how often something bears on a question that has no answer, and how often any is named as nearest."""
        got = [self.recalled(workspace, fact["question"]) for fact in facts(asked) if "question" in fact]
        return (
            f"{mean([any(hit.bears for hit in hits) for hits in got]):.2f} / {mean([bool(hits) for hits in got]):.2f}"
        )

    def prompted(self, language: str) -> str:
        """Return how often prompt recall adds the right fact, and how often it adds something without an answer."""
        right, wrong = [], []
        for fact in facts(language):
            if "question" in fact:
                added = bearing_on(self.scope(language), fact["question"], PROMPTED)
                right.append(added is not None and fact["text"] in [hit.record.body for hit in added.hits])
                wrong.append(bearing_on(self.scope(f"{language}, no answer"), fact["question"], PROMPTED) is not None)
        return f"{mean(right):.2f} / {mean(wrong):.2f}"

    def current(self, workspace: str, pair: Mapping[str, str]) -> bool:
        """Return whether a change comes first, with what it changes marked, or neither of two that hold is marked."""
        hits = self.recalled(workspace, pair["question"])
        marked = {hit.record.body for hit in hits if hit.changed_by}
        if pair["class"] == "both":
            return marked.isdisjoint({pair["older"], pair["newer"]})
        older = [hit for hit in hits if hit.record.body == pair["older"]]
        return bool(hits) and hits[0].record.body == pair["newer"] and (not older or pair["older"] in marked)

    def beside(self, language: str) -> str:
        """Return how often prompt recall adds something to work for an agent, and to what is beside the facts."""
        prompts = (HERE / "beside" / f"{language}.txt").read_text(encoding="utf-8").splitlines()
        added = [bearing_on(self.scope(language), prompt, PROMPTED) is not None for prompt in prompts]
        return f"{mean(added[:WORK]):.2f} / {mean(added[WORK:]):.2f}"


def quality(languages: Sequence[str], path: Path) -> None:
    with Engine(Settings.read(db_path=path, durability="normal")) as engine:
        engine.helpers.start()
        assert engine.helpers.embedder.get(60), "run `memoryd models pull --all` first"
        assert engine.helpers.other(600), "run `memoryd models pull --all` first"
        answers, rows = Answers(engine), []
        for language in dict.fromkeys(["en", *languages]):
            answers.fill(language, texts(language))
            answers.fill(f"{language}, no answer", texts(language, asked=False))
            answers.fill(f"{language}, both", texts(language) + (texts("en") if language != "en" else []))
            answers.fill(f"{language}, half", half(language))
            answers.fill(f"{language}, project", half(language)[::2])
            answers.fill(f"{language}, personal", half(language)[1::2])
            engine.workspaces.include(f"{language}, project", [f"{language}, personal"])
        answers.recalled("en", "Wo?")  # the first question in another language, which has all compared by its model
        engine.embedding.complete(nothing)
        english = texts("en")
        for language in track(languages, "asking", transient=True):
            own = texts(language)
            rows.append([
                language, answers.found(language, language, own), answers.found(language, "en", own),
                answers.found("en", language, english), answers.found(f"{language}, both", "en", english),
                answers.found(f"{language}, half", language, half(language)),
                answers.found(f"{language}, half", "en", half(language)),
                answers.found(f"{language}, project", language, half(language)),
                answers.unanswered(f"{language}, no answer", language), answers.prompted(language),
                answers.beside(language),
            ])  # fmt: skip
    head = [
        "",
        "own",
        "in English",
        "of English",
        "in English, both",
        "half",
        "in English, half",
        "half, apart",
        "no answer: bears / any",
        "prompt: right / wrong",
        "beside: work / near",
    ]
    show("R@1 / R@5 of the default answer", head, rows)


def changes(languages: Sequence[str], path: Path) -> None:
    rows = [json.loads(line) for line in (HERE / "changes.jsonl").read_text(encoding="utf-8").splitlines()]
    groups = dict[tuple[str, str], list[dict[str, str]]]()
    for row in rows:
        groups.setdefault((row["language"], row["class"]), []).append(row)
    with Engine(Settings.read(db_path=path, durability="normal")) as engine:
        engine.helpers.start()
        assert engine.helpers.other(600), "run `memoryd models pull --all` first"
        answers = Answers(engine)
        for (language, kind), pairs in groups.items():
            for number, row in enumerate(pairs):
                answers.fill(f"{language}, {kind} {number}", [row["older"], row["newer"]])
            others = texts("en") + texts("de") if language == "across" else texts(language)
            stored = [*(row["older"] for row in pairs), *others, *(row["newer"] for row in pairs)]
            answers.fill(f"{language}, {kind}", stored)
        engine.embedding.complete(nothing)

        def cell(language: str, kind: str) -> str:
            pairs, place = groups[language, kind], f"{language}, {kind}"
            alone = [answers.current(f"{place} {number}", row) for number, row in enumerate(pairs)]
            return f"{mean(alone):.2f} / {mean([answers.current(place, row) for row in pairs]):.2f}"

        cells = [
            [language, cell(language, "change"), cell(language, "both")]
            for language in track((*languages, "across"), "changes", transient=True)
            if (language, "both") in groups
        ]
    show("changes, alone / among others", ["", "new first", "both hold"], cells)


def size(bodies: Sequence[str]) -> int:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(f"CREATE VIRTUAL TABLE t USING fts5({COLUMNS})")
        connection.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", list(enumerate(bodies)))
        connection.execute("INSERT INTO t (t) VALUES ('optimize')")
        return int(connection.execute("SELECT sum(length(block)) FROM t_data").get)


def growth(languages: Sequence[str]) -> None:
    dice, rows = random.Random(1), []
    for language in languages:
        drawn = ["".join(dice.sample(texts(language), SENTENCES)) for _ in range(TEXTS)]
        sizes = sum(len(text.encode()) for text in drawn), size(drawn), size([segmented(text) for text in drawn])
        rows.append([language, *(f"{one / TEXTS:.0f}" for one in sizes)])
    show("bytes a text", ["", "text", "index of runs", "index of pairs"], rows)


def main() -> None:
    languages = sys.argv[1:] or list(LANGUAGES)
    with tempfile.TemporaryDirectory() as temporary:
        quality(languages, Path(temporary) / "languages.db")
        changes(languages, Path(temporary) / "changes.db")
    growth(languages)


if __name__ == "__main__":
    main()
