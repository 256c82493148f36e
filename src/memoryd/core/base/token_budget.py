"""The token budget of an answer."""

import sys
from collections.abc import Iterable
from itertools import takewhile
from typing import TypeVar

from memoryd.core.base.results import compact
from memoryd.core.security.prompt_injection import LONGEST_NOTE, suspicious
from memoryd.text import CHARACTERS_PER_TOKEN, size

FRAME, LIST_FRAME = 160, 60
"""Characters of the JSON around the lists of an answer, or around a single list: field names and figures."""

PartT = TypeVar("PartT")


class Budget:
    """The budget of an answer as compact JSON, with its frame and a note on suspicious texts; 0 tokens: no limit."""

    def __init__(self, tokens: int, frame: int = FRAME) -> None:
        self._limit = tokens * CHARACTERS_PER_TOKEN if tokens else None
        self._spent = frame
        self._noted = False

    def spend(self, part: object) -> None:
        """Add the cost of a part, even if it exceeds the budget."""
        self._spent += self._cost(part)

    def take(self, part: object, share: float = 1.0, free: int = 0) -> bool:
        """Add the cost of a part if it and `free` more characters fit into this share; return whether they do."""
        noted = self._noted
        cost = self._cost(part)
        if self._limit is not None and self._spent + cost + free > share * self._limit:
            self._noted = noted
            return False
        self._spent += cost
        return True

    def beyond(self, share: float, most: float = 1.0) -> float:
        """Return the share of the budget that is spent after spending `share` of what remains up to `most`."""
        spent = self._spent / self._limit if self._limit else 0.0
        return spent + share * (most - spent)

    def fill(self, parts: Iterable[PartT], share: float = 1.0) -> list[PartT]:
        """Return as many of the first parts as fit, and add their cost."""
        return list(takewhile(lambda part: self.take(part, share), parts))

    def at_most(self, least: object, share: float = 1.0) -> int:
        """Return an upper bound for the number of parts that still fit if each costs at least as much as `least`."""
        if self._limit is None:
            return sys.maxsize
        return max(0, int(share * self._limit - self._spent) // _characters(least))

    def _cost(self, part: object) -> int:
        """Return the characters of a part, plus those of the note if it is the first suspicious part."""
        if self._limit is None or self._noted or not suspicious(part):
            return _characters(part)
        self._noted = True
        return _characters(part) + LONGEST_NOTE


def _characters(part: object) -> int:
    """Return the size of a part and its separator in characters of English."""
    return size(compact(part)) + 1
