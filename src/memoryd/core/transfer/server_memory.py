"""The files of other memory servers: the items in each line."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from memoryd.core.base.limits import KNOWN_NAME
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.transfer.formats.items import Fault, Hint
from memoryd.text import unstorable

UNKNOWN = "unknown"
"""The type of an entity without a stated type."""


Item: TypeAlias = NewEntity | Edge | Fault | Hint


def server_memory(line: bytes) -> Iterator[Item]:
    """Yield the items of a line of memory.jsonl (@modelcontextprotocol/server-memory): usually one.

    Concurrent writers leave lines with more than one object; all complete objects count. Older versions wrote whatever
    fields a client sent.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        yield Fault(f"is not UTF-8 text: {error.reason} at byte {error.start + 1}")
        return
    for value in _values(text):
        match value:
            case Fault():
                yield value
            case {"type": "entity"}:
                yield from _entity(value)
            case {"type": "relation"}:
                yield from _relation(value)
            case {"type": other}:
                yield Fault(f"has the type {brief(other)}, which is neither entity nor relation")
            case _:
                yield Fault("is not a JSON object with a type")


SERVER_MEMORY = "server-memory"
FORMATS: Mapping[str, Callable[[bytes], Iterator[Item]]] = {SERVER_MEMORY: server_memory}
"""The reader of a line, by format."""

_DECODER = json.JSONDecoder(strict=False, parse_int=float)  # integers of any length are accepted, since none is used
_SPACE = re.compile(r"\s*")


def _values(text: str) -> Iterator[Any]:
    """Yield the consecutive JSON values of a text, and a Fault if the rest is not JSON."""
    at, end = 0, len(text.rstrip())
    while at < end:
        try:
            value, at = _DECODER.raw_decode(text, _SPACE.match(text, at).end())  # type: ignore[union-attr]
        except RecursionError:
            yield Fault("is nested too deeply")
            return
        except json.JSONDecodeError as error:
            yield Fault(f"is truncated or not JSON: {error.msg} at character {error.pos + 1}")
            return
        yield value


def _entity(value: Mapping[str, Any]) -> Iterator[Item]:
    type_, given = value.get("entityType"), value.get("observations")
    if type_ is None or (isinstance(type_, str) and not type_.strip()):
        yield Hint(f"has no entityType: it gets the type {UNKNOWN}")
        type_ = UNKNOWN
    fault = _unfit(value, "name") or _unfit({"entityType": type_}, "entityType")
    if fault or not isinstance(given, list | None):
        yield Fault(fault or "has observations that are not a list")
        return
    kept = tuple(one for one in given or () if _is_text(one))
    if lost := len(given or ()) - len(kept):
        yield Fault(f"has observations that are not text, or cannot be stored: {lost} of {len(given or ())}")
    yield from _extras(value, "name", "entityType", "observations")
    yield NewEntity(name=value["name"], type=type_, observations=kept)


def _relation(value: Mapping[str, Any]) -> Iterator[Item]:
    if fault := _unfit(value, "from", "to", "relationType"):
        yield Fault(fault)
        return
    yield from _extras(value, "from", "to", "relationType")
    yield Edge(value["from"], value["to"], value["relationType"])


def _extras(value: Mapping[str, Any], *fields: str) -> Iterator[Hint]:
    if extras := [name for name in value if name not in {"type", *fields}]:
        yield Hint(f"has fields that are not imported: {brief(', '.join(extras))}")


def _unfit(value: Mapping[str, Any], *fields: str) -> str | None:
    """Return what is wrong with name fields, or None: they must be storable text that the tools accept."""
    for field in fields:
        given = value.get(field)
        if not isinstance(given, str):
            return f"has no {field}" if given is None else f"has a {field} that is not text"
        if bad := unstorable(given):
            return f"has U+{ord(bad.group()):04X} in its {field}, which cannot be stored"
        if not given.strip():
            return f"has only blanks in its {field}"
        if len(given) > KNOWN_NAME:
            return f"has {len(given):,} characters in its {field}; {KNOWN_NAME:,} is the limit"
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not unstorable(value)


def brief(value: object) -> str:
    """Return at most 60 characters of any value, for a sentence."""
    text = str(value)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
