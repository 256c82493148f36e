"""The end of a server's process within seconds of what brings it about, whatever runs.

A thread inside native code can be neither stopped nor waited for, so the process does not wait for its threads: once
the store is closed, and so all that was acknowledged is on the disk, it exits.
"""

import os
import threading
import time

from memoryd.core.engine import Engine

CLOSING = 0.2  # seconds for each part of the background work to come to a stop
STORE = (
    0.8  # seconds for the store to close; after them the process ends all the same: what was acknowledged is durable
)


def end_soon(engine: Engine, code: int = 0, *, last_calls: float) -> None:
    """Close the engine after so many seconds for the last calls, and exit, unless the process has ended by then.

    Returns at once. May be called again: the first one ends the process.
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
