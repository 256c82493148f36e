"""Read back the folder of Markdown that memoryd exports for people. markdown_export.py is the other half."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memoryd.features.imports.formats.items import (
    Fault,
    SourceEntity,
    SourceMemory,
    SourceRelation,
    SourceSummary,
    SourceTurn,
    Yielded,
    mapping,
    share,
    text,
    texts,
    when,
)
from memoryd.features.imports.formats.notes import Note

PREFIX, SUFFIX = "[observation] ", " ()"
"""Put around the text of an observation if basic-memory would otherwise interpret a part of it."""
TURNS = "<!-- turns -->"
"""The line between the summary of a session and its turns."""
_CATEGORY = re.compile(r"\[[^\[\]()\n]+\] .")
_TURN = re.compile(r'^## Turn ("(?:[^"\\]|\\.)*") (\S+)$')
_LINK = re.compile(r'^- (?:"([^"\n]*)"|(\S+)) \[\[([^\[\]|\n]+)\|', re.MULTILINE)
_NUMBER = re.compile(r"[0-9]{1,9}")
_SCORES = ("memory_count", "quality", "productivity", "impact", "complexity")


def is_own(note: Note) -> bool:
    """Return whether memoryd wrote a note."""
    return bool(text(mapping(note.properties.get("memoryd")).get("kind")))


def is_categorized(observation: str) -> bool:
    """Return whether the text of an observation itself begins with a category."""
    return bool(_CATEGORY.match(observation)) and not observation.startswith(PREFIX)


def items(note: Note, titles: Mapping[str, str]) -> Iterator[Yielded]:
    """Yield the items of a note; `titles` are the names of the entities by the paths of their notes."""
    own = mapping(note.properties.get("memoryd"))
    common: dict[str, Any] = {
        "created_at": when(note.properties.get("created")),
        "updated_at": when(note.properties.get("modified")),
        "tags": texts(own.get("tags")) or texts(note.properties.get("tags")),
        "is_record": bool(text(own.get("id"))),
        "client": text(own.get("client")),
        "tool": text(own.get("tool")),
        "session_id": text(own.get("session")),
    }
    place = text(own.get("id"))
    match text(own.get("kind")):
        case "memory":
            yield SourceMemory(
                id=place,
                text=note.raw.removesuffix("\n"),
                key=str(own.get("key") or ""),
                importance=_number(own.get("importance")),
                **common,
            )
        case "entity":
            yield from _entity(note, place, titles, common)
        case "session":
            yield from _session(note, place, own, common)
        case "index":
            return
        case other:
            yield Fault(f"{note.file.name}: is of the kind {other[:50]!r}, which this version of memoryd does not know")


def _number(value: Any) -> float:
    try:
        return share(float(text(value)))
    except ValueError:
        return 0.5


def _entity(note: Note, place: str, titles: Mapping[str, str], common: Mapping[str, Any]) -> Iterator[Yielded]:
    name = str(note.properties.get("title") or note.file.stem)
    above, _, listed = note.raw.rpartition("\n## Observations\n")
    observations, _, relations = listed.rpartition("\n## Relations\n")
    ordinals = texts(mapping(note.properties.get("memoryd")).get("ordinals"))
    yield SourceEntity(
        id=place,
        name=name,
        type=str(note.properties.get("type") or ""),
        summary=above.partition("\n\n")[2].removesuffix("\n"),
        observations=tuple(map(_observation, re.findall(r"^- (.*(?:\n  .*)*)$", observations, re.MULTILINE))),
        ordinals=tuple(int(one) for one in ordinals if _NUMBER.fullmatch(one)),
        **common,
    )
    folder = PurePosixPath(note.file.name).parent.parent  # the folder of the export, below the imported folder
    for quoted, plain, path in _LINK.findall(relations):
        target = titles.get((folder / path).as_posix()) or PurePosixPath(path).name
        yield SourceRelation(
            id=place, source=name, target=target, type=quoted or plain, created_at=common["created_at"], is_record=True
        )


def _observation(item: str) -> str:
    words = item.replace("\n  ", "\n").removeprefix(PREFIX)
    return words.removesuffix(SUFFIX) if words.endswith(f"){SUFFIX}") else words


def _session(note: Note, place: str, own: Mapping[str, Any], common: Mapping[str, Any]) -> Iterator[Yielded]:
    session, title = text(own.get("session")), str(note.properties.get("title") or "")
    above, _, turns = note.raw.rpartition(f"\n{TURNS}\n")
    if place:
        scores = {name: int(text(own[name])) for name in _SCORES if _NUMBER.fullmatch(text(own.get(name)))}
        yield SourceSummary(
            id=place,
            title=title,
            text=above.partition("\n\n")[2].removesuffix("\n"),
            category=text(own.get("category")),
            scores=scores,
            technologies=texts(own.get("technologies")),
            **common,
        )
    yield from _turns(turns, session)


def _turns(listed: str, session: str) -> Iterator[Yielded]:
    head: re.Match[str] | None = None
    words: dict[str, list[str]] = {}
    part = ""
    for line in [*listed.split("\n"), '## Turn "" -']:
        if line.startswith("> "):
            words.setdefault(part, []).append(line[2:])
        elif line.startswith("### "):
            part = line[4:]
        elif begun := _TURN.match(line):
            if head:
                prompt, thought, response = (
                    "\n".join(words.get(name, ())) for name in ("Prompt", "Thought", "Response")
                )
                yield SourceTurn(
                    id=_turn_id(head[1]),
                    is_record=True,
                    session_id=session,
                    created_at=when(head[2]),
                    prompt=prompt,
                    thought=thought,
                    response=response,
                )
            head, words = begun, {}


def _turn_id(written: str) -> str:
    """Return the id of a turn; one that was edited and is no longer JSON stays as it is."""
    try:
        return str(json.loads(written))
    except ValueError:
        return written
