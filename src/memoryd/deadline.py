"""The deadline of the call for which a thread is working: code that waits indefinitely checks it."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("end", default=math.inf)


def time_left() -> float:
    """Return the seconds until the caller gets an error; negative afterwards, infinite without a limit."""
    return _end.get() - time.monotonic()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of the calls inside, including those in threads that get this context."""
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)
