"""Which memories were recalled, kept in memory until the next write: a recall must not cost a flush to disk."""

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memoryd.model import Record, Workspace
from memoryd.store.base import Queries


@dataclass(frozen=True, slots=True)
class Access:
    """How often since the last write, and when last."""

    times: int
    at: str


class Accesses:
    """The recalls that no row knows of yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: defaultdict[str, dict[str, Access]] = defaultdict(dict)

    def note(self, workspace: Workspace, ids: Sequence[str], now: str) -> None:
        """These were recalled."""
        self.give_back(workspace, {record_id: Access(1, now) for record_id in ids})

    def take(self, workspace: Workspace) -> Mapping[str, Access]:
        """What is to be written; give it back if the write fails."""
        with self._lock:
            return self._noted.pop(workspace.id, {})

    def give_back(self, workspace: Workspace, noted: Mapping[str, Access]) -> None:
        """Add to what is to be written."""
        with self._lock:
            mine = self._noted[workspace.id]
            for record_id, access in noted.items():
                before = mine.get(record_id, Access(0, ""))
                mine[record_id] = Access(before.times + access.times, max(before.at, access.at))

    def workspaces(self) -> list[str]:
        """The ids of the workspaces that have something to be written."""
        with self._lock:
            return [workspace for workspace, noted in self._noted.items() if noted]

    def current(self, workspace: Workspace, record: Record) -> Record:
        """A record with the recalls that its row does not have yet."""
        noted = self._noted.get(workspace.id, {}).get(record.id)
        if noted is None:
            return record
        return replace(record, access_count=record.access_count + noted.times, accessed_at=noted.at)


def write(queries: Queries, noted: Mapping[str, Access]) -> None:
    """Put recalls into the rows."""
    queries.many("memories.touch", [{"id": key, "times": one.times, "at": one.at} for key, one in noted.items()])
