"""What a request brings: its body, limited in size, the address of its sender, and how often one may come."""

import ipaddress
import math
import time

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException
from starlette.requests import Request

from memoryd.server.calls import RETRY

BODY = 64 * 1024  # bytes


def sender_of(request: Request) -> str:
    """Return the address that a rate counts by; for IPv6 the network, since a sender has a whole one."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


class Rate:
    """A rate limit for each sender, in this process. Raise ValueError for a text that is not a rate."""

    def __init__(self, rate: str) -> None:
        self.limit = parse(rate)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def allows(self, sender: str) -> bool:
        """Return whether another request would not be too many."""
        return self._limiter.test(self.limit, sender)

    def hit(self, sender: str) -> int:
        """Count a request; return 0, or the seconds to wait if it is too many."""
        if self._limiter.hit(self.limit, sender):
            return 0
        return max(1, math.ceil(self._limiter.get_window_stats(self.limit, sender).reset_time - time.time()))


class _UnderWay:
    """The bytes of all bodies that are being received, so that many slow senders cannot take all memory."""

    MOST = 256 * 2**20  # 64 of the largest bodies
    size = 0

    def take(self, part: bytes, received: bytearray) -> None:
        """Add a part to what was received. Raise HTTPException if that is too much; up to BODY is always accepted."""
        received += part
        self.size += len(part)
        if self.size > self.MOST and len(received) > BODY:
            text = "Too much is being sent at the moment. Try again later, or send less at once."
            raise HTTPException(503, text, {"Retry-After": str(RETRY)})


_under_way = _UnderWay()


async def body_of(request: Request, most: int = BODY) -> bytes:
    """Return the body of a request.

    Raise HTTPException if it is too long or too much is being received, ClientDisconnect if it is incomplete.
    """
    too_large = HTTPException(413, f"The body is larger than {most} bytes.")
    if int(request.headers.get("content-length") or 0) > most:
        raise too_large
    received = bytearray()
    try:
        async for part in request.stream():
            _under_way.take(part, received)
            if len(received) > most:
                raise too_large
        return bytes(received)
    finally:
        _under_way.size -= len(received)
