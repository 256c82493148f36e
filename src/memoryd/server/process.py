"""The process of a server: how much memory it keeps, and how it ends."""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from memoryd.core.engine import Engine

M_ARENA_MAX, HEAPS = -8, 2  # glibc's malloc.h; the default is up to eight heaps per core
EVERY = 30.0  # seconds between two looks
WORTH = 1.0  # CPU seconds used since the last look, below which there is nothing to give back
CLOSING = 0.2  # seconds for each part of the background work to stop
STORE = 0.8  # seconds for the store to close; then the process ends anyway, since acknowledged writes are durable


def limit_heaps() -> None:
    """Let the threads of this process share two heaps, and return free pages to the system from time to time.

    Otherwise glibc's malloc would keep most of the memory that a flood of calls freed.
    Do nothing if malloc is not glibc's. Existing heaps stay, so call it before threads are started.
    """
    with suppress(OSError, TypeError, AttributeError):
        glibc = ctypes.CDLL(None)
        glibc.mallopt(M_ARENA_MAX, HEAPS)
        threading.Thread(target=_trim, args=(glibc.malloc_trim, EVERY), name="heaps", daemon=True).start()


def _trim(malloc_trim: Callable[[int], int], every: float) -> None:
    """Return free pages, also those between pages in use, which malloc itself never returns."""
    used = time.process_time()
    while True:
        time.sleep(every)
        if time.process_time() - used >= WORTH:
            malloc_trim(0)
            used = time.process_time()


def end_soon(engine: Engine, code: int = 0, *, last_calls: float) -> None:
    """Close the engine after `last_calls` seconds and exit, unless the process has ended by then.

    A thread inside native code can be neither stopped nor awaited, so the process does not wait for its threads: it
    exits once the store is closed and all acknowledged writes are on disk. Return immediately. Further calls have no
    effect.
    """

    def close() -> None:
        time.sleep(last_calls)
        engine.close(CLOSING)
        os._exit(code)

    for work in (
        threading.Timer(last_calls + STORE, os._exit, [code]),
        threading.Thread(target=close, name="memoryd-end"),
    ):
        work.daemon = True
        work.start()
