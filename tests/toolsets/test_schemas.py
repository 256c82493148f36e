"""The tools' input schemas in the keywords that the makers of models take: one that is unknown refuses all tools.

Clients hand a schema on as it is, or in a strict mode, for which they rewrite it: there every argument is required, so
that no schema with an optional argument fits unchanged. `rewritten` are the keywords that they leave out or move to the
description then, or that the maker's own library removes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from memoryd.server.apps import client_app
from memoryd.toolsets import TOOLSETS
from memoryd.toolsets.registry import plain

OWN = client_app()
TOOLS = [tool for tools in [*TOOLSETS.values(), OWN.tools if OWN else []] for tool in tools]


@dataclass(frozen=True)
class Maker:
    """The keywords of one maker of models, and the page that lists them."""

    source: str
    taken: frozenset[str]
    rewritten: frozenset[str] = frozenset()


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAKERS = {
    "Claude, strict": Maker(
        "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        words(
            "type properties required additionalProperties items enum const anyOf allOf $ref $defs definitions default "
            "description title format pattern minItems"  # minItems: 0 or 1
        ),
        words("minimum maximum minLength maxLength maxItems"),
    ),
    "OpenAI, strict": Maker(
        "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas",
        words(
            "type properties required additionalProperties items enum const anyOf $ref $defs description title format "
            "pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"
        ),
        words("default minLength maxLength"),
    ),
    "Gemini, parameters": Maker(
        "https://ai.google.dev/api/caching#Schema",
        words(
            "type properties required items enum anyOf description title format pattern nullable default example "
            "propertyOrdering minimum maximum minLength maxLength minItems maxItems minProperties maxProperties"
        ),
        words("additionalProperties"),
    ),
    "Bedrock, strict": Maker(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html",
        words(
            "type properties required additionalProperties items enum const anyOf allOf $ref $def definitions default "
            "description title format pattern minItems"  # minItems: 0 or 1
        ),
        words("minimum maximum minLength maxLength maxItems"),
    ),
}
"""Outside of a strict mode, Claude (https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools), OpenAI
and Bedrock (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html) take any JSON
schema of an object, without a combination at its root."""


def keywords(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema, but not the names of properties."""
    for name, part in schema.items():
        yield name
        if name in ("properties", "$defs"):
            for inner in part.values():
                yield from keywords(inner)
        elif name == "anyOf":
            for inner in part:
                yield from keywords(inner)
        elif name == "items":
            yield from keywords(part)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=list(MAKERS))
def test_a_schema_has_only_keywords_that_are_taken(maker: Maker) -> None:
    for tool in TOOLS:
        assert set(keywords(tool.input_schema)) <= maker.taken | maker.rewritten, (tool.name, maker.source)


def test_the_root_of_a_schema_is_an_object_alone() -> None:
    """Claude: "input_schema does not support oneOf, allOf, or anyOf at the top level"."""
    for tool in TOOLS:
        assert tool.input_schema["type"] == "object", tool.name
        assert set(tool.input_schema) <= {"type", "properties", "required", "additionalProperties"}, tool.name


def test_names_of_tools_and_arguments_are_taken_everywhere() -> None:
    """Bedrock: "[a-zA-Z][a-zA-Z0-9_]*", 64 characters at most."""
    names = {name for tool in TOOLS for name in (tool.name, *tool.input_schema.get("properties", {}))}
    assert [name for name in names if not re.fullmatch("[a-zA-Z][a-zA-Z0-9_]{,63}", name)] == []


def test_a_bound_that_is_excluded_is_shown_as_a_bound_and_still_excluded() -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == "get_recently_modified"]
    assert tool.input_schema["properties"]["days"]["minimum"] == 0
    with pytest.raises(ValueError, match="greater than 0"):
        tool.arguments.model_validate({"days": 0})
    assert tool.arguments.model_validate({"days": 0.001})
    bounds = {"exclusiveMinimum": 1, "exclusiveMaximum": 2}
    assert plain(bounds) == {"minimum": 1, "maximum": 2}


def test_an_optional_argument_is_shown_as_what_it_is() -> None:
    """Vertex: "When using any_of, it must be the only field set", and an argument has a description, too."""
    for tool in TOOLS:
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(keywords(tool.input_schema)), tool.name
        for part in _parts(tool.input_schema):
            assert part["type"] in ("object", "array", "string", "number", "integer", "boolean"), tool.name
            assert all(isinstance(value, str) for value in part.get("enum", ())), (tool.name, "Gemini's are texts")


def _parts(schema: Any) -> Iterator[Any]:
    yield schema
    for part in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from _parts(part)


def test_a_result_may_still_be_null() -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == "set_summary"]
    assert {"type": "null"} in tool.output_schema["properties"]["summary"]["anyOf"]
