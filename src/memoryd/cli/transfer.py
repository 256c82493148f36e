"""Import exports and the files of other memory servers: import."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import exports, show, transcripts
from memoryd.cli.frame import FAILED, PLACE, AsJson, command, fail, note, out, reported
from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.transfer import foreign, server_memory
from memoryd.core.transfer.foreign import ImportSummary, Remark
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

FORMATS = ", ".join([*server_memory.FORMATS, transcripts.CLAUDE_CODE])


@command(*PLACE)
def import_(
    settings: Settings,
    file: Annotated[
        Path,
        typer.Argument(
            help="What `memoryd export`, or another memory, has written; of an agent's transcripts, their directory."
        ),
    ],
    *,
    form: Annotated[str | None, typer.Option("--from", metavar="FORMAT", help=f"Its format: {FORMATS}.")] = None,
    mode: Annotated[
        str, typer.Option(metavar="merge|replace", help="Of memoryd's own: add what is not there, or replace all.")
    ] = "merge",
    every: Annotated[
        bool, typer.Option("--all", help="Of memoryd's own: under the names that the file gives.")
    ] = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Leave the vectors to a running server.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import an export, or another server's memory. What is there already stays as it is, so it can be repeated."""
    if settings.read_only:
        raise InvalidInputError("import changes the memory, which --read-only (MEMORY_READ_ONLY) forbids.")
    if form is None:
        exports.import_own(settings, file, mode, every=every, formats=FORMATS, vectors=not no_vectors, as_json=as_json)
        return
    if mode != "merge":
        raise InvalidInputError("What comes from elsewhere is merged: --mode replace is for memoryd's own exports.")
    if form == transcripts.CLAUDE_CODE:
        transcripts.take(settings, file, as_json=as_json, vectors=not no_vectors)
        return
    if form not in server_memory.FORMATS:
        raise InvalidInputError(f"There is no format {form!r} to import from. There are: {FORMATS}.")
    with foreign.opened(file.expanduser().absolute(), form) as source, Engine(settings, fetch=False) as engine:
        graph = Graph(Scope(engine, engine.workspace(make=True)))
        with reported() as report:
            summary = foreign.load(graph, source, report)
        if as_json:
            show.as_json({"file": str(source.path), "workspace": graph.workspace.name, **summary.as_dict()})
        else:
            _print(summary)
        if not no_vectors:
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
