"""Files of JSON lines: read those of any program, write memoryd's own, which show whether they are complete.

A file of memoryd begins with a head and ends with the number and SHA-256 of all preceding lines. Equal contents give
equal files: nothing depends on when or where a file was written.
"""

import codecs
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from memoryd import disk
from memoryd.core.base.progress import Progress, ignore_progress
from memoryd.core.base.results import compact
from memoryd.core.security.secrets import Cleaned, SecretRefusedError, Secrets
from memoryd.errors import InvalidInputError, StoreError
from memoryd.text import unstorable

HEADBYTES = 4096  # bytes that are checked for a binary file
BLOCK = 1 << 18  # bytes that are read together from the middle of a file
TICK = 100  # lines between progress reports
HEAD, END = "memoryd", "end"

ImportMode = Literal["merge", "replace"]
"""Whether the contents of a file are added to those of the store, or replace them."""


# reading -------------------------------------------------------------------------------------------------------------


class LineFile:
    """An open file of lines, which can be read several times."""

    def __init__(self, path: Path, file: IO[bytes], begins: bytes) -> None:
        self.path = path
        self._is_ours = is_ours(begins)
        self.position = 0
        """The byte offset of the line that lines() yielded last."""
        self._file = file
        self._began = self._state()

    def lines(self, report: Progress = ignore_progress) -> Iterator[tuple[int, bytes]]:
        """Yield the non-blank lines, each with its number, without the additions of Windows editors."""
        size, done = max(os.fstat(self._file.fileno()).st_size, 1), 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            self.position = done
            done += len(line)
            if number % TICK == 0:
                report(min(done / size, 1.0))
            whole = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not whole.isspace():
                yield number, whole.removesuffix(b"\r\n") + b"\n" if whole.endswith(b"\r\n") else whole

    def onward(self, position: int, block: int = BLOCK) -> Iterator[tuple[int, bytes]]:
        """Yield the non-blank lines from an offset on, each with its offset; several iterators may alternate."""
        while True:
            self._file.seek(position)
            if not (found := self._file.readlines(block)):
                return
            for line in found:
                if not line.isspace():
                    yield position, line
                position += len(line)

    def objects(self, report: Progress = ignore_progress) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the JSON objects of the lines with their numbers, without the head and the end of a file of memoryd.

        Raise an InvalidInputError that names the line, or says that a file of memoryd is incomplete.
        """
        digest, ended, ours = hashlib.sha256(), False, self._is_ours
        for before, (number, line) in enumerate(self.lines(report)):
            value = self._object(number, line)
            if ended:
                raise self.fault(number, "follows the end of the export")
            if ours and END in value:
                if value[END] != {"lines": before, "sha256": digest.hexdigest()}:
                    raise self.fault(number, f"does not match the {before} lines before: some were changed or lost")
                ended = True
            elif not ours or before:
                yield number, value
            digest.update(line)
        if ours and not ended:
            raise InvalidInputError(
                f"{self.path.name} is not complete: its end is missing. Nothing was imported; export or copy it again."
            )

    def head(self) -> dict[str, Any] | None:
        """Return the first line of a file of memoryd, or None for any other file."""
        for number, line in self.lines():
            return self._object(number, line) if self._is_ours else None
        return None

    def clean(self, number: int, value: Any, secrets: Secrets) -> Cleaned:
        """Return a value without its secrets; if they are refused, raise an InvalidInputError that names the line."""
        try:
            return secrets.clean(value)
        except SecretRefusedError as error:
            raise self.fault(number, f"cannot be imported: {str(error).rstrip('.')}") from None

    def demand_unchanged(self) -> None:
        """Raise InvalidInputError if the file has changed since it was opened."""
        if self._state() != self._began:
            raise InvalidInputError(
                f"{self.path.name} changed while it was read. Nothing was imported; import it again."
            )

    def fault(self, number: int, what: str) -> InvalidInputError:
        """Return an error about a line."""
        # a correction in a file of memoryd would not match its checksum
        again = "export or copy it again" if self._is_ours else "correct the file and import it again"
        return InvalidInputError(f"Line {number} of {self.path.name} {what}. Nothing was imported; {again}.")

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            text = line.decode()
            value = json.loads(text)
        except UnicodeDecodeError as error:
            raise self.fault(number, f"is not UTF-8: {error.reason} at byte {error.start + 1}") from None
        except RecursionError:
            raise self.fault(number, "is nested too deeply") from None
        except ValueError as error:
            torn = "" if line.endswith(b"\n") else ", and ends without a line break: it may be truncated"
            raise self.fault(number, f"is not JSON ({error}){torn}") from None
        if not isinstance(value, dict):
            raise self.fault(number, "is not a JSON object")
        if "\\u" in text and (bad := next((bad for part in _texts(value) if (bad := unstorable(part))), None)):
            raise self.fault(number, f"contains U+{ord(bad.group()):04X}, which cannot be stored")
        return value

    def _state(self) -> tuple[int, int]:
        state = os.fstat(self._file.fileno())
        return state.st_size, state.st_mtime_ns


def is_ours(begins: bytes) -> bool:
    """Return whether a file that begins with these bytes is one of memoryd's."""
    return begins.removeprefix(codecs.BOM_UTF8).startswith(f'{{"{HEAD}"'.encode())


def is_own(path: Path) -> bool:
    """Return whether a path is one of memoryd's files."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return is_ours(file.read(HEADBYTES))


@contextmanager
def opened(path: Path) -> Iterator[LineFile]:
    """Open a file to read; raise InvalidInputError if it is not a text file."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}. Check its path.")
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a regular file. Give the path of a file.")
    with path.open("rb") as file:
        begins = file.read(HEADBYTES)
        if begins.startswith(b"SQLite format 3\0"):
            raise InvalidInputError(f"{path} is a database. To use a database of memoryd, pass it with --db.")
        if b"\0" in begins.partition(b"\n")[0]:
            raise InvalidInputError(f"{path} is not UTF-8 text. Give the JSON lines that the other memory wrote.")
        yield LineFile(path, file, begins)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, including names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


# writing -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A written file: the lines between head and end, and the size in bytes."""

    path: Path
    lines: int
    size: int


class Target:
    """A file that is being written; it starts with a head."""

    def __init__(self, file: IO[bytes], head: Mapping[str, Any]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.number = 0
        self.put({HEAD: head})

    def put(self, value: Mapping[str, Any]) -> None:
        """Write a line."""
        line = compact(value).encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)
        self.number += 1

    def end(self) -> None:
        """Write the last line, with the number and checksum of the lines before it."""
        self.put({END: {"lines": self.number, "sha256": self._digest.hexdigest()}})


def _demand_new(path: Path) -> None:
    if path.exists():
        raise InvalidInputError(f"{path} already exists. Nothing was written; choose a new file name.")


def write(path: Path, head: Mapping[str, Any], fill: Callable[[Target], None]) -> Written:
    """Write a new file, which appears only when complete; raise InvalidInputError if it exists."""
    _demand_new(path)
    try:
        with disk.appearing(path) as unfinished, unfinished.open("wb") as file:
            target = Target(file, head)
            fill(target)
            target.end()
            _demand_new(path)  # another export may have created it
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {disk.cause(error)}") from error
    return Written(path, target.number - 2, path.stat().st_size)
