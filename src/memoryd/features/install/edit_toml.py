"""Insert or remove one entry of a TOML text, with tomlkit.

An entry under its own header is a few whole lines, which are inserted or removed; every other character stays as it
is. An entry in an inline table or under dotted keys is left to tomlkit.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import tomlkit

TableKeys = Sequence[str]


def put_section(text: str, keys: TableKeys, value: Mapping[str, Any]) -> str:
    """Return the text with the entry under its own header: in place of an existing one, or at the end."""
    table, name = keys
    entry = tomlkit.table()
    for key, part in value.items():
        entry[key] = _inline(part) if isinstance(part, Mapping) else part
    whole = tomlkit.document()
    whole[table] = tomlkit.table(is_super_table=True).append(name, entry)
    block = tomlkit.dumps(whole)
    spans = list(_own_sections(text, keys))
    if not spans:
        return text + ("" if text.endswith("\n") or not text else "\n") + ("\n" if text.strip() else "") + block
    for start, end in reversed(spans):
        text = text[:start] + (block if start == spans[0][0] else "") + text[end:]
    return text


def drop_section(text: str, keys: TableKeys) -> str:
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


def put_inside(text: str, keys: TableKeys, value: Mapping[str, Any]) -> str:
    """Return the text with the entry in an inline table, or under dotted keys."""
    table, name = keys
    document = tomlkit.parse(text)
    held: Any = document.setdefault(table, tomlkit.table())
    held[name] = _inline(value)
    return tomlkit.dumps(document)


def drop_inside(text: str, keys: TableKeys) -> str:
    table, name = keys
    document = tomlkit.parse(text)
    held: Any = document[table]
    del held[name]
    return tomlkit.dumps(document)


def _inline(held: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    for key, part in held.items():
        table[key] = _inline(part) if isinstance(part, Mapping) else part
    return table


PUT = (put_section, put_inside)
DROP = (drop_section, drop_inside)
"""Ways to do it, the least intrusive first."""
