"""A rule: the pattern of a kind of secret, and the search for it.

A text is searched as it is or in lower case; both have the same length. The steps that a pattern may take from one
place are bounded, so the time for any text is linear in its length.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from memoryd.core.security import secret_values as values

Check = Callable[[str], bool]
"""Returns whether the match of a pattern is a secret."""

CHECKED = 400  # characters of a value that are checked: more only take time
_BEFORE = re.compile(r"(?:^|[^A-Za-z0-9_-]|\\[nrt]|%[0-9A-F][0-9A-F]|/bot)\Z")
"""The text before a token: no letter that could belong to it, except an escape (`\n`, `%3D`) or Telegram's `bot`."""
_NEXT = re.compile(r"&[\w-]+=")


@dataclass(frozen=True, slots=True)
class Text:
    """A text, and the same text in lower case, with the same length."""

    whole: str
    folded: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The way to find a kind of secret."""

    kind: str
    needs: tuple[str, ...]
    """Lower-case strings of which a text must contain one; with none, every text is searched."""
    pattern: str
    """The last group that takes part is the secret; without a group, it is the whole match."""
    is_secret: Check = values.is_given
    folded: bool = False
    """Whether the pattern is for lower case."""
    is_token: bool = False
    """Whether the match must begin where a token may begin."""

    def spans(self, text: Text) -> Iterator[tuple[int, int]]:
        """Yield the spans of such secrets. A value that is rejected is searched itself."""
        searched, at = text.folded if self.folded else text.whole, 0
        while match := _compiled(self.pattern).search(searched, at):
            start, end = match.span(match.lastindex or 0)
            value = trimmed(text.whole[start:end]) if self.folded else text.whole[start:end]
            at = match.end() if self.is_token else max(start, match.start() + 1)
            begins = not self.is_token or _BEFORE.search(text.whole[max(0, start - 4) : start])
            if begins and self.is_secret(value[:CHECKED]):
                at = start + len(value)
                yield start, at


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled on first use: a process rarely needs every rule."""
    return re.compile(pattern)


def trimmed(value: str) -> str:
    """Return a value without the punctuation of its sentence, or the next parameter of its URL."""
    return _NEXT.split(value, maxsplit=1)[0].rstrip(".,;:([{)]}」』”’")
