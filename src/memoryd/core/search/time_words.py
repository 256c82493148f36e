"""The times that questions in other languages name, in English words, which `times` reads: a table for each language.

What is not about time stays as it is, so the result is no translation of the question.

A part of time_words.txt begins with the names, as patterns separated by blanks, of the days, the months, the numbers to
twelve and the units, in the order of the English ones below. Then each line has an expression and the English for it.
An expression may have the parts <N>, <UNIT>, <DAY>, <MONTH> and <YEAR>, the last three in English; before <DATE>, an
English date, stands what means a preposition. They are applied in their order.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from memoryd.languages import is_english
from memoryd.text import SIGNS, is_latin, segmented

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBERS = "a two three four five six seven eight nine ten eleven twelve".split()
UNITS = "minute hour day weekend week month year".split()
_DAY, _MONTH, _YEAR = f"(?:{'|'.join(DAYS)})", f"(?:{'|'.join(MONTHS)})", r"(?:19|20)\d\d"
_DATE = rf"(?=(?:\d\d? )?(?:{_DAY}|{_MONTH})\b|{_YEAR}\b|\d\d?\.\d|yesterday|today|last |this |the day)"
_PART = re.compile("<[A-Z]+>")

Names = tuple[tuple[str, str], ...]
"""Patterns of names, and the English names."""


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language speaks of time."""

    latin: bool
    blanks: bool
    """Whether there are blanks between its words, with nothing attached to them that matters here."""
    numbers: Names
    units: Names
    rules: tuple[tuple[re.Pattern[str], str], ...]
    """Expressions, in the order in which they are replaced by English ones."""


def in_english(question: str) -> str:
    """Return a question with what it says about time in English words; an English question as it is.

    The language is the one whose expressions make up the most of it.
    """
    if is_english(question):
        return question
    plain = unicodedata.normalize("NFKC", question)
    latin = is_latin(plain)
    return max((_replaced(one, plain) for one in _languages() if one.latin == latin), key=lambda made: made[1])[0]


def _replaced(language: _Language, text: str) -> tuple[str, int]:
    """Return a text with what it says about time in English words, and how many characters that were."""
    sizes = []

    def expanded(english: str, found: re.Match[str]) -> str:
        sizes.append(len(found[0]))
        return _expanded(language, english, found)

    for pattern, english in language.rules:
        text = pattern.sub(partial(expanded, english), text)
    return text, sum(sizes)


def _expanded(language: _Language, english: str, found: re.Match[str]) -> str:
    """Return the English words for an expression."""
    for name, text in found.groupdict().items():
        if text and name.startswith("N"):
            english = english.replace("<N>", _english_name(text, language.numbers))
        elif text:
            english = english.replace("<UNIT>", _english_name(text, language.units))
    text = found.expand(english) if "\\" in english else english
    return text if language.blanks else f" {text} "


def _english_name(text: str, names: Names) -> str:
    """Return the English name of what one of the patterns matches; a numeral as it is."""
    return next((name for pattern, name in names if re.fullmatch(pattern, text, re.IGNORECASE)), text)


@cache
def _languages() -> list[_Language]:
    parts = Path(__file__).with_suffix(".txt").read_text("utf-8").split("# ")
    return [_language(part.splitlines()[1:]) for part in parts[1:]]


def _language(lines: list[str]) -> _Language:
    days, months, numbers, units = (
        tuple((pattern.replace("_", " "), name) for pattern, name in zip(line.split(), names, strict=True))
        for line, names in zip(lines, (DAYS, MONTHS, NUMBERS, UNITS), strict=False)
    )
    blanks = segmented(lines[0]) == lines[0]
    parts = {
        "<N>": rf"(?P<N>\d{{1,3}}|{_any(numbers)})",
        "<UNIT>": f"(?P<UNIT>{_any(units)})",
        "<DAY>": _DAY,
        "<MONTH>": _MONTH,
        "<YEAR>": _YEAR,
        "<DATE>": _DATE,
    }
    expressions = [line.split(" = ") for line in lines[4:] if line]
    rules = [*days, *months, *((pattern, english) for pattern, english in expressions)]
    return _Language(
        is_latin(days[0][0]),
        blanks,
        numbers,
        units,
        tuple((_compiled(one, parts, blanks=blanks), _ended(one, to)) for one, to in rules),
    )


def _ended(pattern: str, english: str) -> str:
    return f"{english} " if pattern.endswith("<DATE>") else english


def _any(names: Names) -> str:
    return "|".join(pattern for pattern, _ in reversed(names))  # of two, the longer one is later: `ten` and `tenth`


def _compiled(pattern: str, parts: dict[str, str], *, blanks: bool) -> re.Pattern[str]:
    """Return the pattern of an expression, with each of its parts as a group of its own name."""
    for place, part in enumerate(_PART.findall(pattern)):
        pattern = pattern.replace(part, re.sub(r"^\(\?P<\w+", rf"\g<0>{place}", parts[part]), 1)
    begin, end = (r"(?<!\w)", "" if pattern.endswith(_DATE) else rf"(?![\w{SIGNS}])") if blanks else ("", "")
    return re.compile(f"{begin}(?:{pattern}){end}", re.IGNORECASE)
