"""How long the call that a thread works for may still take: what waits without an end in sight looks here."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("end", default=math.inf)


def time_left() -> float:
    """Return the seconds until the caller gets an error; negative afterwards, infinite if there is no limit."""
    return _end.get() - time.monotonic()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the calls inside, also those in threads that get this context."""
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)
