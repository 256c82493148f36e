"""The journal as a file of JSON lines, written and read: ours, and the export files of Neo.mjs.

A line is a turn or a summary, in the metadata of seed e; those of Neo.mjs say the same, with a vector and a document.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.journal.metadata import of_summary, of_turn, summary, turn
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import jsonl
from memoryd.core.transfer.jsonl import Done, Mode, Source, Target, Written
from memoryd.errors import InvalidInputError
from memoryd.model import AGENT_INTERACTION, Interaction, SessionSummary
from memoryd.store.journal import COLLECTIONS, JournalStore

Collection = Literal["memories", "summaries"]
T = TypeVar("T")

FORMAT = {"format": "journal", "version": 1}
BATCH = 500  # turns or summaries a transaction of a merge


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each collection."""

    memories: int = 0
    summaries: int = 0


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file held, what of it was not there yet, and the kinds of the secrets that were masked in it."""

    read: Counts
    new: Counts
    masked: tuple[str, ...]


# writing -------------------------------------------------------------------------------------------------------------


def export(kept: JournalStore, path: Path, include: Sequence[Collection], report: Done) -> tuple[Written, Counts]:
    """Write the collections to a new file."""
    numbers = kept.numbers()
    total = max(sum(numbers[name] for name in include), 1)
    counts = dict.fromkeys(include, 0)

    def fill(target: Target) -> None:
        for name in include:
            rows = (
                map(_turn_line, kept.every_turn()) if name == "memories" else map(_summary_line, kept.every_summary())
            )
            for row in rows:
                target.put({"collection": COLLECTIONS[name], **row})
                counts[name] += 1
                if target.number % jsonl.TICK == 0:
                    report(min(target.number / total, 1.0))

    written = jsonl.write(path, FORMAT | {"collections": list(include)}, fill)
    return written, Counts(**counts)


def _turn_line(kept: Interaction) -> dict[str, Any]:
    return {"id": kept.id, "metadata": of_turn(kept)}


def _summary_line(kept: SessionSummary) -> dict[str, Any]:
    return {"id": kept.id, "metadata": of_summary(kept), "document": kept.summary}


# reading -------------------------------------------------------------------------------------------------------------


def load(kept: JournalStore, source: Source, mode: Mode, report: Done, secrets: Secrets) -> Imported:
    """Import a file without its secrets: add what is not there yet, or replace the collections that it holds.

    All of it is read and checked first; InvalidInputError names a bad line, and nothing was changed. A merge is written
    in batches: what was added until something went wrong stays, and is found again by the next import.
    """
    read, held, masked = _check(source, report, secrets)
    before = kept.numbers()
    if mode == "replace":
        kept.replace(
            _of(source, Interaction, report, secrets) if "memories" in held else None,
            _of(source, SessionSummary, report, secrets) if "summaries" in held else None,
        )
        return Imported(read, read, masked)
    for turns in batches(_of(source, Interaction, report, secrets), BATCH):
        kept.put(turns)
    for summaries in batches(_of(source, SessionSummary, report, secrets), BATCH):
        kept.put_summaries(summaries)
    after = kept.numbers()
    return Imported(read, Counts(**{name: after[name] - before[name] for name in COLLECTIONS}), masked)


def _check(source: Source, report: Done, secrets: Secrets) -> tuple[Counts, set[str], tuple[str, ...]]:
    """How many of each a file holds, which collections it stands for, and the kinds of secrets in it."""
    head = source.head() or {}
    held = head.get(jsonl.HEAD, {})
    if held and (held.get("format"), held.get("version")) != (FORMAT["format"], FORMAT["version"]):
        raise InvalidInputError(
            f"{source.path.name} is an export of another kind or of a newer version: {held}. Import it with "
            "`memoryd import`."
        )
    turns = summaries = 0
    masked: list[str] = []
    for _, item in _items(source, lambda done: report(done / 2), secrets, masked):
        if isinstance(item, Interaction):
            turns += 1
        else:
            summaries += 1
    _demand_unchanged(source)
    found = {name for name, number in (("memories", turns), ("summaries", summaries)) if number}
    if not held and not found:
        raise InvalidInputError(f"{source.path.name} is empty: there is nothing to import.")
    return Counts(turns, summaries), found | set(held.get("collections", ())), tuple(masked)


def _of(source: Source, kind: type[T], report: Done, secrets: Secrets) -> Iterator[T]:
    """The turns, or the summaries, of a file. Raises InvalidInputError where somebody wrote to it meanwhile."""
    for _, item in _items(source, lambda done: report(0.5 + done / 2), secrets, []):
        if isinstance(item, kind):
            yield item
    _demand_unchanged(source)


def _demand_unchanged(source: Source) -> None:
    if source.changed():
        raise InvalidInputError(f"Somebody wrote to {source.path.name} while it was read. Import it again.")


def _items(
    source: Source, report: Done, secrets: Secrets, masked: list[str]
) -> Iterator[tuple[int, Interaction | SessionSummary]]:
    for number, value in source.objects(report):
        cleaned = source.clean(number, value, secrets)
        masked += cleaned.found
        try:
            yield number, _item(cleaned.value)
        except (InvalidInputError, ValueError, OverflowError, OSError) as error:  # the latter: no time
            raise source.fault(number, f"is no turn or summary: {str(error).rstrip('.')}") from None


def _item(value: Mapping[str, Any]) -> Interaction | SessionSummary:
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping):
        raise InvalidInputError("it has no metadata")
    said = metadata.get("type") == AGENT_INTERACTION or "prompt" in metadata
    if value.get("collection", COLLECTIONS["memories"] if said else "") == COLLECTIONS["memories"]:
        return turn(value, metadata)
    if value.get("collection") == COLLECTIONS["summaries"] or {"title", "memoryCount"} & metadata.keys():
        return summary(value, metadata)
    raise InvalidInputError("it has neither a prompt nor a title")
