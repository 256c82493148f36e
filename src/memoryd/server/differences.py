"""What differs between two texts, found with a bound on the work: strangers may have written both."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

ChangeMark = Literal["same", "gone", "new"]
"""Whether both of two texts have a part, or only the older or the newer one."""
TextChange = tuple[ChangeMark, str]

WORK = 20_000
"""Steps that a comparison may take, at most 20 ms: 200 words of two texts may differ. A page shows up to 200."""

_WORD = re.compile(r"\s+|\w+|[^\w\s]")


def differences(before: str, after: str) -> list[TextChange]:
    """Return two texts merged: unchanged, removed and new parts.

    They are compared word by word, else line by line; if both take too much WORK, all that lies between their common
    beginning and end is removed and new.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    head = _in_common(old, new)
    tail = _in_common(old[head:][::-1], new[head:][::-1])
    start, end = "".join(old[:head]), "".join(old[len(old) - tail :])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    lines = [("".join(part)).splitlines(keepends=True) for part in (old, new)]
    middle = _compared(old, new) or _compared(*lines) or [("gone", "".join(old)), ("new", "".join(new))]
    joined = [(mark, "".join(parts)) for mark, parts in _runs([("same", start), *middle, ("same", end)])]
    return [change for change in joined if change[1]]


def changed(old: Sequence[str], new: Sequence[str]) -> list[TextChange]:
    """Return the parts that are gone or new, each alone; all of them if comparing them takes too much WORK."""
    found = _compared(old, new)
    if found is None:
        found = [*(("gone", part) for part in old), *(("new", part) for part in new)]
    return [(mark, part) for mark, parts in _runs(found) if mark != "same" for part in parts]


def _in_common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many parts two texts have in common at their beginning."""
    pairs = zip(old, new, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))


def _compared(old: Sequence[str], new: Sequence[str]) -> list[TextChange] | None:
    """Return the fewest changes from `old` to `new`, part by part; None if that takes too much work.

    The algorithm is that of E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986. difflib has no
    bound: for texts of few distinct words its time grows with the cube of their length.
    """
    rows: list[list[int]] = []  # for each number of changes, how far into `old` each diagonal of the edit graph is
    work = 0
    while work <= WORK:
        row: list[int] = []
        rows.append(row)
        changes = len(rows) - 1
        for place in range(changes + 1):
            x = began = _reached(rows, changes, place)[0]
            y = x - (2 * place - changes)
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            row.append(x)
            work += 1 + x - began
            if x >= len(old) and y >= len(new):
                return list(_walked(rows, place, old, new))[::-1]
    return None


def _reached(rows: Sequence[Sequence[int]], changes: int, place: int) -> tuple[int, int]:
    """Return where a diagonal begins after a number of changes, and from which place of the row before it comes."""
    if changes == 0:
        return 0, 0
    before = rows[changes - 1]
    if place == 0 or (place < changes and before[place - 1] < before[place]):
        return before[place], place
    return before[place - 1] + 1, place - 1


def _walked(rows: Sequence[Sequence[int]], place: int, old: Sequence[str], new: Sequence[str]) -> Iterator[TextChange]:
    """Yield the changes from the last to the first."""
    for changes in range(len(rows) - 1, -1, -1):
        x, y = rows[changes][place], rows[changes][place] - (2 * place - changes)
        began, before = _reached(rows, changes, place)
        yield "same", "".join(old[began:x])
        y -= x - began
        if changes:
            yield ("new", new[y - 1]) if before == place else ("gone", old[began - 1])
        place = before


def _runs(changes: Sequence[TextChange]) -> Iterator[tuple[ChangeMark, list[str]]]:
    """Yield the parts side by side that both texts have or not, what is gone before what is new."""
    marks: tuple[ChangeMark, ...] = ("same", "gone", "new")
    there = (change for change in changes if change != ("same", ""))
    for _, run in groupby(there, lambda change: change[0] == "same"):
        parts = list(run)
        yield from ((mark, [part for its, part in parts if its == mark]) for mark in marks)
