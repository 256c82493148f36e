"""Insert or remove one entry of a configuration text; every other character stays as it is.

The result is parsed again, and must contain the intended change and no other.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import tomlkit

from memoryd.errors import MemorydError

Key = str | int
Keys = Sequence[Key]
"""The path to a value: names of members, or indexes of a list; the index after the last one appends."""


class RefusedError(MemorydError):
    """The configuration cannot be changed safely."""


def parsed(text: str, *, toml: bool) -> dict[str, Any]:
    """Return the content of a text; {} if it is blank. Raise RefusedError if it cannot be parsed."""
    try:
        found = tomllib.loads(text) if toml else json.loads(text if text.strip() else "{}")
    except (ValueError, RecursionError) as error:
        commented = not toml and re.search(r"^\s*//|/\*|,\s*[}\]]", text, re.MULTILINE)
        hint = " Comments and trailing commas, which some clients allow, are not edited." if commented else ""
        raise RefusedError(f"it is not {'TOML' if toml else 'JSON'}: {error}.{hint}") from None
    if not isinstance(found, dict):
        raise RefusedError("it does not contain an object.")
    return found


def value_at(held: Any, keys: Keys) -> Any:
    """Return the value at a path, or None."""
    for key in keys:
        here = isinstance(held, Mapping) if isinstance(key, str) else isinstance(held, list)
        if not here or (key not in held if isinstance(key, str) else key >= len(held)):
            return None
        held = held[key]
    return held


def put(text: str, keys: Keys, value: object, *, toml: bool) -> str:
    """Return a text with the value there; blank text becomes a new configuration. Raise RefusedError."""
    meant = _with(parsed(text, toml=toml), keys, value)
    ways: Sequence[Callable[..., str]] = (_put_section, _put_inside) if toml else (_put_json,)
    return _first([partial(way, text, keys, value) for way in ways], text, meant, toml=toml)


def drop(text: str, keys: Keys, *, toml: bool) -> str:
    """Return a text without the value there and, in JSON, without parents that this empties. Raise RefusedError."""
    meant = parsed(text, toml=toml)
    if value_at(meant, keys) is None:
        return text
    while not toml and len(keys) > 1 and len(value_at(meant, keys[:-1])) == 1:
        keys = keys[:-1]
    del value_at(meant, keys[:-1])[keys[-1]]
    ways: Sequence[Callable[..., str]] = (_drop_section, _drop_inside) if toml else (_drop_json,)
    return _first([partial(way, text, keys) for way in ways], text, meant, toml=toml)


def _with(held: Any, keys: Keys, value: object) -> Any:
    """Return a copy with the value there."""
    key, *rest = keys
    there = value_at(held, [key])
    if there is None and rest:
        there = [] if isinstance(rest[0], int) else {}
    new = _with(there, rest, value) if rest else value
    if isinstance(key, str) and isinstance(held, dict):
        return {**held, key: new}
    if isinstance(key, int) and isinstance(held, list):
        return [*held[:key], new, *held[key + 1 :]]
    raise RefusedError(f"the parent of {key!r} is not {'an object' if isinstance(key, str) else 'a list'}.")


def _first(ways: Sequence[Callable[[], str]], text: str, meant: dict[str, Any], *, toml: bool) -> str:
    """Return the first result with the intended content in the same order, and every comment. Raise RefusedError."""
    comments = re.findall(r"^\s*#.*", text, re.MULTILINE) if toml else []
    for way in ways:
        try:
            new = way()
            found = parsed(new, toml=toml)
        except (RefusedError, ValueError, LookupError):  # tomlkit's errors are among these
            continue
        same = _without_blanks(found) == _without_blanks(meant) if toml else json.dumps(found) == json.dumps(meant)
        if same and all(comment.strip() in new for comment in comments):
            return new
    raise RefusedError("no safe way was found to change one entry: the layout is unusual, or a key occurs twice.")


def _without_blanks(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return it without empty top-level tables: a table without its own line disappears with its last entry."""
    return {name: part for name, part in held.items() if part != {}}


# JSON ----------------------------------------------------------------------------------------------------------------

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Part:
    """A member of an object or an element of a list: its start, and the start and end of its value."""

    key: Key
    start: int
    value: int
    end: int


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _parts(text: str, opening: int) -> tuple[list[_Part], int]:
    """Return the parts inside the bracket at `opening`, and the position of the closing bracket."""
    parts: list[_Part] = []
    at = _after_space(text, opening + 1)
    while text[at] not in "}]":
        start = at
        key: Key = len(parts)
        if text[opening] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # past the colon
        end = _DECODER.raw_decode(text, at)[1]
        parts.append(_Part(key, start, at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return parts, at


def _put_json(text: str, keys: Keys, value: object) -> str:
    text = text if text.strip() else "{}\n"
    at = _after_space(text, 0)
    for depth, key in enumerate(keys):
        opening, (parts, closing) = at, _parts(text, at)
        same = [part for part in parts if part.key == key]
        if len(same) > 1:
            raise RefusedError(f"the key {key!r} occurs twice.")
        if not same:
            for below in reversed(keys[depth + 1 :]):
                value = [value] if isinstance(below, int) else {below: value}
            return _inserted(text, opening, parts, closing, key, value)
        at, end = same[0].value, same[0].end
    return text[:at] + _rendered(text, value, _indent(text, at), flat=_is_flat(text, opening, parts)) + text[end:]


def _inserted(text: str, opening: int, parts: Sequence[_Part], closing: int, key: Key, value: object) -> str:
    flat = _is_flat(text, opening, parts)
    outer = _indent(text, opening)
    inner = _indent(text, parts[0].start) if parts else outer + _unit(text)
    label = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    new = ("" if flat else f"\n{inner}") + label + _rendered(text, value, inner, flat=flat)
    if parts:
        end = parts[-1].end
        return text[:end] + (", " if flat else ",") + new + text[end:]
    return text[: opening + 1] + new + ("" if flat else f"\n{outer}") + text[closing:]


def _drop_json(text: str, keys: Keys) -> str:
    at = _after_space(text, 0)
    for key in keys:
        opening, (parts, closing) = at, _parts(text, at)
        number = next(number for number, part in enumerate(parts) if part.key == key)
        at = parts[number].value
    if number + 1 < len(parts):
        return text[: parts[number].start] + text[parts[number + 1].start :]
    if number:
        return text[: parts[number - 1].end] + text[parts[number].end :]
    return text[: opening + 1] + text[closing:]


def _is_flat(text: str, opening: int, parts: Sequence[_Part]) -> bool:
    """Return whether the content of a bracket is on one line."""
    if parts:
        return "\n" not in text[opening : parts[0].start]
    return "\n" not in text.strip() and text.strip() != "{}"


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at a position."""
    found = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


def _unit(text: str) -> str:
    """Return the indentation unit of a text."""
    found = re.search(r"[{\[][ \t]*\n([ \t]+)", text)
    return found[1] if found else "  "


def _rendered(text: str, value: object, indent: str, *, flat: bool) -> str:
    if flat:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", f"\n{indent}")


# TOML, with tomlkit. An entry under its own header is a few whole lines, which are inserted or removed; every other
# character stays as it is. An entry in an inline table or under dotted keys is left to tomlkit, which is tried second.

TableKeys = Sequence[str]


def _put_section(text: str, keys: TableKeys, value: Mapping[str, Any]) -> str:
    """Return the text with the entry under its own header: in place of an existing one, or at the end."""
    table, name = keys
    whole = tomlkit.document()
    whole[table] = tomlkit.table(is_super_table=True).append(name, _filled(tomlkit.table(), value))
    block = tomlkit.dumps(whole)
    spans = list(_own_sections(text, keys))
    if not spans:
        return text + ("" if text.endswith("\n") or not text else "\n") + ("\n" if text.strip() else "") + block
    for start, end in reversed(spans):
        text = text[:start] + (block if start == spans[0][0] else "") + text[end:]
    return text


def _drop_section(text: str, keys: TableKeys) -> str:
    for start, end in reversed(list(_own_sections(text, keys))):
        before, rest = text[:start], text[end:]
        if before.endswith("\n\n") and (not rest or rest.startswith("\n")):
            before = before[:-1]
        text = before + rest
    return text


def _own_sections(text: str, keys: TableKeys) -> Iterator[tuple[int, int]]:
    """Yield the spans of an entry's sections, without trailing comments: those belong to the next section."""
    headers = [*_headers(text), (len(text), ())]
    for (start, way), (end, _) in pairwise(headers):
        if way[: len(keys)] == tuple(keys):
            trailing = re.search(r"(?:^[ \t]*(?:#.*)?\n)*(?:^[ \t]*#.*)?\Z", text[start:end], re.MULTILINE)
            yield start, start + trailing.start() if trailing else end


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each header's position and names. A line inside a string or a list only looks like a header."""
    for line in re.finditer(r"^[ \t]*\[.*$", text, re.MULTILINE):
        try:
            tomllib.loads(text[: line.start()])
            held: Any = tomllib.loads(line[0])
        except tomllib.TOMLDecodeError:
            continue
        way = []
        while held:
            ((name, held),) = held.items()
            held = held[0] if isinstance(held, list) else held
            way.append(name)
        yield line.start(), tuple(way)


def _put_inside(text: str, keys: TableKeys, value: Mapping[str, Any]) -> str:
    """Return the text with the entry in an inline table, or under dotted keys."""
    table, name = keys
    document = tomlkit.parse(text)
    held: Any = document.setdefault(table, tomlkit.table())
    held[name] = _filled(tomlkit.inline_table(), value)
    return tomlkit.dumps(document)


def _drop_inside(text: str, keys: TableKeys) -> str:
    table, name = keys
    document = tomlkit.parse(text)
    held: Any = document[table]
    del held[name]
    return tomlkit.dumps(document)


def _filled(table: Any, held: Mapping[str, Any]) -> Any:
    for key, part in held.items():
        table[key] = _filled(tomlkit.inline_table(), part) if isinstance(part, Mapping) else part
    return table
