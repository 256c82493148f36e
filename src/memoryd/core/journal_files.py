"""The journal as a file of JSON lines, written and read: ours, and the export files of Neo.mjs.

A line is a turn or a summary, in the metadata of seed e; those of Neo.mjs say the same, with a vector and a document.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from memoryd.core import lines
from memoryd.core.clock import moment, timestamp
from memoryd.core.lines import Source, Target, Written
from memoryd.errors import InvalidInputError
from memoryd.model import AGENT_INTERACTION, Interaction, SessionSummary
from memoryd.settings import SESSION_LENGTH
from memoryd.store.journal import COLLECTIONS, JournalStore

Collection = Literal["memories", "summaries"]
Mode = Literal["merge", "replace"]
Report = Callable[[float], None]
T = TypeVar("T")

FORMAT = {"format": "journal", "version": 1}
NAME, COUNT = 1_000, 1 << 31  # characters of an id at most, and what a number stays below
BATCH = 500  # turns or summaries a transaction of a merge
TEXTS = ("prompt", "thought", "response")
SCORES = ("quality", "productivity", "impact", "complexity")
_DOCUMENT = re.compile(r"\AUser Prompt: (.*?)\nAgent Thought: (.*?)\nAgent Response: (.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each collection."""

    memories: int = 0
    summaries: int = 0


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file held, and what of it was not there yet."""

    read: Counts
    new: Counts


# writing -------------------------------------------------------------------------------------------------------------


def export(kept: JournalStore, path: Path, include: Sequence[Collection], report: Report) -> tuple[Written, Counts]:
    """Write the collections to a new file."""
    numbers = kept.numbers()
    total = max(sum(numbers[name] for name in include), 1)
    counts = dict.fromkeys(include, 0)

    def fill(target: Target) -> None:
        for name in include:
            rows = map(turn_line, kept.every_turn()) if name == "memories" else map(summary_line, kept.every_summary())
            for row in rows:
                target.put({"collection": COLLECTIONS[name], **row})
                counts[name] += 1
                if target.number % lines.TICK == 0:
                    report(min(target.number / total, 1.0))

    written = lines.write(path, FORMAT | {"collections": list(include)}, fill)
    return written, Counts(**counts)


def turn_line(turn: Interaction) -> dict[str, Any]:
    """The id and seed e's metadata of a turn."""
    return {"id": turn.id, "metadata": {
        "sessionId": turn.session_id, "timestamp": turn.created_at, "prompt": turn.prompt, "thought": turn.thought,
        "response": turn.response, "type": AGENT_INTERACTION,
    }}  # fmt: skip


def summary_line(summary: SessionSummary) -> dict[str, Any]:
    """The id and seed e's metadata of a summary, with its text as the document."""
    return {"id": summary.id, "metadata": {
        "sessionId": summary.session_id, "timestamp": summary.created_at, "title": summary.title,
        "category": summary.category, "memoryCount": summary.memory_count, "quality": summary.quality,
        "productivity": summary.productivity, "impact": summary.impact, "complexity": summary.complexity,
        "technologies": list(summary.technologies),
    }, "document": summary.summary}  # fmt: skip


# reading -------------------------------------------------------------------------------------------------------------


def load(kept: JournalStore, source: Source, mode: Mode, report: Report) -> Imported:
    """Import a file: add what is not there yet, or replace the collections that it holds.

    All of it is read and checked first; InvalidInputError names a bad line, and nothing was changed. A merge is written
    in batches: what was added until something went wrong stays, and is found again by the next import.
    """
    read, held = _check(source, report)
    before = kept.numbers()
    if mode == "replace":
        kept.replace(
            _of(source, Interaction, report) if "memories" in held else None,
            _of(source, SessionSummary, report) if "summaries" in held else None,
        )
        return Imported(read, read)
    for turns in _batches(_of(source, Interaction, report)):
        kept.put(turns)
    for summaries in _batches(_of(source, SessionSummary, report)):
        kept.put_summaries(summaries)
    after = kept.numbers()
    return Imported(read, Counts(**{name: after[name] - before[name] for name in COLLECTIONS}))


def _check(source: Source, report: Report) -> tuple[Counts, set[str]]:
    """How many of each a file holds, and which collections it stands for."""
    head = source.head() or {}
    held = head.get(lines.HEAD, {})
    if held and (held.get("format"), held.get("version")) != (FORMAT["format"], FORMAT["version"]):
        raise InvalidInputError(
            f"{source.path.name} is an export of another kind or of a newer version: {held}. Import it with "
            "`memoryd import`."
        )
    turns = summaries = 0
    for _, item in _items(source, lambda done: report(done / 2)):
        if isinstance(item, Interaction):
            turns += 1
        else:
            summaries += 1
    _demand_unchanged(source)
    found = {name for name, number in (("memories", turns), ("summaries", summaries)) if number}
    if not held and not found:
        raise InvalidInputError(f"{source.path.name} is empty: there is nothing to import.")
    return Counts(turns, summaries), found | set(held.get("collections", ()))


def _of(source: Source, kind: type[T], report: Report) -> Iterator[T]:
    """The turns, or the summaries, of a file. Raises InvalidInputError where somebody wrote to it meanwhile."""
    for _, item in _items(source, lambda done: report(0.5 + done / 2)):
        if isinstance(item, kind):
            yield item
    _demand_unchanged(source)


def _demand_unchanged(source: Source) -> None:
    if source.changed():
        raise InvalidInputError(f"Somebody wrote to {source.path.name} while it was read. Import it again.")


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _items(source: Source, report: Report) -> Iterator[tuple[int, Interaction | SessionSummary]]:
    for number, value in source.objects(report):
        try:
            yield number, _item(value)
        except (InvalidInputError, ValueError, OverflowError, OSError) as error:  # the latter: no time
            raise source.fault(number, f"is no turn or summary: {str(error).rstrip('.')}") from None


def _item(value: Mapping[str, Any]) -> Interaction | SessionSummary:
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping):
        raise InvalidInputError("it has no metadata")
    said = metadata.get("type") == AGENT_INTERACTION or "prompt" in metadata
    if value.get("collection", COLLECTIONS["memories"] if said else "") == COLLECTIONS["memories"]:
        return _turn(value, metadata)
    if value.get("collection") == COLLECTIONS["summaries"] or {"title", "memoryCount"} & metadata.keys():
        return _summary(value, metadata)
    raise InvalidInputError("it has neither a prompt nor a title")


def _turn(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> Interaction:
    texts = [metadata.get(name) for name in TEXTS]
    document = _DOCUMENT.match(str(value.get("document") or ""))
    if document:  # what Neo.mjs puts together of the three
        texts = [text if isinstance(text, str) else part for text, part in zip(texts, document.groups(), strict=True)]
    prompt, thought, response = (_text(text, name) for text, name in zip(texts, TEXTS, strict=True))
    return Interaction(
        id=_name(value, "id"), session_id=_name(metadata, "sessionId", SESSION_LENGTH), prompt=prompt,
        created_at=_time(metadata), thought=thought, response=response,
    )  # fmt: skip


def _summary(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> SessionSummary:
    technologies = metadata.get("technologies") or ()
    if isinstance(technologies, str):  # ChromaDB's metadata holds no lists
        technologies = technologies.split(",")
    return SessionSummary(
        id=_name(value, "id"), session_id=_name(metadata, "sessionId", SESSION_LENGTH), created_at=_time(metadata),
        title=_text(metadata.get("title"), "title"), summary=_text(value.get("document"), "document"),
        category=_text(metadata.get("category", "other"), "category"),
        memory_count=_number(metadata, "memoryCount") or 0, **{name: _number(metadata, name) for name in SCORES},
        technologies=tuple(str(name).strip() for name in technologies if str(name).strip()),
    )  # fmt: skip


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is no text")
    return value


def _name(within: Mapping[str, Any], name: str, most: int = NAME) -> str:
    value = _text(within.get(name), name)
    if not value.strip() or len(value) > most:
        raise InvalidInputError(f"{name} has {len(value)} characters; 1 to {most} are allowed, and not only blanks")
    return value


def _time(metadata: Mapping[str, Any]) -> str:
    """An ISO 8601 time, or the milliseconds since 1970, as every row keeps it."""
    value = metadata.get("timestamp")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return timestamp(datetime.fromtimestamp(value / 1000, UTC))
    return timestamp(moment(_text(value, "timestamp")))


def _number(metadata: Mapping[str, Any], name: str) -> int | None:
    value = metadata.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 < value < COUNT:
        raise InvalidInputError(f"{name} is no number from 0 to {COUNT - 1}")
    return round(value)
