"""The import of another server's file: what it keeps and reports, and that it can be repeated."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.transfer import foreign
from memoryd.core.transfer.foreign import ImportSummary
from memoryd.errors import InvalidInputError, StoreError
from tests.core import kit

Entities = dict[str, tuple[str, list[str]]]
"""Type and observations of each entity by name."""


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with kit.engine(home) as made:
        yield made


@pytest.fixture
def graph(engine: Engine) -> Graph:
    return Graph(Scope(engine, engine.workspaces.ensure("default")))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def entity(name: str, *observed: object, kind: str = "person", **more: object) -> str:
    return json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": observed} | more)


def relation(source: str, target: str, kind: str = "knows") -> str:
    return json.dumps({"type": "relation", "from": source, "to": target, "relationType": kind})


def load(graph: Graph, file: Path, *lines: str | bytes) -> ImportSummary:
    """Import a file, with these lines if there are any; the last has no line break, as the server writes it."""
    if lines:
        file.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    with foreign.opened(file, "server-memory") as source:
        return foreign.load(graph, source, lambda _what, _done: None)


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
    assert (summary.read, summary.new) == (foreign.GraphCounts(entities=2, observations=6, relations=1),) * 2
    assert summary.faults == summary.hints == summary.placeholders == 0


def test_line_separators_windows_line_endings_a_bom_and_blank_lines_are_accepted(graph: Graph, file: Path) -> None:
    raw = '{"type":"entity","name":"Ann","entityType":"person","observations":["one\u2028two\x85three"]}'
    summary = load(
        graph, file, b"\xef\xbb\xbf" + raw.encode() + b"\r", b"\r", b"  ", relation("Ann", "Ann") + "\r", b""
    )
    assert there(graph) == {"Ann": ("person", ["one\u2028two\x85three"])}
    assert edges(graph) == {("Ann", "knows", "Ann")}
    assert summary.faults == summary.hints == 0


def test_a_relation_may_come_before_its_entities(graph: Graph, file: Path) -> None:
    summary = load(graph, file, relation("Ann", "Bob"), entity("Ann"), entity("Bob"))
    assert edges(graph) == {("Ann", "knows", "Bob")}
    assert {type_ for type_, _ in there(graph).values()} == {"person"}
    assert summary.placeholders == 0


def test_an_entity_that_occurs_twice_is_one(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("Ann", "a", "b"), entity("Ann", "b", "c", kind="robot"), relation("Ann", "Ann"))
    assert there(graph) == {"Ann": ("person", ["a", "b", "c"])}
    assert (summary.read.entities, summary.new.entities, summary.new.observations) == (2, 1, 3)
    (hint,) = summary.first_hints
    assert (hint.line, "'robot'" in hint.text, "'person'" in hint.text) == (2, True, True)


def test_a_missing_end_of_a_relation_becomes_an_entity(graph: Graph, file: Path) -> None:
    entities.create(graph, [entities.NewEntity(name="Here", type="place")])
    summary = load(
        graph, file, entity("Ann"), relation("Ann", "Ghost"), relation("Ghost", "Ghost"), relation("Ann", "Here")
    )
    assert there(graph) == {"Ann": ("person", []), "Ghost": ("unknown", []), "Here": ("place", [])}
    assert len(edges(graph)) == 3
    assert (summary.placeholders, summary.faults) == (1, 0)
    assert [(hint.line, "'Ghost'" in hint.text) for hint in summary.first_hints] == [(2, True)]


def test_an_empty_observation_is_skipped_and_counted(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("Ann", "", "a", ""))
    assert there(graph) == {"Ann": ("person", ["a"])}
    assert (summary.empty, summary.read.observations, summary.faults) == (2, 1, 0)


def test_what_old_versions_wrote_is_read(graph: Graph, file: Path) -> None:
    bare = '{"type":"entity","name":"Bare"}'
    summary = load(graph, file, bare, entity("Ann", "a", since="2024", mood="good"))
    assert there(graph) == {"Bare": ("unknown", []), "Ann": ("person", ["a"])}
    assert summary.faults == 0
    assert [(hint.line, hint.text) for hint in summary.first_hints] == [
        (1, "has no entityType: it gets the type unknown"),
        (2, "has fields that are not imported: 'since, mood'"),
    ]


def test_workspaces_are_apart(engine: Engine, graph: Graph, file: Path) -> None:
    load(graph, file, entity("Ann", "a"))
    other = Graph(Scope(engine, engine.workspaces.ensure("other")))
    assert load(other, file).new == foreign.GraphCounts(entities=1, observations=1)


# what is wrong -------------------------------------------------------------------------------------------------------

DEEP = "[" * 200_000

WRONG = [
    (entity("Ann", "torn")[:-9], "is truncated or not JSON: "),
    ("garbage", "is truncated or not JSON: Expecting value at character 1"),
    (b'{"type":"entity","name":"caf\xe9"}', "is not UTF-8 text: "),
    ("[1, 2]", "is not a JSON object with a type"),
    ('{"name": "x"}', "is not a JSON object with a type"),
    ('{"type":"person","name":"x"}', "has the type 'person', which is neither"),
    ('{"type":{},"name":"x"}', "has the type '{}', which is neither"),
    ('{"type":"entity"}', "has no name"),
    ('{"type":"entity","name":7}', "has a name that is not text"),
    ('{"type":"entity","name":"x","entityType":7}', "has a entityType that is not text"),
    ('{"type":"entity","name":"x","observations":"x"}', "has observations that are not a list"),
    ('{"type":"entity","name":"\\ud800","entityType":"x"}', "has U+D800 in its name"),
    ('{"type":"relation","from":"x","to":"y"}', "has no relationType"),
    ('{"type":"relation","from":"x","to":"\\u0000","relationType":"z"}', "has U+0000 in its to"),
    (DEEP, "is nested too deeply"),
    (entity(""), "has only blanks in its name"),
    (entity(" \u2003\n"), "has only blanks in its name"),
    (entity("x" * 10_001), "has 10,001 characters in its name"),
    (entity("x", kind="k" * 10_001), "has 10,001 characters in its entityType"),
    (relation("x", ""), "has only blanks in its to"),
    (relation("x" * 10_001, "y"), "has 10,001 characters in its from"),
    (relation("x", "y", "\t"), "has only blanks in its relationType"),
    (relation("x", "y", "k" * 10_001), "has 10,001 characters in its relationType"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_a_broken_line_is_reported_by_its_number_and_the_rest_is_kept(
    graph: Graph, file: Path, line: str | bytes, reason: str
) -> None:
    for lines in ([entity("A", "1"), line, entity("B"), relation("A", "B")], [entity("C"), relation("C", "C"), line]):
        summary = load(graph, file, *lines)
        (fault,) = summary.first_faults
        assert (fault.line, summary.faults) == (lines.index(line) + 1, 1)
        assert fault.text.startswith(reason)
    assert there(graph) == {"A": ("person", ["1"]), "B": ("person", []), "C": ("person", [])}
    assert edges(graph) == {("A", "knows", "B"), ("C", "knows", "C")}


def test_observations_that_cannot_be_stored_are_reported_and_the_others_kept(graph: Graph, file: Path) -> None:
    line = '{"type":"entity","name":"Ann","entityType":"x","observations":["a","\\ud800",7,"\\ud83d\\ude00","\\u0000"]}'
    summary = load(graph, file, line)
    assert there(graph) == {"Ann": ("x", ["a", "\U0001f600"])}
    (fault,) = summary.first_faults
    assert (fault.line, fault.text) == (1, "has observations that are not text, or cannot be stored: 3 of 5")


def test_remains_of_a_longer_write_are_reported_and_whole_objects_count(graph: Graph, file: Path) -> None:
    summary = load(graph, file, entity("A") + entity("B") + ' ionType":"knows"}', relation("A", "B"))
    assert there(graph).keys() == {"A", "B"}
    assert [fault.line for fault in summary.first_faults] == [1]


def test_the_first_of_many_faults_and_hints_are_reported_and_all_counted(graph: Graph, file: Path) -> None:
    broken = [entity("A"), *["broken"] * 50, *[entity("A", kind=f"type {number}") for number in range(30)]]
    summary = load(graph, file, *broken)
    assert (summary.faults, [fault.line for fault in summary.first_faults]) == (50, list(range(2, 22)))
    assert (summary.hints, len(summary.first_hints)) == (30, foreign.REMARKS)


def test_an_integer_of_any_length_breaks_nothing(graph: Graph, file: Path) -> None:
    assert load(graph, file, entity("A")[:-1] + ', "size": ' + "9" * 10_000 + "}").faults == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "It is empty"),
        (b"\n \r\n", "It is empty"),
        (b"\xef\xbb\xbf", "It is empty"),
        (b"[\n]\n", "Line 1 is truncated"),
        (b'{"entities": []}', "Line 1 is not a JSON object with a type"),
        (b"SQLite format 3\0 and more", "is a database"),
        (b"\x7fELF\0\0\n", "is not UTF-8 text"),
        ('{"type":"entity"}'.encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_a_file_with_nothing_to_import_is_refused(file: Path, content: bytes, reason: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=reason), foreign.opened(file, "server-memory"):
        pytest.fail("it is opened")


def test_a_path_without_a_file_is_refused_and_so_is_an_unknown_format(tmp_path: Path, file: Path) -> None:
    file.write_text(entity("A"))
    for path, form, reason in (
        (tmp_path, "server-memory", "is not a regular file"),
        (tmp_path / "none", "server-memory", "There is no file"),
        (file, "csv", "There are: server-memory"),
    ):
        with pytest.raises(InvalidInputError, match=reason), foreign.opened(path, form):
            pytest.fail("it is opened")


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
    monkeypatch.setattr(foreign, "BATCH", 50)


@pytest.mark.usefixtures("_small_batches")
def test_the_second_time_nothing_changes(
    engine: Engine, graph: Graph, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(graph, file, *MANY, relation("E1", "Ghost"), entity("E1", "", "one more", kind="other"))
    before = rows(graph)
    monkeypatch.setattr(engine.clock, "now", lambda: "2100-01-01T00:00:00.000Z")
    second = load(graph, file)
    assert (second.read, second.new, second.placeholders) == (first.read, foreign.GraphCounts(), 0)
    assert rows(graph) == before


def test_only_what_is_missing_is_added(graph: Graph, file: Path) -> None:
    load(graph, file, entity("A", "a"), entity("B"), relation("A", "B"))
    observations.add(graph, [("A", ["own"])])
    summary = load(graph, file, entity("A", "a", "b"), entity("C"), relation("A", "B"), relation("A", "C"))
    assert there(graph)["A"] == ("person", ["a", "own", "b"])
    assert summary.new == foreign.GraphCounts(entities=1, observations=1, relations=1)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("batches", range(1, 12))
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
        try:
            load(graph, file)
        except StoreError:
            kept = there(graph)
            assert all(len(observed) == 3 for _, observed in kept.values())
    load(graph, file)
    assert len(there(graph)) == len(edges(graph)) == 70


def test_a_file_that_is_written_to_during_the_import_is_reported(graph: Graph, file: Path) -> None:
    file.write_text(entity("A"))
    with foreign.opened(file, "server-memory") as source:
        file.write_text(entity("A") + "\n" + entity("B"))
        assert foreign.load(graph, source, lambda _what, _done: None).changed
    assert not load(graph, file).changed


@pytest.mark.slow
def test_progress_goes_from_start_to_end_twice(graph: Graph, file: Path) -> None:
    file.write_text("\n".join(many(700)))
    progress: dict[str, list[float]] = {}
    with foreign.opened(file, "server-memory") as source:
        foreign.load(graph, source, lambda what, done: progress.setdefault(what, []).append(done))
    assert list(progress) == ["importing entities", "importing relations"]
    for fractions in progress.values():
        assert fractions == sorted(fractions)
        assert 0 < fractions[0] < fractions[-1] <= 1


# vectors -------------------------------------------------------------------------------------------------------------


def test_vectors_are_made_when_asked_for(tmp_path: Path, file: Path) -> None:
    progress: list[float] = []
    with ExitStack() as ends:
        server = ends.enter_context(kit.ollama())
        here = ends.enter_context(kit.engine(tmp_path / "a", MEMORY_EMBEDDER="ollama:x", OLLAMA_HOST=server.url))
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        load(graph, file, entity("Ann", "a", "b"))
        assert kit.embedded(here) == {}
        assert foreign.embed(here, lambda _what, done: progress.append(done)) == ""
        assert list(kit.embedded(here).values()) == [3]
    assert (progress[0], progress[-1], progress) == (0, 1, sorted(progress))


def test_without_its_files_the_embedder_says_why_there_are_no_vectors(tmp_path: Path) -> None:
    missing = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(tmp_path / "none")}
    with Engine(kit.engine(tmp_path / "data", **missing).settings, fetch=False) as engine:
        reason = foreign.embed(engine, lambda _what, _done: None)
    assert "memoryd models pull" in reason
