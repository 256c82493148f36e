"""Native calls: a limit on how many run at a time, and a gate around them, so that the process does not end during one.

A daemon thread in onnxruntime cannot return to an interpreter that has ended: the process is aborted (SIGABRT). So
every call of a model passes the gate, and the process waits for the calls inside before it ends.
"""

import atexit
import threading
from collections import deque
from types import TracebackType

from memoryd.errors import ModelError

THREADS = 1
"""Threads of a run: texts are read side by side, so more of them would only take the cores from each other."""

EXIT_PATIENCE = 10.0
"""Maximum seconds that an ending process waits. A chunk takes about .2 s, longer only on an overloaded machine."""


class Gate:
    """A context manager around native calls; once closed, entering raises ModelError."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise ModelError("The process is ending; models can no longer be used.")
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self, patience: float = EXIT_PATIENCE) -> bool:
        """Close the gate and wait at most `patience` seconds for the calls inside; return whether all have ended."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._inside, timeout=patience)


class ModelTurns:
    """A context manager that admits a limited number of threads at a time, in the order of their arrival.

    Each run of a model takes a core and its own memory, which onnxruntime keeps for the next run.
    """

    def __init__(self, number: int) -> None:
        self._lock = threading.Lock()
        self._number = self._free = number
        self._waiting: deque[threading.Event] = deque()

    def allow(self, number: int) -> None:
        """Change the number of threads that are admitted at a time."""
        with self._lock:
            self._free += number - self._number
            self._number = number

    def __enter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._free >= 0 and self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


GATE = Gate()
"""The gate of this process."""

TURNS = ModelTurns(2)
"""The turns of this process's models; each turn is for one text."""

atexit.register(GATE.close)
