"""Starts threads that end with the process."""

import threading
from collections.abc import Callable

from memoryd.errors import NoThreadError

REFUSED = "can't start new thread"
"""What Python's RuntimeError says where the system allows no more."""


def started(work: Callable[[], object], name: str) -> threading.Thread:
    """Return a thread that has begun to work. Raise NoThreadError."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThreadError from error
    return thread
