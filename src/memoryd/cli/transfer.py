"""`memoryd import`: import memoryd's exports and the files of other memories, agents and notebooks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import exports, intake, show, transcripts
from memoryd.cli.frame import FAILED, PLACE, AsJson, command, demand_writable, fail, named, note, out, reported
from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.transfer import foreign
from memoryd.core.transfer.foreign import ImportSummary, Remark
from memoryd.core.transfer.formats import claude_code, table
from memoryd.core.transfer.formats.source import opened
from memoryd.core.transfer.intake import recognize
from memoryd.core.transfer.jsonl import is_ours
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

FORMATS = {form.name: form for form in (foreign.FORMAT, claude_code.FORMAT, *table.FORMATS.values())}
"""The formats that `--from` may name, in the order in which they are recognized."""
LISTED = ", ".join(FORMATS)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of an import."""

    include: frozenset[str]
    dry_run: bool
    agreed: bool
    by_project: bool
    vectors: bool
    as_json: bool


@command(*PLACE)
def import_(
    settings: Settings,
    path: Annotated[
        Path,
        typer.Argument(
            parser=named, help="An export, or the files of another memory or an agent: a file, a folder, a zip."
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
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Leave the vectors to a running server.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import an export, or another program's memory. What exists is not changed, so you can repeat it."""
    demand_writable(settings, "import changes the memory")
    if mode not in exports.MODES:
        raise InvalidInputError(f"Unknown mode {mode[:50]!r}. Use one of: {', '.join(exports.MODES)}.")
    if form is not None and form not in FORMATS:
        raise InvalidInputError(f"Unknown import format {form!r}. Use one of: {LISTED}.")
    place = path.expanduser().absolute()
    wish = _Options(frozenset(include or ()), dry_run, yes or form is not None, by_project, not no_vectors, as_json)
    if form is None and exports.is_own(place):
        if dry_run:
            exports.preview_own(settings, place, mode, every=every, as_json=as_json)
        else:
            exports.import_own(settings, place, mode, every=every, vectors=wish.vectors, as_json=as_json)
        return
    if mode != "merge":
        raise InvalidInputError("Files of other programs are merged: --mode replace is only for memoryd's own exports.")
    if form is not None and form in OWN_LOADERS and not dry_run:
        _own(settings, place, form, wish)
    else:
        _elsewhere(settings, place, form, wish)


def _elsewhere(settings: Settings, path: Path, form: str | None, wish: _Options) -> None:
    """Show or import a source in a given or recognized format."""
    if exports.is_database(path):
        raise InvalidInputError(
            f"{path.name} is a memoryd database, such as a backup. Nothing was imported: `memoryd --db FILE` uses it "
            "as it is, `memoryd --db FILE export` writes a file to import, `memoryd migrate` copies all of it."
        )
    with opened(path) as source:
        known = FORMATS[form] if form else recognize(source, FORMATS.values())
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
            elsewhere = known is claude_code.FORMAT and settings.journal_store == "chroma"
            intake.preview(
                settings, source, known, wish.include,
                by_project=wish.by_project, comparable=not elsewhere, as_json=wish.as_json,
            )  # fmt: skip
        elif known.name in OWN_LOADERS:
            intake.demand_agreement(source, known, agreed=wish.agreed)
            _own(settings, path, known.name, wish)
        else:
            intake.take(
                settings, source, known, wish.include,
                by_project=wish.by_project, agreed=wish.agreed, vectors=wish.vectors, as_json=wish.as_json,
            )  # fmt: skip


# formats with their own way into the store ---------------------------------------------------------------------------


def _own(settings: Settings, path: Path, form: str, wish: _Options) -> None:
    if wish.by_project or wish.include:
        raise InvalidInputError(f"{form} is imported as a whole, into one workspace. Omit --by-project and --include.")
    OWN_LOADERS[form](settings, path, wish)


def _transcripts(settings: Settings, path: Path, wish: _Options) -> None:
    transcripts.take(settings, path, as_json=wish.as_json, vectors=wish.vectors)


def _graph(settings: Settings, path: Path, wish: _Options) -> None:
    with foreign.opened(path, foreign.FORMAT.name) as source, Engine(settings, fetch=False) as engine:
        graph = Graph(Scope(engine, engine.workspace(make=True)))
        with reported() as report:
            summary = foreign.load(graph, source, report)
        if wish.as_json:
            show.as_json({"file": str(source.path), "workspace": graph.workspace.name, **summary.as_dict()})
        else:
            _print(summary)
        if wish.vectors:
            exports.embed(engine)
    _end(summary)


def _print(summary: ImportSummary) -> None:
    read, new = summary.read, summary.new
    show.numbers(
        ("", "read", "new", "existing"),
        [
            ("entities", read.entities, new.entities, read.entities - new.entities),
            ("observations", read.observations, new.observations, read.observations - new.observations),
            ("relations", read.relations, new.relations, read.relations - new.relations),
        ],
    )
    if summary.placeholders:
        out.print(f"Entities created because relations name them: {summary.placeholders}.", soft_wrap=True)
    if summary.empty:
        out.print(f"Observations omitted because they are empty: {summary.empty}.", soft_wrap=True)
    exports.masked(summary.masked)
    _remark(summary.first_hints, summary.hints)
    _remark(summary.first_faults, summary.faults)


def _remark(first: Sequence[Remark], number: int) -> None:
    for remark in first:
        note(f"Line {remark.line} {remark.text}.")
    if number > len(first):
        note(f"... and {number - len(first)} more like that.")


def _end(summary: ImportSummary) -> None:
    """Fail the command if something was not imported."""
    again = "and import the file again: what exists is not changed."
    if summary.changed:
        raise fail(f"The file changed during the import. Stop the server that uses it, {again}", FAILED)
    if summary.faults:
        raise fail(f"Lines that were not imported, or only in part: {summary.faults}. Correct them {again}", FAILED)


OWN_LOADERS: Mapping[str, Callable[[Settings, Path, _Options], None]] = {
    foreign.FORMAT.name: _graph, claude_code.FORMAT.name: _transcripts,
}  # fmt: skip
