"""Recall counts of memories, kept in RAM until the next write: a recall must not cost a flush to disk."""

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryd.model import Record, Workspace
from memoryd.store.base import Queries


@dataclass(frozen=True, slots=True)
class Access:
    """How often a memory was recalled since the last write, and when it was last recalled."""

    times: int
    at: str

    def added_to(self, count: int) -> dict[str, Any]:
        """Return the columns of a record that was recalled `count` times before."""
        return {"access_count": count + self.times, "accessed_at": self.at}


class Accesses:
    """The recalls that are not yet written to the database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: defaultdict[str, dict[str, Access]] = defaultdict(dict)

    def note(self, workspace: Workspace, ids: Sequence[str], now: str) -> None:
        """Count one recall of each id, in memory, until the next write."""
        self.give_back(workspace, {record_id: Access(1, now) for record_id in ids})

    def take(self, workspace: Workspace) -> Mapping[str, Access]:
        """Return and forget the counts to write; pass them to `give_back` if the write fails."""
        with self._lock:
            return self._noted.pop(workspace.id, {})

    def give_back(self, workspace: Workspace, noted: Mapping[str, Access]) -> None:
        """Add counts to those that are to be written."""
        with self._lock:
            mine = self._noted[workspace.id]
            for record_id, access in noted.items():
                before = mine.get(record_id, Access(0, ""))
                mine[record_id] = Access(before.times + access.times, max(before.at, access.at))

    def workspaces(self) -> list[str]:
        """Return the ids of the workspaces that have counts to write."""
        with self._lock:
            return [workspace for workspace, noted in self._noted.items() if noted]

    def of(self, workspace: Workspace) -> Mapping[str, Access]:
        """Return the recalls that the rows of a workspace do not have yet."""
        return self._noted.get(workspace.id, {})

    def current(self, workspace: Workspace, record: Record) -> Record:
        """Return a record with the recalls that its row does not have yet."""
        noted = self.of(workspace).get(record.id)
        return replace(record, **noted.added_to(record.access_count)) if noted else record


def write(queries: Queries, noted: Mapping[str, Access]) -> None:
    """Add recalls to the rows."""
    rows = [{"id": key, "times": access.times, "at": access.at} for key, access in noted.items()]
    queries.many("memories.touch", rows)
