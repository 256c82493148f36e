"""A proxy of a few lines, where neither nginx nor haproxy is at hand: each request goes to the next server in turn."""

import asyncio
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CHUNK = 1 << 16


@contextmanager
def balanced(ports: Sequence[int]) -> Iterator[str]:
    """The URL of a proxy before servers on this machine, in a thread of its own."""
    loop, turn = asyncio.new_event_loop(), itertools.cycle(ports)
    listening = loop.run_until_complete(
        asyncio.start_server(lambda reader, writer: _serve(reader, writer, turn), "127.0.0.1", 0)
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, turn: Iterator[int]) -> None:
    """Pass each request on over a connection of its own, and what comes back until the server closes it."""
    with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            body = await reader.readexactly(_length(head))
            near, far = await asyncio.open_connection("127.0.0.1", next(turn))
            far.write(head + body)
            answer = await near.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if b"content-length:" in answer.lower() or answer.split(b" ", 2)[1] in (b"202", b"204"):
                writer.write(await near.readexactly(_length(answer)))
            else:  # a stream of events, until its end
                while data := await near.read(CHUNK):
                    writer.write(data)
                    await writer.drain()
            far.close()
            await writer.drain()
    writer.close()


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name.strip().lower() == b"content-length"), 0)
