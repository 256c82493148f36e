"""The heaps of glibc's malloc in a server process, which would keep most of the memory that a flood of calls freed."""

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress

M_ARENA_MAX, HEAPS = -8, 2  # glibc's malloc.h; the default is up to eight heaps per core
EVERY = 30.0  # seconds between two looks
WORTH = 1.0  # CPU seconds used since the last look, below which there is nothing to give back


def limit() -> None:
    """Let the threads of this process share two heaps, and return free pages to the system from time to time.

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
