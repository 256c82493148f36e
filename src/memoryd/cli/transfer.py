"""What comes from elsewhere: import."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import show, transcripts
from memoryd.cli.frame import FAILED, PLACE, Json, command, fail, note, out, reported
from memoryd.core import formats, transfer
from memoryd.core.engine import Engine
from memoryd.core.graph import Graph
from memoryd.core.transfer import Remark, Summary
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings

FORMATS = ", ".join([*formats.FORMATS, transcripts.CLAUDE_CODE])


@command(*PLACE)
def import_(
    settings: Settings,
    file: Annotated[
        Path, typer.Argument(help="What the other memory has written; of an agent's transcripts, their directory.")
    ],
    *,
    form: Annotated[str | None, typer.Option("--from", metavar="FORMAT", help=f"Its format: {FORMATS}.")] = None,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Leave the vectors to a running server.")] = False,
    as_json: Json = False,
) -> None:
    """Import the memory of another server. What is there already stays as it is, so it can be repeated."""
    if settings.read_only:
        raise InvalidInputError("import changes the memory, which --read-only (MEMORY_READ_ONLY) forbids.")
    if form is None:
        raise InvalidInputError(f"Say with --from which format the file has. There are: {FORMATS}.")
    if form == transcripts.CLAUDE_CODE:
        transcripts.take(settings, file, as_json=as_json, embed=None if no_vectors else _embed)
        return
    if form not in formats.FORMATS:
        raise InvalidInputError(f"There is no format {form!r} to import from. There are: {FORMATS}.")
    with transfer.opened(file.expanduser().absolute(), form) as source, Engine(settings, fetch=False) as engine:
        graph = Graph(engine, engine.workspace(make=True))
        with reported() as report:
            summary = transfer.load(graph, source, report)
        if as_json:
            show.as_json({"file": str(source.path), "workspace": graph.workspace.name, **summary.as_dict()})
        else:
            _print(summary)
        if not no_vectors:
            _embed(engine)
    _end(summary)


def _print(summary: Summary) -> None:
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
    _remark(summary.first_hints, summary.hints)
    _remark(summary.first_faults, summary.faults)


def _remark(first: Sequence[Remark], number: int) -> None:
    for remark in first:
        note(f"Line {remark.line} {remark.text}.")
    if number > len(first):
        note(f"... and {number - len(first)} more like that.")


def _embed(engine: Engine) -> None:
    """Make the vectors now, as far as that can be: whoever imports asks next."""
    with reported() as report:
        reason = transfer.embed(engine, report)
    if reason:
        note(f"It is found by words for now, without meaning; a running server makes the vectors. {reason}")


def _end(summary: Summary) -> None:
    """What was not imported ends the command as a failure."""
    again = "and import the file again: what is there already stays as it is."
    if summary.changed:
        raise fail(f"Somebody wrote to the file meanwhile. End the server that uses it, {again}", FAILED)
    if summary.faults:
        raise fail(f"Lines that were not imported, or not wholly: {summary.faults}. Mend them {again}", FAILED)
