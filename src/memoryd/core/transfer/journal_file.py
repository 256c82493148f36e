"""The journal as a file of JSON lines: write memoryd's format, read it and the export files of Neo.mjs.

A line is a turn or a summary as metadata (e); lines of Neo.mjs also have a vector and a document.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar, cast

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import Progress
from memoryd.core.journal.metadata import CollectionName, of_summary, of_turn, summary, turn
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import jsonl
from memoryd.core.transfer.export import Numbers, counts_text
from memoryd.core.transfer.jsonl import ImportMode, LineFile, Target, Written
from memoryd.core.transfer.restore import STORED
from memoryd.core.workspaces.registry import EXPORTS
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import AGENT_INTERACTION, Interaction, SessionSummary
from memoryd.store.journal import COLLECTIONS, JournalCounts, JournalStore

T = TypeVar("T")

FORMAT = {"format": "journal", "version": 1}
BATCH = 500  # turns or summaries per transaction of a merge


@dataclass(frozen=True, slots=True)
class Imported:
    """The contents of a file, how much of it was new, and the kinds of the masked secrets."""

    read: JournalCounts
    new: JournalCounts
    masked: tuple[str, ...]


# writing -------------------------------------------------------------------------------------------------------------


def export(
    kept: JournalStore, path: Path, include: Sequence[CollectionName], report: Progress
) -> tuple[Written, JournalCounts]:
    """Write collections to a new file; return what was written. Raise InvalidInputError if the file exists."""
    numbers = kept.numbers()
    total = max(sum(numbers[name] for name in include), 1)
    counts: JournalCounts = {"memories": 0, "summaries": 0}

    def fill(target: Target) -> None:
        turns = ({"id": one.id, "metadata": of_turn(one)} for one in kept.every_turn())
        summaries = (
            {"id": one.id, "metadata": of_summary(one), "document": one.summary} for one in kept.every_summary()
        )
        for name in include:
            for row in turns if name == "memories" else summaries:
                target.put({"collection": COLLECTIONS[name], **row})
                counts[name] += 1
                if target.number % jsonl.TICK == 0:
                    report(min(target.number / total, 1.0))

    written = jsonl.write(path, FORMAT | {"collections": list(include)}, fill)
    return written, counts


# reading -------------------------------------------------------------------------------------------------------------


def counted(source: LineFile, report: Progress, secrets: Secrets) -> JournalCounts:
    """Check a file as `load` does, and return its counts; import nothing."""
    with _checked(source, report, secrets) as reading:
        return reading.counts


def load(kept: JournalStore, source: LineFile, mode: ImportMode, report: Progress, secrets: Secrets) -> Imported:
    """Import a file without its secrets: add what is missing, or replace the collections that it contains.

    The whole file is checked first: InvalidInputError names a bad line, and nothing is changed. A merge is written in
    batches: after an error, which tells of them, the finished ones stay, and the next import skips what they added.
    """
    with _checked(source, report, secrets) as reading:
        read = reading.counts
        if mode == "replace":
            named = _head(source).get("collections", ())
            kept.replace(
                reading.items(Interaction) if read["memories"] or "memories" in named else None,
                reading.items(SessionSummary) if read["summaries"] or "summaries" in named else None,
            )
            return Imported(read, read, tuple(reading.masked))
        stored = Numbers()
        try:
            for some in batches(reading.items(Interaction), BATCH):
                stored["turns"] += kept.put(some)
            for several in batches(reading.items(SessionSummary), BATCH):
                stored["summaries"] += kept.put_summaries(several)
        except StoreError as error:
            if not +stored:
                raise
            raise error.after(STORED.format(counts_text(+stored))) from error
    new: JournalCounts = {"memories": stored["turns"], "summaries": stored["summaries"]}
    return Imported(read, new, tuple(reading.masked))


def _head(source: LineFile) -> Mapping[str, Any]:
    """Return the head of a file of memoryd, or an empty mapping for any other file."""
    held: Mapping[str, Any] = (source.head() or {}).get(jsonl.HEAD, {})
    return held


@contextmanager
def _checked(source: LineFile, report: Progress, secrets: Secrets) -> Iterator["_Reading"]:
    """Yield the reading of a file after all its items are checked."""
    held = _head(source)
    if held and (held.get("format"), held.get("version")) != (FORMAT["format"], FORMAT["version"]):
        raise InvalidInputError(
            f"{source.path.name} is an export of another kind or of a newer version: {held}. Import it with "
            "`memoryd import`."
        )
    with TemporaryFile("w+", encoding="utf-8") as turns, TemporaryFile("w+", encoding="utf-8") as summaries:
        reading = _Reading({Interaction: turns, SessionSummary: summaries}, report)
        reading.check(source, secrets)
        if not held and not reading.numbers:
            raise InvalidInputError(f"{source.path.name} is empty: there is nothing to import.")
        yield reading


class _Reading:
    """One pass over a file; turns and summaries are kept in temporary files until all lines are checked."""

    def __init__(self, waiting: Mapping[type, IO[str]], report: Progress) -> None:
        self.numbers: Counter[type] = Counter()
        self.masked: list[str] = []
        self._waiting = waiting
        self._report = report
        self._done = 0

    @property
    def counts(self) -> JournalCounts:
        """The counts of the file."""
        return {"memories": self.numbers[Interaction], "summaries": self.numbers[SessionSummary]}

    def check(self, source: LineFile, secrets: Secrets) -> None:
        """Read all lines; raise an InvalidInputError that names a bad line."""
        for number, value in source.objects(lambda done: self._report(done / 2)):
            cleaned = source.clean(number, value, secrets)
            self.masked += cleaned.found
            try:
                kind = type(_item(cleaned.value))
            except (InvalidInputError, ValueError, OverflowError, OSError) as error:  # the last two: an invalid time
                raise source.fault(number, f"is not a turn or a summary: {str(error).rstrip('.')}") from None
            self._waiting[kind].write(json.dumps(cleaned.value) + "\n")
            self.numbers[kind] += 1
        source.demand_unchanged()

    def items(self, kind: type[T]) -> Iterator[T]:
        """Yield the turns, or the summaries."""
        self._waiting[kind].seek(0)
        for line in self._waiting[kind]:
            self._done += 1
            if self._done % jsonl.TICK == 0:
                self._report(0.5 + self._done / self.numbers.total() / 2)
            yield cast(T, _item(json.loads(line)))


def _item(value: Mapping[str, Any]) -> Interaction | SessionSummary:
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping):
        raise InvalidInputError("it has no metadata")
    is_turn = metadata.get("type") == AGENT_INTERACTION or "prompt" in metadata
    if value.get("collection", COLLECTIONS["memories"] if is_turn else "") == COLLECTIONS["memories"]:
        return turn(value, metadata)
    if value.get("collection") == COLLECTIONS["summaries"] or {"title", "memoryCount"} & metadata.keys():
        return summary(value, metadata)
    raise InvalidInputError("it has neither a prompt nor a title")


# the directory of exports: which files may be imported, and whether paths are shown -----------------------------------


class ExportDirectory:
    """The exports of one workspace, which no other workspace can import."""

    def __init__(self, data_dir: Path, workspace_id: str, *, discreet: bool) -> None:
        """With `discreet`, hide the machine's directories from the caller."""
        self._exports = data_dir / EXPORTS
        self._own = self._exports / workspace_id
        self._discreet = discreet

    def new(self, now: str) -> Path:
        """Return the path for an export made at a time."""
        return self._own / f"memory-backup-{now.translate(str.maketrans('', '', '-:.'))}.jsonl"

    def find(self, file: str) -> Path:
        """Return the path of a file; a name refers to a file of the workspace first.

        Raise InvalidInputError unless the file belongs to the workspace or was copied into the directory.
        """
        exports, own = self._exports.resolve(), self._own.resolve()
        try:
            paths = [(directory / Path(file)).resolve() for directory in (own, exports)]
            path = next(filter(Path.is_file, paths), None)
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInputError(
                f"{file[:200]!r} is not a valid path ({type(error).__name__}). Give the name of a file."
            ) from None
        directory = "the server's directory of exports" if self._discreet else str(self._exports)
        if (path or paths[-1]).parent not in (exports, own):
            raise InvalidInputError(
                f"{file[:200]!r} is outside the directory of exports. Copy it into {directory}, and give its name."
            )
        if path is None:
            raise InvalidInputError(f"There is no file {file[:200]!r} in {directory}. Check its name.")
        return path

    def shown(self, path: Path) -> str:
        """Return a path in the form that the caller may see."""
        return path.relative_to(self._exports).as_posix() if self._discreet else str(path)

    @contextmanager
    def discreetly(self) -> Iterator[None]:
        """Remove the directory from errors raised inside, if the caller must not see it."""
        try:
            yield
        except (InvalidInputError, StoreError) as error:
            if not self._discreet:
                raise
            text = str(error)
            for directory in (self._exports, self._exports.resolve()):
                text = text.replace(str(directory), "the directory of exports")
            error.args = (text,)
            raise
