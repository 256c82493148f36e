"""The source of an import: a file, a folder or a zip archive, as a list of files that can be opened.

Nothing is unpacked. Symbolic links and special files are skipped, since those of a foreign folder could point anywhere.
"""

import codecs
import io
import os
import shlex
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from memoryd.core.base.clock import timestamp
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.items import Yielded
from memoryd.store.sqlite.file import MAGIC

MEMBERS = 200_000  # maximum files of a folder or an archive
UNPACKED = 16 << 30  # maximum bytes of all members of an archive
RATIO, SUSPECT = 200, 16 << 20
"""More than SUSPECT bytes that are compressed to less than 1/RATIO are a zip bomb: a member, or the whole archive.

Exports of chats are compressed to about a tenth, repetitive logs to a fiftieth; deflate cannot exceed 1,032.
"""
WHOLE = 512 << 20  # maximum bytes of a file that is read as a whole
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How a member may be compressed. Python unpacks what it reads of the others at once: 1 kB of bzip2 are over 1 GB."""
BLOCK = 1 << 16  # bytes read from disk at a time
HEAD = 16_384  # bytes by which a file is recognized
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Blocks(io.RawIOBase):
    """The blocks of a file as a file of its own, which closes that one."""

    def __init__(self, file: IO[bytes], blocks: Iterator[bytes]) -> None:
        self._file, self._blocks = file, blocks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(filter(None, self._blocks), b"")
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source."""

    name: str
    """The path within the source, with slashes."""
    size: int
    modified: str
    """The time of the last change, in the format of the database."""
    opener: Callable[[], IO[bytes]]
    meter: Counter[str]
    path: Path | None = None
    """The path on disk; None in an archive."""

    def open(self) -> IO[bytes]:
        """Open the file for reading, UTF-16 as UTF-8; raise InvalidInputError if that fails."""
        try:
            opened = self.opener()
        except (zipfile.BadZipFile, RuntimeError, OSError) as error:  # RuntimeError: unknown compression method
            raise InvalidInputError(f"{self.name} cannot be opened ({error}).") from error
        file = io.BufferedReader(_Blocks(opened, self._metered(opened)), BLOCK)
        if not file.peek().startswith(UTF_16):
            return file
        texts = codecs.iterdecode(iter(partial(file.read, BLOCK), b""), "utf-16", "replace")  # as Windows writes it
        return io.BufferedReader(_Blocks(file, map(str.encode, texts)), BLOCK)

    def _metered(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a file, and count their bytes."""
        try:
            for block in iter(partial(file.read, BLOCK), b""):
                self.meter["bytes"] += len(block)
                yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise InvalidInputError(f"{self.name} cannot be read ({error}).") from error

    @property
    def stem(self) -> str:
        """The name without folders and the last suffix."""
        return PurePosixPath(self.name).stem

    @property
    def base(self) -> str:
        """The name without folders."""
        return PurePosixPath(self.name).name

    def ends(self, *suffixes: str) -> bool:
        """Return whether the name ends so, in any case."""
        return self.base.casefold().endswith(suffixes)

    def has_changed(self) -> bool:
        """Return whether the file on disk is no longer what it was when the source was opened."""
        return self.path is not None and _state(self.path) != (self.size, self.modified)

    def head(self, size: int = HEAD) -> bytes:
        """Return the first bytes; none if they cannot be read."""
        with suppress(InvalidInputError), self.open() as file:
            return file.read(size)
        return b""

    def whole(self) -> str:
        """Return the whole file as text. Raise InvalidInputError if it is too long, or not UTF-8."""
        if self.size > WHOLE:
            raise InvalidInputError(f"{self.name} has {self.size >> 20} MB; {WHOLE >> 20} MB is the limit.")
        with self.open() as file:
            data = file.read(WHOLE)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:  # no guess at another encoding: a wrong one would corrupt the text
            why = f"{error.reason} at byte {error.start}. Save it as UTF-8, and import it again"
            raise InvalidInputError(f"{self.name} is not UTF-8: {why}.") from None


@dataclass(frozen=True)
class Source:
    """The source given to `memoryd import`: its files, sorted by name."""

    path: Path
    files: tuple[SourceFile, ...]
    only: SourceFile | None = None
    """The file, if the source is a single file and not an archive."""
    is_archive: bool = False
    skipped: int = 0
    """The number of symbolic links and special files that were skipped."""
    unreadable: tuple[str, ...] = ()
    """Why some of its folders could not be read."""
    meter: Counter[str] = field(default_factory=Counter)
    """The number of `bytes` that have been read."""

    def named(self, *patterns: str) -> list[SourceFile]:
        """Return the files whose paths, or the ends of their paths, match a pattern such as `*.md`."""
        return [one for one in self.files if any(PurePosixPath(one.name).match(pattern) for pattern in patterns)]

    def candidates(self, *patterns: str) -> list[SourceFile]:
        """Return the only file of the source, or the files of a folder or an archive that match a pattern.

        Those of installed packages are no candidates.
        """
        found = [self.only] if self.only else self.named(*patterns)
        return [one for one in found if "node_modules" not in one.name.split("/")]

    def narrowed(self, files: Iterable[SourceFile]) -> "Source":
        """Return the source with some of its files only."""
        return replace(self, files=tuple(files))

    def beside(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Return all files that are in the folders of some files, or below."""
        folders = {PurePosixPath(one.name).parent for one in files}
        return [one for one in self.files if not folders.isdisjoint(PurePosixPath(one.name).parents)]

    def command(self, file: SourceFile) -> str:
        """Return the command that imports one of its files."""
        path = Path(file.name) if self.is_archive else self.path / file.name
        return f"`memoryd import {shlex.quote(str(path))}`{' in the unpacked archive' if self.is_archive else ''}"

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all files, without folders."""
        return frozenset(one.base for one in self.files)

    @cached_property
    def _total(self) -> int:
        return max(1, sum(one.size for one in self.files))

    def done(self) -> float:
        """Return roughly the share of the source that has been read."""
        return min(1.0, self.meter["bytes"] / self._total)


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open a source; raise InvalidInputError if it does not exist, or is an archive that must not be unpacked."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}. Check its path.")
    meter = Counter[str]()
    only = _of_path(path, path.name, meter)
    if path.is_dir():
        yield _of_folder(path, meter)
    elif not path.is_file():
        raise InvalidInputError(f"{path} is not a regular file. Give the path of a file.")
    elif not only.head().startswith(MAGIC) and zipfile.is_zipfile(path):
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise InvalidInputError(f"{path.name} is a damaged archive ({error}). Download it again.") from None
        with archive:
            yield Source(path, _of_archive(path, archive, meter), is_archive=True, meter=meter)
    else:
        yield Source(path, (only,), only, meter=meter)


def is_hidden(file: SourceFile) -> bool:
    """Return whether a file, or a folder that it is in, is hidden."""
    return any(part.startswith(".") for part in PurePosixPath(file.name).parts)


def _of_path(path: Path, name: str, meter: Counter[str]) -> SourceFile:
    return SourceFile(name, *_state(path), lambda: path.open("rb"), meter, path)


def _state(path: Path) -> tuple[int, str]:
    state = path.stat()
    return state.st_size, timestamp(datetime.fromtimestamp(state.st_mtime, UTC))


def _of_folder(folder: Path, meter: Counter[str]) -> Source:
    found, failures, skipped = list[SourceFile](), list[OSError](), 0
    for place, folders, names in os.walk(folder, onerror=failures.append):
        regular = [path for name in names if stat.S_ISREG((path := Path(place, name)).lstat().st_mode)]
        skipped += sum(Path(place, name).is_symlink() for name in folders) + len(names) - len(regular)
        found += [_of_path(path, path.relative_to(folder).as_posix(), meter) for path in regular]
        if len(found) > MEMBERS:
            raise InvalidInputError(f"{folder} has more than {MEMBERS:,} files. Import its folders one by one.")
    unreadable = tuple(f"{one.filename}: {one.strerror}" for one in failures)
    files = tuple(sorted(found, key=lambda one: one.name))
    return Source(folder, files, skipped=skipped, unreadable=unreadable, meter=meter)


def _of_archive(path: Path, archive: zipfile.ZipFile, meter: Counter[str]) -> tuple[SourceFile, ...]:
    members = [one for one in archive.infolist() if not one.is_dir()]
    if len(members) > MEMBERS:
        raise InvalidInputError(f"{path.name} contains {len(members):,} files; {MEMBERS:,} is the limit.")
    sizes = [(f"its member {one.filename[:100]!r}", one.file_size, one.compress_size) for one in members]
    # the archive's own size: members may lie about theirs, or overlap
    whole = ("it", sum(one.file_size for one in members), path.stat().st_size)
    for what, size, compressed in (*sizes, whole):
        if size > UNPACKED or (size > SUSPECT and size > RATIO * compressed):
            raise InvalidInputError(
                f"{path.name} looks like a zip bomb: {what} unpacks to {size >> 20:,} MB. Nothing was read; unpack it "
                "yourself if you trust it, and import the folder."
            )
    for one in members:
        if (locked := one.flag_bits & 1) or one.compress_type not in METHODS:
            what = "encrypted" if locked else "compressed by a rare method"
            raise InvalidInputError(
                f"{path.name} is {what} ({one.filename[:100]!r}). Unpack it, and import the folder."
            )
    found = [SourceFile(m.filename, m.file_size, _date(m), partial(archive.open, m), meter) for m in members]
    return tuple(sorted(found, key=lambda one: one.name))


def _date(member: zipfile.ZipInfo) -> str:
    try:
        return timestamp(datetime(*member.date_time).astimezone())
    except (ValueError, OverflowError):
        return ""


FilesOf: TypeAlias = Callable[[Source], Iterable[SourceFile]]
"""Yields the files of a source that are in a format, by their names or first bytes."""
ItemsOf: TypeAlias = Callable[[Source, frozenset[str]], Iterator[Yielded]]
"""Yields the items of these files; the set names what of ForeignFormat.more is also imported."""


def that(fits: Callable[[SourceFile], object], *patterns: str) -> FilesOf:
    """Return a function that yields the candidates that fit."""
    return lambda source: filter(fits, source.candidates(*patterns))


def having(*marks: bytes) -> Callable[[SourceFile], bool]:
    """Return a function that tests whether the first bytes of a file have all of some marks."""
    return lambda file: all(map(file.head().__contains__, marks))


def either(*files: FilesOf) -> FilesOf:
    """Return a function that yields what any of some functions yields."""
    return lambda source: chain.from_iterable(one(source) for one in files)


def each_file(read: Callable[[SourceFile], Iterable[Yielded]]) -> ItemsOf:
    """Return a function that reads file by file."""
    return lambda source, _more: chain.from_iterable(map(read, source.files))


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A foreign format: how to recognize it and how to read it."""

    name: str
    """Its name for `--from`."""
    title: str
    """The description of a source, for a sentence that begins with `PATH is`."""
    files: FilesOf
    read: ItemsOf
    more: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of what `--include` may name."""
    is_any: bool = False
    """Whether files of any program may look like it, so that those beside other formats are only listed."""
    turns_by_id: bool = False
    """Whether hooks store the same turns under the same ids."""
