"""Pure functions that shorten a text: an excerpt that bears on a question, the beginning.

An excerpt consists of whole units: lines of code, rows of tables, items of lists, and sentences of prose. Code that was
torn inside a line, or a table without its header, would mislead more than help.
"""

import math
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from memoryd.sentences import sentence_spans
from memoryd.text import CHARACTERS_PER_TOKEN, LETTERS, MARKS, SIGNS, estimate_tokens, is_letter, size, speaker, words

GAP = "…"
CHEAP = 4  # the first line stays if it takes at most 1/CHEAP of an excerpt
CORE = 0.5  # a unit is part of the answer if it has this share of the best unit's weight; others may be chance
WRAPPED = 40  # characters: no editor or mail program wraps lines as short as that
_SPLIT_OTHERWISE = re.compile(f"[{SIGNS}{LETTERS}{MARKS}]")  # characters whose words are not parts of the text

# units ---------------------------------------------------------------------------------------------------------------


class _Unit(NamedTuple):
    """A part of a text that is shown whole or not at all."""

    start: int
    end: int
    label: str = ""
    """The name at the beginning of the line, `Anna: `, of a sentence that is not the first in it."""
    needs: tuple[int, ...] = ()
    """The units that are shown with it: the fences around its line, the header above its row."""
    frame: bool = False
    """Whether it is a fence or a header, which are shown only with lines and rows."""


_LINES = re.compile(r"[^\n]+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n`]*)")
_CELL = r"[ \t]*+:?-++:?[ \t]*+"
_LINE = re.compile(
    rf"(?P<rule>[ \t]*+\|?{_CELL}(?:[|+]{_CELL})++\|?[ \t]*\Z)"
    r"|(?P<row>[ \t]*+\|)"
    r"|(?P<item>[ \t]*+(?:[-*+•]|\d{1,3}[.)]|[a-z]\))[ \t]+\S)"
    r"|(?P<indented>[ \t]{2,}+|\t)"
    r"|(?P<line>\#{1,6}[ ]|[>$}\])<@]|//|/\*|[\w\"'][\w.\"'-]*+:[ \t]*\Z|[a-z_\"'][\w.\"'-]*+:[ \t])"
    r"|(?P<prose>)"
)
_CODE = re.compile(  # calls, operators between blanks, tags, `::`, and what ends a line of code
    r"[(=!<>:+&|{};,\\-](?:(?<=\w\()|(?<=[ \t]=)[ \t]|(?<=[ \t][=!<>:+-])=[ \t]|(?<=[ \t][=-])>[ \t]"
    r"|(?<=[ \t]&)&[ \t]|(?<=[ \t]\|)\|[ \t]|(?<=<)/?\w|(?<=:):|(?<=[{};,\\])\s*+\Z)"
)
_HUNK = "@@ "
_DIFF = (" ", "+", "-", "\\", "@")
_TABLE = {"table", "rule", "row"}

Place = tuple[int, int]


def _units(text: str, room: int) -> list[_Unit]:
    """Return the units of a text in order; what is larger than `room` is divided where its kind allows it."""
    lines = [
        (match.start(), match.end() - match[0].endswith("\r")) for match in _LINES.finditer(text) if match[0].strip()
    ]
    kinds = _kinds(text, lines)
    starts = [n for n, kind in enumerate(kinds) if kind not in {"code", "close", "rule", "row", "more", "wrapped"}]
    units: list[_Unit] = []
    for n, following in pairwise([*starts, len(lines)]):
        block = lines[n:following]
        if kinds[n] == "fence":
            units += _fenced(block, len(units), closed=kinds[following - 1] == "close")
        elif kinds[n] == "table":
            units += _table(block, len(units), 2 if kinds[n + 1 : n + 2] == ["rule"] else 1)
        elif kinds[n] == "prose":
            units += _prose(text, block)
        else:
            units += _divided(text, block[0][0], block[-1][1], room)
    return units


def _kinds(text: str, lines: Sequence[Place]) -> list[str]:
    """Return for each line what it is, or that it continues the line before: code, close, rule, row, more, wrapped."""
    kinds: list[str] = []
    fence, diff = "", False
    for n, (start, end) in enumerate(lines):
        mark = _FENCE.match(text, start, end)
        if fence:
            closes = mark and mark[1].startswith(fence) and not mark[2].strip()
            kinds.append("close" if closes else "code")
            fence = "" if closes else fence
        elif mark and mark.end() == end:
            fence = mark[1]
            kinds.append("fence")
        else:
            diff = text.startswith(_HUNK, start) or (diff and text.startswith(_DIFF, start))
            beside = n > 0 and text.count("\n", lines[n - 1][1], start) == 1
            before = text[slice(*lines[n - 1])] if beside else ""
            kinds.append("line" if diff else _kind(text[start:end], before, kinds[-1] if before else ""))
            if kinds[-1] == "rule" and kinds[-2] not in _TABLE:
                kinds[-2] = "table"
    return kinds


def _kind(line: str, before: str, kind: str) -> str:
    """Return what a line is after the line `before` of some kind; '' after a blank line."""
    found = _LINE.match(line)
    own = (found.lastgroup if found else None) or "prose"
    if own == "rule" and "|" in before:
        return "rule" if kind not in {"rule", "row"} else "row"
    if own in {"rule", "row"} or (kind in {"rule", "row"} and "|" in line):
        return "row" if kind in _TABLE else ("table" if own == "row" else "line")
    if own not in {"indented", "prose"} or _CODE.search(line):
        return "item" if own == "item" else "line"
    if own == "indented":
        deeper = _indent(line) - _indent(before)
        return "more" if (kind == "item" and deeper > 0) or (kind == "more" and deeper >= 0) else "line"
    wraps = kind in {"prose", "wrapped"} and len(before) >= WRAPPED and before.rstrip()[-1] not in ".!?:…।॥؟۔。！？｡"
    return "wrapped" if wraps and line.lstrip()[:1].islower() else "prose"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fenced(block: Sequence[Place], first: int, *, closed: bool) -> Iterator[_Unit]:
    last = len(block) - 1
    needs = (first, first + last) if closed else (first,)
    for n, span in enumerate(block):
        yield _Unit(*span, needs=needs, frame=n == 0 or (closed and n == last))


def _table(block: Sequence[Place], first: int, header: int) -> Iterator[_Unit]:
    yield _Unit(block[0][0], block[header - 1][1], frame=len(block) > header)
    for span in block[header:]:
        yield _Unit(*span, needs=(first,))


def _divided(text: str, start: int, end: int, room: int) -> list[_Unit]:
    if size(text[start:end]) <= room:
        return [_Unit(start, end)]
    return [_Unit(*_indented(text, start, *part)) for part in sentence_spans(text, start, end)]


def _indented(text: str, least: int, start: int, end: int) -> Place:
    """Return a part of a text with the blanks before it, if it begins a line."""
    line = text.rfind("\n", least, start) + 1 or least
    return (start if text[line:start].strip() else line), end


def _prose(text: str, block: Sequence[Place]) -> list[_Unit]:
    """Return the sentences of a line and of those that continue it; a sentence may run over several of these lines."""
    found: list[_Unit] = []
    name = speaker(text[slice(*block[0])])
    for start, end in block:
        for n, part in enumerate(sentence_spans(text, start, end)):
            if found and not n:  # only a line whose last sentence is unfinished is continued
                found[-1] = found[-1]._replace(end=part[1])
            else:
                span = part if n else _indented(text, start, *part)
                found.append(_Unit(*span, label=f"{name}: " if n and name else ""))
    return found


# excerpts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a text, and the tokens that are not."""

    text: str
    left_out_tokens: int = 0
    torn: bool = False
    """Whether not one unit fits, so that this is a part of one, cut between words."""


def excerpt(text: str, tokens: int, about: Collection[str], best: Place | None = None) -> Excerpt:
    """Return what of a text bears on a question, in at most `tokens` tokens; the text as it is if it fits.

    First come the units in `best`, the span of characters that was found to answer, or without it those that share most
    and the rarest words with `about`; then those around them. Gaps are marked with GAP.
    """
    if estimate_tokens(text) <= tokens:
        return Excerpt(text)
    if tokens < 1:
        return Excerpt("", estimate_tokens(text))
    newline = "\r\n" if "\r\n" in text else "\n"
    room = tokens * CHARACTERS_PER_TOKEN - size(f"{newline}{GAP}")
    units = _units(text, room)
    answer = _answer(text, units, about, best)
    if not answer.first:
        return _left(text, GAP)
    chosen = _Selection(text, units, room, newline)
    if not chosen.all(answer):
        return replace(_left(text, _torn(text, units[answer.first[0]], tokens, about, best)), torn=True)
    return _left(text, chosen.text())


def _left(text: str, shown: str) -> Excerpt:
    return Excerpt(shown, estimate_tokens(text) - estimate_tokens(shown))


@dataclass(frozen=True, slots=True)
class _Answer:
    """Units in the order in which they are wanted: what answers, what is around it in `best`, what else has words."""

    first: list[int]
    near: list[int]
    others: list[int]


def _answer(text: str, units: Sequence[_Unit], about: Collection[str], best: Place | None) -> _Answer:
    weights = _weights(text, units, about)
    every = [n for n, unit in enumerate(units) if not unit.frame]
    inside = [n for n in every if best and units[n].start < best[1] and best[0] < units[n].end]
    middle = sum(best) / 2 if best else 0.0
    most = max((weights[n] for n in inside or every), default=0.0)

    def worth(n: int) -> tuple[float, float]:
        return -weights[n], abs((units[n].start + units[n].end) / 2 - middle)

    if most:
        first = sorted((n for n in inside or every if weights[n] >= CORE * most), key=worth)
    else:
        first = sorted(inside, key=worth) or every[:1]
    near = sorted(inside, key=lambda n: abs(n - first[0]))
    return _Answer(first, near, sorted((n for n in every if weights[n]), key=worth))


def _weights(text: str, units: Sequence[_Unit], about: Collection[str]) -> list[float]:
    """Return for each unit the sum of the rarities, among the units, of the words that it shares with `about`."""
    wanted = set(about)
    letters = set(filter(is_letter, wanted))
    shared: list[set[str]] = [set()] * len(units)
    for n in _touched(text, units, wanted):
        present = set(words(text[units[n].start : units[n].end]))
        first = {letter for letter in letters if any(word.startswith(letter) for word in present)}
        shared[n] = wanted & present | first
    for n, unit in enumerate(units):
        if unit.needs:
            shared[n] = shared[n].union(*(shared[need] for need in unit.needs))
    having = Counter(word for each in shared for word in each)
    rarity = {word: math.log(1 + len(units) / number) for word, number in having.items()}
    return [sum(rarity[word] for word in sorted(each)) if each else 0.0 for each in shared]


def _touched(text: str, units: Sequence[_Unit], wanted: set[str]) -> Collection[int]:
    """Return the units that may have a word of `wanted`; finding these first is ten times faster than splitting all."""
    lowered = text.lower()
    if len(lowered) != len(text) or (not text.isascii() and _SPLIT_OTHERWISE.search(text)):
        return range(len(units))
    starts = [unit.start for unit in units]
    found: set[int] = set()
    for word in wanted:
        place = lowered.find(word)
        while place >= 0:
            n = bisect_right(starts, place) - 1
            found.add(n)
            place = lowered.find(word, max(units[n].end, place + 1))
    return found - {-1}


class _Selection:
    """The units of a text that an excerpt has, and the room that they leave."""

    def __init__(self, text: str, units: Sequence[_Unit], room: int, newline: str) -> None:
        self._text, self._units, self._newline = text, units, newline
        self._kept: set[int] = set()
        self._apart = size(f"{newline}{GAP}{newline}")
        self._cheap = room // CHEAP
        name = speaker(text)
        self._name = f"{name}: " if name and size(name) < self._cheap else ""
        self._room = room - size(self._name)

    def all(self, answer: _Answer) -> bool:
        """Add as many units as fit; return whether at least one of those that answer does."""
        found = [n for n in answer.first if self._add(n)]
        if found:
            if self._cost(0) <= self._cheap and self._breaks(0):
                self._add(0)
            for number in [*self._above(found), *answer.near]:
                self._add(number)
            self._spread(found)
            for number in answer.others:
                self._add(number)
        return bool(found)

    def _add(self, number: int) -> bool:
        unit = self._units[number]
        if self._room <= self._apart:
            return False
        wanted = {number, *unit.needs} - self._kept
        cost = sum(map(self._cost, wanted))
        if cost > self._room:
            return False
        self._kept |= wanted
        self._room -= cost
        return True

    def _cost(self, number: int) -> int:
        """Return the maximum size of a unit with its name and what is between it and the one before."""
        unit = self._units[number]
        before = self._text[self._units[number - 1].end : unit.start] if number else ""
        return size(self._text[unit.start : unit.end]) + size(unit.label) + max(self._apart, size(before))

    def _breaks(self, number: int) -> bool:
        """Return whether a line ends after a unit."""
        if number + 1 == len(self._units):
            return True
        return "\n" in self._text[self._units[number].end : self._units[number + 1].start]

    def _above(self, found: Collection[int]) -> list[int]:
        """Return the units under which those found are: keys and items with less indentation, headings."""
        above: dict[int, None] = {}
        path: list[tuple[int, int]] = []
        for number in range(max(found) + 1):
            if number == 0 or self._breaks(number - 1):
                level = self._level(number)
                while path and path[-1][0] >= level:
                    path.pop()
                path.append((level, number))
            if number in found:
                above |= dict.fromkeys(n for _, n in reversed(path[:-1]))  # the last one begins its line
        return [number for number in above if not self._units[number].frame]

    def _level(self, number: int) -> int:
        start, end = self._units[number].start, self._units[number].end
        line = self._text[start:end]
        return (len(line) - len(line.lstrip("#"))) - len(line) if line.startswith("#") else _indent(line)

    def _spread(self, found: Sequence[int]) -> None:
        """Add the units after and before those found, the nearest first, up to the first one that does not fit."""
        ways = deque((n, step) for n in found for step in (1, -1))
        seen = set(ways)
        while ways and self._room > self._apart:
            number, step = ways.popleft()
            way = (number + step, step)
            if 0 <= way[0] < len(self._units) and way not in seen:
                seen.add(way)
                if way[0] in self._kept or self._units[way[0]].frame or self._add(way[0]):
                    ways.append(way)

    def text(self) -> str:
        """Return the units that were added, with what is between them in the text or a mark for a gap."""
        parts: list[str] = []
        last = -1
        for number in sorted(self._kept):
            unit = self._units[number]
            parts.append(
                self._text[self._units[last].end : unit.start] if number == last + 1 > 0 else self._gap(last, number)
            )
            parts.append(self._text[unit.start : unit.end])
            last = number
        if last + 1 < len(self._units):
            parts.append(f"{self._newline if self._breaks(last) else ' '}{GAP}")
        return "".join(parts)

    def _gap(self, last: int, number: int) -> str:
        """Return the mark between two units that are not adjacent; -1 is the beginning of the text."""
        unit = self._units[number]
        if number == 0:
            return ""
        between = self._text[self._units[last].end : unit.start] if last >= 0 else self._text[: unit.start]
        inside = not self._breaks(number - 1)
        if last >= 0 and "\n" not in between:
            return f" {GAP} "
        before = self._newline if last >= 0 else ""
        if inside:
            return f"{before}{unit.label}{GAP} "
        return f"{before or self._name}{GAP}{self._newline}"


# cuts ----------------------------------------------------------------------------------------------------------------


def cut(text: str, tokens: int) -> str:
    """Return the beginning of a text within `tokens`, cut between words and marked with GAP."""
    if estimate_tokens(text) <= tokens:
        return text
    return f"{_head(text, max(0, tokens * CHARACTERS_PER_TOKEN - 2))} {GAP}"


def _torn(text: str, unit: _Unit, tokens: int, about: Collection[str], best: Place | None) -> str:
    """Return the words of a unit around those that it shares with a question, or around the middle of `best`."""
    piece = text[unit.start : unit.end].lstrip()
    start = unit.end - len(piece)
    room = tokens * CHARACTERS_PER_TOKEN - size(f"{GAP} ") - size(f" {GAP}")
    if room < 1:
        return GAP
    label = unit.label or (f"{name}: " if (name := speaker(piece)) else "")
    label = label if size(label) <= room // CHEAP else ""
    room -= size(label)
    place = _place(piece, about, best and (best[0] - start, best[1] - start))
    before = _tail(piece[:place], room - size(_head(piece[place:], room - room // 3)))
    after = _head(piece[place:], room - size(before))
    opening = label if unit.label or len(before) < place else ""
    opening += f"{GAP} " if opening or start + place > len(before) else ""
    closing = f" {GAP}" if start + place + len(after) < len(text) else ""
    return f"{opening}{before}{after}{closing}"


def _place(piece: str, about: Collection[str], best: Place | None) -> int:
    """Return where the longest word of `about` is in a text, the middle of `best`, or 0."""
    start, end = (max(0, best[0]), min(len(piece), best[1])) if best else (0, len(piece))
    lowered = piece.lower()
    places = (lowered.find(word, start, end) for word in sorted(about, key=lambda word: (-len(word), word)))
    return next((place for place in places if place >= 0), (start + end) // 2 if best else 0)


def _head(text: str, room: int) -> str:
    """Return the beginning of a text in at most `room` quarters of a token, cut between words."""
    head = text[:room]
    while (over := size(head) - room) > 0:
        head = head[: -math.ceil(over / CHARACTERS_PER_TOKEN)]
    if len(head) == len(text):
        return text
    return (head.rsplit(None, 1)[0] if " " in head.strip() else head).rstrip()


def _tail(text: str, room: int) -> str:
    return _head(text[::-1], room)[::-1]
