"""How much of an answer fits into the tokens that it may take."""

import sys
from collections.abc import Iterable
from itertools import takewhile
from typing import TypeVar

from memoryd.core.base.results import compact
from memoryd.core.security.prompt_injection import LONGEST_NOTE, suspicious
from memoryd.text import CHARACTERS_PER_TOKEN

FRAME, LIST_FRAME = 160, 60
"""Characters that an answer's JSON has around its lists, or around one: the names of its fields and the figures."""

PartT = TypeVar("PartT")


class Budget:
    """Tokens that an answer may take, as compact JSON with its frame and a note on what it holds; 0 is no limit."""

    def __init__(self, tokens: int, frame: int = FRAME) -> None:
        self._limit = tokens * CHARACTERS_PER_TOKEN if tokens else None
        self._spent = frame
        self._noted = False

    def spend(self, part: object) -> None:
        """Take what a part costs, even if that is more than is left."""
        self._spent += self._cost(part)

    def take(self, part: object, share: float = 1.0, free: int = 0) -> bool:
        """Take what a part costs, if this share of the budget has that much left, and so many characters beside."""
        noted = self._noted
        cost = self._cost(part)
        if self._limit is not None and self._spent + cost + free > share * self._limit:
            self._noted = noted
            return False
        self._spent += cost
        return True

    def beyond(self, share: float) -> float:
        """What share of the whole is spent once a share of the rest is spent too."""
        spent = self._spent / self._limit if self._limit else 0.0
        return spent + share * (1 - spent)

    def fill(self, parts: Iterable[PartT], share: float = 1.0) -> list[PartT]:
        """The first parts, as many as fit."""
        return list(takewhile(lambda part: self.take(part, share), parts))

    def at_most(self, least: object, share: float = 1.0) -> int:
        """How many more parts could fit of which none costs less than `least`: no more than these need to be read."""
        if self._limit is None:
            return sys.maxsize
        return max(0, int(share * self._limit - self._spent) // _characters(least))

    def _cost(self, part: object) -> int:
        """The characters of a part, and of the note that the first part needs that reads like instructions."""
        if self._limit is None or self._noted or not suspicious(part):
            return _characters(part)
        self._noted = True
        return _characters(part) + LONGEST_NOTE


def _characters(part: object) -> int:
    """Return the characters of a part, with what separates it from the next."""
    return len(compact(part)) + 1
