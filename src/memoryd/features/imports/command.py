"""`memoryd import` of the files of another memory, agent or notebook: show them, ask, merge them."""

import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from memoryd.cli import exports, show
from memoryd.cli.frame import FAILED, fail, note, out, reported, stopping
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import NOUNS
from memoryd.errors import InvalidInputError
from memoryd.features.base import ForeignImport, ImportOptions
from memoryd.features.imports import intake
from memoryd.features.imports.formats.source import Source
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.intake import Intake, Recognized
from memoryd.features.imports.staging import REMARKS, Remarked
from memoryd.models.providers import Spec
from memoryd.settings import Settings

PROJECTS = 20  # maximum projects listed
EMBEDDING = "Stopped. Everything is imported, for search by words; a running server makes the missing vectors."
MANY = 1_000  # new records whose vectors take a minute or more


def preview(settings: Settings, source: Source, found: Recognized, wish: ImportOptions) -> None:
    """Show the content of a source and how much of it is new; import nothing."""
    with Engine(settings, fetch=False) as engine, ExitStack() as stack:
        each = [(read, _new(read, engine)) for read in _read(stack, engine, source, found, wish)]
        if wish.as_json:
            _as_json([read.as_dict(new) for read, new in each])
        else:
            for read, new in each:
                _print(read, new)
            out.print("Nothing was imported.")


def take(settings: Settings, source: Source, found: Recognized, wish: ImportOptions) -> None:
    """Import a source, after asking unless that is agreed; fail the command if parts of it cannot be read."""
    if not sys.stdin.isatty():
        demand_agreement(source, found, agreed=wish.agreed)
    with Engine(settings, fetch=False) as engine, ExitStack() as stack:
        every = _read(stack, engine, source, found, wish)
        exports.note_if_new(engine)
        for read in [] if wish.as_json else every:
            _print(read, None if wish.agreed else _new(read, engine))
        if not wish.agreed:
            typer.confirm("Import this?", abort=True, err=True)
        new = sum(_load(every, engine, wish))
        with stopping(EMBEDDING):
            if wish.vectors and not Spec.parse(settings.embedder).off:
                if new > MANY:
                    note("Everything is imported, for search by words. Vectors follow; Ctrl-C leaves them to a server.")
                exports.embed(engine)
    if faults := sum(read.found.faults.number for read in every):
        raise fail(
            f"Parts that were not imported: {faults}. The rest is imported; importing it again does not change what "
            "exists.",
            FAILED,
        )


def _load(every: list[Intake], engine: Engine, wish: ImportOptions) -> list[int]:
    """Merge each kind, and show the results; return the numbers of new records."""
    accounts, new = [], []
    for read in every:
        with reported() as report:
            done = read.load(engine, report)
        new.append(sum(one.new.total() for one in done))
        accounts.append(read.as_dict() | {"workspaces": [outcome.as_dict() for outcome in done]})
        if not wish.as_json:
            exports.print_restored(done)
    if wish.as_json:
        _as_json(accounts)
    return new


def _as_json(accounts: list[dict[str, Any]]) -> None:
    """Print the account of a source of one kind, or the list of those of several kinds."""
    show.as_json(accounts if len(accounts) > 1 else accounts[0])


def demand_agreement(source: Source, found: Recognized, *, agreed: bool) -> None:
    """Raise InvalidInputError that names the recognized formats, unless the import is agreed to."""
    if not agreed:
        what = " and ".join(f"{form.title} ({form.name})" for form, _ in found.kinds)
        one = f" or --from {found.kinds[0][0].name}" if len(found.kinds) == 1 else ", or one of them with --from"
        raise InvalidInputError(
            f"{source.path.name} is {what}. Nothing was imported: preview it with --dry-run, import it with --yes{one}."
        )


def _read(stack: ExitStack, engine: Engine, source: Source, found: Recognized, wish: ImportOptions) -> list[Intake]:
    """Return what each format contains. Raise InvalidInputError if none contains anything; else that is a note."""
    with reported() as report:
        every, failures = intake.all_staged(
            stack, engine, found, report, include=wish.include, by_project=wish.by_project
        )
    for failure in failures:
        note(str(failure))
    for file in found.listed[:REMARKS]:
        note(f"{file.name} may contain memories too: {source.command(file)} shows them")
    return every


def _new(read: Intake, engine: Engine) -> Counter[str] | None:
    """Return how much of a source is new; None if it has turns, and the journal is in ChromaDB."""
    if engine.settings.journal_store == "chroma" and read.numbers["turns"]:
        return None
    with reported() as report:
        return read.rehearse(engine, report)


def _print(read: Intake, new: Counter[str] | None) -> None:
    """Show what was read, and how much of it is new if that was counted."""
    found = read.found
    out.print(f"{read.path.name} is {read.form.title} ({read.form.name}). It contains:", soft_wrap=True)
    if new is None:
        nouns = [noun for noun in NOUNS.values() if found.first.get(noun)]
        show.numbers(("", "found"), [(noun, read.numbers[noun]) for noun in nouns])
    else:
        exports.compared("", "found", read.numbers, new)
    if set(found.projects) - {""}:
        listed = [f"{name or 'none'} {number}" for name, number in found.projects.most_common(PROJECTS)]
        more = f", and {len(found.projects) - PROJECTS} more" if len(found.projects) > PROJECTS else ""
        show.verbatim(f"By project: {', '.join(listed)}{more}.")
    for noun, first in found.first.items():
        show.verbatim(f"First {noun}:")
        for line in first:
            show.verbatim(f"  {line}", style="dim")
    if found.left_out:
        show.verbatim(f"Omitted: {intake.omitted(found)}.")
    _remark(found.hints)
    _remark(found.faults)


def _remark(remarked: Remarked) -> None:
    for remark in remarked.first:
        note(f"{remark}.")
    if remarked.further:
        note(f"... and {remarked.further} more like that.")


def _run(settings: Settings, path: Path, form: str | None, wish: ImportOptions) -> None:
    """Show or import a source in a given or recognized format."""
    with intake.recognized(path, form) as (source, found):
        (preview if wish.dry_run else take)(settings, source, found, wish)


FOREIGN_IMPORT = ForeignImport(tuple(FORMATS), _run)
