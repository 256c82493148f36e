"""Dates as people and their notebooks write them: in properties and in the names of files."""

import re

from memoryd.features.imports.formats.items import when

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_CLOCK = r"(?:\D{0,3}\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\s*(?P<half>[ap]m)?)?"
_DIGITS = r"(?:[T ]?(?P<hours>\d\d)(?P<minutes>\d\d)(?:\d\d)?)?"
_SPELLINGS = tuple(
    re.compile(rf"(?i)\W*(?:{_DAY}\.?,?\s+)?{spelling}(?!\d)(?:,?\s+{_DAY})?{_CLOCK}")
    for spelling in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/._]?)(?P<month>\d\d)(?P=mark)(?P<day>\d\d){_DIGITS}",
        r"(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4})",
        rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?,?\s+(?P<year>\d{{4}})",
    )
)
_AMBIGUOUS = re.compile(r"\W*(0?[1-9]|1[0-2])/(0?[1-9]|1[0-2])/\d{4}")
_NAMED = re.compile(r"\d{4}([-_.]?)\d\d\1\d\d(?:[T _-]?\d{4}(?:\d\d)?)?(?!\w)")


def dated(value: object) -> str:
    """Return a date, perhaps with a time, in the format of the database; '' for anything else, or if it is ambiguous.

    It is a local time, unless it states an offset.
    """
    if known := when(value, local=True):
        return known
    given = value if isinstance(value, str) else ""
    for spelling in () if _AMBIGUOUS.match(given) else _SPELLINGS:
        if found := spelling.match(given):
            parts = found.groupdict()
            month = int(parts.get("month") or _MONTHS.index(parts["name"].casefold()) + 1)
            if "mark" not in parts and "name" not in parts and month > 12:  # month first, as in 03/14/2024
                parts["day"], month = str(month), int(parts["day"])
            hour = int(parts["hour"] or parts.get("hours") or 0) % (12 if parts["half"] else 24)
            hour += 12 * ((parts["half"] or "").casefold() == "pm")
            minute = int(parts["minute"] or parts.get("minutes") or 0)
            day = f"{parts['year']}-{month:02}-{int(parts['day']):02}"
            if known := when(f"{day}T{hour:02}:{minute:02}", local=True):
                return known
    return ""


def date_of_name(stem: str) -> str:
    """Return the date with which the name of a file begins; '' if it begins otherwise."""
    found = _NAMED.match(stem)
    return dated(found[0].replace("_", "-")) if found else ""
