"""Keeps native libraries and the end of the process apart.

A daemon thread that is inside onnxruntime when the interpreter ends cannot come back into it: the process is aborted
(SIGABRT). So whoever calls a model enters here first, and the end waits for those who are inside.
"""

import atexit
import threading
from types import TracebackType

from memoryd.errors import ModelError

EXIT_PATIENCE = 10.0
"""Seconds that an ending process waits at most. One chunk takes about .2 s; only a starved machine needs more."""


class Gate:
    """`with gate:` around a native call. Once closed it lets nobody in: ModelError."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise ModelError("The process is ending; models are not asked any more.")
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self, patience: float = EXIT_PATIENCE) -> bool:
        """Let nobody in any more, and wait at most `patience` seconds for those inside; whether all came out."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._inside, timeout=patience)


GATE = Gate()
"""The one of this process."""

atexit.register(GATE.close)
