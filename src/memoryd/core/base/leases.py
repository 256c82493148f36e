"""Leases: what only one process should do at a time, wherever it runs."""

import math
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from memoryd.core.base.clock import Clock
from memoryd.store.base import Store

TERM = 20.0  # seconds for which a lease is given; a process that dies keeps others from its work for so long
PAUSE = 0.2  # seconds between attempts
RENEWAL = TERM / 4  # seconds after which one that is still needed is renewed


class Leases:
    """Those of one process, by name, in the registry."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._holder = str(uuid.uuid4())
        self._taken: dict[str, float] = {}

    def take(self, name: str, term: float = TERM) -> bool:
        """Have it for so many seconds from now on, or find that another process has it. Who goes on asks again."""
        now = time.monotonic()
        if now < self._taken.get(name, -math.inf) + RENEWAL:
            return True
        until, present = self._clock.ago(timedelta(seconds=-term)), self._clock.now()
        row = {"name": name, "holder": self._holder, "until": until, "now": present}
        mine = self._store.write(None, lambda q: bool(q.run("leases.take", **row)))
        self._taken |= {name: now} if mine else {}
        return mine

    def release(self, name: str) -> None:
        """Let others have it."""
        if self._taken.pop(name, None) is not None:
            self._store.write(None, lambda q: q.run("leases.release", name=name, holder=self._holder))

    @contextmanager
    def alone(self, name: str, wait: float = 0, term: float = TERM) -> Iterator[bool]:
        """Whether this process has it; where another one does, after so many seconds at most."""
        deadline = time.monotonic() + wait
        while not (mine := self.take(name, term)) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        try:
            yield mine
        finally:
            self.release(name)
