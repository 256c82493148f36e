"""The one clock. Times are ISO 8601 in UTC, fixed width, with milliseconds and Z, so that they sort as text."""

import threading
from datetime import UTC, datetime, timedelta

from memoryd.errors import InvalidInputError

FOREVER = "9999-12-31T23:59:59.999Z"
"""After every time: the sentinel of an open bound."""


def timestamp(moment: datetime) -> str:
    """A moment as every row keeps it, e.g. `2026-03-04T05:06:07.089Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def moment(text: str) -> datetime:
    """The moment of an ISO 8601 text; without an offset it is UTC. Raises InvalidInputError."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{text!r} is not an ISO 8601 time such as 2026-03-04T05:06:07Z.") from None


def hours_since(stored: str, now: datetime) -> float:
    """The hours from a stored time until now; never negative."""
    return max(0.0, (now - datetime.fromisoformat(stored)).total_seconds() / 3600)


class Clock:
    """Gives each caller a later time than the one before, so that the order of writing is the order of times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> str:
        """The present time, at least a millisecond after the last one given."""
        with self._lock:
            self._last = max(datetime.now(UTC), self._last + timedelta(milliseconds=1))
            return timestamp(self._last)

    def ago(self, past: timedelta) -> str:
        """The time that was so long before now."""
        return timestamp(moment(self.now()) - past)
