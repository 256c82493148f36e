"""News: the changes in a workspace, as a stream of server-sent events."""

import json
import re
from collections.abc import AsyncGenerator, Callable

import anyio
from anyio import CapacityLimiter, to_thread

from memoryd.core.memories import listing
from memoryd.core.scope import Scope
from memoryd.errors import MemorydError

PAUSE = 1.0  # seconds between looks: each is an indexed read of the new events
QUIET = 15  # looks without news after which a comment keeps the connection alive
SHOWN = 100  # ids of one message
NUMBER = re.compile("[0-9]{1,18}")


async def stream(scope: Scope, after: str, ended: Callable[[], bool], threads: CapacityLimiter) -> AsyncGenerator[str]:
    """Yield an event for each look that finds something, until the session or the server ends.

    `after`: the number of the last event that the browser has seen, which it also sends when it reconnects; with any
    other value the news begin now.
    """
    last = int(after) if NUMBER.fullmatch(after) else await to_thread.run_sync(listing.latest, scope, limiter=threads)
    quiet = 0
    yield "retry: 3000\n\n"
    while True:
        await anyio.sleep(PAUSE)
        if await to_thread.run_sync(ended, limiter=threads):
            return
        try:
            news = await to_thread.run_sync(listing.news, scope, last, limiter=threads)
        except MemorydError:  # the next request shows why; the browser reconnects by itself
            return
        last, quiet = news.last, 0 if news.ids else quiet + 1
        if news.ids:
            yield f"id: {last}\ndata: {json.dumps({'ids': news.ids[:SHOWN], 'graph': news.graph})}\n\n"
        elif quiet % QUIET == 0:
            yield ":\n\n"
