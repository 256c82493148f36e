"""The actions of maintenance: each is one transaction with a reason, and can be undone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.core.base.limits import TAGS
from memoryd.core.records import records
from memoryd.core.records.deduplication import fingerprint
from memoryd.model import Ending, Kind, Record
from memoryd.store.base import Queries

BY_WORDS, JUDGED = 1, 3  # how a memory was consolidated: by words alone, or by a language model


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The replacement of memories by another one, and its reason."""

    ending: Ending
    gone: tuple[Record, ...]
    by: Record
    """The replacement: an existing memory, or for a compaction the summary to store."""
    reason: str


def carry_out(queries: Queries, act: Act, now: str) -> bool:
    """Carry out an act and return True; do nothing and return False if one of its memories has changed since."""
    decided = [*act.gone] if act.ending == "compacted" else [*act.gone, act.by]
    found = records.fetch(queries, [memory.id for memory in decided], "")
    if any(memory.id not in found or found[memory.id].body != memory.body for memory in decided):
        return False
    gone = [found[memory.id] for memory in act.gone]
    if act.ending == "merged":
        _absorb(queries, found[act.by.id], gone, now)
    elif act.ending == "compacted":
        records.add(queries, act.by, None, now)
        queries.run(
            "memories.add",
            id=act.by.id,
            fingerprint=fingerprint(act.by.body),
            importance=act.by.importance,
            consolidated=JUDGED,
        )
    records.supersede(queries, [memory.id for memory in gone], act.by.id, act.ending, act.reason, now)
    return True


def _absorb(queries: Queries, kept: Record, gone: Sequence[Record], now: str) -> None:
    """Give the kept memory the tags and recalls of all of them, and their greatest importance."""
    tags = json.dumps(_tags((kept, *gone)), ensure_ascii=False)
    importance = max(memory.importance for memory in gone)
    queries.run("versions.keep_tags", id=kept.id, tags=tags, importance=importance, now=now)
    queries.run("maintenance.retag", id=kept.id, tags=tags, at=max(memory.updated_at for memory in gone))
    times = sum(memory.access_count for memory in gone)
    queries.run("maintenance.absorb", id=kept.id, importance=importance, times=times)


def summary(text: str, originals: Sequence[Record]) -> Record:
    """Return a summary of memories, with the tags of all of them and their greatest importance."""
    return Record(
        id=records.new_id(),
        kind=Kind.MEMORY,
        body=text,
        tags=_tags(originals)[:TAGS],
        importance=max(memory.importance for memory in originals),
    )


def _tags(memories: Sequence[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for memory in memories for tag in memory.tags))
