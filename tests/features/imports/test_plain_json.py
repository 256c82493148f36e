"""Plain JSON, lines, tables and dumps of stores: texts, times, types and the names of what is not imported."""

import json
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.model import Record
from tests.features.imports.formats_kit import bring
from tests.features.imports.test_formats import records

MAY = "2025-05-11T15:54:05.000Z"


def one(engine: Engine, tmp_path: Path, value: object, name: str = "memories.json") -> Record:
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    bring(engine, file)
    _, (again,) = bring(engine, file)
    assert not +again.new
    ((text, record),) = records(engine).items()
    assert text == "Ann prefers tea."
    return record


@pytest.mark.parametrize(
    "value",
    [
        ["Ann prefers tea."],
        {"memories": ["Ann prefers tea."]},
        [{"fact": "Ann prefers tea."}],
        [{"note": " Ann prefers tea. "}],
        {"data": [{"value": "Ann prefers tea."}]},
        [{"namespace": ["a"], "key": "k", "value": {"data": "Ann prefers tea."}}],
        [{"namespace": ["a"], "key": "k", "value": {"kind": "Memory", "content": {"content": "Ann prefers tea."}}}],
        '"Ann prefers tea."\n',
        '\ufeff\n{"content": "Ann prefers tea."}\n',
        '{"content": "tor\n{"content": "Ann prefers tea."}\n',
    ],
    ids=str,
)
def test_a_text_is_found_wherever_a_program_puts_it(engine: Engine, tmp_path: Path, value: object) -> None:
    one(engine, tmp_path, value)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("timestamp", "2025-05-11T15:54:05Z"),
        ("ts", 1_746_978_845),
        ("date", 1_746_978_845_000),
        ("created_at", "1746978845"),
        ("createdAt", MAY),
        ("time", MAY),
        ("updated_at", MAY),
    ],
)
def test_the_time_is_found_under_any_usual_name(engine: Engine, tmp_path: Path, name: str, time: object) -> None:
    assert one(engine, tmp_path, [{"content": "Ann prefers tea.", name: time}]).created_at == MAY


def test_types_categories_and_labels_become_tags(engine: Engine, tmp_path: Path) -> None:
    kinds = {"type": "preference", "category": "food", "labels": ["drink"], "topics": "ann"}
    assert one(engine, tmp_path, [{"content": "Ann prefers tea."} | kinds]).tags == (
        "type:preference",
        "category:food",
        "drink",
        "ann",
    )


def test_a_value_with_a_key_keeps_it_unless_it_is_one_within_a_namespace(engine: Engine, tmp_path: Path) -> None:
    assert one(engine, tmp_path, {"memories": [{"key": "drinks", "value": "Ann prefers tea."}]}).name == "drinks"
    values = [{"namespace": [name], "key": "k", "value": {"fact": f"{name} sings."}} for name in ("Ann", "Bob")]
    (tmp_path / "dump.json").write_text(json.dumps(values))
    bring(engine, tmp_path / "dump.json")
    kept = records(engine)
    assert (kept["Ann sings."].name, kept["Bob sings."].tags) == (None, ("namespace:Bob",))


def test_a_value_without_a_known_field_is_its_fields(engine: Engine, tmp_path: Path) -> None:
    triple = {"kind": "Triple", "content": {"subject": "Ann", "object": "tea"}}
    value = {"namespace": ["a"], "key": "k", "value": triple}
    (tmp_path / "dump.json").write_text(json.dumps([value, value | {"key": "l", "value": {"text": "Bob sings."}}]))
    bring(engine, tmp_path / "dump.json", "jsonl")
    assert set(records(engine)) == {"subject: Ann\nobject: tea", "Bob sings."}


def test_prompts_with_their_responses_are_turns(engine: Engine, tmp_path: Path) -> None:
    value = {"id": "r1", "model": "m", "prompt": "Which port?", "response": "5433.", "conversation_id": "c1"}
    (tmp_path / "logs.json").write_text(json.dumps([value | {"system": "You are.", "datetime_utc": MAY}]))
    bring(engine, tmp_path / "logs.json")
    (turn,) = records(engine).values()
    assert (turn.body, turn.session_id, turn.created_at) == ("Which port?\n\n\n\n5433.", "c1", MAY)


def test_other_fields_are_counted_and_named_once(engine: Engine, tmp_path: Path) -> None:
    values = [{"content": f"Fact {number}.", "created_at": MAY, "score": 1} for number in range(50)]
    values.append({"content": "Bob sings.", "created_at": MAY, "score": 1, "model": "m"})
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
    read, _ = bring(engine, tmp_path / "a.jsonl")
    assert read.found.hints.first == [
        "Fields that are not imported, and the number of objects with them: score (51), model (1)"
    ]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_with_a_header_is_read(engine: Engine, tmp_path: Path, mark: str) -> None:
    rows = [["ID", "Created At", "Content", "Category"], ["7", "2025-05-11T15:54:05Z", '"Ann prefers\ntea."', "food"]]
    file = tmp_path / "export.csv"
    file.write_text("\ufeff" + "\r\n".join(mark.join(row) for row in rows), encoding="utf-8")
    bring(engine, file)
    (record,) = records(engine).values()
    assert (record.body, record.created_at, record.tags) == ("Ann prefers\ntea.", MAY, ("category:food",))


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "", "content\n"])
def test_a_table_without_texts_is_no_success(engine: Engine, tmp_path: Path, content: str) -> None:
    (tmp_path / "export.csv").write_text(content)
    with pytest.raises((InvalidInputError, ValueError)):
        bring(engine, tmp_path / "export.csv")


# Letta and Graphiti --------------------------------------------------------------------------------------------------

AGENT: dict[str, Any] = {
    "agents": [{"id": "agent-0", "name": "boat", "block_ids": ["b0"], "messages": [
        {"id": "m0", "role": "user", "content": [{"type": "text", "text": "Where is the oar?"}], "group_id": None},
    ]}],
    "blocks": [{"id": "b0", "label": "human", "value": "Ann prefers tea."}],
    "created_at": MAY,
}  # fmt: skip


@pytest.mark.parametrize(("name", "times"), [("boat.af", 1), ("boat.json", 2), ("agents/boat.af", 1)])
def test_an_agent_file_is_letta_s_however_encoded_and_wherever(
    engine: Engine, tmp_path: Path, name: str, times: int
) -> None:
    content = json.dumps(AGENT, indent=1)
    for _ in range(times - 1):
        content = json.dumps(content)
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    read, _ = bring(engine, file.parent if "/" in name else file)
    assert (read.form.name, dict(read.numbers)) == ("letta", {"memories": 1, "turns": 1})


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"episodes": [{"uuid": "u", "group_id": "g", "content": "Ann sings."}]}, "graphiti"),
        ({"edges": [{"uuid": "u", "source_node_uuid": "a", "target_node_uuid": "b", "group_id": "g"}]}, "graphiti"),
        ([{"content": "Ann sings.", "group_id": "g"}], "jsonl"),
        ([{"role": "user", "content": "Ann sings.", "group_id": "g"}], "chat"),
    ],
    ids=str,
)
def test_a_group_alone_makes_nothing_graphiti_s(tmp_path: Path, value: object, form: str) -> None:
    from_file = tmp_path / "x.json"
    from_file.write_text(json.dumps(value))
    with opened(from_file) as source:
        ((found, _),) = intake.recognize(source, FORMATS.values()).kinds
    assert found.name == form


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("conversations.json", [{"uuid": "u", "summary": "z" * 20_000, "chat_messages": []}], "claude-ai"),
        ("conversations.json", [{"title": "z" * 20_000, "mapping": {}}], "chatgpt"),
        ("export.json", {"memories": [{"content": "z" * 20_000}], "export_metadata": {}}, "mcp-memory-service"),
    ],
    ids=["claude-ai", "chatgpt", "mcp-memory-service"],
)
def test_the_field_that_tells_a_program_may_come_late(tmp_path: Path, name: str, value: object, form: str) -> None:
    (tmp_path / name).write_text(json.dumps(value))
    with opened(tmp_path / name) as source:
        ((found, _),) = intake.recognize(source, FORMATS.values()).kinds
    assert found.name == form
