"""Ways to look for secrets in a text: a pattern, a token, what stands after a name, or between two marks.

A text is looked at as it is and in small letters; both have equal lengths. Every pattern takes linear time, whatever
the text: it begins with what is rare or where a word begins, its quantifiers are bounded or possessive, and a value
that was looked at in vain is not looked at again for each name within it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from memoryd.core.security import secret_tokens
from memoryd.core.security import secret_values as values

Spans = Iterator[tuple[int, int]]
Check = Callable[[str], bool]
"""Whether what a pattern has found is a secret."""

TRIES = 2  # names within a value that is none, each of which is looked at
VALUE = 128  # characters of a value that are looked at


@dataclass(frozen=True)
class Text:
    """A text, and the same in small letters, as long."""

    whole: str
    folded: str
    _places: dict[str, list[int]] = field(default_factory=dict)
    _named: dict["Names", list[tuple[int, int]]] = field(default_factory=dict)

    def places(self, stems: Sequence[str]) -> list[int]:
        """Where one of some words stands in small letters: a search for a word is faster than one for a pattern."""
        for stem in stems:
            if stem not in self._places:
                found = re.finditer(re.escape(stem), self.folded) if stem in self.folded else ()
                self._places[stem] = [match.start() for match in found]
        if len(stems) == 1:
            return self._places[stems[0]]
        return sorted({place for stem in stems for place in self._places[stem]})

    def named(self, names: "Names") -> list[tuple[int, int]]:
        """Where some names begin and end, which several rules ask for."""
        if names not in self._named:
            matches = map(partial(re.compile(names.pattern).match, self.folded), self.places(names.stems))
            self._named[names] = [match.span() for match in matches if match]
        return self._named[names]


@dataclass(frozen=True, slots=True)
class Rule:
    """How a kind of secret is found."""

    kind: str
    needs: tuple[str, ...]
    """What a text must hold for this, one of them, in small letters; nothing where `spans` looks for words itself."""
    spans: Callable[[Text], Spans]


@dataclass(frozen=True, slots=True)
class Names:
    """What secrets are called: the words that these names hold, and what is looked for where one of them begins."""

    stems: tuple[str, ...]
    pattern: str


def _compiled(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return what compiles a pattern when it is first needed: a process seldom meets a text for each rule."""
    return cache(partial(re.compile, pattern, flags))


def found(
    pattern: str, is_secret: Check = values.is_given, group: int = 1, flags: int = 0, *, folded: bool = False
) -> Callable[[Text], Spans]:
    """Each match of a pattern, of which a group is the secret."""
    compiled = _compiled(pattern, flags | re.ASCII)

    def spans(text: Text) -> Spans:
        for match in compiled().finditer(text.folded if folded else text.whole):
            start, end = match.span(group)
            if start >= 0 and is_secret(text.whole[start:end][:VALUE]):
                yield start, end

    return spans


def token(pattern: str) -> Callable[[Text], Spans]:
    """Each match of the pattern of a token that begins where a token may begin."""
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
    """After each cue, which begins with a stem, the matches of another pattern, whose last group is the secret."""
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
    """A value without the marks of the sentence that it ends, or the next parameter of its URL."""
    return _NEXT.split(value, maxsplit=1)[0].rstrip(".,;:([{)]}」』”’")


def named(
    names: Names, following: str, value: str, is_secret: Check, *, trimmed: bool = False
) -> Callable[[Text], Spans]:
    """The values after some names and what follows these, in small letters.

    A value that is none may hold a name and a value; but only some of these are looked at, so that a text of names
    alone takes no longer than another.
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
    """From a beginning to its end, or to that of the text where it is missing."""
    begins, ends = _compiled(begin), _compiled(end)

    def spans(text: Text) -> Spans:
        at = 0
        while there := begins().search(text.whole, at):
            over = ends().search(text.whole, there.end())
            at = over.end() if over else len(text.whole)
            yield there.start(), at

    return spans
