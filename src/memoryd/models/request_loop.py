"""An event loop in its own thread, whose requests are cancelled when they are late."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from memoryd.daemon import started

T = TypeVar("T")


class RequestLoop:
    """Runs requests for threads that wait for them.

    The time-outs of the HTTP client do not limit a whole request: they restart with each byte and each attempt, and do
    not cover the look-up of the host name or the answers of a SOCKS proxy.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = started(self._run, name)

    def _run(self) -> None:
        self._loop.run_forever()
        if left := asyncio.all_tasks(self._loop):
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def result(self, request: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return the result of a request. If that takes longer, or this is closed, cancel it and raise TimeoutError."""
        future = asyncio.run_coroutine_threadsafe(request, self._loop)
        try:
            return future.result(seconds)
        except CancelledError as error:
            raise TimeoutError from error
        finally:
            future.cancel()

    def close(self) -> None:
        """Cancel the running requests, and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
