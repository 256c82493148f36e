"""`memoryd import`: import memoryd's exports and the files of other memories, agents and notebooks."""

import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from memoryd import features
from memoryd.cli import exports, show
from memoryd.cli.frame import FAILED, AsJson, confirm, demand_writable, fail, named, note, out, stopping
from memoryd.cli.here import command_here
from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.transfer import jsonl, migration
from memoryd.core.transfer.export_formats import ExportFormat, FolderChanges
from memoryd.errors import InvalidInputError
from memoryd.features.base import ForeignImport, ImportOptions
from memoryd.settings import Settings
from memoryd.text import counted

FOREIGN: ForeignImport | None = next(features.hooked("foreign_import"), None)
FORMATS = FOREIGN.formats if FOREIGN else ()
LISTED = ", ".join(FORMATS)
UNTOUCHED = "Stopped. Nothing was imported."


@command_here
def import_(
    settings: Settings,
    path: Annotated[
        Path,
        typer.Argument(
            parser=named,
            help="An export, or the files of another memory or an agent: a file, folder or zip, - for stdin.",
        ),
    ],
    *,
    form: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help=f"Its format, instead of guessing it: {LISTED}.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show its content, and import nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether the guessed format is right.")] = False,
    by_project: Annotated[bool, typer.Option("--by-project", help="A workspace for each of its projects.")] = False,
    include: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="Also import what is omitted by default, such as prompts.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="merge|replace", help="Of memoryd's own: add what is missing, or replace all.")
    ] = "merge",
    every: Annotated[
        bool, typer.Option("--all", help="Of memoryd's own: all workspaces, under their names in the file.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Of a folder of memoryd's own: forget what was deleted from it.")
    ] = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Leave the vectors to a running server.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import an export, or another program's memory; you can repeat it. Only an edited folder changes what exists."""
    demand_writable(settings, "import changes the memory")
    if mode not in exports.MODES:
        raise InvalidInputError(f"Unknown mode {mode[:50]!r}. Use one of: {', '.join(exports.MODES)}.")
    if form is not None and form not in FORMATS:
        raise InvalidInputError(f"Unknown import format {form!r}. Use one of: {LISTED}.")
    wish = ImportOptions(
        frozenset(include or ()), dry_run, yes or form is not None, by_project, not no_vectors, as_json
    )
    with stopping(UNTOUCHED), _regular(path) as given, migration.exported(given, settings, ignore_progress) as place:
        if form is None and jsonl.is_own(place):
            if dry_run:
                exports.preview_own(settings, place, mode, every=every, as_json=as_json)
            else:
                exports.import_own(settings, place, mode, every=every, vectors=wish.vectors, as_json=as_json)
        elif form is None and (written := _writer(place)):
            _take(settings, written, place, wish, every=every, forget=forget)
        else:
            _foreign(mode, place).run(settings, place, form, wish)


@contextmanager
def _regular(path: Path) -> Iterator[Path]:
    """Yield the absolute path of a file or folder; of stdin (`-`) or a pipe that of a temporary copy."""
    given = path.expanduser().absolute()
    if str(path) != "-" and not (given.is_fifo() or given.is_char_device()):
        yield given
        return
    with TemporaryDirectory(prefix="memoryd-import-") as folder, (Path(folder) / "stdin").open("wb") as copy:
        if str(path) == "-":
            shutil.copyfileobj(sys.stdin.buffer, copy)
        else:
            with given.open("rb") as pipe:
                shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


def _foreign(mode: str, place: Path) -> ForeignImport:
    """Return the import of other programs' files. Raise InvalidInputError without one, or for a mode it lacks."""
    if mode != "merge":
        raise InvalidInputError("Files of other programs are merged: --mode replace is only for memoryd's own exports.")
    if FOREIGN is None:
        raise InvalidInputError(f"{place.name} is not a memoryd export. Nothing was imported.")
    return FOREIGN


# a folder that `memoryd export` wrote and a person may have edited: show, ask, apply ----------------------------------


SHOWN = 20  # changes that are shown of each kind
VERBS = ("added", "changed", "removed")


def _writer(path: Path) -> ExportFormat | None:
    """Return the format of an export that wrote a folder or an archive of one; None if none did."""
    known: list[ExportFormat] = [features.load("exports", name) for name in features.names("exports")]
    return next((form for form in known if form.is_own(path)), None)


def _take(
    settings: Settings, form: ExportFormat, path: Path, wish: ImportOptions, *, every: bool, forget: bool
) -> None:
    """Show what differs; apply it after asking, unless that is agreed. Fail the command if files cannot be used."""
    name = settings.workspace if "workspace" in settings.model_fields_set and not every else ""
    with Engine(settings, fetch=False) as engine:
        found = form.compare(engine, path, name, forget=forget, apply=False)
        if not wish.as_json:
            _print(path, found)
        if not wish.dry_run:
            if not wish.agreed:
                forget = _asked(path, found, forget)
            found = form.compare(engine, path, name, forget=forget, apply=True)
            if wish.vectors and any(one.changes for one in found):
                exports.embed(engine)
    if wish.as_json:
        listed = [
            {**asdict(one), **{verb: dict(_numbers(one, verb)) for verb in VERBS}, "unknown": sorted(one.unknown)}
            for one in found
        ]
        show.as_json({"path": str(path), "workspaces": listed})
    else:
        _print_end(found, forget, wish)
    if refused := sum(len(one.refused) for one in found):
        raise fail(f"Files that were not read: {refused}. Correct them, and import again.", FAILED)


def _asked(path: Path, found: Sequence[FolderChanges], forget: bool) -> bool:
    """Ask whether to apply what differs; return whether to forget what was removed, too."""
    confirm(
        "Apply this?",
        f"{path.name} is a folder that memoryd wrote. Nothing was imported: preview it with --dry-run, apply what "
        "differs with --yes.",
    )
    removed = sum(_numbers(one, "removed").total() for one in found)
    return forget or bool(removed and typer.confirm(f"Forget the {removed} removed ones, too?", err=True))


def _numbers(found: FolderChanges, verb: str) -> Counter[str]:
    return Counter(change.noun for change in found.changes if change.what == verb)


def _print(path: Path, found: Sequence[FolderChanges]) -> None:
    out.print(f"{path.name} is a folder that memoryd wrote. Compared with the memory:", soft_wrap=True)
    for one in found:
        exports.tabulate(one.workspace, {verb: _numbers(one, verb) for verb in VERBS})
        for verb in VERBS:
            changes = [change for change in one.changes if change.what == verb]
            for change in changes[:SHOWN]:
                show.verbatim(f"{verb} {change.noun}: {change.title}")
                for line in change.diff if verb == "changed" else ():
                    show.verbatim(f"  {line}", style="dim")
            if len(changes) > SHOWN:
                note(f"... and {len(changes) - SHOWN} more {verb}; --json shows all.")
        for remark in one.remarks:
            note(f"{remark}.")
        for file, why in one.refused.items():
            note(f"{file} was not read: it {why}.")
        if one.forgotten:
            note(f"{counted(one.forgotten, 'record')} of the folder were forgotten here, and stay so.")
        if one.unknown:
            note(f"Properties that memoryd does not keep: {', '.join(sorted(one.unknown))}.")


def _print_end(found: Sequence[FolderChanges], forget: bool, wish: ImportOptions) -> None:
    removed = sum(_numbers(one, "removed").total() for one in found)
    if removed and not forget:
        note(f"{counted(removed, 'record')} without a file any more: --forget forgets what was deleted.")
    out.print("Nothing was imported." if wish.dry_run else "Imported.")
