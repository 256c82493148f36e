"""Tells whether a text is English: by its script, then by its function words, then by frequent English words.

In doubt a text is not English, if the multilingual model is there: it reads English too. But what is not surely in
another language is no reason to fetch or load it: such as `TCP 4370`.
"""

import math
import re
from functools import cache, lru_cache
from importlib.resources import files

from memoryd.text import STOP_WORDS, content_words, is_latin, within_names

READ = 1_000
"""Characters of a text that are looked at, from its beginning."""

SHARED = frozenset("on no me at an so in is was am or as do he i a to we be his her has more hat war d s t m".split())
"""Function words of English, or ends of them, that are also words elsewhere, which tell nothing alone."""

FOREIGN = frozenset(files("memoryd").joinpath("foreign_words.txt").read_text("utf-8").split()) - STOP_WORDS - SHARED
"""Function words of other languages, without those that are English words, too."""

FOREIGN_WORD = -2.0
"""What a word of another language, or with a letter that English has not, speaks against English."""

ENGLISH_WORD = 1.0
"""What a frequent word of English speaks for it."""

_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[\w./+-]*\d[\w./+-]*")
"""What has a digit, whose letters are no words: `NE65`, `HL-L2350DW`, `14ce5f59`."""
_ENDINGS = re.compile("(?:'s|s|es|ed|d|ing|ly|er)$")


def is_english(text: str) -> bool:
    """Return whether a text is English, or has no word at all."""
    return _english(text[:READ]) > 0


def is_surely_english(text: str) -> bool:
    """Return whether a text is English by a frequent word at least; `Jonas benutzt Vim` has no more than names."""
    return _english(text[:READ]) >= ENGLISH_WORD


def is_foreign(text: str) -> bool:
    """Return whether a text is surely in another language."""
    return _english(text[:READ]) <= FOREIGN_WORD


def asked_words(question: str) -> list[str]:
    """Return the content words of a question; of one that is not English without the function words of others."""
    found = content_words(question)
    return found if is_english(question) else [word for word in found if word not in FOREIGN] or found


@lru_cache(maxsize=4_096)  # questions are asked about the same records
def _english(read: str) -> float:
    """Return how much what is read of a text speaks for English, or below 0 against it."""
    if not is_latin(read):
        return -math.inf
    words = _WORD.findall(_CODE.sub(" ", " ".join([read, *within_names(read)])))
    found = sum(_evidence(word.lower()) for word in words)
    return found if found or not all(map(str.isupper, words)) else math.inf  # `TCP 4370` has no word


def _evidence(word: str) -> float:
    """Return how much a word speaks for English, or below 0 against it."""
    if word in FOREIGN:
        return FOREIGN_WORD
    if word in STOP_WORDS:
        return 0.2 if word in SHARED else 2.0
    if not word.isascii():
        return FOREIGN_WORD
    if word in _frequent() or _ENDINGS.sub("", word) in _frequent() or _ENDINGS.sub("e", word) in _frequent():
        return ENGLISH_WORD
    return -0.3 if len(word) > 3 else 0.0


@cache
def _frequent() -> frozenset[str]:
    return frozenset(files("memoryd").joinpath("english_words.txt").read_text("ascii").split())
