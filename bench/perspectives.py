"""The benefit of perspectives: is an observation found by its own text, and by its context?

    python -m bench.perspectives [DATA/SET/HALF]

DATA is as for bench.quality: each speaker of a conversation becomes an entity, each turn one of its observations, and
each question, in its own words, must find its evidence. The second case is an artificial team: its facts do not say
who works where, on what, or as what, but the questions ask only that. Each is searched by meaning from `general` alone,
from all five perspectives with the best one counting in full, and as memoryd does it.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.table import Table

from bench.questions import rows
from bench.tables import console
from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter, Kind
from memoryd.settings import Settings

CUT = 10
OBSERVATIONS = Filter(kinds=(Kind.OBSERVATION,))
WAYS = {
    "general alone": replace(ranking.GRAPH, every_perspective=False),
    "all five, the best counts in full": replace(ranking.GRAPH, aside=0.0),
    "all five, as memoryd does it": ranking.GRAPH,
}
PEOPLE = "Ada Ben Cleo Dan Eva Finn Gus Hana Ivan Jill Kai Lena Max Nora Omar Pia Quinn Rosa Sam Tara".split()
COMPANIES = "Northwind Bluepeak Quartz Lumen Harbour".split()
PROJECTS = "Falcon Heron Osprey Kestrel".split()
ROLES = ["staff engineer", "designer", "accountant"]
FACTS = """\
prefers short meetings before lunch
is moving to a flat with a garden in spring
wants the reports as tables rather than prose
has been learning to play the cello for two years
is allergic to peanuts and carries an injector
runs the half marathon every September
asked for a second monitor and a quieter room
reviews pull requests early in the morning
took the train because flights make her ill
is reading a book about the history of maps""".splitlines()


@dataclass
class Case:
    """A graph and its questions."""

    name: str
    nodes: list[NewEntity] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    facts: list[tuple[str, str, str]] = field(default_factory=list)
    """(key, entity, text)"""
    questions: list[tuple[str, set[str]]] = field(default_factory=list)


def conversations(folder: Path) -> Iterator[Case]:
    evidence: dict[str, set[str]] = {}
    for row in rows(folder, "qrels"):
        if row["doc"] is not None:
            evidence.setdefault(row["qid"], set()).add(row["doc"])
    cases: dict[str, Case] = {}
    for row in rows(folder, "corpus"):
        case = cases.setdefault(row["conv"], Case(f"{folder.parent.name}: {row['conv']}"))
        case.facts.append((row["id"], row["speaker"], row["text"]))
    for row in rows(folder, "queries"):
        if row["qid"] in evidence and not row.get("abstain") and not row.get("adversarial"):
            cases[row["conv"]].questions.append((row["query"], evidence[row["qid"]]))
    for case in cases.values():
        speakers = dict.fromkeys(speaker for _, speaker, _ in case.facts)
        case.nodes = [NewEntity(name=name, type="person") for name in speakers]
        case.edges = [Edge(one, other, "talks_with") for one, other in itertools.permutations(speakers, 2)]
        yield case


def team() -> Iterator[Case]:
    """Yield one graph with three kinds of questions; everyone has every fact, so that only their context differs."""
    firms = [NewEntity(name=name, type="company") for name in COMPANIES]
    turn = [(n, COMPANIES[n % 5], PROJECTS[n % 4], ROLES[n % 3]) for n in range(len(PEOPLE))]
    nodes = [NewEntity(name=PEOPLE[n], type=role, tags=(project,)) for n, _, project, role in turn]
    edges = [Edge(PEOPLE[n], company, "works_at") for n, company, _, _ in turn]
    facts = [(f"{n}-{m}", PEOPLE[n], fact) for n in range(len(PEOPLE)) for m, fact in enumerate(FACTS)]

    def of(**wanted: str) -> set[str]:
        ((column, value),) = wanted.items()
        place = ("company", "project", "role").index(column) + 1
        return {f"{row[0]}-{m}" for row in turn if row[place] == value for m in range(len(FACTS))}

    asked = {
        "its relations": [(f"Who works at {name}?", of(company=name)) for name in COMPANIES],
        "its tags": [(f"What do we know about project {name}?", of(project=name)) for name in PROJECTS],
        "its type": [(f"What did a {name} say?", of(role=name)) for name in ROLES],
    }
    for what, questions in asked.items():
        yield Case(f"a team, by {what}", [*firms, *nodes], edges, facts, questions)


def fill(engine: Engine, case: Case) -> dict[str, str]:
    """Write a case and make every vector; return the key for each observation's id."""
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, case.nodes)
    relations.create(graph, case.edges)
    added = observations.add(graph, [(name, [text]) for _, name, text in case.facts])["result"]
    engine.embedding.catch_up(lambda: False)
    return {one["added"][0]["id"]: key for one, (key, _, _) in zip(added, case.facts, strict=True)}


def ask(engine: Engine, case: Case, keys: dict[str, str], profile: ranking.Profile) -> Iterator[tuple[float, float]]:
    """Yield for each question the share of evidence in its first ten, of what is possible, and the CPU milliseconds."""
    scope = Scope(engine, engine.workspaces.ensure("default"))
    search = Search(scope, profile)

    def near(text: str) -> Mapping[str, float]:
        return scope.ask(text, lambda asked: search.candidates(asked, OBSERVATIONS, "embedding")).vectors

    near("warm up")
    for question, evidence in case.questions:
        before = time.process_time()
        found = near(question)
        spent = 1e3 * (time.process_time() - before)
        first = [keys[key] for key in sorted(found, key=lambda key: -found[key])[:CUT]]
        yield len(evidence.intersection(first)) / min(len(evidence), CUT), spent


def run(case: Case, directory: Path) -> dict[str, list[tuple[float, float]]]:
    settings = Settings.read(model_dir=Settings.read().models, db_path=directory / "graph.db", durability="normal")
    with Engine(settings) as engine:
        engine.helpers.embedder.start()
        assert engine.helpers.embedder.get(60), "run `memoryd models pull` first"
        keys = fill(engine, case)
        return {way: list(ask(engine, case, keys, profile)) for way, profile in WAYS.items()}


def shown(name: str, results: Sequence[dict[str, list[tuple[float, float]]]]) -> Table:
    number = sum(len(next(iter(result.values()))) for result in results)
    table = Table("", "right in the first ten", "CPU ms", title=f"{name} ({number} questions)", title_justify="left")
    for way in WAYS:
        every = [pair for result in results for pair in result[way]]
        table.add_row(way, *(f"{sum(column) / number:.3f}" for column in zip(*every, strict=True)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    given = parser.parse_args()
    groups = [(case.name, [case]) for case in team()]
    if given.data:
        groups.append((f"{given.data.parent.name}: what it says itself", list(conversations(given.data))))
    for name, cases in groups:
        results = []
        for case in cases:
            with tempfile.TemporaryDirectory() as directory:
                results.append(run(case, Path(directory)))
        console().print(shown(name, results))


if __name__ == "__main__":
    main()
