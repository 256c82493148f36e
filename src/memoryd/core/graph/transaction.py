"""The graph of one workspace, and transactions that change it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from memoryd.core.records import perspectives, records
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.model import Entity, Record
from memoryd.store.base import Queries, Row, of_row

T = TypeVar("T")


class Change:
    """One transaction on the graph. It sets the times of what it changes, and drops vectors whose text has changed."""

    def __init__(self, queries: Queries, now: str, session: str) -> None:
        self.queries = queries
        self.now = now
        self.session_id = session or None
        self.lacking: set[str] = set()
        """The records whose vectors were dropped or do not exist yet."""
        self._touched: set[str] = set()
        self._related: dict[str, tuple[str, ...]] = {}

    def touch(self, entity_ids: Iterable[str]) -> None:
        """Mark entities as changed: they get the time of this transaction."""
        self._touched.update(entity_ids)

    def relate(self, entity_ids: Iterable[str]) -> None:
        """Mark entities whose relations are about to change. Call it before the change."""
        ids = [key for key in entity_ids if key not in self._related]
        self._related |= perspectives.related(self.queries, ids)
        self.touch(ids)

    def write(self, record: Record, vectors: Mapping[str, Embedded]) -> None:
        """Write a new record, with its vector if `vectors` has it."""
        records.add(self.queries, record, vectors.get(records.full_text(record)), self.now)
        self.lacking.add(record.id)

    def note(self, operation: str, subject: str) -> None:
        """Write an event about something that is not a record."""
        self.queries.run("events.add", operation=operation, subject=subject, now=self.now)

    def sign(self, operation: str, subject: str) -> None:
        """Record who performs an operation on something that is not a record."""
        records.sign(self.queries, operation, subject, self.now)

    def reads_differently(self, entity_ids: Sequence[str], field: str) -> None:
        """Drop the vectors of the entities' observations whose text includes a field that has changed."""
        self.lacking.update(perspectives.drop(self.queries, entity_ids, field))

    def finish(self) -> None:
        """Write the times, and drop the vectors that are outdated because relations have changed."""
        after = perspectives.related(self.queries, list(self._related))
        self.reads_differently([key for key, before in self._related.items() if after[key] != before], "related")
        self.queries.run("entities.touch", ids=json.dumps(sorted(self._touched)), now=self.now)


class Graph:
    """The graph of one workspace, as one session changes it."""

    def __init__(self, scope: Scope) -> None:
        self.secrets = scope.secrets
        self.scope = scope
        self.engine, self.workspace = scope.engine, scope.workspace

    def read(self, work: Callable[[Queries], T]) -> T:
        """Run `work` on one snapshot."""
        return self.scope.read(work)

    def change(self, work: Callable[[Change], T]) -> T:
        """Run `work` as one transaction and return its result, durably; if it raises, nothing has changed."""

        def whole(queries: Queries) -> tuple[T, set[str]]:
            now = self.engine.clock.now()  # within the transaction, so that times are in the order of commits
            change = Change(queries, now, self.scope.session)
            result = work(change)
            change.finish()
            return result, change.lacking

        result, lacking = self.scope.write(whole)
        self.scope.embed_later(lacking)
        return result

    def passages(self, texts: Sequence[str]) -> dict[str, Embedded]:
        """Return the vectors of texts that are about to be written; none for a text if the model is not ready."""
        each = list(dict.fromkeys(texts))
        made = self.scope.passages(each)
        return {text: embedded for text, embedded in zip(each, made, strict=True) if embedded}


def entity(row: Row) -> Entity:
    """Build an Entity from a row of id, name, type, body, tags and times."""
    return of_row(Entity, row, summary=row["body"] or None, tags=tuple(json.loads(row["tags"])))
