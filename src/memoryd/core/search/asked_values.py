"""The value that a question asks for: a newer text that states none of its kind leaves the older answer as it is.

One that states another value of that kind, about the same matter, answers in its place.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from memoryd.core.search.compared import ComparedText, alike, choosing, same_kind, stem_of
from memoryd.core.search.contrasts import begins_with_name, first_stem, names
from memoryd.text import STOP_WORDS

_WHO = re.compile(r"(?:\w+ )?(?:who|whom|whose)\b", re.IGNORECASE)
_ONE_OF = r"(?:\b(?:the|our|my|your|his|her|its|their)|['’]s)"
_OFFICE = re.compile(
    r"\b(?:elected|appointed|named|made|chosen|became|took over as|takes over as|sworn in as)"
    r"(?: as)?(?: (?:the|our|a|an|new|next))* ([a-z]+)\b(?! of\b)"
)
_PERSON = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|[Nn]o ?body|[Nn]o one|[Ss]ome(?:body|one)|[Ee]very(?:body|one))\b")
_TIME = r"""\b(?:noon|midnight|half\ past|quarter|o'clock
    |at\ (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)
    |today|tomorrow|tonight|next|mornings?|afternoons?|evenings?|nights?|weekends?|daily|nightly|weekly|monthly|yearly
    |every|each|once|twice|january|february|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber
    |spring|summer|autumn|winter|earlier|later|(?:beginning|end)\ of)\b"""
_ASKED = tuple(
    (re.compile(question, re.IGNORECASE), kinds, re.compile(in_words, re.IGNORECASE | re.VERBOSE))
    for question, kinds, in_words in (
        (
            r"\b(?:when|(?:what|which) (?:time|hours?|days?|dates?|months?|weeks?)|how often|deadline)\b",
            ("time", "date", "weekday", "duration"),
            _TIME,
        ),
        (
            r"\b(?:how much|costs?|prices?|pays?|paid|fees?|rents?|salary|budget|charges?)\b",
            ("amount",),
            r"\b(?:free|nothing|included|half|double|twice|\d+)\b",
        ),
    )
)
"""Questions, the kinds of values of which an answer has one, and words that may stand for such a value."""
_OFTEN = re.compile(r"\bhow often\b", re.IGNORECASE)
_FREQUENCY = re.compile(
    r"\b(?:every|each|once|twice|never|always|times|per|an?\ (?:day|week|month|year)|\w+days"
    r"|hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually|mornings|afternoons|evenings|nights)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_SAME_SENTENCE = 0.5
_NUMBER = re.compile(r"(?<![\w.,:/€$£-])(\d+(?:[.,]\d+)*)(?![\w:%/])(?: ?(\w+))?")


def has_asked_value(asked: ComparedText, old: ComparedText, new: ComparedText, common: Collection[str]) -> bool:
    """Return whether `When ...?` or `How much ...?` has an answer in both texts, and another one in the newer.

    Both have a word of the question that is neither a name nor `common`, nor says which one is meant.
    """
    asks = (kinds for question, kinds, _ in _ASKED if question.search(asked.text))
    shared = asked.telling & old.telling & new.telling
    if not shared or _infrequent(asked, new) or not same_kind(old, new, next(asks, ())):
        return False
    return bool(shared - frozenset(common).union(choosing(), *map(names, (asked, old, new))))


def takes_office(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text says who came into the office of `Who is the ...?`, of which there is one."""
    if not _WHO.match(asked.text):
        return False
    known, texts = asked.content & old.content, f"{asked.text} {old.text}"
    return any(
        stem_of(office) in known and re.search(rf"{_ONE_OF} {office}\b", texts, re.IGNORECASE)
        for office in _OFFICE.findall(new.text)
    )


def lacks_asked_value(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the older text has a value of the kind that is asked for, and the newer one no other.

    To `Who is ...?` that is a name, to `When ...?` a time like the older one: a date for a date, an hour for an hour.
    To another question it is a number, if one belongs to a word of the question in the older text (`port 9443`). Words
    of a change may do without a value (`was put off`), except if a name is asked for; and a sentence that is nearly the
    same has something in its place.
    """
    return _lacks(asked, old, new) and not alike(old, new, _SAME_SENTENCE)  # in this order: to align texts costs most


def _lacks(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return what `lacks_asked_value` does, whatever the two sentences have in common."""
    if _WHO.match(asked.text):
        known = asked.content if new.changes else asked.content | old.content
        in_other_words = bool(_PERSON.search(new.text)) or new.text.islower()
        return bool(_all_names(old) - asked.content) and not _all_names(new) - known and not in_other_words
    if new.changes:
        return False
    if _infrequent(asked, new):
        return bool(_FREQUENCY.search(old.text))
    for question, kinds, in_words in _ASKED:
        if question.search(asked.text):
            stated = any(kind in old.kinds for kind in kinds)
            return stated and not same_kind(old, new, kinds) and not in_words.search(new.text)
    return any(_numbered(asked, old, new)) and not _plain_numbers(asked, new) - _plain_numbers(asked, old)


def _infrequent(asked: ComparedText, one: ComparedText) -> bool:
    """Return whether a text does not answer `How often`: `for 28 seconds`."""
    return bool(_OFTEN.search(asked.text)) and not _FREQUENCY.search(one.text)


def _all_names(one: ComparedText) -> frozenset[str]:
    """Return the stems of the names in a text, also of the one with which it begins."""
    first = first_stem(one) if begins_with_name(one) else None
    return names(one) | ({first} if first else frozenset())


def _numbered(asked: ComparedText, old: ComparedText, new: ComparedText) -> Iterator[bool]:
    """Yield for each two words of the older text whether they are a number and what the question asks about it.

    The newer text does not speak of that: `on the usual port` may be an answer.
    """
    how_many = bool(_HOW_MANY.search(asked.text))
    for a, b in pairwise(old.stems):
        yield a in asked.content and a not in new.content and b.isdigit() and b not in asked.stems
        yield how_many and a.isdigit() and b in asked.content


def _plain_numbers(asked: ComparedText, one: ComparedText) -> set[str]:
    """Return the numbers in a text without those that have a unit of which the question does not speak: `750 W`."""
    return {
        number
        for number, unit in _NUMBER.findall(one.text)
        if not unit or unit[:1].isupper() or unit.lower() in STOP_WORDS or stem_of(unit) in asked.content
    }
