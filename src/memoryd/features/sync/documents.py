"""Items as files and back: one file a memory, an entity with what is about it, and a session.

Equal items give equal bytes on every machine. Memories and entities are Markdown with properties, which people read and
edit; sessions are lines of JSON.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

import yaml

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.base.limits import KNOWN_NAME, TAG, TAGS, TEXT
from memoryd.core.records.derived_ids import derived_id
from memoryd.core.transfer.file_names import readable
from memoryd.core.transfer.schema import KEY_LENGTH
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.notes import FRONT, LOADER
from memoryd.text import unstorable

Item = dict[str, Any]
"""A record or a relation with its details: what another machine needs of it."""
Group = tuple[str, str]
"""What a file is about: `memory`, `entity` or `session`, and its id."""


@dataclass(slots=True)
class Document:
    """What a file says."""

    items: list[Item] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    """The ids of observations and relations that its properties list, and its text no longer has."""
    unknown: set[str] = field(default_factory=set)
    """The names of properties that no record has."""


TITLE = 40  # characters of a title in a file's name
HASH = 12  # hexadecimal digits of the hash of an id in a file's name
VERSION = 1
FORMAT, ROOT_FILE = "memoryd tree", "memoryd.json"
ROOT = {ROOT_FILE: (json.dumps({"format": FORMAT, "version": VERSION}) + "\n").encode()}
SCORES = ("quality", "productivity", "impact", "complexity")
"""The numbers that may be unknown."""
COMMON = ("type", "tags", "session_id", "client", "tool", "created_at", "updated_at")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "memory": ("name", "importance", "body", *COMMON, "deleted_at", "superseded_by", "ending", "reason"),
    "entity": ("name", "body", *COMMON, "summary_updated_at", "next_ordinal", "also"),
    "observation": ("entity_id", "ordinal", "body", *COMMON),
    "relation": ("from_entity", "to_entity", "relation_type", "created_at"),
    "interaction": ("name", "body", *COMMON, "thought_at", "response_at"),
    "summary": ("name", "body", *COMMON, "memory_count", *SCORES, "technologies"),
}
"""The fields of each kind of item, besides `id` and `kind`, in the order in which they are written."""
GROUPS: Mapping[str, tuple[str, str]] = {
    "memory": ("memory", "id"),
    "entity": ("entity", "id"),
    "observation": ("entity", "entity_id"),
    "relation": ("entity", "from_entity"),
    "interaction": ("session", "session_id"),
    "summary": ("session", "session_id"),
}
"""What the file of a kind of item is about, and the field that names it."""
LISTS = ("tags", "also", "technologies")
ABSENT: Mapping[str, Any] = {"type": "", "client": "", "tool": "", "ending": "", "reason": "", "body": ""}
NUMBERS = ("ordinal", "next_ordinal", "thought_at", "response_at", "memory_count")
MOST = 8  # digits of a number
PROPERTIES = 500_000  # commas and line ends of a file's properties: YAML takes up to 1.2 kB for what is before each
ENDS = ",\n\r\x85\u2028\u2029"
NEEDED = ("entity_id", "from_entity", "to_entity", "relation_type")
OBSERVATIONS, RELATIONS = "\n## Observations\n", "\n## Relations\n"
_PATH = re.compile(rf"(memories|vault|replaced|entities|sessions)/.*([0-9a-f]{{{HASH}}})\.(md|jsonl)$")
_MARK = re.compile(rf" \^(\d{{1,{MOST}}})$")
_LINK = re.compile(r"^- (.+) \[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]\s*$", re.MULTILINE)
_DIGEST = re.compile(rf"([0-9a-f]{{{HASH}}})(?:\.md)?$")
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
"""What a person's merge leaves where two sides differ."""
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
EARLIEST = "1000"


def mark(group: Group) -> str:
    """Return the hash in the name of a group's file."""
    text = f"session\0{group[1]}" if group[0] == "session" else group[1]
    return hashlib.sha256(text.encode()).hexdigest()[:HASH]


def mark_of(path: str) -> str:
    """Return the hash in a file's path below the folder of its workspace; '' if it is not such a file."""
    found = _PATH.match(path)
    return found[2] if found else ""


def grave(digest: str) -> str:
    """Return the path of the empty file that tells, in a dropped history, that what has a hash was deleted."""
    return f"memories/{digest[:2]}/{digest}.md"


def is_grave(path: str, data: bytes) -> bool:
    """Return whether a file is such an empty one."""
    return not data and path == grave(mark_of(path))


def by_mark(paths: Iterable[str], folder: str) -> dict[str, list[str]]:
    """Return paths in the folder of a workspace by the hashes in them."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(mark_of(path.removeprefix(folder)), []).append(path)
    return found


def demand_version(data: bytes | str, what: str) -> None:
    """Raise InvalidInputError if the file in the root of a tree does not state this version of the format."""
    try:
        version = json.loads(data)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if version != VERSION:
        raise InvalidInputError(
            f"{what} has version {version!r} of the format; this memoryd reads version {VERSION}. Nothing was changed; "
            "update memoryd."
        )


def is_document(path: str) -> bool:
    """Return whether a path in the folder of a workspace may be that of a document, also of a person's new one."""
    suffix = ".jsonl" if path.startswith("sessions/") else ".md"
    return path.lower().endswith(suffix) and not any(part.startswith(".") for part in path.split("/"))


def group_of(item: Item) -> Group:
    """Return what the file of an item is about."""
    group, name = GROUPS[item["kind"]]
    return group, item[name] or ""


# writing -------------------------------------------------------------------------------------------------------------


def path_of(group: Group, head: Item | None) -> str:
    """Return the path of a group's file; `head` is its memory or entity."""
    digest = mark(group)
    if head is None:
        return f"sessions/{digest[:2]}/{digest}.jsonl"
    title = readable(head["name"] or " ".join(head["body"][: 4 * TITLE].split()))[:TITLE].rstrip(" .")
    if head["kind"] == "entity":
        folder = "entities"
    elif head["deleted_at"]:
        folder = "replaced"
    else:
        folder = "vault" if head["name"] is not None else f"memories/{head['created_at'][:7]}"
    return f"{folder}/{digest[:2]}/{title} {digest}.md"


def written(group: Group, items: Sequence[Item], heads: Mapping[str, Item]) -> tuple[str, bytes]:
    """Return the path and the content of a group's file; `heads` are the entities that it links to."""
    if group[0] == "session":
        ordered = sorted(items, key=itemgetter("created_at", "id"))
        return path_of(group, None), "".join(f"{_COMPACT(stated(one))}\n" for one in ordered).encode()
    head = next(one for one in items if one["kind"] == group[0])
    front, text = _properties(head), head["body"]
    if group[0] == "entity":
        about = sorted((one for one in items if one["kind"] == "observation"), key=itemgetter("ordinal"))
        ties = sorted((one for one in items if one["kind"] == "relation"), key=itemgetter("created_at", "id"))
        front |= {"observations": [_properties(one, ("entity_id", "body")) for one in about]} if about else {}
        front |= {"relations": [_properties(one, ("from_entity",)) for one in ties]} if ties else {}
        lines = "".join(f"- {one['body']}".replace("\n", "\n  ") + f" ^{one['ordinal']}\n" for one in about)
        links = "".join(_link(one, heads[one["to_entity"]]) for one in ties)
        text = f"{text}\n{OBSERVATIONS}\n{lines}{RELATIONS}\n{links}".removesuffix("\n")
    head_text = yaml.dump(front, Dumper=_DUMPER, allow_unicode=True, sort_keys=False, width=1_000_000)
    return path_of(group, head), f"---\n{head_text}---\n{text}\n".encode()


def stated(item: Item) -> dict[str, Any]:
    """Return the fields of an item that have values, in the order in which they are written."""
    return {name: item[name] for name in ("kind", "id", *FIELDS[item["kind"]]) if item[name] != ABSENT.get(name)}


def _properties(item: Item, without: Sequence[str] = ("body",)) -> dict[str, Any]:
    found = {"id": item["id"]}
    for name in FIELDS[item["kind"]]:
        value = item[name]
        if (name not in without and value not in (None, [], "")) or (name == "name" and value == ""):
            found[name] = value
    return found


def _link(tie: Item, target: Item) -> str:
    kind = " ".join(tie["relation_type"].split())
    shown = " ".join(re.sub(r"[\[\]|]", " ", target["name"]).split())
    return f"- {kind} [[{path_of(('entity', target['id']), target).removesuffix('.md')}|{shown}]]\n"


# reading -------------------------------------------------------------------------------------------------------------


def read(path: str, data: bytes, entity: Callable[[str, str], str]) -> Document:
    """Return what a file says; raise InvalidInputError if it cannot be used.

    `entity` returns the id of the entity with a hash in its file's name, or with a name or path, for relations that a
    person has added; '' if unknown.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"is not UTF-8: {error.reason} at byte {error.start + 1}") from None
    found = Document(_session(text)) if path.endswith(".jsonl") else _note(path, text, entity)
    texts = dict[str, Any]()
    for one in found.items:
        check(one)
        own = [one.get(name) for name in ("kind", "body", "to_entity", "relation_type")]
        if texts.setdefault(one["id"], own) != own:
            raise InvalidInputError(f"has the id {one['id'][:100]!r} twice")
    return found


def trusted(path: str, data: bytes | None) -> list[Item]:
    """Return the items of a file that this program has written; none for one that a person has broken."""
    try:
        return read(path, data, lambda _mark, _name: "").items if data is not None else []
    except InvalidInputError:
        return []


def _session(text: str) -> list[Item]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                raise InvalidInputError(f"has a line {number} that is not JSON") from None
            if not isinstance(value, dict) or value.get("kind") not in ("interaction", "summary"):
                raise InvalidInputError(f"has a line {number} that is neither a turn nor a summary")
            found.append(item_of(value["kind"], value))
    return found


def _note(path: str, text: str, entity: Callable[[str, str], str]) -> Document:
    if text.partition("\n")[0].endswith("\r"):  # git or an editor has converted the whole file for Windows
        text = text.replace("\r\n", "\n")
    front = FRONT.match(text)
    content = text[front.end() :] if front else text
    stated = front[1] if front else ""
    if sum(map(stated.count, ENDS)) > PROPERTIES:
        raise InvalidInputError(f"has more than {PROPERTIES:,} properties")
    try:
        properties = yaml.load(stated, Loader=LOADER) or {}  # noqa: S506 - a loader of texts alone
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInputError(f"has properties that are not YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(properties, dict):
        raise InvalidInputError("has properties that are not a list of names and values")
    properties = {str(name).casefold(): value for name, value in properties.items()}
    is_entity = "next_ordinal" in properties or (path.startswith("entities/") and "importance" not in properties)
    kind = "entity" if is_entity else "memory"
    if not properties.get("id"):
        properties["id"] = derived_id("note", path, text)
        properties.setdefault("name", PurePosixPath(path).stem if is_entity else None)
    if is_entity:
        found = _entity(properties, content, entity)
    else:
        found = Document([item_of(kind, properties | {"body": content.removesuffix("\n")})])
    found.unknown = properties.keys() - {"id", "observations", "relations", *FIELDS[kind]}
    return found


def _entity(properties: dict[str, Any], content: str, entity: Callable[[str, str], str]) -> Document:
    above, links = _parted(content, RELATIONS)
    above, listed = _parted(above, OBSERVATIONS)
    head = item_of("entity", properties | {"body": above.removesuffix("\n").removesuffix("\n")})
    if not (head["name"] or "").strip():
        raise InvalidInputError("is an entity without a name; give it the property `name`")
    stated = [one for one in _mappings(properties, "observations") if one.get("ordinal") is not None]
    known = {_number("ordinal", one["ordinal"]): one for one in stated}
    items, free = [head], max([head["next_ordinal"], *(number + 1 for number in known)], default=0)
    for words in _listed(listed):
        marked = _MARK.search(words)
        number = int(marked[1]) if marked else free
        body = words[: marked.start()] if marked else words
        free = max(free, number + 1)
        if body.strip():
            new = {"id": derived_id("observation", head["id"], body), **known.pop(number, {})}
            items.append(item_of("observation", new | {"entity_id": head["id"], "body": body, "ordinal": number}))
    head["next_ordinal"] = max(head["next_ordinal"], free)
    stated_ties = _mappings(properties, "relations")
    items += _ties(head, stated_ties, links, entity)
    listed_ids = {one.get("id") for one in (*known.values(), *stated_ties)}
    return Document(items, {key for key in listed_ids if isinstance(key, str)} - {one["id"] for one in items})


def _parted(text: str, heading: str) -> tuple[str, str]:
    """Return what is above the last line with a heading, and what is below it."""
    *_, last = [None, *re.finditer(rf"^{heading.strip()}[ \t]*$", text, re.MULTILINE)]
    return (text[: last.start()], text[last.end() :]) if last else (text, "")


def _listed(text: str) -> list[str]:
    """Return the items of a list, each of one or more lines."""
    found: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith("- "):
            found.append([line[2:]])
        elif found:
            found[-1].append(line.removeprefix("  "))
    return ["\n".join(lines).rstrip() for lines in found]


def _ties(head: Item, stated: list[dict[str, Any]], links: str, entity: Callable[[str, str], str]) -> list[Item]:
    """Return the relations that the list of links still has, or that a person has added to it."""
    every = [item_of("relation", one | {"from_entity": head["id"]}) for one in stated]
    known = {(" ".join(tie["relation_type"].split()), tie["to_entity"]): tie for tie in every}
    digests = {mark(("entity", tie["to_entity"])): tie["to_entity"] for tie in every}
    found = []
    for stated_kind, path, shown in _LINK.findall(links):
        digest = next(iter(_DIGEST.findall(path)), "")
        target = digests.get(digest) or (entity(digest, "") if digest else "") or entity("", path) or entity("", shown)
        if not target:
            raise InvalidInputError(f"has a relation to {path[:100]!r}, which is no entity")
        kind = " ".join(stated_kind.split())
        new = {"id": derived_id("relation", head["id"], kind, target), "from_entity": head["id"]}
        new |= {"to_entity": target, "relation_type": kind, "created_at": head["updated_at"]}
        found.append(known.get((kind, target)) or item_of("relation", new))
    return found


def _mappings(properties: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = properties.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidInputError(f"has {name} that are not a list of properties")
    return value


def item_of(kind: str, value: Mapping[str, Any]) -> Item:
    """Return an item with all its fields; raise InvalidInputError if one has another type."""
    found: Item = {"kind": kind, "id": value.get("id")}
    for name in FIELDS[kind]:
        given = value.get(name)
        found[name] = _value(name, ABSENT.get(name) if given is None else given)
    return found


def _value(name: str, value: Any) -> Any:
    if name in LISTS:
        found = [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value or []
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise InvalidInputError(f"has {name} that are not a list of texts")
        return list(found)
    if name == "importance":
        try:
            return min(1.0, max(0.0, float(0.5 if value is None else value)))
        except (TypeError, ValueError):
            raise InvalidInputError("has an importance that is not a number from 0 to 1") from None
    if name in NUMBERS or name in SCORES:
        return None if value is None and name in SCORES else _number(name, value or 0)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"has a {name} that is not a text")
    if name in NEEDED and not value:
        raise InvalidInputError(f"has a relation or an observation without {name}")
    return value


def _number(name: str, value: Any) -> int:
    """Return a number, given as such or as its digits; a list may be endless, as its parts may be itself."""
    if isinstance(value, int | str) and not isinstance(value, bool):
        digits = value if isinstance(value, str) else f"{value:x}"
        if len(digits) <= MOST and str(value).isdecimal():
            return int(value)
    raise InvalidInputError(f"has a {name} that is not a whole number of at most {MOST} digits")


def time_of(text: str) -> str:
    """Return a time as the database writes it; raise InvalidInputError if it is not a time, or before EARLIEST."""
    found = timestamp(moment(text))
    if found < EARLIEST:
        raise InvalidInputError(f"has the time {text!r}, which is before the year {EARLIEST}")
    return found


def check(item: Item) -> None:
    """Raise InvalidInputError if an item cannot be stored; write its times as the database does."""
    key = item["id"]
    if not isinstance(key, str) or not key.strip() or len(key) > KEY_LENGTH:
        raise InvalidInputError("has an id that is not a text of usual length")
    if len(item.get("name") or "") > KNOWN_NAME:
        raise InvalidInputError(f"has a name of more than {KNOWN_NAME:,} characters")
    if item["kind"] == "memory" and not item["body"].strip():
        raise InvalidInputError("is empty; delete the file to forget the memory")
    for name in ("created_at", "updated_at", "deleted_at"):
        if value := item.get(name):
            item[name] = time_of(value)
    texts = "".join("".join(one) for one in item.values() if isinstance(one, str | list))
    if bad := unstorable(texts):  # the file may have it as an escape
        raise InvalidInputError(f"contains U+{ord(bad.group()):04X}, which cannot be stored")


def copied(path: str, items: Sequence[Item]) -> list[Item]:
    """Return the items of a copy of a file with ids of their own: the original is still there."""
    ids = {item["id"]: derived_id("copy", path, item["id"]) for item in items}
    ends = ("id", "entity_id", "from_entity")
    return [item | {name: ids[item[name]] for name in ends if item.get(name) in ids} for item in items]


def check_edited(item: Item) -> None:
    """Raise InvalidInputError if what a person has written is larger than what may be stored."""
    if len(item["body"]) > TEXT:
        raise InvalidInputError(f"has a text of {len(item['body']):,} characters; at most {TEXT:,} are allowed")
    if len(_CONFLICT.findall(item["body"])) > 1:
        raise InvalidInputError("has the marks of an unfinished merge (<<<<<<<, >>>>>>>)")
    if len(item["tags"]) > TAGS or any(not tag.strip() or len(tag) > TAG for tag in item["tags"]):
        raise InvalidInputError(f"has more than {TAGS} tags, an empty one, or one of more than {TAG} characters")
