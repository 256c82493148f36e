"""Queries by words: their syntax, and their translation for SQLite's FTS5 and for Postgres' tsquery."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from memoryd.languages import asked_words
from memoryd.text import (
    SIGNS,
    STOP_WORDS,
    TYPED,
    composed,
    ends_run,
    is_letter,
    respelled,
    within_codes,
    within_names,
    words,
)

SHOUTED = 3  # words in capitals; more than that, two of them adjacent, are a sentence rather than operators
_TOKEN = re.compile(  # a quote after a digit does not open a phrase: it means inches
    r'(?<!\d)"(?P<phrase>[^"]*)"(?P<begins>\*?)|(?P<bracket>[()])'
    rf'|(?P<word>\w+(?:[^\s()"*\w]+\w+)*[{SIGNS}]*)(?P<star>\*?)'
)
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """Adjacent words in order; with `prefix` the last one is the beginning of a word."""

    words: str
    prefix: bool = False

    def matches(self, text: Sequence[str]) -> bool:
        """Return whether these words contain the phrase."""
        *first, last = self.words.split() or [""]
        if not first and not self.prefix:
            return last in text
        ends = (place for place, word in enumerate(text) if word == last or (self.prefix and word.startswith(last)))
        return any(place >= len(first) and list(text[place - len(first) : place]) == first for place in ends)

    def fts5(self) -> str:
        """Return the phrase in FTS5's syntax."""
        return f'"{self.words}"' + ("*" if self.prefix else "")

    def tsquery(self, label: str = "") -> str:
        """Return the phrase in Postgres' syntax; with a `label` it matches only text of that weight."""
        found = filter(None, re.split(rf"(?:[^\w{SIGNS}]|_)+", self.words))
        parts = [f"'{word}'" for word in found] or ["'_'"]  # matches nothing
        ends = f":{'*' if self.prefix else ''}{label}"
        parts[-1:] = [part + ends.removesuffix(":") for part in parts[-1:]]
        return " <-> ".join(parts)

    def terms(self) -> Iterator["Phrase"]:
        """Yield the phrase."""
        yield self


@dataclass(frozen=True, slots=True)
class Joined:
    """Expressions joined by `operator`; NOT means the first one without the second one."""

    operator: Literal["AND", "OR", "NOT"]
    parts: Sequence["Expression"]

    def matches(self, text: Sequence[str]) -> bool:
        """Return whether these words match."""
        found = (part.matches(text) for part in self.parts)
        match self.operator:
            case "AND":
                return all(found)
            case "OR":
                return any(found)
            case "NOT":
                return next(found) and not any(found)

    def fts5(self) -> str:
        """Return the expression in FTS5's syntax."""
        parts = (f"({part.fts5()})" if isinstance(part, Joined) else part.fts5() for part in self.parts)
        return f" {self.operator} ".join(parts)

    def tsquery(self) -> str:
        """Return the expression in Postgres' syntax."""
        return {"AND": " & ", "OR": " | ", "NOT": " & !"}[self.operator].join(
            f"({one.tsquery()})" for one in self.parts
        )

    def terms(self) -> Iterator[Phrase]:
        """Yield the phrases that are not negated, the last one first."""
        for part in reversed(self.parts[:1] if self.operator == "NOT" else self.parts):
            yield from part.terms()


Expression = Phrase | Joined


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A parsed query, to be translated for a text index."""

    expression: Expression
    syntax: bool = False
    """Whether it was written in query syntax."""
    binding: bool = False
    """Whether only matching records may be returned; False for a question that merely contains a quote."""
    every: bool = False
    """Whether a record must have all words although the query has no syntax."""

    def fts5(self) -> str:
        """Return the query for SQLite's FTS5. Every word is quoted, so that no input becomes syntax by accident."""
        return self.expression.fts5()

    def tsquery(self) -> str:
        """Return the query for Postgres' to_tsquery."""
        return self.expression.tsquery()

    def matches(self, text: Sequence[str]) -> bool:
        """Return whether a text of these words matches, without an index and therefore without stemming."""
        return self.expression.matches(text)

    def terms(self) -> list[Phrase]:
        """Return every phrase that is not negated, each once."""
        return list(dict.fromkeys(self.expression.terms()))


def parse_query(text: str) -> WordQuery | None:
    """Parse a query; return None if it has no words. A query that cannot be parsed is taken literally.

    AND, OR, NOT in capitals, "phrases" and prefix* are syntax; with them, brackets group. Without them, and in a
    sentence that is all in capitals, any of the words may match; also in a pasted text of several lines.
    """
    if len(text) > TYPED and "\n" in text:
        return literal_query(text)
    tokens = _tokens(text)
    operators = any(token["bracket"] or token["word"] in _OPERATORS for token in tokens)
    if any(not token["bracket"] and not _is_bare(token) for token in tokens):
        without = [token for token in tokens if not _is_bare(token) or token["word"].casefold() not in STOP_WORDS]
        expression = _Parser(without).parse() or _Parser(tokens).parse()
        if expression is not None:
            return WordQuery(expression, syntax=True, binding=operators or not any(map(_is_bare, tokens)))
    return literal_query(text)


def typed_query(text: str) -> WordQuery | None:
    """Return a query for all words of a text that is still being typed: the last one may be the beginning of a word.

    Query syntax is respected. Return None if the text has no words.
    """
    parsed = parse_query(text)
    if parsed is None or parsed.syntax:
        return parsed
    *whole, last = words(text)
    parts = [Phrase(word) for word in whole if word not in STOP_WORDS]
    return WordQuery(_joined("AND", [*parts, Phrase(last, prefix=text[-1:].isalnum())]), every=True)


def literal_query(text: str) -> WordQuery | None:
    """Return a query for any of the content words of a text, or None if it has no words.

    The words within an identifier are a phrase: `getUserProfile` finds `get_user_profile`, too, and not every user; and
    `NE650AP` finds `NE65 0AP`.
    """
    asked = asked_words(text)
    terms = [[term] for term in asked + respelled(" ".join(asked))]
    terms += [words(parts) for parts in [*within_names(text), *within_codes(asked)]]
    return WordQuery(_joined("OR", list(map(_phrase, terms)))) if terms else None


def _phrase(found: Sequence[str], *, prefix: bool = False) -> Phrase:
    """Return adjacent words as a phrase, which may end within a run of letters: there every letter begins a word."""
    if len(found) > 1 and ends_run(found[-2], found[-1]):
        return Phrase(" ".join(found[:-1]))
    return Phrase(" ".join(found), prefix=prefix or (bool(found) and is_letter(found[-1])))


def _joined(operator: Literal["AND", "OR"], parts: Sequence[Expression]) -> Expression:
    """Return the parts joined, without duplicates, for which an index would search repeatedly."""
    first, *others = {part.fts5(): part for part in parts}.values()
    if not others:
        return first
    begun = first.parts if isinstance(first, Joined) and first.operator == operator else (first,)
    return Joined(operator, (*begun, *others))


def _tokens(text: str) -> list[re.Match[str]]:
    """Return the tokens of a query, without operators and brackets if it is a sentence in capitals."""
    found = [match for match in _TOKEN.finditer(composed(text)) if match["phrase"] is None or words(match["phrase"])]
    bare = [match["word"] for match in found if _is_bare(match)]
    beside = any(_is_bare(one) and _is_bare(other) for one, other in pairwise(found))
    if len(bare) > SHOUTED and beside and "".join(bare).isupper():
        return [match for match in found if not match["bracket"] and match["word"] not in _OPERATORS]
    return found


def _is_bare(token: re.Match[str]) -> bool:
    return bool(token["word"] and not token["star"] and token["word"] not in _OPERATORS)


class _Parser:
    """Recursive descent over FTS5's grammar without columns and NEAR: OR < AND and adjacency < NOT < brackets."""

    DEPTH = 50  # maximum depth of brackets
    NESTED = 30  # maximum depth of FTS5's brackets: its parser takes 100 symbols, and up to three for each level
    PREFIXES = 50  # maximum prefixes: one of a single letter takes 15 ms with 10,000 memories

    def __init__(self, tokens: Sequence[re.Match[str]]) -> None:
        self._tokens = tokens
        self._place = self._depth = 0

    def parse(self) -> Expression | None:
        try:
            expression = self._or()
        except _NotParsedError:
            return None
        written = expression.fts5()
        if self._peek() is not None or _nesting(written) > self.NESTED or written.count('"*') > self.PREFIXES:
            return None
        return expression

    def _peek(self) -> str | None:
        return self._tokens[self._place].group() if self._place < len(self._tokens) else None

    def _take(self, *expected: str) -> bool:
        if self._peek() in expected:
            self._place += 1
            return True
        return False

    def _or(self) -> Expression:
        parts = [self._and()]
        while self._take("OR"):
            parts.append(self._and())
        return _joined("OR", parts)

    def _and(self) -> Expression:
        parts = [self._not()]
        while self._take("AND") or self._peek() not in (None, "OR", ")", "NOT"):
            parts.append(self._not())
        return _joined("AND", parts)

    def _not(self) -> Expression:
        left = self._atom()
        unwanted = []
        while self._take("NOT"):
            unwanted.append(self._atom())
        return Joined("NOT", (left, _joined("OR", unwanted))) if unwanted else left

    def _atom(self) -> Expression:
        if self._take("("):
            self._depth += 1
            if self._depth > self.DEPTH:
                raise _NotParsedError
            inside = self._or()
            if not self._take(")"):
                raise _NotParsedError
            self._depth -= 1
            return inside
        if self._peek() in (None, ")", "AND", "OR", "NOT"):
            raise _NotParsedError
        match = self._tokens[self._place]
        self._place += 1
        inner = words(match["phrase"] if match["phrase"] is not None else match["word"])
        return _phrase(inner, prefix=bool(match["begins"] or match["star"]))


def _nesting(fts5: str) -> int:
    """Return the maximum number of open brackets in a query for FTS5, whose words contain none."""
    return max(accumulate((character == "(") - (character == ")") for character in fts5))


class _NotParsedError(Exception):
    """The text is not valid query syntax."""
