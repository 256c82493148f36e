"""`memoryd import`: import memoryd's exports and the files of other memories, agents and notebooks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import exports, intake
from memoryd.cli.frame import PLACE, AsJson, command, demand_writable, named
from memoryd.core.transfer.formats.source import opened
from memoryd.core.transfer.formats.table import FORMATS
from memoryd.core.transfer.intake import recognize
from memoryd.core.transfer.jsonl import is_ours
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

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
            intake.preview(settings, source, known, wish.include, by_project=wish.by_project, as_json=wish.as_json)
        else:
            intake.take(
                settings,
                source,
                known,
                wish.include,
                by_project=wish.by_project,
                agreed=wish.agreed,
                vectors=wish.vectors,
                as_json=wish.as_json,
            )
