"""`memoryd import` of the files of another memory, agent or notebook: show them, ask, merge them."""

import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import typer

from memoryd.cli import exports, show
from memoryd.cli.foreign import ForeignImport, ImportOptions
from memoryd.cli.frame import FAILED, fail, note, out, reported
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.jsonl import is_ours
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.source import ForeignFormat, Source, opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.intake import Intake
from memoryd.features.imports.staging import REMARKS, Remarked
from memoryd.models.providers import Spec
from memoryd.settings import Settings
from memoryd.store.sqlite.file import schema_version

LISTED = ", ".join(FORMATS)
PROJECTS = 20  # maximum projects listed
MANY = 1_000  # new records whose vectors take a minute or more


def preview(
    settings: Settings,
    source: Source,
    form: ForeignFormat,
    include: frozenset[str],
    *,
    by_project: bool,
    as_json: bool,
) -> None:
    """Show the content of a source and how much of it is new; import nothing."""
    with Engine(settings, fetch=False) as engine, ExitStack() as stack:
        read = _read(stack, engine, source, form, include, by_project=by_project)
        new = _new(read, engine)
        if as_json:
            show.as_json(read.as_dict(new))
        else:
            _print(read, new)
            out.print("Nothing was imported.")


def take(
    settings: Settings,
    source: Source,
    form: ForeignFormat,
    include: frozenset[str],
    *,
    by_project: bool,
    agreed: bool,
    vectors: bool,
    as_json: bool,
) -> None:
    """Import a source, after asking unless `agreed`; fail the command if parts of it cannot be read."""
    if not sys.stdin.isatty():
        demand_agreement(source, form, agreed=agreed)
    with Engine(settings, fetch=False) as engine, ExitStack() as stack:
        read = _read(stack, engine, source, form, include, by_project=by_project)
        if not as_json:
            _print(read, None if agreed else _new(read, engine))
        if not agreed:
            typer.confirm("Import this?", abort=True, err=True)
        with reported() as report:
            done = read.load(engine, report)
        if as_json:
            show.as_json(read.as_dict() | {"workspaces": [outcome.as_dict() for outcome in done]})
        else:
            exports.print_restored(done)
        if vectors and not Spec.parse(settings.embedder).off:
            if sum(one.new.total() for one in done) > MANY:
                note("Everything is imported, for search by words. Vectors follow; Ctrl-C leaves them to a server.")
            exports.embed(engine)
    if read.found.faults.number:
        raise fail(
            f"Parts that were not imported: {read.found.faults.number}. The rest is imported; importing it again "
            "does not change what exists.",
            FAILED,
        )


def demand_agreement(source: Source, form: ForeignFormat, *, agreed: bool) -> None:
    """Raise InvalidInputError that names the recognized format, unless the import is agreed to."""
    if not agreed:
        raise InvalidInputError(
            f"{source.path.name} is {form.title} ({form.name}). Nothing was imported: preview it with --dry-run, "
            f"import it with --yes or --from {form.name}."
        )


def _read(
    stack: ExitStack, engine: Engine, source: Source, form: ForeignFormat, include: frozenset[str], *, by_project: bool
) -> Intake:
    with reported() as report:
        return stack.enter_context(intake.staged(engine, source, form, include, report, by_project=by_project))


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
        show.verbatim(f"Omitted: {', '.join(f'{number} {what}' for what, number in found.left_out.items())}.")
    _remark(found.hints)
    _remark(found.faults)


def _remark(remarked: Remarked) -> None:
    for remark in remarked.first:
        note(f"{remark}.")
    if remarked.number > REMARKS:
        note(f"... and {remarked.number - REMARKS} more like that.")


def _run(settings: Settings, path: Path, form: str | None, wish: ImportOptions) -> None:
    """Show or import a source in a given or recognized format."""
    if schema_version(path) is not None:
        raise InvalidInputError(
            f"{path.name} is a memoryd database, such as a backup. Nothing was imported: `memoryd --db FILE` uses it "
            "as it is, `memoryd --db FILE export` writes a file to import, `memoryd migrate` copies all of it."
        )
    with opened(path) as source:
        known = FORMATS[form] if form else intake.recognize(source, FORMATS.values())
        if known is None:
            if own := [one.name for one in source.named("*.jsonl") if is_ours(one.head())]:
                raise InvalidInputError(
                    f"{path.name} contains memoryd exports: {', '.join(own[:5])}. Nothing was imported; import each "
                    "of them separately."
                )
            ours = "is neither a memoryd export nor in another recognized format"
            what = ours if source.only else "contains nothing in a recognized format"
            what = "is empty" if source.only and not source.only.size else what
            what = f"cannot be read ({source.unreadable[0]})" if source.unreadable else what
            raise InvalidInputError(
                f"{path.name} {what}. Nothing was imported. If you know its format, name it with --from: {LISTED}."
            )
        if wish.dry_run:
            preview(settings, source, known, wish.include, by_project=wish.by_project, as_json=wish.as_json)
        else:
            take(
                settings,
                source,
                known,
                wish.include,
                by_project=wish.by_project,
                agreed=wish.agreed,
                vectors=wish.vectors,
                as_json=wish.as_json,
            )


FOREIGN_IMPORT = ForeignImport(tuple(FORMATS), _run)
