"""Corrections: a memory gets another text, and its earlier text can be restored."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.core.base.limits import TAG, TAGS, TEXT
from memoryd.core.records import records, short_ids
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import CLIENT, Kind
from memoryd.store.base import Queries, Row
from memoryd.text import unstorable


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The changes to a memory; None leaves a field as it is. Raise InvalidInputError for invalid values."""

    id: str
    """The id of the memory, or its beginning."""
    content: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    seen: str = ""
    """The time of the last change that the sender has seen; '' to apply the correction to any state."""

    def __post_init__(self) -> None:
        if self.content is not None and not (self.content.strip() and len(self.content) <= TEXT):
            raise InvalidInputError(f"A memory has 1 to {TEXT:,} characters; this text has {len(self.content):,}.")
        _demand_tags(self.tags or ())
        for text in (self.content or "", *(self.tags or ())):
            if bad := unstorable(text):
                raise InvalidInputError(f"The text holds U+{ord(bad.group()):04X}, which cannot be stored.")
        if self.importance is not None and not 0 <= self.importance <= 1:
            raise InvalidInputError(f"The importance must be a number from 0 to 1, not {self.importance}.")


@dataclass(frozen=True, slots=True)
class Corrected:
    """The memories of a correction, and the time with which `restore` undoes exactly this; '' if nothing differed."""

    ids: tuple[str, ...]
    at: str


def _demand_tags(tags: Sequence[str]) -> None:
    if len(tags) > TAGS or any(not tag.strip() or len(tag) > TAG for tag in tags):
        raise InvalidInputError(f"A memory has at most {TAGS} tags, each of 1 to {TAG} characters.")


@cleaned
def correct(scope: Scope, correction: Correction) -> Corrected:
    """Change a memory in place, durably, and keep its earlier text as a version; return its id and the time.

    Words, vectors, fingerprint and consolidation follow the new text. Raise NotFoundError if there is no such memory,
    InvalidInputError if another memory already has this text or the record is not a memory, ChangedMeanwhileError if it
    was changed after it was `seen`.
    """
    scope.demand_own("id", [correction.id])
    content = correction.content
    embedded = scope.passages([content])[0] if content is not None else None

    def work(queries: Queries) -> tuple[Corrected, bool]:
        row = _memory(scope, queries, correction.id)
        records.demand_unchanged(row["updated_at"], correction.seen)
        now = scope.engine.clock.now()
        body = row["body"] if content is None else content
        had = json.loads(row["tags"])
        tags = had if correction.tags is None else list(dict.fromkeys(tag.strip() for tag in correction.tags))
        importance = row["importance"] if correction.importance is None else correction.importance
        if (body, tags, importance) == (row["body"], had, row["importance"]):
            return Corrected((row["id"],), ""), False
        queries.run("versions.keep_whole", id=row["id"], now=now)
        if body == row["body"]:
            records.retag(queries, row["id"], tags, now)
        else:
            _demand_alone(queries, row, body)
            # The embedded text of a memory with a key includes the key; the backfill makes that vector.
            records.change(queries, row["id"], body, tags, embedded if row["name"] is None else None, now)
            queries.run("embeddings.withdraw", id=row["id"], perspective=CLIENT)
        follow(queries, row["id"], row["name"], body, importance)
        return Corrected((row["id"],), now), body != row["body"]

    corrected, reworded = scope.write(work)
    if reworded:
        scope.embed_later(corrected.ids)
        scope.engine.stored(scope.workspace)
    return corrected


def follow(queries: Queries, record_id: str, name: str | None, body: str, importance: float) -> None:
    """Update a memory's fingerprint, importance and consolidation after a change of its text.

    A memory with a key has no fingerprint and is never consolidated.
    """
    print_ = fingerprint(body) if name is None else ""
    queries.run(
        "memories.correct", id=record_id, fingerprint=print_, importance=importance, consolidated=int(name is not None)
    )


@cleaned
def retag(scope: Scope, ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()) -> Corrected:
    """Add and remove tags of memories, in one transaction; return what was changed, ignoring all other ids.

    Raise InvalidInputError, with nothing changed, for an invalid tag or if a memory would have too many.
    """
    _demand_tags([*add, *remove])

    def work(queries: Queries) -> Corrected:
        now = scope.engine.clock.now()
        changed = []
        for record_id, record in records.fetch(queries, ids, scope.session).items():
            tags = [tag for tag in dict.fromkeys([*record.tags, *add]) if tag not in remove]
            if len(tags) > len(record.tags):  # one that was merged may have more than TAGS already
                _demand_tags(tags)
            if record.kind is Kind.MEMORY and tuple(tags) != record.tags:
                records.retag(queries, record_id, tags, now)
                changed.append(record_id)
        return Corrected(tuple(changed), now if changed else "")

    return scope.write(work)


def _memory(scope: Scope, queries: Queries, given: str) -> Row:
    """Return the row of a living, durable memory. Raise NotFoundError or InvalidInputError."""
    (record_id,) = short_ids.resolve(queries, "id", [given], scope.session, "ids.living")
    row = queries.one("history.record", id=record_id)
    if row is None or row["deleted_at"] is not None:
        raise NotFoundError(f"There is no living memory {given[:100]!r}. List deleted ones with `memoryd history`.")
    if row["kind"] != Kind.MEMORY:
        raise InvalidInputError(
            f"{short_ids.short(queries, record_id)} is not a memory, but of the kind {row['kind']}. Replace "
            "observations with the graph's tools; turns cannot be changed."
        )
    return row


def _demand_alone(queries: Queries, row: Row, body: str) -> None:
    """Raise InvalidInputError if another memory without a key already has this text."""
    same = queries.one("memories.same", fingerprint=fingerprint(body), scope="") if row["name"] is None else None
    if same and same["id"] != row["id"]:
        named = short_ids.shorten(queries, [same["id"], row["id"]])
        raise InvalidInputError(
            f"Memory {named[same['id']]} already says this. Nothing was changed; forget {named[row['id']]} if it is "
            "not needed."
        )
