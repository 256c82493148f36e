"""`memoryd import`: import memoryd's exports and the files of other memories, agents and notebooks."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from memoryd import features
from memoryd.cli import exports, folders
from memoryd.cli.foreign import ForeignImport, ImportOptions
from memoryd.cli.frame import AsJson, demand_writable, named, stopping
from memoryd.cli.here import command_here
from memoryd.core.base.progress import ignore_progress
from memoryd.core.transfer import jsonl, migration
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

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
        elif form is None and (written := folders.writer(place)):
            folders.take(settings, written, place, wish, every=every, forget=forget)
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
