"""Access to the page: one-time tickets, sessions in a cookie, and checks that requests come from the page itself."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

from starlette.requests import HTTPConnection, Request

from memoryd.core.access.credentials import Credentials
from memoryd.core.access.hashes import hashed
from memoryd.core.access.tokens import EVERYTHING, Grant

TICKET_TIME = 60.0  # seconds in which a ticket can be used, once
IDLE = 12 * 3600.0  # seconds after which an unused session ends
COOKIE = 30 * 24 * 3600  # seconds for which a browser keeps the key; this process decides when a session ends
MOST = 1_000  # sessions; beyond that, the least recently used one ends


@dataclass(frozen=True, slots=True)
class PageSession:
    """One signed-in browser."""

    grant: Grant
    used: float
    """The time of the last use, by the monotonic clock."""


class PageAccess:
    """The tickets and sessions of one process; only their hashes are kept, and a restart ends them all."""

    def __init__(self, credentials: Credentials, clock: Callable[[], float] = time.monotonic) -> None:
        self._credentials = credentials
        self._clock = clock
        self._lock = Lock()
        self._tickets: dict[str, float] = {}
        self._sessions: dict[str, PageSession] = {}

    def ticket(self, seconds: float = TICKET_TIME) -> str:
        """Return a one-time, short-lived key to a session with all rights, for the user who runs this process."""
        made = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            self._tickets = {key: until for key, until in self._tickets.items() if until > now}
            self._tickets[hashed(made)] = now + seconds
        return made

    def enter(self, key: str) -> str | None:
        """Return a new session for a ticket or a token; None if it is neither, or is no longer valid."""
        with self._lock:
            is_ticket = self._tickets.pop(hashed(key), 0.0) > self._clock()
        grant = EVERYTHING if is_ticket else self._credentials.check(key)
        if grant is None:
            return None
        made = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            alive = {one: session for one, session in self._sessions.items() if session.used > now - IDLE}
            while len(alive) >= MOST:
                alive.pop(min(alive, key=lambda one: alive[one].used))
            self._sessions = alive | {hashed(made): PageSession(grant, now)}
        return made

    def grant(self, session: str) -> Grant | None:
        """Return the grant of a session; None if it or its token has expired. Raise StoreError."""
        key, now = hashed(session), self._clock()
        with self._lock:
            found = self._sessions.get(key)
            if found is None or found.used <= now - IDLE:
                self._sessions.pop(key, None)
                return None
            self._sessions[key] = replace(found, used=now)
        if found.grant.principal and not self._credentials.admits(found.grant):
            self.leave(session)
            return None
        return found.grant

    def leave(self, session: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(hashed(session), None)


# requests ------------------------------------------------------------------------------------------------------------


def cookie_of(request: HTTPConnection) -> str:
    """Return the name of the session's cookie; it includes the port, since cookies ignore ports."""
    return f"memoryd_ui_{request.url.port or request.url.scheme}"


def is_own(request: Request) -> bool:
    """Return whether a request can only come from a page of this origin, by Sec-Fetch-Site or else by Origin.

    A page on another port of the same host is `same-site`: it may send the session's cookie, so it is refused.
    """
    if site := request.headers.get("sec-fetch-site"):
        return site == "same-origin"
    return request.headers.get("origin") == origin_of(request)


def is_elsewhere(request: Request) -> bool:
    """Return whether another page loads this one as a script, a frame or an image instead of navigating to it."""
    site, mode = request.headers.get("sec-fetch-site", ""), request.headers.get("sec-fetch-mode", "")
    return site in ("cross-site", "same-site") and mode != "navigate"


def origin_of(request: HTTPConnection) -> str:
    """Return the origin that a request was sent to."""
    return f"{request.url.scheme}://{request.headers.get('host', '')}"
