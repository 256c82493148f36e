"""Leases: locks with an expiry, for work that only one process may do at a time, across machines."""

import math
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from memoryd.core.base.clock import ASTRAY, FOREVER, Clock
from memoryd.store.base import Queries, Store

TERM = 20.0  # seconds until a lease expires, which is how long others wait after its holder has died
PAUSE = 0.2  # seconds between attempts
RENEWAL = TERM / 4  # seconds after which a lease in use is renewed


class Leases:
    """The named leases that this process holds, kept in the registry."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._holder = str(uuid.uuid4())
        self._taken: dict[str, float] = {}

    def take(self, name: str, term: float = TERM) -> bool:
        """Acquire or renew a lease for `term` seconds; return False if another process holds it."""
        now = time.monotonic()
        if now < self._taken.get(name, -math.inf) + RENEWAL:
            return True
        until, present = self._clock.ago(timedelta(seconds=-term)), self._clock.now()
        astray = self._clock.ago(-ASTRAY)
        row = {"name": name, "holder": self._holder, "until": until, "now": present, "astray": astray}
        taken = self._store.write(None, lambda q: bool(q.changed("leases.take", **row)))
        self._taken |= {name: now} if taken else {}
        return taken

    def seen_before(self, name: str, age: timedelta) -> str | None:
        """Return the time that was noted under a name if it is at least `age` ago, and replace it by the current time.

        Otherwise return None; a missing time, or one from a clock that was wrong, is replaced too.
        """

        def work(queries: Queries) -> str | None:
            now, row = self._clock.now(), queries.one("leases.noted", name=name)
            noted = row["expires_at"] if row else FOREVER
            right = noted <= self._clock.ago(-ASTRAY)
            if right and noted > self._clock.ago(age):
                return None
            queries.run("leases.note", name=name, now=now)
            return noted if right else None

        return self._store.write(None, work)

    def release(self, name: str) -> None:
        """Give up a lease if this process holds it."""
        if self._taken.pop(name, None) is not None:
            self._store.write(None, lambda q: q.run("leases.release", name=name, holder=self._holder))

    @contextmanager
    def alone(self, name: str, wait: float = 0, term: float = TERM) -> Iterator[bool]:
        """Hold a lease during the block; yield whether it was acquired, within `wait` seconds."""
        deadline = time.monotonic() + wait
        while not (taken := self.take(name, term)) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        try:
            yield taken
        finally:
            self.release(name)
