"""The graph of the official memory server: memory.jsonl of @modelcontextprotocol/server-memory."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from memoryd.core.base.limits import KNOWN_NAME
from memoryd.core.transfer.schema import UNKNOWN
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import CREATED, UPDATED, Fields, brief, first_time, mappings
from memoryd.features.imports.formats.items import Fault, Hint, LeftOut, SourceEntity, SourceRelation, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, each_file, that
from memoryd.text import unstorable

SHOWN = 60  # characters of a value in a sentence
NAME, TYPE = ("name", "entityName", "entity_name"), ("entityType", "entity_type")
FROM, TO = ("from", "from_entity", "fromEntity", "source"), ("to", "to_entity", "toEntity", "target")
RELATION = ("relationType", "relation_type")
"""The names of the fields: first that of the server, then those of programs that are like it."""
DEPTH = 20  # maximum lists and objects around an observation
_WORDS = ("text", "content", "observation", "fact", "value", "item", "items", "contents", "observations")
_LISTS = ("entities", "relations")


def _is_graph(file: SourceFile) -> bool:
    first = parsing.first_object(file)
    within = [one for name in _LISTS for one in mappings(first.get(name))]
    return any(_kind(one) and _has(one, *NAME, *FROM) for one in (first, *within))


def _kind(value: Fields) -> str:
    """Return whether an object is an entity or a relation, from its type or, if it states none, its fields."""
    if (stated := value.get("type")) in ("entity", "relation"):
        return str(stated)
    if _has(value, *NAME) and _has(value, *TYPE, "observations"):
        return "entity"
    return "relation" if _has(value, *FROM) and _has(value, *TO) and _has(value, *RELATION) else ""


def _has(value: Fields, *fields: str) -> bool:
    return not value.keys().isdisjoint(fields)


def _graph(file: SourceFile) -> Iterator[Yielded]:
    yield from parsing.each(file, lambda value: _of_value(value, value.place, file.modified))
    if file.has_changed():
        yield Fault(f"{file.name} changed while it was read. Stop the server that uses it, and import it again")


def _of_value(value: Fields, place: str, at: str) -> Iterator[Yielded]:
    """Yield the items of an object: an entity, a relation, or a graph as read_graph returns it."""
    if kind := _kind(value):
        yield from (_entity if kind == "entity" else _relation)(value, place, at)
    elif _has(value, *_LISTS):
        for one in (one for name in _LISTS for one in mappings(value.get(name))):
            yield from _of_value(one, place, at)
    elif "type" in value:
        yield Fault(f"{place} has the type {_quoted(value['type'])}, which is neither entity nor relation")
    else:
        yield Fault(f"{place} is neither an entity, with a name and a type, nor a relation")


def _entity(value: Fields, place: str, at: str) -> Iterator[Yielded]:
    name, kind, given = _named(value, NAME), _named(value, TYPE), value.get("observations")
    type_ = value.get(kind, value.get("type") if value.get("type") != "entity" else None)
    if type_ is None or (isinstance(type_, str) and not type_.strip()):
        yield Hint(f"{place} has no {kind}: it gets the type {UNKNOWN}")
        type_ = UNKNOWN
    if fault := _unfit(value, name) or _unfit({kind: type_}, kind):
        yield Fault(f"{place} {fault}")
        return
    observed = list(_observed(given, first_time(value)))
    kept = [(words, time) for words, time in observed if isinstance(words, str) and not unstorable(words)]
    if lost := len(observed) - len(kept):
        yield Fault(f"{place} has observations that are not text, or cannot be stored: {lost} of {len(observed)}")
    yield LeftOut("empty observations", sum(not words for words, _ in kept))
    yield from _extras(value, place, *NAME, *TYPE, "observations")
    known = first_time(value) or min((time for _, time in kept if time), default=at)
    about: Fields = {"name": value[name], "updated_at": first_time(value, UPDATED), "is_verbatim": True}
    yield SourceEntity(id=place, type=type_, created_at=known, **about)
    for time, same in groupby(kept, lambda one: one[1]):
        texts = tuple(filter(None, (words for words, _ in same)))
        yield SourceEntity(id=place, observations=texts, created_at=time or known, **about)


def _observed(given: Any, at: str, depth: int = 0) -> Iterator[tuple[Any, str]]:
    """Yield each observation, in lists and objects of any shape, with its time; None for one without text."""
    if isinstance(given, list) and depth < DEPTH:
        for one in given:
            yield from _observed(one, at, depth + 1)
    elif isinstance(given, dict) and depth < DEPTH:
        words = next((given[name] for name in _WORDS if given.get(name) is not None), None)
        yield from [(None, at)] if words is None else _observed(words, first_time(given) or at, depth + 1)
    elif given is not None or depth:
        yield given, at


def _relation(value: Fields, place: str, at: str) -> Iterator[Yielded]:
    source, target, kind = _named(value, FROM), _named(value, TO), _named(value, RELATION)
    if fault := _unfit(value, source, target, kind):
        yield Fault(f"{place} {fault}")
        return
    yield from _extras(value, place, source, target, kind)
    ends = {"source": value[source], "target": value[target], "type": value[kind]}
    yield SourceRelation(id=place, **ends, created_at=first_time(value) or at, is_verbatim=True)


def _named(value: Fields, names: tuple[str, ...]) -> str:
    """Return the first of some names of a field that an object has; without any, the first."""
    return next((name for name in names if name in value), names[0])


def _extras(value: Fields, place: str, *fields: str) -> Iterator[Hint]:
    if extras := [name for name in value if name not in {"type", "id", *fields, *CREATED, *UPDATED}]:
        yield Hint(f"{place} has fields that are not imported: {_quoted(', '.join(extras))}")


def _unfit(value: Fields, *fields: str) -> str | None:
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


def _quoted(value: object) -> str:
    return repr(brief(str(value), SHOWN))


FORMAT = ForeignFormat(
    "server-memory", "a graph of server-memory", that(_is_graph, "*.json", "*.jsonl"), each_file(_graph)
)
