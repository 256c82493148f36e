"""Starts threads that end with the process."""

import threading
from collections.abc import Callable

from memoryd.errors import NoThreadError

REFUSED = "can't start new thread"
"""The message of Python's RuntimeError if the system allows no more threads."""


def started(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread and return it. Raise NoThreadError."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThreadError from error
    return thread
