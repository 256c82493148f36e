"""The import of another server's file: what it keeps and reports, and that it can be repeated."""

import json
import os
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.transfer import reader, restore
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.imports.formats.items import Fault
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from tests.core import kit
from tests.features.imports.formats_kit import bring

Entities = dict[str, tuple[str, list[str]]]
"""Type and observations of each entity by name."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def entity(name: str, *observed: object, kind: str = "person", **more: object) -> str:
    return json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": observed} | more)


def relation(source: str, target: str, kind: str = "knows") -> str:
    return json.dumps({"type": "relation", "from": source, "to": target, "relationType": kind})


class Imported(NamedTuple):
    """What an import found, and what was new."""

    read: dict[str, int]
    new: dict[str, int]
    left_out: dict[str, int]
    faults: list[str]
    hints: list[str]


def load(graph: Graph, file: Path, *lines: str | bytes) -> Imported:
    """Import a file, with these lines if there are any; the last has no line break, as the server writes it."""
    if lines:
        file.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    read, (done,) = bring(graph.engine, file, "server-memory")
    found = read.found
    new = {noun: done.new[noun] for noun in read.numbers}
    hints = [*found.hints.first, *done.remarks]
    return Imported(dict(read.numbers), new, dict(found.left_out), found.faults.first, hints)


def there(graph: Graph) -> Entities:
    """Return all entities."""
    every = entities.page(graph, "", 100_000)
    about = graph.read(lambda q: observations.of(q, [one.id for one in every]))
    return {one.name: (one.type, [observed.content for observed in about[one.id]]) for one in every}


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    """Return all relations."""
    ids = [one.id for one in entities.page(graph, "", 100_000)]
    return {(one.source, one.type, one.target) for one in graph.read(lambda q: relations.of(q, ids))}


# what is kept --------------------------------------------------------------------------------------------------------


def test_everything_is_kept_verbatim_and_in_order(graph: Graph, file: Path) -> None:
    observed = [
        "zebra first",
        "  spaces \t around\r\n",
        "line\u2028separator\x85next",
        "\N{SNOWMAN} \U0001f600 e\u0301",
        "again",
        "again",
    ]
    summary = load(
        graph,
        file,
        entity("Ann", *observed),
        entity("x" * 5_000, kind="k" * 5_000),
        relation("Ann", "x" * 5_000, "a b"),
    )
    assert there(graph) == {"Ann": ("person", observed), "x" * 5_000: ("k" * 5_000, [])}
    assert edges(graph) == {("Ann", "a b", "x" * 5_000)}
    assert summary == ({"entities": 2, "observations": 6, "relations": 1},) * 2 + ({}, [], [])


def test_line_separators_windows_line_endings_a_bom_and_blank_lines_are_accepted(graph: Graph, file: Path) -> None:
    raw = '{"type":"entity","name":"Ann","entityType":"person","observations":["one\u2028two\x85three"]}'
    summary = load(
        graph, file, b"\xef\xbb\xbf" + raw.encode() + b"\r", b"\r", b"  ", relation("Ann", "Ann") + "\r", b""
    )
    assert there(graph) == {"Ann": ("person", ["one\u2028two\x85three"])}
    assert edges(graph) == {("Ann", "knows", "Ann")}
    assert summary.faults == summary.hints == []


def test_an_entity_that_occurs_twice_is_one(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("Ann", "a", "b"), entity("Ann", "b", "c", kind="robot"), relation("Ann", "Ann"))
    assert there(graph) == {"Ann": ("person", ["a", "b", "c"])}
    assert summary.new == {"entities": 1, "observations": 3, "relations": 1}
    assert summary.hints == ["memory.jsonl, line 2 gives 'Ann' the type 'robot', but it keeps 'person'"]


def test_a_missing_end_of_a_relation_becomes_an_entity(graph: Graph, file: Path) -> None:
    entities.create(graph, [entities.NewEntity(name="Here", type="place")])
    lines = [entity("Ann"), relation("Ann", "Ghost"), relation("Ghost", "Ghost"), relation("Ann", "Here")]
    summary = load(graph, file, *lines)
    assert there(graph) == {"Ann": ("person", []), "Ghost": ("unknown", []), "Here": ("place", [])}
    assert len(edges(graph)) == 3
    assert (summary.new["entities"], summary.faults) == (2, [])
    assert summary.hints == [
        f"memory.jsonl, line {line} relates {name!r}, which is not in the source: created, of type unknown, "
        "unless it exists"
        for line, name in ((2, "Ghost"), (4, "Here"))
    ]


def test_an_empty_observation_is_skipped_and_counted(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("Ann", "", "a", ""))
    assert there(graph) == {"Ann": ("person", ["a"])}
    assert (summary.left_out, summary.read["observations"], summary.faults) == ({"empty observations": 2}, 1, [])


def test_what_old_versions_wrote_is_read(graph: Graph, file: Path) -> None:
    bare = '{"type":"entity","name":"Bare"}'
    summary = load(graph, file, bare, entity("Ann", "a", since="2024", mood="good"))
    assert there(graph) == {"Bare": ("unknown", []), "Ann": ("person", ["a"])}
    assert (summary.faults, summary.hints) == (
        [],
        [
            "memory.jsonl, line 1 has no entityType: it gets the type unknown",
            "memory.jsonl, line 2 has fields that are not imported: 'since, mood'",
        ],
    )


def test_times_are_those_of_the_file(graph: Graph, file: Path) -> None:
    file.write_text("\n".join([entity("Ann", "a"), relation("Ann", "Ann")]))
    os.utime(file, (0, 1_771_063_462))
    assert load(graph, file).hints == []
    (ann,) = entities.page(graph, "", 10)
    assert (ann.created_at, ann.updated_at) == ("2026-02-14T10:04:22.000Z",) * 2


# what is wrong -------------------------------------------------------------------------------------------------------

DEEP = "[" * 200_000

WRONG = [
    (entity("Ann", "torn")[:-9], ": is not JSON ("),
    ("garbage", ": is not JSON (Expecting value: line 1 column 1 (char 0))"),
    (b'{"type":"entity","name":"caf\xe9"}', ": is not UTF-8"),
    ("[1, 2]", ": is not a JSON object"),
    ('{"name": "x"}', " is neither an entity, with a name and a type, nor a relation"),
    ('{"type":"person","name":"x"}', " has the type 'person', which is neither"),
    ('{"type":{},"name":"x"}', " has the type '{}', which is neither"),
    ('{"type":"entity"}', " has no name"),
    ('{"type":"entity","name":7}', " has a name that is not text"),
    ('{"type":"entity","name":"x","entityType":7}', " has a entityType that is not text"),
    ('{"type":"entity","name":"\\ud800","entityType":"x"}', " has U+D800 in its name"),
    ('{"type":"relation","from":"x","to":"y"}', " has no relationType"),
    ('{"type":"relation","from":"x","to":"\\u0000","relationType":"z"}', " has U+0000 in its to"),
    (DEEP, ": is not JSON (it is nested too deeply)"),
    (entity(""), " has only blanks in its name"),
    (entity(" \u2003\n"), " has only blanks in its name"),
    (entity("x" * 10_001), " has 10,001 characters in its name"),
    (entity("x", kind="k" * 10_001), " has 10,001 characters in its entityType"),
    (relation("x", ""), " has only blanks in its to"),
    (relation("x" * 10_001, "y"), " has 10,001 characters in its from"),
    (relation("x", "y", "\t"), " has only blanks in its relationType"),
    (relation("x", "y", "k" * 10_001), " has 10,001 characters in its relationType"),
]


@pytest.mark.parametrize("wrong", [WRONG[:11], WRONG[11:]], ids=["no JSON or no item", "unusable"])
def test_a_broken_line_is_reported_by_its_number_and_the_rest_is_kept(
    graph: Graph, file: Path, wrong: list[tuple[str | bytes, str]]
) -> None:
    broken = [part for number, (line, _) in enumerate(wrong) for part in (line, entity(f"E{number}", "1"))]
    faults = load(graph, file, b"", *broken, relation("E0", "E1"), wrong[0][0]).faults
    where = [*range(2, 2 * len(wrong) + 1, 2), 2 * len(wrong) + 3]
    assert len(faults) == len(where)
    for fault, line, (_, reason) in zip(faults, where, [*wrong, wrong[0]], strict=True):
        assert fault.startswith(f"memory.jsonl, line {line}{reason}")
    assert there(graph) == {f"E{number}": ("person", ["1"]) for number in range(len(wrong))}
    assert edges(graph) == {("E0", "knows", "E1")}


def test_observations_that_cannot_be_stored_are_reported_and_the_others_kept(graph: Graph, file: Path) -> None:
    line = '{"type":"entity","name":"Ann","entityType":"x","observations":["a","\\ud800",7,"\\ud83d\\ude00","\\u0000"]}'
    summary = load(graph, file, line)
    assert there(graph) == {"Ann": ("x", ["a", "\U0001f600"])}
    assert summary.faults == ["memory.jsonl has observations that are not text, or cannot be stored: 3 of 5"]


def test_remains_of_a_longer_write_are_reported_and_whole_objects_count(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("A") + entity("B") + ' ionType":"knows"}', relation("A", "B"))
    assert there(graph).keys() == {"A", "B"}
    assert [fault.partition(": is")[0] for fault in summary.faults] == ["memory.jsonl, line 1"]


def test_the_first_of_many_faults_and_hints_are_reported_and_all_counted(graph: Graph, file: Path) -> None:
    broken = [entity("A"), *["broken"] * 50, *[entity("A", kind=f"type {number}") for number in range(30)]]
    file.write_text("\n".join(broken))
    read, _ = bring(graph.engine, file, "server-memory")
    faults, hints = read.found.faults, read.found.hints
    assert (faults.number, [fault.split()[2] for fault in faults.first]) == (
        50,
        [f"{number}:" for number in range(2, 22)],
    )
    assert (hints.number, len(hints.first)) == (30, 20)


def test_an_integer_of_any_length_breaks_nothing(graph: Graph, file: Path) -> None:
    assert load(graph, file, entity("A")[:-1] + ', "size": ' + "9" * 10_000 + "}").faults == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "contains nothing in the format server-memory"),
        (b"\n \r\n", "contains nothing"),
        (b"\xef\xbb\xbf", "contains nothing"),
        (b"[\n]\n", "contains nothing"),
        (b'{"entities": []}', "contains nothing"),
        (b'{"entities": [{"name": "A"}', "memory.jsonl: is not JSON"),
        (b"SQLite format 3\0 and more", "line 1: is not JSON"),
        (b"\x7fELF\0\0\xff\n", "line 1: is not"),
    ],
)
def test_a_file_with_nothing_to_import_is_refused(engine: Engine, file: Path, content: bytes, reason: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=reason):
        bring(engine, file, "server-memory")


# repeated ------------------------------------------------------------------------------------------------------------


def rows(graph: Graph) -> list[Any]:
    """Return what every change would alter: times and events."""
    changed = [(one.name, one.updated_at) for one in entities.page(graph, "", 100_000)]
    with closing(apsw.Connection(str(graph.engine.store.placement.path(graph.workspace)))) as database:
        events = list(database.execute("SELECT * FROM events"))
    return [changed, there(graph), edges(graph), events]


def many(count: int) -> list[str]:
    """Return lines with `count` entities and as many relations."""
    nodes = [entity(f"E{number}", *(f"{number} says {observed}" for observed in range(3))) for number in range(count)]
    return nodes + [relation(f"E{number}", f"E{number * 7 % count}") for number in range(count)]


MANY = many(70)


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that MANY are several batches of entities, and two of relations."""
    monkeypatch.setattr(reader, "BATCH", 50)


@pytest.mark.usefixtures("_small_batches")
def test_the_second_time_nothing_changes(
    engine: Engine, graph: Graph, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(graph, file, *MANY, relation("E1", "Ghost"), entity("E1", "", "one more", kind="other"))
    before = rows(graph)
    monkeypatch.setattr(engine.clock, "now", lambda: "2100-01-01T00:00:00.000Z")
    second = load(graph, file)
    assert (second.read, sum(second.new.values())) == (first.read, 0)
    assert rows(graph) == before


def test_only_what_is_missing_is_added(graph: Graph, file: Path) -> None:
    load(graph, file, entity("A", "a"), entity("B"), relation("A", "B"))
    observations.add(graph, [("A", ["own"])])
    summary = load(graph, file, entity("A", "a", "b"), entity("C"), relation("A", "B"), relation("A", "C"))
    assert there(graph)["A"] == ("person", ["a", "own", "b"])
    assert summary.new == {"entities": 1, "observations": 1, "relations": 1}


def test_what_a_graph_holds_already_is_recognized(graph: Graph, file: Path) -> None:
    entities.create(graph, [entities.NewEntity(name="A", type="person", observations=("own", "a"))])
    relations.create(graph, [relations.Edge("A", "A", "knows")])
    summary = load(graph, file, entity("A", "a", "b"), relation("A", "A"))
    assert there(graph) == {"A": ("person", ["own", "a", "b"])}
    assert summary.new == {"entities": 0, "observations": 1, "relations": 0}
    assert summary.hints == []


@pytest.mark.parametrize("by_import", [False, True])
def test_another_type_than_that_of_the_graph_is_reported(graph: Graph, file: Path, by_import: bool) -> None:
    if by_import:
        load(graph, file, entity("A"), entity("B"))
    else:
        entities.create(graph, [entities.NewEntity(name=name, type="person") for name in ("A", "B")])
    summary = load(graph, file, entity("A", kind="robot"), entity("B"), relation("A", "B"))
    assert {type_ for type_, _ in there(graph).values()} == {"person"}
    assert summary.hints == ["The entity 'A' already exists and keeps the type 'person', instead of 'robot'."]


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("batches", [1, 2, 5, 8])
def test_the_next_import_finishes_a_failed_one(
    graph: Graph, file: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    write, left = graph.engine.write, iter(range(batches))

    def full(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise StoreError("The disk is full.")
        return write(*arguments)

    file.write_text("\n".join(MANY))
    with monkeypatch.context() as patched:
        patched.setattr(graph.engine, "write", full)
        with suppress(StoreError):
            load(graph, file)
    load(graph, file)
    assert [len(observed) for _, observed in there(graph).values()] == [3] * 70
    assert len(edges(graph)) == 70


def test_a_file_that_is_written_to_during_the_import_is_reported(graph: Graph, file: Path) -> None:
    file.write_text(entity("A"))
    with opened(file) as source:
        file.write_text(entity("A") + "\n" + entity("B"))
        items = list(FORMATS["server-memory"].read(source, frozenset()))
    assert [item.reason for item in items if isinstance(item, Fault)] == [
        "memory.jsonl changed while it was read. Stop the server that uses it, and import it again"
    ]
    assert load(graph, file).faults == []


# vectors -------------------------------------------------------------------------------------------------------------


def test_vectors_are_made_when_asked_for(tmp_path: Path, file: Path) -> None:
    progress: list[float] = []
    with ExitStack() as ends:
        server = ends.enter_context(kit.ollama())
        here = ends.enter_context(kit.engine(tmp_path / "a", MEMORY_EMBEDDER="ollama:x", OLLAMA_HOST=server.url))
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        load(graph, file, entity("Ann", "a", "b"))
        assert kit.embedded(here) == {}
        assert restore.embed(here, lambda _what, done: progress.append(done)) == ""
        assert list(kit.embedded(here).values()) == [3]
    assert (progress[0], progress[-1], progress) == (0, 1, sorted(progress))


def test_without_its_files_the_embedder_says_why_there_are_no_vectors(tmp_path: Path) -> None:
    missing = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(tmp_path / "none")}
    with Engine(kit.engine(tmp_path / "data", **missing).settings, fetch=False) as engine:
        reason = restore.embed(engine, lambda _what, _done: None)
    assert "memoryd models pull" in reason
