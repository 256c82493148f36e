"""Ten paraphrased questions and ten keywords per language over thirty facts; hits at rank 1 / among the first 5.

    python -m bench.languages [LANGUAGE ...]

The facts are the same in every language (LANGUAGE.jsonl here), so that questions in one language can be asked about
facts in another: the last two rows of each table ask in English about the language's facts, and in the language about
the English facts. MEMORY_* choose the models. Then the English questions are asked of a store with the English facts
and those of one other language, and of one without the answers: how many hits in the other language does such a
question get? Finally it prints the size of the word index, compared with an index that treats a run of letters as one
word, on texts drawn from the language's facts.
"""

import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
from rich.table import Table

from bench.tables import console
from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter, Kind, Record
from memoryd.settings import Settings
from memoryd.text import segmented

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "es", "fr", "ru", "zh", "ja", "hi", "ar")
WAYS = {"words": None, "+ vectors": replace(ranking.RECALL, lift=0.0, head=0), "+ reranker": ranking.RECALL}
TEXTS, SENTENCES = 10_000, 4  # texts in the measured index, and sentences per text
COLUMNS = "x, content='', tokenize='porter unicode61 remove_diacritics 2'"


def facts(language: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()]


def fill(engine: Engine, workspace: str, texts: Mapping[str, str]) -> None:
    """Store texts by id."""
    embedder = engine.helpers.embedder.get(60)
    assert embedder is not None, "run `memoryd models pull` first"
    scope = Scope(engine, engine.workspaces.ensure(workspace))
    for key, text in texts.items():
        vectors = records.Embedded(embedder.name, embedder.embed_passage(text))
        record = Record(id=key, kind=Kind.MEMORY, body=text)
        scope.write(lambda q: records.add(q, record, vectors, engine.clock.now()))  # noqa: B023


def texts(language: str, prefix: str = "", *, asked: bool = True) -> dict[str, str]:
    """Return the facts of a language by number; without those that have a question, if `asked` is False."""
    every = enumerate(facts(language))
    return {f"{prefix}{number}": fact["text"] for number, fact in every if asked or "question" not in fact}


def hits(engine: Engine, stored: str, asked: Sequence[str], profile: ranking.Profile) -> str:
    """Return how many questions find the fact with their own number first, and among the first five."""
    search = Search(Scope(engine, engine.workspaces.ensure(stored)), profile)
    found = [[hit.record.id for hit in search.hits(question, Filter()).best[:5]] for question in asked]
    return f"{sum(f[:1] == [str(n)] for n, f in enumerate(found))}/{sum(str(n) in f for n, f in enumerate(found))}"


def questions(language: str, kind: str = "question") -> list[str]:
    return [fact[kind] for fact in facts(language) if kind in fact]


def quality(languages: Sequence[str], path: Path) -> None:
    base = Settings.read(db_path=path, durability="normal")
    with Engine(base) as engine:
        engine.helpers.start()
        for language in {*languages, "en"}:
            fill(engine, language, texts(language))
    for title, profile in WAYS.items():
        used = base if profile else base.model_copy(update={"embedder": "none", "reranker": "none"})
        table = Table(title, *languages, title_justify="left")
        with Engine(used) as engine:
            rows = {
                "questions": [hits(engine, one, questions(one), profile or ranking.RECALL) for one in languages],
                "keywords": [
                    hits(engine, one, questions(one, "keyword"), profile or ranking.RECALL) for one in languages
                ],
                "asked in English": [
                    hits(engine, one, questions("en"), profile or ranking.RECALL) for one in languages
                ],
                "asked of English": [
                    hits(engine, "en", questions(one), profile or ranking.RECALL) for one in languages
                ],
            }
        for row, cells in rows.items():
            table.add_row(row, *cells)
        console().print(table)


def mixed(languages: Sequence[str], path: Path) -> None:
    others, found, strange = [one for one in languages if one != "en"], [], []
    with Engine(Settings.read(db_path=path, durability="normal")) as engine:
        engine.helpers.start()
        for one in others:
            fill(engine, f"en and {one}", texts("en") | texts(one, one))
            fill(engine, f"neither, {one}", texts("en", asked=False) | texts(one, one, asked=False))
            found.append(hits(engine, f"en and {one}", questions("en"), ranking.RECALL))
            search = Search(Scope(engine, engine.workspaces.ensure(f"neither, {one}")))
            got = [hit.record.id for asked in questions("en") for hit in search.hits(asked, Filter()).best]
            strange.append(f"{sum(key.startswith(one) for key in got) / len(questions('en')):.1f}")
    table = Table("English facts beside those of", *others, title_justify="left")
    table.add_row("asked in English", *found)
    table.add_row("hits of the other, where nothing answers", *strange)
    console().print(table)


def size(bodies: Sequence[str]) -> int:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(f"CREATE VIRTUAL TABLE t USING fts5({COLUMNS})")
        connection.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", list(enumerate(bodies)))
        connection.execute("INSERT INTO t (t) VALUES ('optimize')")
        return int(connection.execute("SELECT sum(length(block)) FROM t_data").get)


def growth(languages: Sequence[str]) -> None:
    table = Table("bytes a text", *languages, title_justify="left")
    dice, drawn = random.Random(1), {}
    for language in languages:
        bodies = [fact["text"] for fact in facts(language)]
        drawn[language] = ["".join(dice.sample(bodies, SENTENCES)) for _ in range(TEXTS)]
    cells = {
        "text": [sum(len(text.encode()) for text in drawn[one]) for one in languages],
        "index of runs": [size(drawn[one]) for one in languages],
        "index of pairs": [size([segmented(text) for text in drawn[one]]) for one in languages],
    }
    for row, sizes in cells.items():
        table.add_row(row, *(str(round(one / TEXTS)) for one in sizes))
    console().print(table)


def main() -> None:
    languages = sys.argv[1:] or list(LANGUAGES)
    with tempfile.TemporaryDirectory() as temporary:
        quality(languages, Path(temporary) / "languages.db")
        mixed(languages, Path(temporary) / "mixed.db")
    growth(languages)


if __name__ == "__main__":
    main()
