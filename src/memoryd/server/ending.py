"""End the process of a server within seconds, whatever is running.

A thread inside native code can be neither stopped nor awaited, so the process does not wait for its threads: it exits
once the store is closed and all acknowledged writes are on disk.
"""

import os
import threading
import time

from memoryd.core.engine import Engine

CLOSING = 0.2  # seconds for each part of the background work to stop
STORE = 0.8  # seconds for the store to close; then the process ends anyway, since acknowledged writes are durable


def end_soon(engine: Engine, code: int = 0, *, last_calls: float) -> None:
    """Close the engine after `last_calls` seconds and exit, unless the process has ended by then.

    Return immediately. Further calls have no effect.
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
