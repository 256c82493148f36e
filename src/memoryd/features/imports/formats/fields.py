"""The fields of foreign objects: each as what it should be, or as empty if it is anything else."""

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from memoryd.core.base.clock import moment, timestamp
from memoryd.errors import InvalidInputError

Fields: TypeAlias = dict[str, Any]
"""A foreign object: what it has by name, whatever that is."""
MILLISECONDS = 1e11  # numbers above this are milliseconds since 1970, others are seconds
_SECONDS = re.compile(r"\d{10}(\d{3})?(\.\d+)?")
BETWEEN = "\n\n"
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
"""A time before this is an empty field, or the start of a counter."""

CREATED = (
    *("created_at", "createdAt", "created", "create_time", "created_timestamp"),
    *("timestamp", "ts", "time", "datetime", "datetime_utc", "date"),
)
UPDATED = (
    *("updated_at", "updatedAt", "updated", "update_time"),
    *("modified", "modified_at", "last_modified", "lastModified"),
)
"""What programs call the time at which something began, and that of its last change."""


def text(value: Any, *names: str) -> str:
    """Return a text, or the first one among some fields of an object, without surrounding blanks; '' if it is none."""
    for name in names:
        if found := text(value.get(name)):
            return found
    return value.strip() if isinstance(value, str) else ""


def joined(values: Iterable[Any], between: str = BETWEEN) -> str:
    """Return the non-blank texts among some values as one text."""
    return between.join(filter(None, map(text, values)))


def texts(value: Any) -> tuple[str, ...]:
    """Return the non-blank texts of a list; a single text is taken as a comma-separated list."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(filter(None, map(text, parts))) if isinstance(parts, list | tuple) else ()


def mapping(value: Any) -> Fields:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Fields]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def share(value: Any) -> float:
    """Return a number from 0 to 1, which may be a text; 0.5 for any other value."""
    with suppress(TypeError, ValueError):
        return float(value) if 0 <= float(value) <= 1 and not isinstance(value, bool) else 0.5
    return 0.5


def when(value: Any, *, local: bool = False) -> str:
    """Return a time in the format of the database, from ISO 8601 or seconds or milliseconds since 1970; else ''.

    Text without an offset is UTC, or this machine's time if `local`.
    """
    try:
        if isinstance(value, str) and not _SECONDS.fullmatch(value):
            found = (datetime.fromisoformat(value.strip()) if local else moment(value)).astimezone(UTC)
        else:
            seconds = float(value)
            found = datetime.fromtimestamp(seconds / 1000 if seconds > MILLISECONDS else seconds, UTC)
        return timestamp(found) if found >= EARLIEST else ""
    except (InvalidInputError, TypeError, ValueError, OverflowError, OSError):
        return ""


def first_time(value: Fields, names: Iterable[str] = CREATED) -> str:
    """Return the first time among some fields, by default those that say when something began; '' if there is none."""
    return next(filter(None, (when(value[name]) for name in names if name in value)), "")


def times(value: Fields) -> Fields:
    """Return when something began and was last changed, for the fields of an item, whatever the object calls them."""
    return {"created_at": first_time(value), "updated_at": first_time(value, UPDATED)}


def folder_name(value: Any) -> str:
    """Return the last name of a path of any system."""
    return PurePosixPath(text(value).replace("\\", "/")).name


def tagged(prefix: str, *values: Any) -> tuple[str, ...]:
    """Return the tags `prefix:value` of the values that are texts."""
    return tuple(f"{prefix}:{one}" for one in map(text, values) if one)


def brief(value: str, most: int = 80) -> str:
    """Return the beginning of a text on one line, at most `most` characters."""
    line = " ".join(value[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def digest(*parts: str) -> str:
    """Return an id for an item without one: a hash of its place and text."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
