"""memoryd's own simple format, easy for scripts to write: one object per line; only the text is required.

{"content": "Ann prefers tea.", "id": "a1", "created_at": "2026-03-15T10:30:00Z", "tags": ["food"]}
{"entity": "Ann", "type": "person", "observations": ["Lives in Berlin."], "summary": "A friend."}
{"from": "Ann", "to": "Acme", "relation": "works_at"}
{"session": "s1", "prompt": "hi", "thought": "", "response": "hello"}
{"session": "s1", "title": "Greetings", "summary": "They greet each other."}
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator

from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats import items, parsing
from memoryd.features.imports.formats.fields import CREATED, UPDATED, Fields, digest, share, tagged, text, texts, times
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, that

CONTENT = ("content", "memory", "text", "data", "value", "fact", "note", "observation", "description", "page_content")
"""The possible fields of a memory's text; the first that contains text is used."""
SIMPLE = (
    '{"content": "Ann prefers tea.", "created_at": "2026-03-15T10:30:00Z", "tags": ["food"]}',
    '{"session": "s1", "prompt": "Which port?", "response": "5433.", "created_at": "2026-03-15T10:30:00Z"}',
)
"""A memory and a turn, for people whose files are in no known format."""
_MESSAGES = frozenset({"assistant", "system", "tool", "tool_result", "tool_call", "tool_use"})
"""The types of messages that are never memories."""
_SHAPES = ({"entity"}, {"from", "to"}, {"session", "prompt"}, {"prompt", "response"}, {"session", "title"})
_IDS, _TAGS = ("id", "uuid", "_id", "memory_id", "hash"), ("tags", "labels", "topics", "keywords", "categories")
_SESSIONS = ("session", "session_id", "sessionId", "run_id", "thread_id", "conversation_id")
_OTHERS = (
    "type kind category title key importance project namespace entity observations summary from to relation prompt "
    "thought response"
)
_OWN = frozenset((*CONTENT, *CREATED, *UPDATED, *_IDS, *_TAGS, *_SESSIONS, *_OTHERS.split()))
"""The fields that are imported."""
DEPTH = 5  # maximum objects around a text
TABLES = (".csv", ".tsv")


def _fits(file: SourceFile) -> bool:
    if file.ends(*TABLES):
        first: Fields = dict.fromkeys(_table(file).fieldnames or (), "text")
    else:
        found = parsing.first_object(file) or next((one for one in parsing.values(file) if isinstance(one, dict)), {})
        first = next(iter(parsing.listed(found)), found)
    is_known = _text_of(first) or any(shape <= first.keys() for shape in _SHAPES)
    return bool(is_known) and not file.ends(".md", ".txt")


def _read(source: Source, _more: frozenset[str]) -> Iterator[items.Yielded]:
    others = Counter[str]()
    for file in source.files:
        for value in _rows(file) if file.ends(*TABLES) else parsing.values(file):
            yield value if isinstance(value, items.Fault) else _item(value)
            others.update(() if isinstance(value, items.Fault) else (name for name in value if name not in _OWN))
    if others:
        named = ", ".join(f"{name[:100]} ({number})" for name, number in others.most_common(20))
        yield items.Hint(f"Fields that are not imported, and the number of objects with them: {named}")


def _table(file: SourceFile) -> "csv.DictReader[str]":
    whole = file.whole()
    head = whole.partition("\n")[0]
    found: csv.DictReader[str] = csv.DictReader(io.StringIO(whole), delimiter=max(",;\t", key=head.count))
    found.fieldnames = ["_".join(name.casefold().split()) for name in found.fieldnames or ()]
    return found


def _rows(file: SourceFile) -> Iterator[Fields | items.Fault]:
    try:
        for row in _table(file):
            yield {name: given for name, given in row.items() if name and given}
    except (csv.Error, InvalidInputError) as error:
        yield items.Fault(f"{file.name}: {str(error).rstrip('.')}")


def _text_of(value: Fields, depth: int = 0) -> str:
    """Return the text of a memory, which other objects may be around, or the fields of the innermost one."""
    for name in CONTENT:
        given = value.get(name)
        if found := _text_of(given, depth + 1) if isinstance(given, dict) and depth < DEPTH else text(given):
            return found
    plain = (f"{name}: {one}" for name, one in value.items() if isinstance(one, str | int | float) and name != "kind")
    return "\n".join(plain) if depth else ""


def _item(value: Fields) -> items.Yielded:
    if "role" in value or text(value, "type") in _MESSAGES:
        return items.LeftOut("messages that are in no conversation")
    at, namespace = times(value), texts(value.get("namespace"))
    common: Fields = {
        "created_at": at["created_at"] or at["updated_at"],
        "updated_at": at["updated_at"],
        "tags": (
            *tagged("type", value.get("type"), value.get("kind")),
            *tagged("category", value.get("category")),
            *(tag for name in _TAGS for tag in texts(value.get(name))),
            *tagged("namespace", "/".join(namespace)),
        ),
        "project": text(value, "project"),
        "session_id": _id(value, *_SESSIONS),
    }
    title, content = text(value, "title"), _text_of(value)
    if not content and (not title or {"summary", "prompt"} & value.keys()):
        return _other(value, common | {"tags": texts(value.get("tags"))})
    headed = content if not title or content.startswith(title) else f"{title}\n\n{content}".strip()
    own, key = _id(value, *_IDS), text(value, "key")
    if namespace:  # the key is one within the namespace
        own, key = digest(*namespace, key), ""
    return items.SourceMemory(id=own, text=headed, key=key, importance=share(value.get("importance")), **common)


def _other(value: Fields, common: Fields) -> items.Yielded:
    match value:
        case {"entity": str(name)}:
            about: Fields = {"type": text(value, "type"), "summary": text(value, "summary")}
            given = value.get("observations")
            words = texts([given] if isinstance(given, str) else given)
            return items.SourceEntity(name=name, observations=words, **about, **common)
        case {"from": str(source), "to": str(target)}:
            kind = text(value, "relation", "type") or "related_to"
            return items.SourceRelation(source=source, target=target, type=kind, **common)
        case {"prompt": str(prompt)}:
            thought, response = text(value, "thought"), text(value, "response")
            place = _id(value, "id") or digest(common["session_id"], common["created_at"], prompt, response)
            return items.SourceTurn(id=place, prompt=prompt, thought=thought, response=response, **common)
        case {"title": str(title), "summary": str(summary)} if common["session_id"]:
            return items.SourceSummary(id=common["session_id"], title=title, text=summary, **common)
    return items.Fault(f"an object with {parsing.keys_of(value)} is not a memory, entity, relation or turn")


def _id(value: Fields, *names: str) -> str:
    """Return the first text or whole number among some fields."""
    return next(filter(None, (str(one) if type(one) is int else text(one) for one in map(value.get, names))), "")


FORMAT = ForeignFormat(
    "jsonl",
    "a file of JSON objects with memories, entities, relations or turns",
    that(_fits, "*.json", "*.jsonl", *(f"*{suffix}" for suffix in TABLES)),
    _read,
    is_any=True,
)
