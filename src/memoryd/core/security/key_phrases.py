"""Key phrases of wallets: 12 to 24 words from a list of 2,048; the last word contains a checksum (BIP 39)."""

import re
from collections.abc import Iterator
from functools import cache

from mnemonic import Mnemonic

LENGTHS = (24, 21, 18, 15, 12)  # words in a phrase
LONGEST = 60  # maximum adjacent words from the list: more of them are the list itself
_RUN = re.compile(r"(?<![^\W\d_])[a-z]{3,8}(?![^\W\d_])(?:[\s,]{1,3}(?:\d\d?[.)]?\s)?[a-z]{3,8}(?![^\W\d_])){11,}+")
_WORD = re.compile("[a-z]+")
_NO_MARKS = str.maketrans("", "", "\"'`,.;:")
_CUE = re.compile(r"(?:seed|recovery|backup|mnemonic|wallet|secret|key)[ -]?(?:phrase|words?|seed)|mnemonic|\bseed\b")
BEFORE = 100  # characters before a phrase that are searched for a cue


@cache
def _standard() -> Mnemonic:
    return Mnemonic("english")


@cache
def _list() -> frozenset[str]:
    return frozenset(_standard().wordlist)


def spans(folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of key phrases in a lower-case text."""
    for run in _RUN.finditer(folded) if _may_hold(folded) else ():
        words = list(_WORD.finditer(folded, run.start(), run.end()))
        for first, after in _listed([word[0] in _list() for word in words]):
            start = words[first].start()
            cued = _CUE.search(folded, max(0, start - BEFORE), start) is not None
            if phrase := _phrase([word[0] for word in words[first:after]], cued=cued):
                yield words[first + phrase[0]].start(), words[first + phrase[1] - 1].end()


def _may_hold(folded: str) -> bool:
    """Return whether twelve adjacent words, apart from commas and numbers, are in the list: faster than a pattern."""
    if folded.count(" ") + folded.count("\n") < min(LENGTHS) - 1:
        return False
    words = [word for word in folded.translate(_NO_MARKS).split() if not word[0].isdigit()]
    return b"\1" * min(LENGTHS) in bytes(map(_list().__contains__, words))


def _listed(are: list[bool]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of at least 12 and at most LONGEST adjacent words that are in the list."""
    first = 0
    for place, is_listed in enumerate([*are, False]):
        if not is_listed:
            if min(LENGTHS) <= place - first <= LONGEST:
                yield first, place
            first = place + 1


def _phrase(words: list[str], *, cued: bool) -> tuple[int, int] | None:
    """Return the range of a phrase in a run: all of it after a cue, else its end or beginning if the checksum fits."""
    if cued:
        return 0, len(words)
    for length in (number for number in LENGTHS if number <= len(words)):
        for first in {len(words) - length, 0}:
            if _standard().check(" ".join(words[first : first + length])):
                return first, first + length
    return None
