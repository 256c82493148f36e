"""Import what another memory, agent or notebook has written: recognize it, show its contents, merge it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.journal import in_records
from memoryd.core.journal.journal import Journal, own_home
from memoryd.core.scope import Scope
from memoryd.core.transfer import restore
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.jsonl import is_ours
from memoryd.core.transfer.reader import Part
from memoryd.core.transfer.restore import RestoredWorkspace, rehearse
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.items import Yielded
from memoryd.features.imports.formats.json_lines import SIMPLE
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, is_hidden, opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.staging import SourceAccount, Staging
from memoryd.model import Kind
from memoryd.store.sqlite.file import schema_version
from memoryd.store.sqlite.scratch import scratch

BATCH = 100  # turns that a journal gets at once
TICK = 100  # items between progress reports
LOGS = ("-wal", "-shm")  # what belongs to a database
KNOWN = ", ".join(FORMATS)
SUFFIXES = 10  # maximum suffixes of files that are listed


@dataclass(frozen=True, slots=True)
class Intake:
    """A source whose items are ready to be merged."""

    form: ForeignFormat
    path: Path
    found: SourceAccount
    parts: list[Part]
    """The workspaces to merge, with their rows."""

    @property
    def numbers(self) -> Counter[str]:
        """The number of records found, by noun."""
        return sum((part.numbers for part in self.parts), Counter[str]())

    def as_dict(self, new: Counter[str] | None = None) -> dict[str, Any]:
        """Return the account for JSON, with the `new` numbers if known."""
        found = self.found
        fresh = {"new": {noun: new[noun] for noun in self.numbers}} if new is not None else {}
        return {
            "path": str(self.path),
            "format": self.form.name,
            "found": dict(self.numbers),
            **fresh,
            "projects": dict(found.projects.most_common()),
            "first": dict(found.first),
            "left_out": dict(found.left_out),
            "faults": found.faults.number,
            "first_faults": found.faults.first,
            "hints": found.hints.number,
            "first_hints": found.hints.first,
        }

    def rehearse(self, engine: Engine, report: StepProgress) -> Counter[str]:
        """Return how many records of each noun a merge would add."""
        each = (
            rehearse(engine, self.path.name, part, part.name, partial(report, f"comparing with {part.name}"))
            for part in self.parts
        )
        return sum(each, Counter[str]())

    def load(self, engine: Engine, report: StepProgress) -> list[RestoredWorkspace]:
        """Merge the source; return the results. After an error, which tells of them, the finished batches stay."""
        if engine.workspace_name in [part.name for part in self.parts]:
            engine.make_project()
        with restore.telling() as done:
            for part in self.parts:
                self._merge(engine, part, report, done)
        return done

    def _merge(self, engine: Engine, part: Part, report: StepProgress, done: list[RestoredWorkspace]) -> None:
        """Merge one workspace; its turns go to the journal, if that has a database of its own."""
        part.turns_elsewhere = own_home(engine) is not None
        restore.load_part(engine, self.path.name, part, part.name, "merge", report, done)
        if part.turns_elsewhere:
            kept = Journal(Scope(engine, engine.workspaces.find(part.name))).kept
            turns = in_records.turns(lambda after: part.queries.all("journal.page", after=after, limit=BATCH))
            for batch in batches(turns, BATCH):
                known = kept.known([turn.id for turn in batch])
                done[-1].new[NOUNS[Kind.INTERACTION]] += kept.put([turn for turn in batch if turn.id not in known])


@dataclass(frozen=True, slots=True)
class Recognized:
    """What a source contains."""

    kinds: tuple[tuple[ForeignFormat, Source], ...]
    """Each format that was found, with its files."""
    listed: tuple[SourceFile, ...] = ()
    """The files that could be imported one by one, but may be no memories: any program has files like them."""
    rest: tuple[SourceFile, ...] = ()
    """The files in no format."""

    def beside(self) -> Counter[str]:
        """Return the number of visible files in no format, described as for LeftOut."""
        visible = [PurePosixPath(one.name) for one in self.rest if not (is_hidden(one) or one.name.endswith(LOGS))]
        suffixes = Counter(path.suffix or "without a suffix" for path in visible)
        most = ", ".join(f"{number} {suffix}" for suffix, number in suffixes.most_common(SUFFIXES))
        return Counter({f"other files ({most})": len(visible)} if visible else {})


def recognize(source: Source, known: Iterable[ForeignFormat]) -> Recognized:
    """Find the files of each known format. A file is in the first format that takes it."""
    kinds: list[tuple[ForeignFormat, Source]] = []
    listed: list[SourceFile] = []
    rest = source
    for form in known:
        own = {file.name: file for file in form.files(rest)} if rest.files else {}
        if own and form.is_any and kinds:
            listed += own.values()
        elif own:
            kinds.append((form, rest.narrowed(own.values())))
        if own:
            rest = replace(rest.narrowed(one for one in rest.files if one.name not in own), skipped=0, unreadable=())
    return Recognized(tuple(kinds), tuple(listed), rest.files)


def named(source: Source, form: ForeignFormat) -> Recognized:
    """Return a source as of a format that a person has named: its files in the format, or the only file."""
    found = recognize(source, [form])
    return found if found.kinds or not source.only else Recognized(((form, source),))


@contextmanager
def recognized(path: Path, form: str | None) -> Iterator[tuple[Source, Recognized]]:
    """Open a source in a given or recognized format. Raise InvalidInputError if it is in none."""
    if schema_version(path) is not None:
        raise InvalidInputError(
            f"{path.name} is a memoryd database, such as a backup. Nothing was imported: `memoryd --db FILE` uses it "
            "as it is, `memoryd --db FILE export` writes a file to import, `memoryd migrate` copies all of it."
        )
    with opened(path) as source:
        found = named(source, FORMATS[form]) if form else recognize(source, FORMATS.values())
        if not found.kinds:
            raise _unknown(source, form)
        yield source, found


@contextmanager
def staged(
    engine: Engine,
    source: Source,
    form: ForeignFormat,
    include: frozenset[str],
    report: StepProgress,
    *,
    by_project: bool,
    left_out: Counter[str] | None = None,
    into: str = "",
) -> Iterator[Intake]:
    """Read a source, but import nothing yet.

    `left_out` is what the caller left out; `into` names the workspace, '' that of the engine. Raise InvalidInputError
    if nothing in it can be imported, or if a workspace for it is archived or cannot exist.
    """
    if unknown := include - form.more.keys():
        there = ", ".join(form.more) or "nothing"
        raise InvalidInputError(f"{form.name} cannot include {min(unknown)!r}. It can include: {there}.")
    undated = max((one.modified for one in source.files), default="") or engine.clock.now()
    with scratch() as database:
        staging = Staging(database, engine, form, into or engine.workspace_name, undated, by_project=by_project)
        source.meter.clear()
        staging.take(_metered(source, form.read(source, include), report))
        parts = staging.end()
        if source.skipped:
            staging.found.left_out["symbolic links and special files"] += source.skipped
        staging.found.left_out.update(left_out or {})
        for why in source.unreadable:
            staging.found.faults.add(f"a folder cannot be read: {why}")
        if not parts:
            reasons = [*staging.found.faults.first[:1], *staging.found.hints.first[:1]]
            if staging.found.left_out:
                reasons.append(f"Omitted: {omitted(staging.found)}")
            nothing = f"{source.path} contains nothing in the format {form.name} that can be imported"
            raise InvalidInputError(f"{'. '.join([nothing, *reasons])}.")
        for part in parts:
            engine.workspaces.usable(part.name)
        yield Intake(form, source.path, staging.found, parts)


def all_staged(
    stack: ExitStack,
    engine: Engine,
    found: Recognized,
    report: StepProgress,
    *,
    include: frozenset[str] = frozenset(),
    by_project: bool = False,
    into: str = "",
) -> tuple[list[Intake], list[InvalidInputError]]:
    """Return what each format contains, open in `stack`, and why others contain nothing.

    `into` names the workspace; '' means that of the engine. Raise InvalidInputError if no format contains anything.
    """
    every: list[Intake] = []
    failures: list[InvalidInputError] = []
    more = {name for form, _ in found.kinds for name in form.more}
    for form, part in found.kinds:
        own = include & form.more.keys() if include <= more else include
        left_out = found.beside() if part is found.kinds[-1][1] else Counter[str]()
        try:
            read = staged(engine, part, form, own, report, by_project=by_project, left_out=left_out, into=into)
            every.append(stack.enter_context(read))
        except InvalidInputError as error:
            failures.append(error)
    if not every:
        raise failures[0]
    return every, failures


def omitted(found: SourceAccount) -> str:
    """Return what is left out, by reason."""
    return ", ".join(f"{number} {what}" for what, number in found.left_out.items())


def _metered(source: Source, items: Iterator[Yielded], report: StepProgress) -> Iterator[Yielded]:
    for number, item in enumerate(items):
        if number % TICK == 0:
            report("reading", source.done())
        yield item


def _unknown(source: Source, form: str | None) -> InvalidInputError:
    """Return the refusal of a source without anything in a known, or the named, format."""
    name = source.path.name
    if own := [one.name for one in source.named("*.jsonl") if is_ours(one.head())]:
        return InvalidInputError(
            f"{name} contains memoryd exports: {', '.join(own[:5])}. Nothing was imported; import each of them "
            "separately."
        )
    what = "is neither a memoryd export nor in another recognized format"
    what = what if source.only else "contains nothing in a recognized format"
    what = "is empty" if source.only and not source.only.size else what
    what = f"cannot be read ({source.unreadable[0]})" if source.unreadable else what
    there = ", ".join(f"{number} {files}" for files, number in Recognized((), rest=source.files).beside().items())
    return InvalidInputError(
        f"{name} {what}{f': {there}' if there and not source.only else ''}. Nothing was imported. Tried: "
        f"{form or KNOWN}. If you know its format, name it with --from. Else write a line for each memory or turn, "
        f"such as `{SIMPLE[0]}` or `{SIMPLE[1]}`, and import that file."
    )
