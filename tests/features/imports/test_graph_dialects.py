"""The graphs of programs that are like server-memory: other fields, other shapes, damaged files, corrected ones."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations
from memoryd.core.graph.transaction import Graph
from tests.features.imports.formats_kit import bring
from tests.features.imports.test_server_memory import edges, there

MAY = "2025-05-11T15:54:05.000Z"
ANN: dict[str, Any] = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Climbs."]}
BOB: dict[str, Any] = {"type": "entity", "name": "Bob", "entityType": "person", "observations": []}
KNOWS: dict[str, Any] = {"type": "relation", "from": "Ann", "to": "Bob", "relationType": "knows"}


def lines(*values: object) -> str:
    return "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in values)


def without_type(value: dict[str, Any]) -> dict[str, Any]:
    return {name: given for name, given in value.items() if name != "type"}


WHOLE: dict[str, Any] = {
    "entities": [without_type(ANN), without_type(BOB)],
    "relations": [without_type(KNOWS)],
}
SHAPES = {
    "a blank line first": lines("\n \r\n", ANN, BOB, KNOWS),
    "a BOM": "\ufeff" + lines(ANN, BOB, KNOWS),
    "a long first line": lines(BOB | {"observations": [""] * 20_000}, ANN, KNOWS),
    "no types": lines(*map(without_type, (KNOWS, ANN, BOB))),
    "read_graph": json.dumps(WHOLE),
    "read_graph, relations first": json.dumps({"version": 2} | {name: WHOLE[name] for name in sorted(WHOLE)[::-1]}),
    "read_graph, indented": json.dumps(WHOLE, indent=2),
    "an array": json.dumps([ANN, BOB, KNOWS], indent=1),
    "an array of pages": json.dumps([WHOLE, {"entities": [], "relations": []}]),
    "indented objects": "\n".join(json.dumps(one, indent=2) for one in (ANN, BOB, KNOWS)),
    "snake case": lines(
        {"name": "Ann", "entity_type": "person", "observations": ["Climbs."]},
        {"entity_name": "Bob", "entity_type": "person"},
        {"from_entity": "Ann", "to_entity": "Bob", "relation_type": "knows"},
    ),
    "types in relations only": lines(
        without_type(ANN),
        without_type(BOB),
        {"type": "relation", "fromEntity": "Ann", "toEntity": "Bob", "relationType": "knows"},
    ),
}


@pytest.mark.parametrize(
    ("shape", "name"), [*zip(SHAPES, cycle(["memory.jsonl", "graph-backup.json", "folder/deep/kg.json"]), strict=False)]
)
def test_a_graph_of_any_shape_and_name_is_recognized_and_comes_in_whole(
    graph: Graph, tmp_path: Path, shape: str, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SHAPES[shape], encoding="utf-8")
    for _ in range(2):
        read, (done,) = bring(graph.engine, tmp_path if "/" in name else file)
        assert (read.form.name, read.found.faults.first, read.found.hints.first) == ("server-memory", [], [])
        assert there(graph) == {"Ann": ("person", ["Climbs."]), "Bob": ("person", [])}
        assert edges(graph) == {("Ann", "knows", "Bob")}
    assert not +done.new


@pytest.mark.parametrize(
    "given",
    [
        "Climbs.",
        {"text": "Climbs."},
        [{"text": "Climbs.", "timestamp": "2025-05-11T15:54:05Z", "version": "1.0"}],
        [{"content": "Climbs.", "source": "chat"}],
        {"item": ["Climbs."]},
        [[{"value": {"text": ["Climbs."]}}]],
    ],
    ids=str,
)
def test_an_observation_in_lists_and_objects_is_its_text(graph: Graph, tmp_path: Path, given: object) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(lines(ANN | {"observations": given}))
    read, _ = bring(graph.engine, file)
    assert (there(graph), read.found.faults.first) == ({"Ann": ("person", ["Climbs."])}, [])


def test_an_object_without_text_among_observations_is_named(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(lines(ANN | {"observations": [{"score": 1}, "Climbs."]}))
    read, _ = bring(graph.engine, file)
    assert there(graph) == {"Ann": ("person", ["Climbs."])}
    assert read.found.faults.first == ["memory.jsonl has observations that are not text, or cannot be stored: 1 of 2"]


def test_entities_relations_and_observations_keep_their_own_times(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    timed = [{"text": "Climbs.", "createdAt": 1_746_978_845}, {"text": "Sings.", "timestamp": "2025-06-01T00:00:00Z"}]
    file.write_text(lines(ANN | {"observations": timed}, BOB | {"createdAt": MAY, "updatedAt": "2025-06-02T00:00:00Z"}))
    bring(graph.engine, file)
    ann, bob = entities.page(graph, "", 10)
    about = graph.read(lambda q: observations.of(q, [ann.id]))[ann.id]
    assert (ann.created_at, bob.created_at, bob.updated_at) == (MAY, MAY, "2025-06-02T00:00:00.000Z")
    assert [(one.content, one.created_at) for one in about] == [
        ("Climbs.", MAY), ("Sings.", "2025-06-01T00:00:00.000Z"),
    ]  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
def test_a_damaged_beginning_or_end_loses_only_itself(graph: Graph, tmp_path: Path, whole: bool) -> None:
    file = tmp_path / "memory.json"
    text = json.dumps(WHOLE)[:-20] if whole else '{"type":"entity","name":"Ze\n' + lines(ANN, BOB)
    file.write_text(text)
    read, _ = bring(graph.engine, file)
    assert there(graph) == {"Ann": ("person", ["Climbs."]), "Bob": ("person", [])}
    assert read.found.faults.number == 1


def test_a_corrected_file_gives_a_placeholder_its_type_and_changes_no_other(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(lines(ANN, '{"type":"entity","name":"Bob","observa\n', KNOWS))
    bring(graph.engine, file)
    assert there(graph)["Bob"] == ("unknown", [])
    file.write_text(lines(ANN | {"entityType": "robot"}, BOB | {"observations": ["Sings."]}, KNOWS))
    _, (done,) = bring(graph.engine, file)
    assert there(graph) == {"Ann": ("person", ["Climbs."]), "Bob": ("person", ["Sings."])}
    assert list(done.remarks) == ["The entity 'Ann' already exists and keeps the type 'person', instead of 'robot'."]


def test_equal_remarks_are_one_with_a_count_and_hide_no_fault(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(lines(*[ANN | {"name": f"Ann {number}", "mood": "good"} for number in range(50)], "torn\n"))
    read, _ = bring(graph.engine, file)
    assert read.found.hints.first == [
        "memory.jsonl, line 1 has fields that are not imported: 'mood' (and 49 more like it)"
    ]
    assert (read.found.hints.number, read.found.hints.further, read.found.faults.number) == (50, 0, 1)


@pytest.mark.parametrize(
    "value",
    [
        {"content": "Ann knows Bob.", "from": "Ann", "to": "Bob"},
        {"from": "Ann", "to": "Bob", "relation": "knows"},
        {"entity": "Ann", "type": "person", "observations": ["Climbs."]},
    ],
    ids=str,
)
def test_the_simple_format_is_not_taken_for_a_graph(engine: Engine, tmp_path: Path, value: object) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(lines(value))
    read, _ = bring(engine, file)
    assert read.form.name == "jsonl"
