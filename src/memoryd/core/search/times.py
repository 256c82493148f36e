"""The times that questions name, in English: the span of time that one means, and the question without it.

Only what can hardly mean anything else counts. Names of days and months need a preposition, because `may`, `march` and
`sun` are words and names too; numbers count only as dates, as years, and before units of time.
"""

import math
import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cache, lru_cache

from memoryd.core.base.clock import FOREVER, moment, timestamp
from memoryd.core.search import time_words
from memoryd.languages import FOREIGN
from memoryd.text import STOP_WORDS, words

LONGEST = 400  # characters that are read: a longer text is a task or a document, and whatever it names is a detail
FIRST_YEAR = 2000  # a smaller number of four digits is hardly the year of a memory
FAR = 1_000  # units back at most: further back there are no memories, and finally no dates
DAYS = [day.lower() for day in time_words.DAYS]
MONTHS = [month.lower() for month in time_words.MONTHS]
NUMBERS = ["one", *time_words.NUMBERS[1:]]
VAGUE = {"couple": (2, 3), "few": (2, 6), "several": (3, 8)}
"""The least and the greatest number for which such a word stands."""
HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""The hours of the parts of a day; a night lasts until six."""
OF_MONTH = {
    **dict.fromkeys(("early", "beginning", "start"), (0.0, 0.4)),
    **dict.fromkeys(("mid", "middle"), (0.3, 0.7)),
    **dict.fromkeys(("late", "end"), (0.6, 1.0)),
    "first half": (0.0, 0.5),
    "second half": (0.5, 1.0),
}
"""Which part of a month or a year such words name; they overlap, since who asks has not counted the days."""
SHORT = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
ASKING = frozenset(
    """happen happened happening change changed changes new news memory memories note notes noted store stored record
    records recorded learn learned remember remembered recall thing things stuff anything everything something give show
    list tell find get see look summarize summarise summary recap went going know known knew came discuss discussed talk
    talked""".split()
)
"""Words that only ask for memories of a time, besides the stop words."""

Bounds = tuple[datetime | None, datetime | None]
"""The first time of a span and the first one after it, in the zone of the user; None if there is none."""
Closed = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time: `after` belongs to it, `before` does not; both are in the format of the database."""

    after: str
    """'' if the span has no beginning."""
    before: str
    """FOREVER if it has no end."""
    place: tuple[int, int]
    """The characters of the question that name it."""
    alone: bool = False
    """Whether the question asks for nothing but the memories of this time."""

    def share(self, time: str) -> float:
        """Return 1 for a stored time in the span, a half for the day after: what happened is often noted then."""
        if self.after <= time < self.before:
            return 1.0
        return 0.5 if self.before <= time < _day_after(self.before) else 0.0


@lru_cache(maxsize=64)
def _day_after(time: str) -> str:
    """Return the stored time one day after another, of which each record of an answer asks."""
    return FOREVER if time == FOREVER else timestamp(moment(time) + timedelta(days=1))


def named(question: str, now: datetime, after: str = "", before: str = "") -> Span | None:
    """Return the span of time that a question names, see `span`, and whether it asks for nothing else.

    For a search that is limited to what lies between `after` and `before`, return that if nothing else is asked for.
    """
    found = span(time_words.in_english(question), now)
    alone = asks_for_all(remainder(question, found) if found else time_words.in_english(question))
    if after or before:
        return Span(after, before or FOREVER, (0, 0), alone) if alone else None
    return replace(found, alone=alone) if found else None


def span(question: str, now: datetime, zone: tzinfo | None = None) -> Span | None:
    """Return the first span of time that a question names and that has begun, or None.

    It is relative to `now` in a zone; None is the zone of this machine.
    """
    local = now.astimezone(zone).replace(tzinfo=None)
    asked = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), question[:LONGEST])
    ahead = _AHEAD.search(asked) and not _BACK.search(asked)
    for found in _time().finditer(asked):
        bounds = None if ahead and not _CERTAIN.search(found[0]) else _bounds(found, local)
        if bounds is None:
            continue
        after, before = bounds
        begun = after is None or (after <= local and (before is None or after < before))
        if begun:
            return Span(_stored(after, zone) or "", _stored(before, zone) or FOREVER, found.span())
    return None


def without(question: str, found: Span) -> str:
    """Return the question without the words that name a span."""
    begin, end = found.place
    return " ".join([*question[:begin].split(), *question[end:].split()])


def remainder(question: str, found: Span) -> str:
    """Return what a question in any language asks for beside the time that it names."""
    return without(time_words.in_english(question), found)


def asks_for_all(question: str) -> bool:
    """Return whether a question without its time asks for nothing in particular, such as `What happened?`."""
    return all(word in STOP_WORDS or word in ASKING or word in FOREIGN for word in words(question))


def _stored(time: datetime | None, zone: tzinfo | None) -> str | None:
    return timestamp(time.replace(tzinfo=zone) if zone else time.astimezone()) if time else None


# the calendar --------------------------------------------------------------------------------------------------------


def _day(now: datetime, back: int = 0) -> datetime:
    """Return the midnight at which the day so many days back begins."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=back)


def _month(now: datetime, back: int = 0) -> datetime:
    """Return the midnight at which the month so many months back begins."""
    year, month = divmod(12 * now.year + now.month - 1 - back, 12)
    return _day(now.replace(year=year, month=month + 1, day=1))


def _unit(now: datetime, unit: str, back: int) -> Closed:
    """Return the day, week, month, year or weekend so many of them back, as the calendar has them."""
    if unit == "day":
        return _day(now, back), _day(now, back - 1)
    if unit in ("week", "weekend"):
        monday = _day(now, now.weekday() + 7 * back)
        return monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=7)
    if unit == "month":
        return _month(now, back), _month(now, back - 1)
    january = _month(now, now.month - 1 + 12 * back)
    return january, _month(january, -12)


def _numbers(text: str) -> tuple[int, int]:
    """Return the least and the greatest number for which a word or numeral stands."""
    word = text.lower()
    for vague, numbers in VAGUE.items():
        if vague in word:
            return numbers
    number = int(word) if word.isdecimal() else NUMBERS.index(word) + 1 if word in NUMBERS else 1
    return min(number, FAR), min(number, FAR)


def _month_number(name: str) -> int:
    begins = name.lower()[:3]
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(begins))


# what the expressions mean -------------------------------------------------------------------------------------------


def _named_day(found: re.Match[str], now: datetime) -> Bounds:
    back = 2 if found[0].lower().startswith("the") else int(found[0].lower() == "yesterday")
    return _unit(now, "day", back)


def _day_of_week(found: re.Match[str], now: datetime) -> Closed:
    """Return a day of this week or of the last one."""
    monday = _unit(now, "week", int(found["which"].lower() == "last"))[0]
    day = monday + timedelta(days=DAYS.index(found["day"].lower()))
    return day, day + timedelta(days=1)


def _weekdays_ago(found: re.Match[str], now: datetime) -> Bounds:
    """Return such a day so many of them back: of `two Fridays ago` the last one counts, unless that is today."""
    latest = _weekday(found, now)
    least, most = _numbers(found["number"])
    return latest[0] - timedelta(days=7 * (most - 1)), latest[1] - timedelta(days=7 * (least - 1))


def _part_of_day(found: re.Match[str], now: datetime) -> Bounds:
    day = _day(now, int(found["which"].lower() != "this"))
    first, last = HOURS[found["part"].lower()]
    return day + timedelta(hours=first), day + timedelta(hours=last)


def _this_or_last(found: re.Match[str], now: datetime) -> Bounds:
    return _unit(now, found["unit"].lower(), int(found["which"].lower() == "last"))


def _before_last(found: re.Match[str], now: datetime) -> Bounds:
    """Return the day of the week, the week or the month before the last one."""
    if unit := found["unit"]:
        return _unit(now, unit.lower(), 2)
    begin, end = _weekday(found, now)
    return begin - timedelta(days=7), end - timedelta(days=7)


def _of_month(found: re.Match[str], now: datetime) -> Bounds:
    """Return the first or last day or week of a month that has begun: seven days."""
    first, last = _month_of_year(found, now)
    days = timedelta(days=7 if found["unit"].lower() == "week" else 1)
    return (first, first + days) if found["which"].lower() == "first" else (last - days, last)


def _quarter(found: re.Match[str], now: datetime) -> Bounds:
    """Return a quarter of a year, without a year the last one that has begun."""
    number = int(found["quarter"])
    year = int(found["year"] or now.year - (3 * number - 2 > now.month))
    january = _month(now, now.month - 1 + 12 * (now.year - year))
    return _month(january, 3 - 3 * number), _month(january, -3 * number)


def _weekend(_found: re.Match[str], now: datetime) -> Bounds:
    """Return the last weekend that has begun."""
    return _unit(now, "weekend", int(now.weekday() < 5))


def _ago(found: re.Match[str], now: datetime) -> Bounds:
    """Return the day, week, month or year so far back; of hours and minutes, half of one more on either side."""
    unit, (least, most) = found["unit"].lower(), _numbers(found["number"])
    if unit in SHORT:
        return now - (most + 0.5) * SHORT[unit], now - (least - 0.5) * SHORT[unit]
    return _unit(now, unit, most)[0], _unit(now, unit, least)[1]


def _lately(found: re.Match[str], now: datetime) -> Bounds:
    """Return the time from so many units ago until now: `the past week` is seven days, not a week of the calendar."""
    unit, (_, number) = found["unit"].lower(), _numbers(found["number"])
    if unit in SHORT:
        return now - number * SHORT[unit], None
    if unit in ("day", "week"):
        return _day(now, number * (7 if unit == "week" else 1)), None
    month = _month(now, number * (12 if unit == "year" else 1))
    return month.replace(day=min(now.day, monthrange(month.year, month.month)[1])), None


def _last_fortnight(_found: re.Match[str], now: datetime) -> Bounds:
    return _day(now, 14), None


def _weekday(found: re.Match[str], now: datetime) -> Closed:
    """Return the last such day before today."""
    return _unit(now, "day", (now.weekday() - DAYS.index(found["day"].lower()) - 1) % 7 + 1)


def _month_of_this_or_last(found: re.Match[str], now: datetime) -> Closed:
    """Return a month of this year or of the last one."""
    back = 12 * (found["which"].lower() == "last")
    return _unit(now, "month", now.month - _month_number(found["month"]) + back)


def _month_of_year(found: re.Match[str], now: datetime) -> Closed:
    """Return a month, without a year the last one that has begun; `last July` is over."""
    number, year = _month_number(found["month"]), found["year"]
    back = now.month - number if year else (now.month - number - bool(found["last"])) % 12 + bool(found["last"])
    return _unit(now, "month", back + 12 * (now.year - int(year)) if year else back)


def _year(found: re.Match[str], now: datetime) -> Bounds | None:
    year = int(found["year"])
    return _unit(now, "year", now.year - year) if FIRST_YEAR <= year <= now.year else None


def _date(found: re.Match[str], now: datetime) -> Closed | None:
    """Return a day, without a year the last one that has begun; None if there is no such day."""
    month, day = found["month"], int(found["day"])
    number = int(month) if month.isdecimal() else _month_number(month)
    year = int(found["year"] or now.year - ((number, day) > (now.month, now.day)))
    if not (1 <= number <= 12 and 1 <= day <= monthrange(year, number)[1]):
        return None
    return _unit(now.replace(year=year, month=number, day=day), "day", 0)


def _dates(found: re.Match[str], now: datetime) -> Bounds | None:
    """Return the days from one to another of a month; None if that ends before it begins."""
    last = _date(found, now)
    back = int(found["day"]) - int(found["begin"])
    if last is None or not 0 <= back < int(found["day"]):
        return None
    return last[0] - timedelta(days=back), last[1]


def _day_of_month(found: re.Match[str], now: datetime) -> Bounds | None:
    """Return such a day of this month, or of the one before if this one has not come to it; None if that has none."""
    day = int(found["day"])
    month = _month(now, int(day > now.day))
    if not 1 <= day <= monthrange(month.year, month.month)[1]:
        return None
    return _unit(month.replace(day=day), "day", 0)


# how they are written ------------------------------------------------------------------------------------------------

Meaning = Callable[[re.Match[str], datetime], Bounds | None]
Rules = dict[str, Meaning]
"""Patterns, with the names of PARTS in angle brackets and blanks for any white space, and what they mean."""

_ALL, _SHORT = "|".join(MONTHS), "|".join(month[:3] for month in MONTHS)
PARTS = {
    "N": rf"(?P<number>\d{{1,3}}|{'|'.join(NUMBERS)}|(?:a )?(?:few|couple of|couple)|several|(?<!half )an?)",
    "UNIT": r"(?P<unit>minute|hour|day|week|month|year)s?",
    "WEEKDAY": rf"(?P<day>{'|'.join(DAYS)})(?! (?:morning|afternoon|evening|night)s\b)",
    "ANY_DAY": rf"(?:{'|'.join(DAYS)})",
    "MONTH": rf"(?P<month>{_ALL})(?-i:(?! [A-Z][a-z]))",  # not in `March Networks`
    "MONTH_OF_DATE": rf"(?P<month>{_ALL}|(?:{_SHORT}|sept)\b\.?)",
    # `may` and `march` are words, and `dec` and `oct` functions, unless they are written as names
    "MONTH_AS_NAME": rf"(?P<month>(?-i:March|May|(?:{_SHORT.title()}|Sept)\b\.?)"
    rf"|{'|'.join(month for month in MONTHS if month not in ('march', 'may'))})",
    "NTH": r"(?P<day>\d\d?)(?:st|nd|rd|th)?",
    "BEGIN": r"(?P<begin>\d\d?)(?:st|nd|rd|th)?\s*(?:to|and|until|till|through|-|–)\s*",
    "YEAR": r"(?P<year>(?:19|20)\d\d)",
    "NOT_OF": r"(?! of\b)",  # `the last week of the trip`
    "NOT_SOME": r"(?! ?(?:ms|px|k|[kmgt]i?b)\b| (?!(?:was|is|has|does)\b)[a-z]+s\b)",  # `in 2000 requests`
}

OF_WEEK: Rules = {
    r"<WEEKDAY>,? (?:of )?(?P<which>this|last) week": _day_of_week,
    r"(?:the )?(?P<unit>)<WEEKDAY> before last": _before_last,
}
"""Expressions of a day of the week that are clear by themselves, and more than that day after `on`."""
CLEAR: Rules = OF_WEEK | {
    r"<YEAR>-(?P<month>\d\d)-(?P<day>\d\d)": _date,
    r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.<YEAR>": _date,
    r"(?:between )?<BEGIN><NTH>(?: of)? <MONTH_AS_NAME>(?:,? <YEAR>)?": _dates,
    r"(?:between )?<MONTH_AS_NAME> <BEGIN><NTH>(?:,? <YEAR>)?": _dates,
    r"<NTH>(?: of)? <MONTH_AS_NAME>(?:,? <YEAR>)?": _date,
    r"(?!(?-i:May) \d\d? [a-z])<MONTH_AS_NAME> <NTH>(?:,? <YEAR>)?": _date,  # not `May 3 replicas fail?`
    r"(?P<last>)<MONTH_AS_NAME>(?:,| of)? <YEAR>": _month_of_year,
    r"(?P<last>last) <MONTH>(?P<year>)": _month_of_year,
    r"(?P<which>this|last) week(?:'s| on|,)? <WEEKDAY>": _day_of_week,
    r"(?:last|this past) <WEEKDAY>": _weekday,
    r"<N> (?P<day><ANY_DAY>)s ago": _weekdays_ago,
    r"the (?P<unit>week|weekend|month|year) before last": _before_last,
    r"(?P<which>yesterday|this|last) (?P<part>morning|afternoon|evening|night)": _part_of_day,
    r"the day before yesterday|yesterday|today": _named_day,
    r"<MONTH_AS_NAME>,? (?:of )?(?P<which>this|last) year": _month_of_this_or_last,
    r"(?P<which>this|last) (?P<unit>week|month|year|weekend)<NOT_OF>": _this_or_last,
    r"<N> <UNIT> ago": _ago,
    r"a fortnight ago": lambda _found, now: _unit(now, "week", 2),
    r"the (?P<which>first|last)(?P<last>) (?P<unit>day|week) of <MONTH>(?:(?:,| of)? <YEAR>)?": _of_month,
}
"""Expressions that are clear by themselves."""
LATELY: Rules = {
    r"(?:(?:in|over|within|during|for) )?(?:(?:the|these) )?(?:last|past) <N> <UNIT>": _lately,
    r"(?:in|over|within|during) the (?:last|past) (?P<number>)(?P<unit>hour|day|week|month|year)<NOT_OF>": _lately,
    r"the past (?P<number>)(?P<unit>week|month|year)<NOT_OF>": _lately,
    r"(?:(?:in|over|within|during) )?(?:the|this) (?:last |past )fortnight<NOT_OF>": _last_fortnight,
    r"(?:on|at|over|during) the weekend<NOT_OF>": _weekend,
}
"""Expressions with a preposition of their own."""
ON: Rules = OF_WEEK | {
    r"(?:<ANY_DAY>,? )?(?:the )?<NTH>(?: of)? <MONTH_OF_DATE>(?:,? <YEAR>)?": _date,
    r"(?:<ANY_DAY>,? )?<MONTH_OF_DATE> <NTH>(?:,? <YEAR>)?": _date,
    r"(?:<ANY_DAY>,? )?the (?P<day>\d\d?)(?:st|nd|rd|th)(?=\s*(?:[?!.,;]|$))": _day_of_month,
    r"<WEEKDAY>": _weekday,
}
"""Expressions that are clear after `on`."""
IN: Rules = {
    r"<MONTH>,? (?:of )?(?P<which>this|last) year": _month_of_this_or_last,
    r"(?P<last>)<MONTH>(?:(?:,| of)? <YEAR>)?": _month_of_year,
    r"<YEAR><NOT_SOME>": _year,
    r"Q(?P<quarter>[1-4])(?:(?: of)? <YEAR>)?": _quarter,
}
"""Expressions that are clear after `in`."""
ANY: Rules = CLEAR | ON | IN
STORED = "notes memories entries records decisions anything everything".split()
"""Words after which a time that follows `from` is that of storing: `the rent from July` has another meaning."""

_PART_NAMED = re.compile(rf"\b(?:{'|'.join(OF_MONTH)})\b".replace(" ", r"\s+"), re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_CERTAIN = re.compile(r"\b(?:last|past|this|ago|yesterday|today|(?:19|20)\d\d)\b", re.IGNORECASE)
"""Without one of these, `on Monday` and `in July` are ahead if the question is about plans."""
_AHEAD = re.compile(
    r"\b(?:will|going to|plan(?:s|ned)?|scheduled|due|upcoming|when (?:is|are|do|does))\b", re.IGNORECASE
)
_BACK = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)


@cache
def _time() -> re.Pattern[str]:
    """Return the pattern of every expression; compiling it takes 15 ms, which a start should not."""
    any_, on, in_, lately, clear = ("|".join(map(_unnamed, rules)) for rules in (ANY, ON, IN, LATELY, CLEAR))
    after = "|".join(rf"(?<=\b{word}{verb} )" for word in STORED for verb in ("", " are"))
    return re.compile(
        r"(?<![\w.\-/@#])(?:"
        rf"(?:between|from)\s+(?P<first>{any_})\s+(?:and|to|until|till|through)\s+(?P<last>{any_})"
        rf"|(?P<edge>since|after|before|until|till)\s+(?P<bound>{any_})"
        rf"|on\s+(?P<on>{on})|(?:in|during|(?:beginning|start|middle|end|(?:first|second)\s+half)\s+of|(?:early|late)\s+in)"
        rf"\s+(?:early\s+|late\s+|mid[-\s]*)?(?P<in>{in_})"
        rf"|(?:{after})from\s+(?:early\s+|late\s+|mid[-\s]*)?(?P<from>{on}|{in_})(?!\s+on\b)"
        rf"|(?P<lately>{lately})|(?:(?:from|of|on|in|at|over|during|for)\s+)?(?P<clear>{clear})"
        r")(?:['’]s)?(?![\w@]|[.\-/:'’]\w)",
        re.IGNORECASE,
    )


@cache
def _rules() -> list[tuple[re.Pattern[str], Meaning]]:
    return [(re.compile(_pattern(text), re.IGNORECASE), meaning) for text, meaning in (ANY | LATELY).items()]


def _pattern(text: str) -> str:
    for name, part in PARTS.items():
        text = text.replace(f"<{name}>", part)
    return text.replace(" ", r"\s+").replace(r"(?<!half\s+)", r"(?<!half\s)")


def _unnamed(text: str) -> str:
    """Return a pattern without names of groups, which must not occur twice."""
    return re.sub(r"\(\?P<\w+>", "(?:", _pattern(text))


def _bounds(found: re.Match[str], now: datetime) -> Bounds | None:
    """Return the bounds of an expression, or None if there is no such time."""
    if found["first"]:
        one, other = _meaning(found["first"], now), _meaning(found["last"], now)
        return (one[0], other[1]) if one and other else None
    if in_part := found["in"] or found["from"]:
        return _narrowed(found[0], _meaning(in_part, now))
    if not found["edge"]:
        return _meaning(found["on"] or found["lately"] or found["clear"], now)
    if (bound := _meaning(found["bound"], now)) is None:
        return None
    begin, end = bound
    edges: dict[str, Bounds] = {"since": (begin, None), "after": (end, None), "before": (None, begin)}
    return edges.get(found["edge"].lower(), (None, end))


def _narrowed(text: str, bounds: Bounds | None) -> Bounds | None:
    """Return the part of a month or year that a text names, such as `early October`; without one, all of it."""
    named = _PART_NAMED.search(text)
    if not named or not bounds or not bounds[0] or not bounds[1]:
        return bounds
    begin, days = bounds[0], (bounds[1] - bounds[0]).days
    first, last = OF_MONTH[" ".join(named[0].lower().split())]
    return begin + timedelta(days=int(first * days)), begin + timedelta(days=math.ceil(last * days))


def _meaning(text: str, now: datetime) -> Bounds | None:
    for pattern, meaning in _rules():
        if found := pattern.fullmatch(text):
            return meaning(found, now)
    return None
