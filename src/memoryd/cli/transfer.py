"""Import exports, and what other memories, agents and notebooks have written: import."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import exports, intake, show, transcripts
from memoryd.cli.frame import FAILED, PLACE, AsJson, command, demand_writable, fail, named, note, out, reported
from memoryd.core.agents import transcript_source
from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.transfer import foreign
from memoryd.core.transfer.foreign import ImportSummary, Remark
from memoryd.core.transfer.formats import table
from memoryd.core.transfer.formats.source import opened
from memoryd.core.transfer.intake import recognize
from memoryd.core.transfer.jsonl import is_ours
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

FORMATS = {form.name: form for form in (foreign.FORMAT, transcript_source.FORMAT, *table.FORMATS.values())}
"""What `--from` may name, in the order in which formats are recognized."""
LISTED = ", ".join(FORMATS)


@dataclass(frozen=True, slots=True)
class _Wish:
    """How to import."""

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
            parser=named, help="What `memoryd export`, another memory or an agent has written: a file, a folder, a zip."
        ),
    ],
    *,
    form: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help=f"Its format, if it is not to be guessed: {LISTED}.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it holds, and import nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether its format is guessed right.")] = False,
    by_project: Annotated[bool, typer.Option("--by-project", help="A workspace for each of its projects.")] = False,
    include: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="What is left out otherwise, such as prompts or history.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="merge|replace", help="Of memoryd's own: add what is not there, or replace all.")
    ] = "merge",
    every: Annotated[
        bool, typer.Option("--all", help="Of memoryd's own: under the names that the file gives.")
    ] = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Leave the vectors to a running server.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import an export, or another's memory. What is there already stays as it is, so it can be repeated."""
    demand_writable(settings, "import changes the memory")
    if mode not in exports.MODES:
        raise InvalidInputError(f"There is no mode {mode[:50]!r}. There are: {', '.join(exports.MODES)}.")
    if form is not None and form not in FORMATS:
        raise InvalidInputError(f"There is no format {form!r} to import from. There are: {LISTED}.")
    place = path.expanduser().absolute()
    wish = _Wish(frozenset(include or ()), dry_run, yes or form is not None, by_project, not no_vectors, as_json)
    if form is None and exports.is_own(place):
        if dry_run:
            exports.preview_own(settings, place, mode, every=every, as_json=as_json)
        else:
            exports.import_own(settings, place, mode, every=every, vectors=wish.vectors, as_json=as_json)
        return
    if mode != "merge":
        raise InvalidInputError("What comes from elsewhere is merged: --mode replace is for memoryd's own exports.")
    if form is not None and form in OWN_LOADERS and not dry_run:
        _own(settings, place, form, wish)
    else:
        _elsewhere(settings, place, form, wish)


def _elsewhere(settings: Settings, path: Path, form: str | None, wish: _Wish) -> None:
    """Show or import what a format reads, which is recognized unless it is named."""
    if exports.is_database(path):
        raise InvalidInputError(
            f"{path.name} is a database of memoryd, such as a backup. Nothing was imported: `memoryd --db FILE` uses "
            "it as it is, `memoryd --db FILE export` writes what an import takes, `memoryd migrate` copies all of it."
        )
    with opened(path) as source:
        known = FORMATS[form] if form else recognize(source, FORMATS.values())
        if known is None:
            if own := [one.name for one in source.named("*.jsonl") if is_ours(one.head())]:
                raise InvalidInputError(
                    f"{path.name} holds exports of memoryd's own: {', '.join(own[:5])}. Nothing was imported; import "
                    "such a file by itself."
                )
            ours = "is no export of memoryd's own, nor recognized as another's"
            what = ours if source.only else "holds nothing that is recognized"
            what = "is empty" if source.only and not source.only.size else what
            what = f"cannot be read ({source.unreadable[0]})" if source.unreadable else what
            raise InvalidInputError(
                f"{path.name} {what}. Nothing was imported. Where you know its format, name it with --from: {LISTED}."
            )
        if wish.dry_run:
            elsewhere = known is transcript_source.FORMAT and settings.journal_store == "chroma"
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


# formats with a way of their own into the store ----------------------------------------------------------------------


def _own(settings: Settings, path: Path, form: str, wish: _Wish) -> None:
    if wish.by_project or wish.include:
        raise InvalidInputError(f"{form} is imported whole, into one workspace: leave --by-project and --include out.")
    OWN_LOADERS[form](settings, path, wish)


def _transcripts(settings: Settings, path: Path, wish: _Wish) -> None:
    transcripts.take(settings, path, as_json=wish.as_json, vectors=wish.vectors)


def _graph(settings: Settings, path: Path, wish: _Wish) -> None:
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
        ("", "read", "new", "there already"),
        [
            ("entities", read.entities, new.entities, read.entities - new.entities),
            ("observations", read.observations, new.observations, read.observations - new.observations),
            ("relations", read.relations, new.relations, read.relations - new.relations),
        ],
    )
    if summary.placeholders:
        out.print(f"Entities made because relations name them: {summary.placeholders}.", soft_wrap=True)
    if summary.empty:
        out.print(f"Observations left out because they are empty: {summary.empty}.", soft_wrap=True)
    exports.masked(summary.masked)
    _remark(summary.first_hints, summary.hints)
    _remark(summary.first_faults, summary.faults)


def _remark(first: Sequence[Remark], number: int) -> None:
    for remark in first:
        note(f"Line {remark.line} {remark.text}.")
    if number > len(first):
        note(f"... and {number - len(first)} more like that.")


def _end(summary: ImportSummary) -> None:
    """End the command as a failure if something was not imported."""
    again = "and import the file again: what is there already stays as it is."
    if summary.changed:
        raise fail(f"The file changed during the import. Stop the server that uses it, {again}", FAILED)
    if summary.faults:
        raise fail(f"Lines that were not imported, or only in part: {summary.faults}. Correct them {again}", FAILED)


OWN_LOADERS: Mapping[str, Callable[[Settings, Path, _Wish], None]] = {
    foreign.FORMAT.name: _graph, transcript_source.FORMAT.name: _transcripts,
}  # fmt: skip
