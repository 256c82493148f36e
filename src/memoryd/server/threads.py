"""The worker threads of a server, which its clients get in turn: one that floods does not starve the others."""

from collections import deque
from types import TracebackType
from typing import Self

import anyio

THREADS = 16  # calls that run at the same time; each blocks a thread
LASTING = 4  # calls without a time limit, such as exports, that run at the same time; they have threads of their own


class Threads:
    """Threads for the calls of several clients."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._begun = 0
        self._shares: set[ThreadShare] = set()
        """Those with waiting calls."""

    def share(self, most: int) -> "ThreadShare":
        """Return the share of a client, which has at most `most` threads at a time."""
        return ThreadShare(self, most)

    def wait(self, share: "ThreadShare") -> None:
        """Note that a call of a share waits, and let it begin if it can."""
        self._shares.add(share)
        self._begin()

    def give_back(self) -> None:
        """Note that a thread is free, and let a call begin."""
        self._free += 1
        self._begin()

    def _begin(self) -> None:
        """Let calls begin: first of the share with the fewest running ones, then of the one served longest ago."""
        while self._free and (able := [share for share in self._shares if share.can_begin]):
            share = min(able, key=lambda one: (one.running, one.served))
            self._free -= 1
            self._begun += 1
            share.begin(self._begun)
        self._shares = {share for share in self._shares if share.waiting}


class ThreadShare:
    """The threads of one client. `async with` waits for one of them and has it until the end of the block."""

    def __init__(self, threads: Threads, most: int) -> None:
        self.running = self.served = 0
        self._threads, self._most = threads, most
        self._waiting: deque[anyio.Event] = deque()

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return len(self._waiting)

    @property
    def can_begin(self) -> bool:
        """Whether a call waits that would be within the share."""
        return bool(self._waiting) and self.running < self._most

    def begin(self, number: int) -> None:
        """Let the call that has waited longest begin, as the one with this number."""
        self.running, self.served = self.running + 1, number
        self._waiting.popleft().set()

    async def __aenter__(self) -> Self:
        turn = anyio.Event()
        self._waiting.append(turn)
        self._threads.wait(self)
        try:
            await turn.wait()
        except anyio.get_cancelled_exc_class():
            if turn.is_set():
                self._leave()
            else:
                self._waiting.remove(turn)
            raise
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self.running -= 1
        self._threads.give_back()


class ThreadPools:
    """The threads of a process: many for calls, a few for those that last."""

    def __init__(self) -> None:
        self.calls, self.lasting = Threads(THREADS), Threads(LASTING)
