"""The rows in the pages of a SQLite file, read without SQLite, which needs the way from a table's root to a page.

Source: sqlite.org/fileformat2.html, "B-tree Pages", "Record Format" and "WAL File Format".
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoryd.store.sqlite.file import MAGIC
from memoryd.store.sqlite.layout import LOG

HEADER = 100  # bytes of the file before the first page's own header
SIZES = [1 << power for power in range(9, 17)]
USUAL = 4_096  # bytes of a page, where the file does not tell
LOG_HEADER, FRAME_HEADER = 32, 24  # bytes
TABLE, INDEX, INNER_INDEX, INNER_TABLE = 13, 10, 2, 5
"""The types of pages: leaves of a table, leaves and inner pages of an index (or a table without row ids)."""
INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The bytes of an integer by its serial type."""
REAL, ZERO, ONE, BLOB = 7, 8, 9, 12

Cell = tuple[int | None, Sequence[int], bytes]
"""The row id of a row, if it has one, the serial types of its values, and their bytes."""


@dataclass(slots=True)
class Pages:
    """The pages of a file, with those of its write-ahead log."""

    data: bytes
    head: bytes
    """The header of the file; '' if it is damaged."""
    size: int
    logged: dict[int, bytes]
    number: int
    used: set[int] = field(default_factory=set)
    """The pages that continue a row of another page, or are free."""
    broken: set[int] = field(default_factory=set)
    """The pages that could not be read, once all rows were."""

    def page(self, number: int) -> bytes:
        """Return a page; raise ValueError if the file ends before it."""
        found = self.logged.get(number) or self.data[(number - 1) * self.size : number * self.size]
        if number < 1 or len(found) < self.size:
            raise ValueError("the file ends before this page")
        return found

    def cells(self) -> Iterator[tuple[int, Cell]]:
        """Yield each row with the type of its page; note the pages that are broken."""
        self.broken.clear()
        self.used.clear()
        self._note_free()
        others = []
        for number in sorted(set(range(1, self.number + 1)) - self.used):
            try:
                kind = self.page(number)[HEADER if number == 1 else 0]
                if kind in (TABLE, INDEX, INNER_INDEX):
                    yield from ((kind, cell) for cell in self._of(number, kind))
                elif kind != INNER_TABLE:
                    others.append(number)
            except ValueError:
                self.broken.add(number)
        self.broken |= set(others) - self.used

    def _of(self, number: int, kind: int) -> Iterator[Cell]:
        page, start = self.page(number), HEADER if number == 1 else 0
        count = int.from_bytes(page[start + 3 : start + 5])
        pointers = start + (12 if kind == INNER_INDEX else 8)
        if pointers + 2 * count > self.size:
            raise ValueError("it has more rows than fit")
        for place in range(pointers, pointers + 2 * count, 2):
            try:
                yield self._cell(page, int.from_bytes(page[place : place + 2]), kind)
            except (ValueError, IndexError):
                self.broken.add(number)

    def _cell(self, page: bytes, at: int, kind: int) -> Cell:
        usable, key = self.size - int.from_bytes(self.head[20:21]), None
        length, at = varint(page, at + 4 if kind == INNER_INDEX else at)
        if kind == TABLE:
            key, at = varint(page, at)
        most = usable - 35 if kind == TABLE else (usable - 12) * 64 // 255 - 23
        least = (usable - 12) * 32 // 255 - 23
        kept = least + (length - least) % (usable - 4)
        local = length if length <= most else kept if kept <= most else least
        if at + local > usable or length > self.size * self.number:
            raise ValueError("a row is longer than the file")
        payload = page[at : at + local]
        if length > local:
            payload += self._continued(int.from_bytes(page[at + local : at + local + 4]), length - local, usable)
        return key, *parsed(payload)

    def _continued(self, number: int, length: int, usable: int) -> bytes:
        """Return the bytes of a row on further pages."""
        parts: list[bytes] = []
        passed: set[int] = set()
        while length > 0:
            page = self.page(number)
            if number in passed:
                raise ValueError("the pages of a row are a circle")
            passed.add(number)
            parts.append(page[4:usable][:length])
            length -= len(parts[-1])
            number = int.from_bytes(page[:4])
        self.used |= passed
        return b"".join(parts)

    def _note_free(self) -> None:
        trunk = int.from_bytes(self.head[32:36])
        while 1 < trunk <= self.number and trunk not in self.used:
            page = self.page(trunk)
            count = min(int.from_bytes(page[4:8]), self.size // 4 - 2)
            self.used |= {trunk, *struct.unpack_from(f">{count}I", page, 8)}
            trunk = int.from_bytes(page[:4])


def opened(path: Path) -> Pages:
    """Read a file and its write-ahead log. Raise OSError."""
    data, beside = path.read_bytes(), path.with_name(path.name + LOG)
    log = beside.read_bytes() if beside.exists() else b""
    head = data[:HEADER] if data.startswith(MAGIC) else b""
    stated = int.from_bytes(head[16:18])
    sizes = (int.from_bytes(log[8:12]), SIZES[-1] if stated == 1 else stated)
    size = next((one for one in sizes if one in SIZES), USUAL)
    logged = _logged(log, size)
    head = logged[1][:HEADER] if 1 in logged else head
    most = 2 * (len(data) + len(log)) // size + 1  # a number in a header may be wrong
    number = max(-(-len(data) // size), max(logged, default=0), int.from_bytes(head[28:32]))
    return Pages(data, head, size, logged, min(number, most))


def _logged(log: bytes, size: int) -> dict[int, bytes]:
    """Return the pages of the committed transactions in a log."""
    found: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for at in range(LOG_HEADER, len(log) - size, FRAME_HEADER + size):
        number, committed = struct.unpack_from(">II", log, at)
        if log[at + 8 : at + 16] != log[16:24]:  # of an earlier round of the log
            break
        waiting[number] = log[at + FRAME_HEADER : at + FRAME_HEADER + size]
        if committed:
            found |= waiting
            waiting = {}
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 127
        if data[place] < 128:  # the last byte
            return value, place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) * (value >> 63), at + 9


def parsed(payload: bytes) -> tuple[list[int], bytes]:
    """Return the serial types of the values of a row, and their bytes; raise ValueError if these do not fit."""
    end, at = varint(payload, 0)
    if end > len(payload):
        raise ValueError("a row ends within its head")
    types = []
    while at < end:
        kind, at = varint(payload, at)
        types.append(kind)
    body = payload[end:]
    if sum(map(width, types)) != len(body):
        raise ValueError("a row does not have the length of its values")
    return types, body


def width(kind: int) -> int:
    """Return the bytes of a value by its serial type."""
    return (kind - BLOB) // 2 if kind >= BLOB else 8 if kind == REAL else INTEGERS.get(kind, 0)


def values(types: Sequence[int], body: bytes) -> list[Any]:
    """Return the values of a row; raise ValueError for a text that is not UTF-8."""
    found: list[Any] = []
    at = 0
    for kind in types:
        part = body[at : at + width(kind)]
        at += len(part)
        found.append(_value(kind, part))
    return found


def _value(kind: int, part: bytes) -> Any:
    if kind >= BLOB:
        return part.decode() if kind % 2 else part
    if kind == REAL:
        return struct.unpack(">d", part)[0]
    if kind in (ZERO, ONE):
        return kind - ZERO
    return int.from_bytes(part, signed=True) if kind else None
