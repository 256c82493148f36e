"""A cache: counts over all records are kept until something is written; proposals are kept until they are used."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

from memoryd.core.maintenance.actions import Act
from memoryd.core.memories import listing
from memoryd.core.scope import Scope

T = TypeVar("T")

KEPT = 64  # results


class Kept:
    """Results by request, each valid until the next event of its database."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._results: OrderedDict[tuple[str, ...], tuple[int, Any]] = OrderedDict()
        self._judged: dict[tuple[str, str], dict[str, Act]] = {}

    def judged(self, scope: Scope) -> dict[str, Act]:
        """Return the language model's proposals by key: an answer that was paid for is kept until it is used."""
        return self._judged.setdefault((scope.engine.store.place, scope.workspace.id), {})

    def get(self, scope: Scope, what: str, make: Callable[[], T]) -> T:
        """Return the kept result, or make and keep it."""
        latest, key = listing.latest(scope), (scope.engine.store.place, scope.workspace.id, what)
        with self._lock:
            known = self._results.get(key)
        if known and known[0] == latest:
            result: T = known[1]
            return result
        made = make()
        with self._lock:
            self._results[key] = latest, made
            self._results.move_to_end(key)
            while len(self._results) > KEPT:
                self._results.popitem(last=False)
        return made
