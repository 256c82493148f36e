"""`memoryd import --from claude-code`: the transcripts of a coding agent."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from memoryd.cli import exports, show
from memoryd.cli.frame import FAILED, fail, note, out, reported
from memoryd.core.agents import transcript_import
from memoryd.core.agents.transcript_import import Tally
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings


def take(settings: Settings, path: Path, *, as_json: bool, vectors: bool) -> None:
    """Import a transcript, or those below a directory; fail the command if lines could not be used."""
    if not path.exists():
        raise InvalidInputError(
            f"{path} is neither a transcript nor a directory of transcripts. Give ~/.claude/projects, or a file there."
        )
    with Engine(settings, fetch=False) as engine:
        workspace = engine.workspace(make=True)
        with reported() as report:
            tally = transcript_import.load(
                Journal(Scope(engine, workspace)).kept,
                path,
                engine.secrets,
                lambda done: report("importing transcripts", done),
            )
        if as_json:
            result = {"directory": str(path), "workspace": workspace.name, **asdict(tally)}
            show.as_json(result | {"masked": dict(Counter(tally.masked))})
        else:
            _print(tally)
        if vectors:
            exports.embed(engine)
    if tally.faults:
        raise fail(
            f"Lines or files that were not imported: {tally.faults}. The rest is imported; importing it again does "
            "not change what exists.", FAILED,
        )  # fmt: skip


def _print(tally: Tally) -> None:
    show.numbers(
        ("", "read", "new", "existing"),
        [("files", tally.files, "", ""), ("turns", tally.read, tally.new, tally.read - tally.new)],
    )
    exports.masked(tally.masked)
    if tally.open:
        out.print(f"Turns that seem unfinished, left for the next import: {tally.open}.", soft_wrap=True)
    for fault in tally.first_faults:
        note(f"{fault.file}, line {fault.line}: {fault.text}." if fault.line else f"{fault.file}: {fault.text}")
    if tally.faults > len(tally.first_faults):
        note(f"... and {tally.faults - len(tally.first_faults)} more like that.")
