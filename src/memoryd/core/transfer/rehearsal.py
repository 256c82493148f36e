"""Count what a merge would add: run the merge itself on snapshots that it cannot change."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from memoryd.core.base.progress import Progress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import Numbers
from memoryd.core.transfer.merge import Merging
from memoryd.core.transfer.reader import Part
from memoryd.model import Workspace
from memoryd.store.base import Queries, Row

T = TypeVar("T")


class _Unchanged:
    """Queries of a snapshot, or of no workspace at all, that ignore changes."""

    def __init__(self, queries: Queries | None) -> None:
        self._queries = queries
        self.workspace_id = queries.workspace_id if queries else ""

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._queries.all(name, **parameters) if self._queries else []

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        return self._queries.one(name, **parameters) if self._queries else None

    def run(self, _name: str, /, **_parameters: Any) -> None:
        pass

    def changed(self, _name: str, /, **_parameters: Any) -> int:
        return 0

    def many(self, _name: str, _rows: Iterable[Mapping[str, Any]], /) -> None:
        pass


class _Rehearsal(Merging):
    """A merge that only counts; `known` is the workspace if it exists."""

    def __init__(self, engine: Engine, known: Workspace | None, file: str, part: Part, report: Progress) -> None:
        super().__init__(engine, known or Workspace(id="", name=part.name), file, part, report)
        self._known = known

    def _write(self, work: Callable[[Queries], T]) -> T:
        if self._known is None:
            return work(_Unchanged(None))
        return self._engine.store.read(self._known, lambda queries: work(_Unchanged(queries)))

    def _next_ordinal(self, _queries: Queries, _entity: str) -> int:
        return 0


def rehearse(engine: Engine, file: str, part: Part, name: str, report: Progress) -> Numbers:
    """Return how much of a file's workspace a merge would add to the workspace with a name; change nothing.

    The result is exact if no other process writes and the file has no duplicates, which the readers of foreign
    formats ensure. Raise InvalidInputError if the workspace is archived.
    """
    known = engine.workspaces.usable(name) if engine.store.placement.exists() else None
    merging = _Rehearsal(engine, known, file, part, report)
    merging.run()
    return merging.new
