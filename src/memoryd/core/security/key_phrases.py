"""Key phrases of wallets: 12 to 24 words from a list of 2,048; the last word contains a checksum (BIP 39)."""

import hashlib
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
def _numbers() -> dict[str, int]:
    return {word: number for number, word in enumerate(Mnemonic("english").wordlist)}


def spans(folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of key phrases in a lower-case text."""
    for run in _RUN.finditer(folded) if _may_hold(folded) else ():
        words = _WORD.finditer(folded, run.start(), run.end())
        places = [(word.start(), word.end(), _numbers().get(word[0])) for word in words]
        for first, after in _listed([number for _, _, number in places]):
            numbers = [number or 0 for _, _, number in places[first:after]]
            cued = _CUE.search(folded, max(0, places[first][0] - BEFORE), places[first][0]) is not None
            if phrase := _phrase(numbers, cued=cued):
                yield places[first + phrase[0]][0], places[first + phrase[1] - 1][1]


def _may_hold(folded: str) -> bool:
    """Return whether twelve adjacent words, apart from commas and numbers, are in the list: faster than a pattern."""
    if folded.count(" ") + folded.count("\n") < min(LENGTHS) - 1:
        return False
    words = [word for word in folded.translate(_NO_MARKS).split() if not word[0].isdigit()]
    return b"\1" * min(LENGTHS) in bytes(map(_numbers().__contains__, words))


def _listed(numbers: list[int | None]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of at least 12 and at most LONGEST adjacent words from the list."""
    first = 0
    for place, number in enumerate([*numbers, None]):
        if number is None:
            if min(LENGTHS) <= place - first <= LONGEST:
                yield first, place
            first = place + 1


def _phrase(numbers: list[int], *, cued: bool) -> tuple[int, int] | None:
    """Return the range of a phrase in a run: all of it after a cue, else its end or beginning if the checksum fits."""
    if cued:
        return 0, len(numbers)
    for length in LENGTHS:
        for first in {len(numbers) - length, 0}:
            if first >= 0 and _checks(numbers[first : first + length], length):
                return first, first + length
    return None


def _checks(numbers: list[int], length: int) -> bool:
    if len(numbers) < length:
        return False
    bits = "".join(f"{number:011b}" for number in numbers)
    at = length * 32 // 3
    entropy = int(bits[:at], 2).to_bytes(at // 8)
    return f"{hashlib.sha256(entropy).digest()[0]:08b}".startswith(bits[at:])
