"""JSON from any program as a stream of values: arrays, lines, single objects; bad parts are reported and skipped.

An export may have hundreds of megabytes, so an array is never in memory as a whole. After a broken element, reading
continues at the next one that begins like the first.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count, islice, takewhile
from typing import IO, Any

from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.fields import Fields, mapping, mappings
from memoryd.features.imports.formats.items import Fault, Yielded
from memoryd.features.imports.formats.source import WHOLE, FilesOf, SourceFile

CHUNK = 1 << 20  # bytes read at a time
TRIES = 100  # places at which a first object is looked for
ELEMENT = 256 << 20  # maximum characters of one element, or of one line
NEAR_END = 32  # an error within so many characters of the end may be due to data not yet read
DIGITS = 18  # maximum digits of a number that stays an integer; counters and times have fewer


class _Decoder(json.JSONDecoder):
    """A lenient decoder that raises nothing but ValueError."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            return super().raw_decode(s, idx)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


_DECODER = _Decoder(strict=False, parse_int=lambda digits: int(digits) if len(digits) <= DIGITS else float(digits))
_NEXT = re.compile(r"[\s,]*")
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")  # stand-ins for invalid bytes; JSON itself escapes surrogates
_HEAD = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:')
_LINE_BEGIN, _ANY_BEGIN = re.compile(r"^[\s\[]*\{", re.MULTILINE), re.compile(r"\{")
_EMPTY_BESIDE_FULL = ("results", "memories", "items", "data", "conversations")
"""The fields in which exports keep their list; the first non-empty one is used."""


class PlacedObject(Fields):
    """An object, and where it is in the source."""

    def __init__(self, value: Fields, place: str) -> None:
        super().__init__(value)
        self.place = place


def value_of(text: str) -> Any:
    """Return the value of a JSON text; raise ValueError if it is not JSON."""
    return _DECODER.decode(text)


def value_in(row: Fields, column: str, otherwise: Any = None) -> Any:
    """Return the value of a JSON text in a column; `otherwise` if there is none, or it is not JSON."""
    with suppress(ValueError):
        return value_of(row[column]) if isinstance(row.get(column), str) else otherwise
    return otherwise


def loaded(file: SourceFile) -> Fields:
    """Return the object of a file, also of one that is encoded twice; raise InvalidInputError if it is not JSON."""
    try:
        value = value_of(file.whole())
        return mapping(value_of(value) if isinstance(value, str) else value)
    except ValueError as error:
        raise InvalidInputError(f"{file.name} is truncated or not JSON ({error}). Export it again.") from None


def first_object(file: SourceFile) -> Fields:
    """Return the first complete object of a file within CHUNK bytes: of its lines, else of any; {} if there is none."""
    text = file.head(CHUNK).decode("utf-8-sig", "replace").lstrip()
    if text.startswith('"'):
        text = _decoded(text, 0) or ""
    if not text.startswith(("{", "[")) and "\n{" not in text:
        return {}
    begins = (found.end() - 1 for begin in (_LINE_BEGIN, _ANY_BEGIN) for found in islice(begin.finditer(text), TRIES))
    return next((value for at in begins if isinstance(value := _decoded(text, at), dict) and value), {})


def has_field(file: SourceFile, *names: str) -> bool:
    """Return whether a file begins with one of some fields, or its first object has one, however far behind."""
    head = file.head()
    return any(f'"{name}"'.encode() in head for name in names) or not first_object(file).keys().isdisjoint(names)


def beside(patterns: tuple[str, ...], *fields: str) -> FilesOf:
    """Return a function that yields the files of all folders in which one has such a field: an export is about it."""
    return lambda source: source.beside(file for file in source.candidates(*patterns) if has_field(file, *fields))


def _decoded(text: str, at: int) -> Any:
    with suppress(ValueError):
        return _DECODER.raw_decode(text, at)[0]
    return None


def listed(value: Any) -> list[Fields]:
    """Return the objects of a list, or of the first non-empty list among an object's usual fields; also of texts."""
    if isinstance(value, dict):
        return next((found for name in _EMPTY_BESIDE_FULL if (found := listed(value.get(name) or None))), [])
    return mappings(list(map(_object, value))) if isinstance(value, list) else []


def keys_of(value: Fields) -> str:
    """Return the names of the fields of an object, for a sentence about it."""
    return ", ".join(map(str, value))[:100] or "nothing"


def _object(value: Any) -> Any:
    """Return a text as an object; any other value unchanged."""
    return {"content": value} if isinstance(value, str) and value.strip() else value


def values(file: SourceFile) -> Iterator[PlacedObject | Fault]:
    """Yield the objects of a file: the elements of an array, one object per line, or the list in a single object."""
    first = file.head(CHUNK).lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        if first.startswith(b"["):
            with file.open() as opened:
                yield from _Array(opened, file.name).elements()
        else:
            yield from _of_one(file) if _is_one_object(first) else lines(file)
    except InvalidInputError as error:
        yield Fault(str(error).rstrip("."))


def each(file: SourceFile, read: Callable[[PlacedObject], Iterable[Yielded]]) -> Iterator[Yielded]:
    """Yield what is read of each object of a file, and a Fault for each that cannot be read."""
    for value in values(file):
        yield from [value] if isinstance(value, Fault) else read(value)


def _of_one(file: SourceFile) -> Iterator[PlacedObject | Fault]:
    """Yield the elements of the list in a single object; if it is damaged, or one of several, the complete ones."""
    try:
        found = loaded(file)
    except InvalidInputError:
        with file.open() as opened:
            text = opened.read(WHOLE).decode("utf-8-sig", "surrogateescape")
        yield from _objects(text, file.name, resumes=True)
    else:
        yield from (PlacedObject(one, file.name) for one in listed(found) or [found])


def _is_one_object(first: bytes) -> bool:
    """Return whether a file begins with an object that does not end on its first line, nor another on the second."""
    line, _, rest = first.partition(b"\n")
    if not line.startswith(b"{"):
        return False
    found = _decoded(line.decode("utf-8", "replace"), 0)
    if found is None:
        return not isinstance(_decoded(rest.lstrip().partition(b"\n")[0].decode("utf-8", "replace"), 0), dict)
    return bool(listed(found)) or not rest.strip()


def lines(file: SourceFile) -> Iterator[PlacedObject | Fault]:
    """Yield the objects of each line, usually one: programs that write at the same time leave several on a line."""
    try:
        with file.open() as opened:
            for number, line in enumerate(iter(partial(opened.readline, ELEMENT), b""), 1):
                text = line.decode("utf-8-sig", "surrogateescape")
                yield from _objects(text, f"{file.name}, line {number}", is_torn=not line.endswith(b"\n"))
    except InvalidInputError as error:
        yield Fault(str(error).rstrip("."))


def _objects(text: str, place: str, *, resumes: bool = False, is_torn: bool = False) -> Iterator[PlacedObject | Fault]:
    """Yield the consecutive objects of a text; if it is damaged a Fault and, if it `resumes`, the objects after it."""
    at, end, is_damaged = 0, len(text.rstrip()), False
    while (at := _NEXT.match(text, at).end()) < end:  # type: ignore[union-attr]
        begun = at
        try:
            value, at = _DECODER.raw_decode(text, at)
            yield _checked(value, not _NOT_UTF_8.search(text, begun, at), place)
        except ValueError as error:
            torn = ", and ends without a line break: it may be truncated" if is_torn else ""
            if not is_damaged:
                yield Fault(f"{place}: is not JSON ({error}){torn}", is_torn)
            is_damaged, at = True, text.find("{", at + 1)
            if not resumes or at < 0:
                return


def _checked(value: Any, is_text: bool, place: str) -> PlacedObject | Fault:
    found = _object(value)
    if not is_text:
        return Fault(f"{place}: is not UTF-8")
    return PlacedObject(found, place) if isinstance(found, dict) else Fault(f"{place}: is not a JSON object")


class _Array:
    """An array read element by element."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text, self._at = "", 0
        self._ended = False
        self._head: re.Pattern[str] | None = None

    def elements(self) -> Iterator[PlacedObject | Fault]:
        """Yield the objects of the array, and a Fault for each bad element."""
        self._fill()
        self._at = self._text.index("[") + 1
        for number in takewhile(lambda _: self._skip(), count(1)):
            place = f"{self._name}, element {number}"
            try:
                yield _checked(*self._element(), place)
            except ValueError as error:
                yield Fault(f"{place}: is truncated or not JSON ({error})")
                if not self._resume():
                    return

    def _fill(self) -> None:
        """Read more; drop what was used."""
        block = self._file.read(max(CHUNK, len(self._text) - self._at))
        self._ended = not block
        self._text = self._text[self._at :] + self._decode(block, final=self._ended)
        self._at = 0

    def _skip(self) -> bool:
        """Go to the next element; return whether there is one."""
        while True:
            self._at = _NEXT.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at] != "]"
            if self._ended:
                return False
            self._fill()

    def _element(self) -> tuple[Any, bool]:
        """Return the next element, and whether it is UTF-8."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                unfinished = error.pos > len(self._text) - NEAR_END or error.msg.startswith("Unterminated")
                if self._ended or not unfinished or len(self._text) - self._at > ELEMENT:
                    raise ValueError(error.msg) from None
                self._fill()
                continue
            if self._head is None and (head := _HEAD.match(self._text, self._at)):
                self._head = re.compile(r",\s*(?=" + re.escape(head[0]) + ")")
            begun, self._at = self._at, end
            return value, not _NOT_UTF_8.search(self._text, begun, end)

    def _resume(self) -> bool:
        """Go to the next element that begins like the first; return whether there is one."""
        self._at += 1
        while self._head:
            if found := self._head.search(self._text, self._at):
                self._at = found.end()
                return True
            if self._ended:
                break
            self._at = max(self._at, len(self._text) - CHUNK)  # an element may begin at the end of the text
            self._fill()
        return False
