"""JSON from any program as a stream of values: arrays, lines, single objects; bad parts are reported and skipped.

An export may have hundreds of megabytes, so an array is never in memory as a whole. After a broken element, reading
continues at the next one that begins like the first.
"""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.items import Fault, mappings
from memoryd.features.imports.formats.source import SourceFile, decoded

CHUNK = 1 << 20  # bytes read at a time
TRIES = 100  # places at which a first object is looked for
ELEMENT = 256 << 20  # maximum characters of one element, or of one line
NEAR_END = 32  # an error within so many characters of the end may be due to data not yet read
DIGITS = 18  # maximum digits of a number that stays an integer; counters and times have fewer


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= DIGITS else float(digits)


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)
_NEXT = re.compile(r"[\s,]*")
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")  # stand-ins for invalid bytes; JSON itself escapes surrogates
_HEAD = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:')
_LINE_BEGIN, _ANY_BEGIN = re.compile(r"^[\s\[]*\{", re.MULTILINE), re.compile(r"\{")
_EMPTY_BESIDE_FULL = ("results", "memories", "items", "data", "conversations")
"""The fields in which exports keep their list; the first non-empty one is used."""
_LIST = re.compile(rf'"(?:{"|".join(_EMPTY_BESIDE_FULL)})"\s*:\s*\[')


def value_of(text: str) -> Any:
    """Return the value of a JSON text; raise ValueError if it is not JSON."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def loaded(file: SourceFile) -> Any:
    """Return the value of a file, also of one that is encoded twice; raise InvalidInputError if it is not JSON."""
    try:
        value = value_of(file.whole())
        return value_of(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInputError(f"{file.name} is truncated or not JSON ({error}). Export it again.") from None


def first_object(file: SourceFile) -> dict[str, Any]:
    """Return the first complete object of a file within CHUNK bytes: of its lines, else of any; {} if there is none."""
    text = file.head(CHUNK).decode("utf-8-sig", "replace").lstrip()
    if text.startswith('"'):
        text = _decoded(text, 0) or ""
    if not text.startswith(("{", "[")) and "\n{" not in text:
        return {}
    begins = (found.end() - 1 for begin in (_LINE_BEGIN, _ANY_BEGIN) for found in islice(begin.finditer(text), TRIES))
    return next((value for at in begins if isinstance(value := _decoded(text, at), dict) and value), {})


def _decoded(text: str, at: int) -> Any:
    try:
        return _DECODER.raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return None


def listed(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or of the first non-empty list among an object's usual fields; also of texts."""
    if isinstance(value, dict):
        return next((found for name in _EMPTY_BESIDE_FULL if (found := listed(value.get(name) or None))), [])
    return mappings(list(map(_object, value))) if isinstance(value, list) else []


def _object(value: Any) -> Any:
    """Return a text as an object; any other value unchanged."""
    return {"content": value} if isinstance(value, str) and value.strip() else value


def values(file: SourceFile) -> Iterator[dict[str, Any] | Fault]:
    """Yield the objects of a file: the elements of an array, one object per line, or the list in a single object."""
    try:
        yield from _values(file)
    except InvalidInputError as error:
        yield Fault(str(error).rstrip("."))


def _values(file: SourceFile) -> Iterator[dict[str, Any] | Fault]:
    with file.open() as opened:
        first = opened.read(CHUNK).lstrip(b"\xef\xbb\xbf \t\r\n")
    if first.startswith(b"["):
        with file.open() as opened:
            yield from _Array(opened, file.name).elements("[")
    elif _is_one_object(first):
        yield from _of_one(file, first)
    else:
        yield from lines(file)


def _of_one(file: SourceFile, first: bytes) -> Iterator[dict[str, Any] | Fault]:
    """Yield the elements of the list in a single object; if it is truncated, the complete ones."""
    try:
        found = loaded(file)
    except InvalidInputError as error:
        begins = _LIST.search(first.decode("utf-8", "replace"))
        if not begins:
            yield from lines(file)
            return
        yield Fault(str(error).rstrip("."))
        with file.open() as opened:
            yield from _Array(opened, file.name).elements(begins[0])
    else:
        yield from listed(found) or [found]


def _is_one_object(first: bytes) -> bool:
    """Return whether a file begins with an object that does not end on its first line."""
    line = first.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if not line.startswith("{"):
        return False
    try:
        whole = value_of(line)
    except ValueError:
        return not line.endswith("}") or b"\n" not in first.strip()
    return bool(listed(whole)) or len(line) == len(first.decode("utf-8", "replace").strip())


def lines(file: SourceFile) -> Iterator[dict[str, Any] | Fault]:
    """Yield the object of each line that is not blank."""
    try:
        yield from _lines(file)
    except InvalidInputError as error:
        yield Fault(str(error).rstrip("."))


def _lines(file: SourceFile) -> Iterator[dict[str, Any] | Fault]:
    with file.open() as opened:
        for number, line in enumerate(iter(lambda: opened.readline(ELEMENT), b""), 1):
            if line.isspace():
                continue
            try:
                value = _object(value_of(decoded(line)))
            except ValueError as error:
                is_torn = not line.endswith(b"\n")
                torn = ", and ends without a line break: it may be truncated" if is_torn else ""
                yield Fault(f"{file.name}, line {number}: is not JSON ({error}){torn}", is_torn)
                continue
            if isinstance(value, dict):
                yield value
            else:
                yield Fault(f"{file.name}, line {number}: is not a JSON object")


class _Array:
    """An array read element by element."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text, self._at = "", 0
        self._ended = False
        self._head: re.Pattern[str] | None = None
        self._number = 0

    def elements(self, begins: str) -> Iterator[dict[str, Any] | Fault]:
        """Yield the objects of the array that begins with a text, and a Fault for each bad element."""
        self._fill()
        self._at = self._text.index(begins) + len(begins)
        while self._skip():
            self._number += 1
            try:
                value = _object(self._element())
            except ValueError as error:
                yield Fault(f"{self._name}, element {self._number}: is truncated or not JSON ({error})")
                if not self._resume():
                    return
                continue
            if isinstance(value, dict | Fault):
                yield value
            else:
                yield Fault(f"{self._name}, element {self._number}: is not a JSON object")

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

    def _element(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError("it is nested too deeply") from None
            except json.JSONDecodeError as error:
                unfinished = error.pos > len(self._text) - NEAR_END or error.msg.startswith("Unterminated")
                if self._ended or not unfinished or len(self._text) - self._at > ELEMENT:
                    raise ValueError(error.msg) from None
                self._fill()
                continue
            if self._head is None and (head := _HEAD.match(self._text, self._at)):
                self._head = re.compile(r",\s*(?=" + re.escape(head[0]) + ")")
            is_text = not _NOT_UTF_8.search(self._text, self._at, end)
            self._at = end
            return value if is_text else Fault(f"{self._name}, element {self._number}: is not UTF-8")

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
