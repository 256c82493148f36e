"""A gate around native calls, so that the process does not end during one.

A daemon thread inside onnxruntime cannot return to an interpreter that has ended: the process is aborted (SIGABRT). So
every call of a model passes the gate, and the end of the process waits for those inside.
"""

import atexit
import threading
from types import TracebackType

from memoryd.errors import ModelError

EXIT_PATIENCE = 10.0
"""Maximum seconds that an ending process waits. One chunk takes about .2 s, more only on an overloaded machine."""


class Gate:
    """A context manager around native calls; once closed, entering raises ModelError."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise ModelError("The process is ending; models are not used any more.")
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self, patience: float = EXIT_PATIENCE) -> bool:
        """Close the gate and wait at most `patience` seconds for calls inside; return whether all have ended."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._inside, timeout=patience)


GATE = Gate()
"""The gate of this process."""

atexit.register(GATE.close)
