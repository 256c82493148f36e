"""Requirements for every tool, including those of future toolsets."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.settings import TOOLSETS as NAMES
from memoryd.settings import Settings
from memoryd.toolsets import TOOLSETS, chosen
from memoryd.toolsets.registry import Call
from memoryd.toolsets.registry.arguments import Arguments
from tests.clients import NO_MODELS

TOOLS = [tool for tools in TOOLSETS.values() for tool in tools]


def test_the_settings_know_every_toolset() -> None:
    assert tuple(TOOLSETS) == NAMES


def test_a_tool_is_complete() -> None:
    for tool in TOOLS:
        assert tool.name.isidentifier()
        assert tool.name == tool.name.lower()
        assert tool.title, tool.name
        assert tool.title != tool.name
        assert tool.description.endswith("."), tool.name
        assert 40 < len(tool.description) < 1_000, tool.name
        assert issubclass(tool.arguments, Arguments)
        assert tool.capability in ("read", "write", "admin"), tool.name
        assert not (tool.destructive and tool.capability == "read"), tool.name


def test_arguments_are_described_and_strict() -> None:
    for tool in TOOLS:
        assert tool.arguments.model_config["extra"] == "forbid", tool.name
        for name, field in tool.arguments.model_fields.items():
            assert field.description, f"{tool.name}.{name} has no description"
            assert name.isidentifier()
        for name, inner in tool.arguments.model_json_schema().get("$defs", {}).items():
            assert inner.get("type") != "object" or inner["additionalProperties"] is False, f"{tool.name}: {name}"


def test_the_only_pattern_is_that_a_text_is_not_blank() -> None:
    """With only one pattern, its error can have a fixed wording."""
    parts = [part for tool in TOOLS for _, part in _parts(tool.arguments.model_json_schema())]
    assert {part["pattern"] for part in parts if "pattern" in part} == {r"\S"}


def test_the_error_for_a_blank_text_is_readable() -> None:
    with pytest.raises(InvalidInputError) as error:
        chosen(["recall"], read_only=False)["memory_store"].valid({"content": " "})
    assert str(error.value) == "Invalid arguments for memory_store. content: must not be blank (it is ' ')"


def test_texts_lists_and_numbers_are_bounded() -> None:
    """Every text, list and number in a schema has a limit, so that clients cannot send values of any size."""
    parts = [(tool.name + path, part) for tool in TOOLS for path, part in _parts(tool.arguments.model_json_schema())]
    assert [path for path, part in parts if not _bounded(part)] == []


def _parts(schema: Mapping[str, Any], path: str = "") -> list[tuple[str, Mapping[str, Any]]]:
    """Return every typed part of a schema with its path, including the objects in `$defs`."""
    found = [(path, schema)] if "type" in schema else []
    for name, part in schema.get("properties", {}).items():
        found += _parts(part, f"{path}.{name}")
    for part in schema.get("anyOf", ()):
        found += _parts(part, path)
    for name, part in schema.get("$defs", {}).items():
        found += _parts(part, name)
    return found + (_parts(schema["items"], f"{path}[]") if "items" in schema else [])


def _bounded(part: Mapping[str, Any]) -> bool:
    limits = {"string": {"maxLength", "enum", "const", "format"}, "array": {"maxItems"}, "integer": {"maximum"},
              "number": {"maximum"}}  # fmt: skip
    needed = limits.get(part["type"])
    return needed is None or bool(needed & set(part))


def test_schemas_can_be_made() -> None:
    for tool in TOOLS:
        for shape, schema in ((tool.arguments, tool.input_schema), (tool.result, tool.output_schema)):
            assert schema["type"] == "object", tool.name
            assert (get_origin(shape) or shape).__doc__, tool.name


def test_names_never_clash() -> None:
    names = [tool.name for tool in TOOLS]
    assert len(names) == len(set(names))


# lists and objects as texts ------------------------------------------------------------------------------------------


def test_a_list_may_come_as_json_in_a_text() -> None:
    """Many models send `"tags": "[]"`, and must not be refused for it."""
    lists = [
        (tool, name)
        for tool in TOOLS
        for name, part in tool.input_schema.get("properties", {}).items()
        if part["type"] == "array"
    ]
    assert lists
    for tool, name in lists:
        for text, refused in (('["a", {}]', False), ("a", True), ('{"a": 1}', True), ("[" * 100_000, True)):
            with pytest.raises(ValidationError) as caught:
                tool.arguments.model_validate({name: text, "surely_unknown": 1})
            messages = [one["msg"] for one in caught.value.errors() if one["loc"] == (name,)]
            noted = any("should be a valid list, such as [" in message for message in messages)
            assert noted is refused, (tool.name, name, text[:9])


def test_json_in_a_text_is_read_at_every_level() -> None:
    deletions = '[{"entity_name": "Ann", "ordinals": "[3]"}, "{\\"entity_name\\": \\"Bob\\", \\"ordinals\\": [0]}"]'
    valid: Any = chosen(["graph"], read_only=False)["delete_observations"].valid({"deletions": deletions})
    assert [(one.entity_name, one.ordinals) for one in valid.deletions] == [("Ann", [3]), ("Bob", [0])]


def test_json_in_a_text_stays_a_text_where_one_is_expected() -> None:
    valid: Any = chosen(["recall"], read_only=False)["memory_store"].valid({"content": '["a"]', "tags": '["[1]"]'})
    assert (valid.content, valid.tags) == ('["a"]', ["[1]"])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("memory_forget", {"ids": "81da"}, """ids: should be a valid list, such as ["81da"] (it is '81da')"""),
        ("memory_forget", {"tags": " "}, """tags: should be a valid list, such as ["..."] (it is ' ')"""),
        (
            "add_observations", {"observations": "Ann"},
            """observations: should be a valid list, such as [{"entity_name": ..., "contents": ...}] (it is 'Ann')""",
        ),
        (
            "add_observations", {"observations": [7]},
            """observations.0: should be a valid object, such as {"entity_name": ..., "contents": ...} (it is 7)""",
        ),
        (
            "delete_observations", {"deletions": [{"entity_name": "Ann", "ordinals": "3"}]},
            "deletions.0.ordinals: should be a valid list, such as [1, 2] (it is '3')",
        ),
    ],
)  # fmt: skip
def test_another_text_instead_of_a_list_is_refused_with_the_right_form(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        chosen(["all"], read_only=False)[name].valid(arguments)
    assert str(error.value) == f"Invalid arguments for {name}. {message}"


def test_text_that_no_store_can_keep_is_found_in_json_too() -> None:
    with pytest.raises(InvalidInputError, match="not text"):
        chosen(["recall"], read_only=False)["memory_store"].valid({"content": "x", "tags": '["\\ud800"]'})


# text that no store can keep -----------------------------------------------------------------------------------------


class Inner(Arguments):
    text: str
    texts: list[str] = []


class Kept(Arguments):
    text: str = ""
    texts: tuple[str, ...] | list[str] = ()
    number: float = 0
    inner: list[Inner] = []


@pytest.mark.parametrize(
    "bad", ["\0", "a\0b", chr(0xD800), chr(0xDFFF), f"a{chr(0xDC00)}{chr(0xD800)}b", "x" * 1_000 + chr(0xD83D)]
)
def test_nul_and_lone_surrogates_are_refused(bad: str) -> None:
    place = next(i for i, character in enumerate(bad) if character == "\0" or "\ud800" <= character <= "\udfff")
    message = rf"has U\+(0000|D[8-F][0-9A-F]{{2}}) at character {place}, which is not text"
    for arguments in ({"text": bad}, {"texts": ["good", bad]}):
        with pytest.raises(ValidationError, match=message) as caught:
            Kept.model_validate(arguments)
        assert caught.value.errors()[0]["loc"][0] == next(iter(arguments))


@pytest.mark.parametrize("bad", ["a\0", "a\ud800"])
@pytest.mark.parametrize(("inner", "place"), [("text", "inner.1.text"), ("texts", "inner.1.texts")])
def test_unstorable_text_in_a_nested_object_is_refused_with_its_place(bad: str, inner: str, place: str) -> None:
    wrong = {"text": "good"} | {inner: [bad] if inner == "texts" else bad}
    with pytest.raises(ValidationError, match="at character 1, which is not text") as caught:
        Kept.model_validate({"inner": [{"text": "good"}, wrong]})
    assert ".".join(map(str, caught.value.errors()[0]["loc"])) == place


@pytest.mark.parametrize(
    "good", ["", "plain", "\ud7ff\ue000", "\U0001f4a5", "\x01\x7f\ufffe\uffff\U0010ffff", "\\u0000"]
)
def test_all_other_text_is_kept(good: str) -> None:
    kept = Kept.model_validate({"text": good, "texts": [good]})
    assert (kept.text, *kept.texts) == (good, good)


def test_every_tool_refuses_unstorable_text() -> None:
    for tool in TOOLS:
        fields = {field.alias or name: field for name, field in tool.arguments.model_fields.items()}
        required = {name: "x" for name, field in fields.items() if field.is_required()}
        for name, field in fields.items():
            if "str" in str(field.annotation):
                bad = "a\ud800b"
                value = [bad] if "list[" in str(field.annotation) else bad
                with pytest.raises(ValidationError, match="which is not text"):
                    tool.arguments.model_validate(required | {name: value})


# capabilities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [[name] for name in TOOLSETS] + [["all"], list(TOOLSETS)])
def test_read_only_offers_the_tools_with_capability_read(names: list[str]) -> None:
    every, reading = chosen(names, read_only=False), chosen(names, read_only=True)
    assert list(reading) == [name for name, tool in every.items() if tool.capability == "read"]
    assert all(reading[name] is every[name] for name in reading)


def test_recall_is_chosen_by_default() -> None:
    assert Settings.read({}).toolsets == ("recall",)
    assert list(chosen(["recall"], read_only=False)) == [tool.name for tool in TOOLSETS["recall"]]
    assert list(chosen(["recall", "recall"], read_only=False)) == [tool.name for tool in TOOLSETS["recall"]]


@pytest.mark.parametrize("names", [["potato"], ["recall", "potato"], ["all", "potato"], ["Recall"], [","]])
def test_an_unknown_toolset_is_reported_with_the_known_ones(names: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Settings.read({"MEMORY_TOOLSETS": " ".join(names)})
    assert "MEMORY_TOOLSETS" in str(caught.value)
    assert ("potato" in names) <= ("potato" in str(caught.value))
    assert all(name in str(caught.value) for name in (*TOOLSETS, "all"))


# running -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def call(tmp_path: Path) -> Any:
    with Engine(Settings.read({"MEMORY_DATA_DIR": str(tmp_path), **NO_MODELS})) as engine:
        yield Call(engine, engine.workspaces.ensure("default"), "session")


def test_arguments_are_validated_before_a_tool_runs(call: Call) -> None:
    for tool in TOOLS:
        with pytest.raises(InvalidInputError, match="surely_unknown: unknown argument"):
            tool.run(call, {"surely_unknown": 1})


@pytest.mark.slow
def test_read_tools_write_no_rows(call: Call) -> None:
    TOOLSETS["recall"][0].run(call, {"content": "Something to read.", "tags": ["x"]})
    before = call.engine.store.read(call.workspace, lambda q: q.all("records.kinds", session="session"))
    for tool in (tool for tool in TOOLS if tool.capability == "read"):
        required = {name: "something" for name, field in tool.arguments.model_fields.items() if field.is_required()}
        with suppress(MemorydError):  # a tool may need more than a word for each argument
            TypeAdapter(tool.result).validate_python(tool.run(call, required).result, strict=True, extra="forbid")
        after = call.engine.store.read(call.workspace, lambda q: q.all("records.kinds", session="session"))
        assert after == before, tool.name
