"""The graph of the official memory server: memory.jsonl of @modelcontextprotocol/server-memory."""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memoryd.core.base.clock import timestamp
from memoryd.core.base.limits import KNOWN_NAME
from memoryd.core.transfer.schema import UNKNOWN
from memoryd.features.imports.formats.items import (
    Fault,
    Hint,
    LeftOut,
    SourceEntity,
    SourceRelation,
    Yielded,
    brief,
)
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile
from memoryd.text import unstorable

NAMES = ("memory.jsonl", "memory.json")
"""The names of the file, as the server calls it."""
SHOWN = 60  # characters of a value in a sentence

_DECODER = json.JSONDecoder(strict=False, parse_int=float)  # integers of any length are accepted, since none is used
_SPACE = re.compile(r"\s*")


def _recognizes(source: Source) -> bool:
    files = source.candidates(*NAMES)
    head = files[0].head().partition(b"\n")[0] if files else b""
    return any(isinstance(item, SourceEntity | SourceRelation) for item in _of_line(head, 1))


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.candidates(*NAMES):
        with file.open() as lines:
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    yield from _of_line(line, number, file.modified)
        if _has_changed(file):
            yield Fault(f"{file.name} changed while it was read. Stop the server that uses it, and import it again")


def _has_changed(file: SourceFile) -> bool:
    if file.path is None:
        return False
    state = file.path.stat()
    return (state.st_size, timestamp(datetime.fromtimestamp(state.st_mtime, UTC))) != (file.size, file.modified)


def _of_line(line: bytes, number: int, at: str = "") -> Iterator[Yielded]:
    """Yield the items of a line: usually one.

    Concurrent writers leave lines with more than one object; all complete objects count. Older versions wrote whatever
    fields a client sent.
    """
    place = f"line {number}"
    try:
        text = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode()
    except UnicodeDecodeError as error:
        yield Fault(f"{place} is not UTF-8 text: {error.reason} at byte {error.start + 1}")
        return
    for value in _values(text):
        match value:
            case Fault(reason):
                yield Fault(f"{place} {reason}")
            case {"type": "entity"}:
                yield from _entity(value, place, at)
            case {"type": "relation"}:
                yield from _relation(value, place, at)
            case {"type": other}:
                yield Fault(f"{place} has the type {_quoted(other)}, which is neither entity nor relation")
            case _:
                yield Fault(f"{place} is not a JSON object with a type")


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


def _entity(value: Mapping[str, Any], place: str, at: str) -> Iterator[Yielded]:
    type_, given = value.get("entityType"), value.get("observations")
    if type_ is None or (isinstance(type_, str) and not type_.strip()):
        yield Hint(f"{place} has no entityType: it gets the type {UNKNOWN}")
        type_ = UNKNOWN
    fault = _unfit(value, "name") or _unfit({"entityType": type_}, "entityType")
    if fault or not isinstance(given, list | None):
        yield Fault(f"{place} {fault or 'has observations that are not a list'}")
        return
    kept = tuple(one for one in given or () if _is_text(one))
    if lost := len(given or ()) - len(kept):
        yield Fault(f"{place} has observations that are not text, or cannot be stored: {lost} of {len(given or ())}")
    if empty := kept.count(""):
        yield LeftOut("empty observations", empty)
    yield from _extras(value, place, "name", "entityType", "observations")
    observations = tuple(filter(None, kept))
    yield SourceEntity(
        id=place, name=value["name"], type=type_, observations=observations, created_at=at, is_verbatim=True
    )


def _relation(value: Mapping[str, Any], place: str, at: str) -> Iterator[Yielded]:
    if fault := _unfit(value, "from", "to", "relationType"):
        yield Fault(f"{place} {fault}")
        return
    yield from _extras(value, place, "from", "to", "relationType")
    ends = {"source": value["from"], "target": value["to"], "type": value["relationType"]}
    yield SourceRelation(id=place, **ends, created_at=at, is_verbatim=True)


def _extras(value: Mapping[str, Any], place: str, *fields: str) -> Iterator[Hint]:
    if extras := [name for name in value if name not in {"type", *fields}]:
        yield Hint(f"{place} has fields that are not imported: {_quoted(', '.join(extras))}")


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


def _quoted(value: object) -> str:
    return repr(brief(str(value), SHOWN))


FORMAT = ForeignFormat("server-memory", "a graph of server-memory", _recognizes, _read)
