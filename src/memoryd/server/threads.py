"""The worker threads of a server, which its clients use in turn, so that a flood of calls does not starve others.

Writers never get all threads: they may all wait for the same thing, a lock or a standby, while reads continue.
"""

import time
from collections import deque
from types import TracebackType
from typing import Self

import anyio

THREADS = 16  # concurrent calls; each blocks a thread
LASTING = 4  # concurrent calls without a time limit, such as exports; they have their own threads
WRITERS = 3, 4  # the fraction of all threads, and of a client's threads, that writers may have
RECENT = 8  # the pace of a queue is an average over about this many calls


def of_writers(threads: int) -> int:
    """Return how many of a number of threads writers may have."""
    part, whole = WRITERS
    return max(threads * part // whole, 1)


class Threads:
    """Threads for the calls of several clients."""

    def __init__(self, number: int) -> None:
        self.free, self.free_for_writers = number, of_writers(number)
        self._begun = 0
        self._shares: set[ThreadShare] = set()
        """The shares with waiting calls."""

    def wait(self, share: "ThreadShare") -> None:
        """Note that a call of a share is waiting, and let it begin if possible."""
        self._shares.add(share)
        self.begin()

    def begin(self) -> None:
        """Let calls begin: first from the share with the fewest running calls, then from the one served longest ago."""
        while self.free and (able := [share for share in self._shares if share.next]):
            share = min(able, key=lambda one: (one.running, one.served))
            self._begun += 1
            share.begin(self._begun)
        self._shares = {share for share in self._shares if share.waiting}


class Lane:
    """The calls of a client that wait for a thread: either its reads or its writes."""

    def __init__(self, share: "ThreadShare", *, writing: bool) -> None:
        self.writing = writing
        self.running = 0
        self._share = share
        self._waiting: deque[tuple[float, anyio.Event]] = deque()
        self._pace = self._moved = 0.0

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return len(self._waiting)

    @property
    def since(self) -> float:
        """The time when the call that has waited longest began to wait."""
        return self._waiting[0][0]

    @property
    def delay(self) -> float:
        """The seconds that another call is expected to wait, by the pace of the queue; 0 if nothing waits.

        A stalled queue counts only for as long as it has stalled: one slow call says little about the others.
        """
        return max(self.waiting * self._pace, time.monotonic() - self._moved) if self.waiting else 0.0

    def begin(self) -> None:
        """Let the call that has waited longest begin."""
        now = time.monotonic()
        self._pace += (now - self._moved - self._pace) / RECENT
        self._moved = now
        self.running += 1
        self._waiting.popleft()[1].set()

    async def __aenter__(self) -> Self:
        now = time.monotonic()
        if not self._waiting:
            self._moved = now
        turn = now, anyio.Event()
        self._waiting.append(turn)
        self._share.threads.wait(self._share)
        if turn[1].is_set():  # waiting for it anyway would take another turn of the event loop
            return self
        try:
            await turn[1].wait()
        except anyio.get_cancelled_exc_class():
            if turn[1].is_set():
                self._leave()
            else:
                self._waiting.remove(turn)
            raise
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self.running -= 1
        self._share.leave(self)


class ThreadShare:
    """At most `most` threads at a time for one client: `async with` one of its lanes waits for one, and holds it."""

    def __init__(self, threads: Threads, most: int) -> None:
        self.served = 0
        self.reads, self.writes = Lane(self, writing=False), Lane(self, writing=True)
        self.threads, self._most = threads, most

    @property
    def running(self) -> int:
        """The number of calls that have a thread."""
        return self.reads.running + self.writes.running

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return self.reads.waiting + self.writes.waiting

    @property
    def next(self) -> Lane | None:
        """The lane whose call may begin next, or None."""
        if self.running >= self._most:
            return None
        writers = self.threads.free_for_writers and self.writes.running < of_writers(self._most)
        lanes = [lane for lane in (self.reads, self.writes) if lane.waiting and (writers or not lane.writing)]
        return min(lanes, key=lambda lane: lane.since, default=None)

    def begin(self, number: int) -> None:
        """Let the next call begin, and give it this number."""
        lane = self.next
        assert lane, "called only on a share with a next call"
        self.served = number
        self.threads.free -= 1
        self.threads.free_for_writers -= lane.writing
        lane.begin()

    def leave(self, lane: Lane) -> None:
        """Note that a call has ended, and let another one begin."""
        self.threads.free += 1
        self.threads.free_for_writers += lane.writing
        self.threads.begin()


class ThreadPools:
    """The threads of a process: many for calls, a few for lasting ones."""

    def __init__(self) -> None:
        self.calls, self.lasting = Threads(THREADS), Threads(LASTING)
