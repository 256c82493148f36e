"""JSON schemas as clients get them: short, and of arguments in keywords that the makers of models take."""

from collections.abc import Mapping
from typing import Any

BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
"""Keywords that Gemini refuses, together with all other tools, and what clients get instead; validation is exact."""
NULL = {"type": "null"}


def short(schema: Any) -> Any:
    """Return a schema without what pydantic adds, and costs a client tokens: titles, docstrings, null defaults."""
    if isinstance(schema, list):
        return [short(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    if schema.get("default", ...) is None:
        noise.add("default")
    return {name: short(part) for name, part in schema.items() if name not in noise}


def plain(schema: Any) -> Any:
    """Return the schema of an argument without choices of null and excluded bounds.

    Null is understood for every optional argument. Some makers take no choice (`anyOf`) beside a description.
    """
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if NULL in (choices := schema.get("anyOf", ())):
        (alone,) = (choice for choice in choices if choice != NULL)
        schema = alone | {name: part for name, part in schema.items() if name != "anyOf"}
    return {BOUNDS.get(name, name): plain(part) for name, part in schema.items()}


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its `$defs` in place of the references to them."""
    whole: dict[str, Any] = _inlined(schema, schema.get("$defs", {}))
    return whole


def _inlined(schema: Any, shapes: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(part, shapes) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if named := schema.get("$ref"):
        schema = shapes[named.removeprefix("#/$defs/")] | {key: part for key, part in schema.items() if key != "$ref"}
    return {key: _inlined(part, shapes) for key, part in schema.items() if key != "$defs"}
