"""Ways to search a text for secrets: by a pattern, by a token, after a name, or between two marks.

A text is searched as it is and in lower case; both have the same length. Every pattern takes linear time for any text:
it begins with something rare or where a word begins, its quantifiers are bounded or possessive, and a value that was
rejected is not checked again for every name within it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from memoryd.core.security import secret_tokens
from memoryd.core.security import secret_values as values

Spans = Iterator[tuple[int, int]]
Check = Callable[[str], bool]
"""Returns whether the match of a pattern is a secret."""

TRIES = 2  # names within a rejected value that are tried
VALUE = 128  # characters of a value that are checked


@dataclass(frozen=True)
class Text:
    """A text, and the same text in lower case, with the same length."""

    whole: str
    folded: str
    _places: dict[str, list[int]] = field(default_factory=dict)
    _named: dict["Names", list[tuple[int, int]]] = field(default_factory=dict)

    def places(self, stems: Sequence[str]) -> list[int]:
        """Return where any of some words occur in lower case: searching for words is faster than for a pattern."""
        for stem in stems:
            if stem not in self._places:
                found = re.finditer(re.escape(stem), self.folded) if stem in self.folded else ()
                self._places[stem] = [match.start() for match in found]
        if len(stems) == 1:
            return self._places[stems[0]]
        return sorted({place for stem in stems for place in self._places[stem]})

    def named(self, names: "Names") -> list[tuple[int, int]]:
        """Return the spans of some names, cached because several rules need them."""
        if names not in self._named:
            matches = map(partial(re.compile(names.pattern).match, self.folded), self.places(names.stems))
            self._named[names] = [match.span() for match in matches if match]
        return self._named[names]


@dataclass(frozen=True, slots=True)
class Rule:
    """The way to find a kind of secret."""

    kind: str
    needs: tuple[str, ...]
    """Lower-case strings of which a text must contain one; empty if `spans` itself searches for words."""
    spans: Callable[[Text], Spans]


@dataclass(frozen=True, slots=True)
class Names:
    """Names of secrets: the stems with which they begin, and the pattern that is matched there."""

    stems: tuple[str, ...]
    pattern: str


def _compiled(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that compiles a pattern on first use: a process rarely needs every rule."""
    return cache(partial(re.compile, pattern, flags))


def found(
    pattern: str, is_secret: Check = values.is_given, group: int = 1, flags: int = 0, *, folded: bool = False
) -> Callable[[Text], Spans]:
    """Return a search for the matches of a pattern, in which one group is the secret."""
    compiled = _compiled(pattern, flags | re.ASCII)

    def spans(text: Text) -> Spans:
        for match in compiled().finditer(text.folded if folded else text.whole):
            start, end = match.span(group)
            if start >= 0 and is_secret(text.whole[start:end][:VALUE]):
                yield start, end

    return spans


def token(pattern: str) -> Callable[[Text], Spans]:
    """Return a search for the matches of a token's pattern where a token may begin."""
    compiled = _compiled(pattern, re.ASCII)

    def spans(text: Text) -> Spans:
        after = 0
        for match in compiled().finditer(text.whole):
            start, end = match.span()
            begins = start == after or secret_tokens.BEFORE.search(text.whole[max(0, start - 4) : start])
            if begins and not secret_tokens.PLACEHOLDER.search(match[0]):
                yield start, end
                after = end

    return spans


def inside(
    stems: str, cue: str, inner: str, is_secret: Check = values.is_given, flags: int = 0
) -> Callable[[Text], Spans]:
    """Return a search in each match of a cue, which begins with a stem, for `inner`, whose last group is the secret."""
    words, outside, within = stems.split(), _compiled(cue, re.ASCII), _compiled(inner, re.ASCII | flags)

    def spans(text: Text) -> Spans:
        after = 0
        for place in text.places(words):
            if place >= after and (around := outside().match(text.folded, place)):
                after = around.end()
                for match in within().finditer(text.whole, around.start(), after):
                    start, end = match.span(match.lastindex or 0)
                    if is_secret(text.whole[start:end]):
                        yield start, end

    return spans


_NEXT = re.compile(r"&[\w-]+=")
_REST = re.compile(r"[^\s\"'`<>]*")


def trim(value: str) -> str:
    """Return a value without the punctuation of its sentence, or the next parameter of its URL."""
    return _NEXT.split(value, maxsplit=1)[0].rstrip(".,;:([{)]}」』”’")


def named(
    names: Names, following: str, value: str, is_secret: Check, *, trimmed: bool = False
) -> Callable[[Text], Spans]:
    """Return a search for the values after some names and the lower-case text that `following` matches.

    A rejected value may itself contain a name and a value, but only TRIES of them are checked, so that a text that
    consists of names takes no longer than another.
    """
    behind = _compiled(f"(?:{following}){value}")

    def spans(text: Text) -> Spans:
        after = until = tries = 0
        for place, over in text.named(names):
            if place < after or not (match := behind().match(text.folded, over)):
                continue
            start, end = match.span(match.lastindex or 0)
            if start >= until:
                until, tries = end, 0
            given = trim(text.whole[start:end]) if trimmed else text.whole[start:end]
            if is_secret(given) and not values.is_public(text.folded, start):
                after = _rest(text.whole, end) if trimmed and end - start >= VALUE else start + len(given)
                yield start, after
            elif (tries := tries + 1) >= TRIES or not values.is_given(given):
                after = max(until, end)

    return spans


def _rest(text: str, at: int) -> int:
    match = _REST.match(text, at)
    return match.end() if match else at


def between(begin: str, end: str) -> Callable[[Text], Spans]:
    """Return a search from each beginning to its end, or to the end of the text if that is missing."""
    begins, ends = _compiled(begin), _compiled(end)

    def spans(text: Text) -> Spans:
        at = 0
        while opening := begins().search(text.whole, at):
            closing = ends().search(text.whole, opening.end())
            at = closing.end() if closing else len(text.whole)
            yield opening.start(), at

    return spans
