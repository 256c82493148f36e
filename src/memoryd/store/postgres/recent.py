"""A cache of recent counts."""

import threading
import time
from collections.abc import Hashable
from typing import Any

FRESH = 60.0  # seconds for which a count is valid
REMEMBERED = 10_000  # maximum entries


class Recent:
    """A thread-safe cache whose entries expire after FRESH seconds."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return the value of a key if it is fresh, else None."""
        until, value = self._known.get(key, (0.0, None))
        return value if time.monotonic() < until else None

    def put(self, key: Hashable, value: Any) -> None:
        """Remember a value for FRESH seconds."""
        with self._lock:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = time.monotonic() + FRESH, value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()
