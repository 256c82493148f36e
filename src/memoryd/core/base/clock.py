"""The clock. Times are ISO 8601 in UTC, fixed width, with milliseconds and Z, so that they sort as text."""

import threading
from datetime import UTC, date, datetime, time, timedelta

from memoryd.errors import InvalidInputError

FOREVER = "9999-12-31T23:59:59.999Z"
"""The sentinel of an open bound; it sorts after every time."""
ASTRAY = timedelta(days=1)
"""A time further than this in the future came from a clock that was wrong."""


def timestamp(moment: datetime) -> str:
    """Return a moment in the format of the database, e.g. `2026-03-04T05:06:07.089Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def moment(text: str) -> datetime:
    """Parse an ISO 8601 text, as UTC if it has no offset. Raise InvalidInputError."""
    try:
        parsed = datetime.fromisoformat(text.strip().upper())  # RFC 3339 allows t and z
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{text!r} is not an ISO 8601 time such as 2026-03-04T05:06:07Z.") from None


def day(stored: str) -> str:
    """Return the date of a stored time on this machine, as `bound` reads one: a note of 5 June is of 5 June."""
    try:
        return datetime.fromisoformat(stored).astimezone().date().isoformat()
    except (ValueError, OverflowError):
        return stored[:10]


def minute(stored: str) -> str:
    """Return a stored time to the minute on this machine, whose date is that of `day`, with its offset from UTC."""
    try:
        shown = datetime.fromisoformat(stored).astimezone().isoformat(" ", "minutes")
    except (ValueError, OverflowError):
        shown = f"{stored[:16].replace('T', ' ')}Z"
    return shown.replace("+00:00", "Z")


def bound(text: str) -> str:
    """Parse a bound of a span of time, in the format of the database; a date alone is its midnight on this machine.

    Otherwise as `moment`. Raise InvalidInputError.
    """
    try:
        return timestamp(datetime.combine(date.fromisoformat(text.strip()), time.min).astimezone())
    except (ValueError, OverflowError):
        return timestamp(moment(text))


def bounds(after: str | None, before: str | None) -> tuple[str, str]:
    """Return both bounds of a span of time, see `bound`; '' for none. Raise InvalidInputError if it is empty."""
    first, end = bound(after) if after else "", bound(before) if before else ""
    if first and end and first >= end:
        raise InvalidInputError(
            f"after ({after}) is not earlier than before ({before}), so nothing lies between. Swap them, or omit one."
        )
    return first, end


def hours_since(stored: str, now: datetime) -> float:
    """Return the hours from a stored time until now, at least 0."""
    return max(0.0, (now - datetime.fromisoformat(stored)).total_seconds() / 3600)


class Clock:
    """A clock whose times are strictly increasing, so that the order of times is the order of writes.

    If the machine's clock is set back by more than ASTRAY, they follow it; otherwise nothing would expire in time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> str:
        """Return the current time, at least a millisecond after the previous result unless that was astray."""
        with self._lock:
            present, later = datetime.now(UTC), self._last + timedelta(milliseconds=1)
            self._last = present if later - present > ASTRAY else max(present, later)
            return timestamp(self._last)

    def ago(self, past: timedelta) -> str:
        """Return the time `past` before now."""
        return timestamp(moment(self.now()) - past)
