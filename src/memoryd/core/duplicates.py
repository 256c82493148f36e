"""Whether two memories say the same for certain, without any model: what differs is kept, and what is uncertain too.

Vectors cannot tell. Among texts that are nearly equal, those that state another fact are as close together as those
that state the same: `The train goes from Rome to Milan` has a cosine of .98 with the train back, and `You mustn't` one
of .93 with `You must not` (docs/benchmarks.md). So it is the words that decide: the same ones, in the same order.
"""

import re
from itertools import pairwise

from memoryd.text import STOP_WORDS, fingerprint, plain

_WORD = re.compile(r"[^\W\d_]+")
_EDGES = "\"'`()[]{}“”‘’«».,;:!?…"
_NAMES = STOP_WORDS | {"may"}  # which in capitals are others: US, IT


def key(text: str) -> str:
    """Equal for texts that say the same, and for some that do not: nobody has to compare all with all."""
    return fingerprint(plain(text).lower())


def same(one: str, other: str) -> bool:
    """Whether two texts say the same for certain: in the same words, but for their form.

    Upper and lower case are form where one of the texts makes no use of them.
    """
    if key(one) != key(other):
        return False
    here, there = plain(one), plain(other)
    if fingerprint(here) == fingerprint(there):
        return True
    return (_caseless(here) or _caseless(there)) and not (_needs_case(here) or _needs_case(there))


def _caseless(text: str) -> bool:
    """Whether its case says nothing: all of it in capitals or none, or a capital to each word, as in a title."""
    return text.islower() or text.isupper() or text.istitle()


def _needs_case(text: str) -> bool:
    """Whether it has a word that would be another one in lower case: `-F`, `plan B`, `userId`, `US`, `5 MB`."""
    tokens = [token.strip(_EDGES) for token in text.split()]
    return any(
        _is_particular(token, text) or (token != token.lower() and before[-1:].isdigit())
        for before, token in pairwise(["", *tokens])
    )


def _is_particular(word: str, text: str) -> bool:
    if word == word.lower() or word in ("A", "I"):
        return False
    if len(word) == 1 or not _WORD.fullmatch(word):
        return True
    if _caseless(text):
        return False
    if word.isupper():
        return word.lower() in _NAMES
    return word[1:] != word[1:].lower() or word in ("May", "March", "Will")
