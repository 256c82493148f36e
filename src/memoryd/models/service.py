"""Requests to a model behind HTTP, as JSON: whatever the service does, each ends in time.

The time-outs of an HTTP client do not limit a whole request: they restart with each byte, and do not cover the look-up
of the host name or the answers of a SOCKS proxy. So requests run in an event loop, where a late one is cancelled.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2

from memoryd.daemon import started
from memoryd.origin import address
from memoryd.proxies import reaching

T = TypeVar("T")

RETRIED = frozenset({408, 409, 429})  # and 5xx: the next request may be answered
PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds before it, and the maximum that a service may name
MARGIN = 1.0  # seconds beyond the time limits of single requests, whose messages are more specific


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """The status of an answer, and its JSON."""

    status: int
    body: Any
    """None for anything but JSON."""
    pause: float | None = None
    """The seconds after which to ask again; None if that is of no use."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The body, if it is an object."""
        return self.body if isinstance(self.body, dict) else {}

    @property
    def cause(self) -> str:
        """The reason for a refusal, as the service states it."""
        error = self.fields.get("error")
        stated = error.get("message") if isinstance(error, dict) else error or self.fields.get("message")
        return f"status {self.status}: {str(stated or 'no reason given')[:300]}"


class ModelService:
    """One address, with the connections to it. Safe to use from several threads."""

    def __init__(self, url: str, name: str, *, key: str | None = None, connect: float | None = None) -> None:
        """`connect` is the time limit for a connection; None for that of the whole request."""
        self.place = address(url)
        self._url = url.rstrip("/")
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else None,
            follow_redirects=True,
            timeout=httpx2.Timeout(None, connect=connect),
            **reaching(url),
        )
        self._loop = asyncio.new_event_loop()
        self._thread = started(self._run, f"memoryd-{name}")

    def _run(self) -> None:
        self._loop.run_forever()
        if left := asyncio.all_tasks(self._loop):
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def post(self, path: str, body: object, seconds: float, *, retries: int = 0, total: float = 0.0) -> ServiceAnswer:
        """Return the answer to a request: within `seconds`, and with all retries within `total`, if that is given.

        Raise TimeoutError if that takes longer or this is closed, httpx2.HTTPError if there is no answer.
        """
        request = self._ask(path, body, seconds, retries)
        return self._result(request, total or (1 + retries) * (seconds + PAUSE) + MARGIN)

    def close(self) -> None:
        """Cancel the running requests, close the connections, and end the thread."""
        with suppress(TimeoutError):
            self._result(self._client.aclose(), MARGIN)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _result(self, request: Coroutine[Any, Any, T], seconds: float) -> T:
        future = asyncio.run_coroutine_threadsafe(request, self._loop)
        try:
            return future.result(seconds)
        except CancelledError as error:
            raise TimeoutError from error
        finally:
            future.cancel()

    async def _ask(self, path: str, body: object, seconds: float, retries: int) -> ServiceAnswer:
        while True:
            try:
                async with asyncio.timeout(seconds):
                    answer = _read(await self._client.post(self._url + path, json=body))
            except (TimeoutError, httpx2.TransportError):
                if not retries:
                    raise
                pause = PAUSE
            else:
                if not retries or answer.pause is None:
                    return answer
                pause = answer.pause
            retries -= 1
            await asyncio.sleep(pause)


def why(error: BaseException) -> str:
    """Return the first cause of a failed request: `Connection refused` rather than `All connection attempts failed`."""
    while before := error.__cause__ or error.__context__:
        error = before.exceptions[0] if isinstance(before, BaseExceptionGroup) else before  # one for each address
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__


def _read(answer: httpx2.Response) -> ServiceAnswer:
    try:
        body = answer.json()
    except ValueError:
        body = None
    again = answer.status_code in RETRIED or answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR
    return ServiceAnswer(answer.status_code, body, _pause(answer.headers.get("retry-after", "")) if again else None)


def _pause(named: str) -> float:
    return float(named) if named.isdecimal() and float(named) <= LONGEST_PAUSE else PAUSE
