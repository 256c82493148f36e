"""Export whole workspaces to a file, and import memoryd's own files."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import PLACE, AsJson, command, named, new_file, note, out, reported
from memoryd.cli.here import here
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.security import secrets
from memoryd.core.transfer import export as exports
from memoryd.core.transfer import journal_file, jsonl, reader, restore
from memoryd.core.transfer import salvage as salvaging
from memoryd.core.transfer.export import Numbers
from memoryd.core.transfer.export_formats import OWN, ExportFormat, export_format
from memoryd.core.transfer.jsonl import HEAD, ImportMode, LineFile
from memoryd.core.transfer.reader import Part
from memoryd.core.transfer.restore import RestoredWorkspace, rehearse
from memoryd.core.transfer.schema import FORMAT
from memoryd.core.workspaces.registry import ARCHIVED
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.settings import Settings
from memoryd.store.sqlite.store import SqliteStore

MODES = ("merge", "replace")
_Seen = tuple[str, Numbers, dict[str, Numbers]]
"""A workspace, the numbers in the file for it, and those that are new to it or would be removed from it."""
LISTED = 20  # removed files that are named
CHROMA = (
    "The journal is in ChromaDB (MEMORY_JOURNAL_STORE): it is not part of the export. The tool export_database "
    "exports it."
)
BESIDE = (
    "The journal is in ChromaDB (MEMORY_JOURNAL_STORE): recall finds the imported turns, but the journal tools do not."
)
Every = Annotated[bool, typer.Option("--all", help="Every workspace that is not archived.")]


@command(*PLACE)
def export(
    settings: Settings,
    file: Annotated[
        Path, typer.Argument(parser=named, help="The new file; for Markdown a folder, new or from an earlier export.")
    ],
    *,
    form: Annotated[
        str, typer.Option("--format", metavar="jsonl|markdown", help="For memoryd, or for people, Obsidian and git.")
    ] = OWN,
    every: Every = False,
    vectors: Annotated[bool, typer.Option("--vectors", help="Include all vectors.")] = False,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Write all that can be read of a damaged SQLite database.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a workspace, or all of them, into one file of JSON lines, or a folder of Markdown; `import` reads both."""
    other = None if form == OWN else export_format(form)
    path = new_file(file)
    if salvage:
        _salvage(settings, path, form, vectors=vectors, as_json=as_json)
        return
    settings = here(settings)
    if other:
        _folder(settings, other, path, every=every, as_json=as_json)
        return
    with Engine(settings, fetch=False) as engine:
        workspaces = _chosen(engine, every)
        with reported() as report:
            written, numbers = exports.export(engine, path, workspaces, report, vectors=vectors)
    if settings.journal_store == "chroma":
        note(CHROMA)
    _print_written(path, written.size, numbers, as_json=as_json)


def _salvage(settings: Settings, path: Path, form: str, *, vectors: bool, as_json: bool) -> None:
    if form != OWN:
        raise InvalidInputError(f"--salvage writes {OWN} only: import that file, then export it as {form}.")
    with Engine(settings, fetch=False) as engine:
        if not isinstance(engine.store, SqliteStore):
            raise InvalidInputError(f"--salvage reads files of SQLite, not {engine.store.product}.")
        layout = engine.store.layout
        files = [one for one in dict.fromkeys((layout.path(None), *layout.others())) if one.is_file()]
        if not files:
            raise InvalidInputError(f"There is no database at {engine.store.place}. Nothing was written.")
        with reported() as report:
            done = salvaging.salvage(files, path, engine.clock, report, vectors=vectors)
    if not as_json:
        for name, (broken, number) in done.broken.items():
            note(f"{name}: {broken:,} of {number:,} pages could not be read.")
        for what, numbers in (("Lost", done.lost), ("Details lost, the texts saved", done.completed)):
            if +numbers:
                note(f"{what}: {exports.counts_text(numbers)}.")
    more = {"lost": done.lost, "without_details": done.completed, "broken_pages": done.broken}
    _print_written(path, done.written.size, done.numbers, as_json=as_json, **(more if as_json else {}))


def _folder(settings: Settings, form: ExportFormat, path: Path, *, every: bool, as_json: bool) -> None:
    """Write a folder in a format, with a subfolder for each workspace."""
    with Engine(settings, fetch=False) as engine, reported() as report:
        done = form.folder(engine, _chosen(engine, every), path, report)
    if settings.journal_store == "chroma":
        note(CHROMA)
    if removed := [str(file.relative_to(path)) for file in done.removed]:
        more = f" and {len(removed) - LISTED} more" if len(removed) > LISTED else ""
        note(f"Removed, because they are no longer part of the export: {', '.join(removed[:LISTED])}{more}.")
    _print_written(path, done.size, done.numbers, as_json=as_json)


def _print_written(path: Path, size: int, numbers: Mapping[str, Numbers], *, as_json: bool, **more: object) -> None:
    if as_json:
        listed = [{"workspace": name, **of} for name, of in numbers.items()]
        show.as_json({"file": str(path), "bytes": size, **more, "workspaces": listed})
        return
    nouns = [noun for noun in exports.NOUNS.values() if any(of[noun] for of in numbers.values())]
    show.numbers(("workspace", *nouns), [(name, *(of[noun] for noun in nouns)) for name, of in numbers.items()])
    out.print(f"Wrote {path}: {show.size(size)}.", soft_wrap=True)


def _chosen(engine: Engine, every: bool) -> list[Workspace]:
    if not every:
        return [engine.workspace(make=False)]
    engine.demand_database()
    found = engine.workspaces.all()
    if away := [workspace.name for workspace in found if workspace.status == ARCHIVED]:
        note(f"Archived, and not part of the export: {', '.join(away)}. `memoryd workspace restore` restores one.")
    return [workspace for workspace in found if workspace.status != ARCHIVED]


# importing -----------------------------------------------------------------------------------------------------------


def import_own(settings: Settings, path: Path, mode: str, *, every: bool, vectors: bool, as_json: bool) -> None:
    """Import a file that `export` or the tool export_database wrote."""
    chosen: ImportMode = "merge" if mode == "merge" else "replace"
    with jsonl.opened(path) as source, Engine(settings, fetch=False) as engine:
        form = _form(source)
        note_if_new(engine)
        if form == journal_file.FORMAT["format"]:
            _import_journal(engine, source, chosen, as_json=as_json)
        else:
            with reported() as report:
                done = restore.load(engine, source, _target(settings, engine, every), chosen, report)
            if as_json:
                show.as_json({"file": str(path), "workspaces": [outcome.as_dict() for outcome in done]})
            else:
                print_restored(done)
            if settings.journal_store == "chroma" and any(outcome.read["turns"] for outcome in done):
                note(BESIDE)
        if vectors:
            embed(engine)


def preview_own(settings: Settings, path: Path, mode: str, *, every: bool, as_json: bool) -> None:
    """Show the content of one of memoryd's files, and what is new or would be removed; check it, import nothing."""
    with jsonl.opened(path) as source, Engine(settings, fetch=False) as engine, reported() as report:
        if _form(source) == journal_file.FORMAT["format"]:
            read = journal_file.counted(source, partial(report, "checking"), engine.secrets)
            held = Numbers(turns=read["memories"], summaries=read["summaries"])
            seen: list[_Seen] = [(engine.workspace_name, held, {})]
        else:
            with reader.unpacked(source, engine.secrets, partial(report, "checking")) as parts:
                targets = restore.named(source, parts, _target(settings, engine, every))
                look = partial(_compared_with, engine, path.name, mode, report)
                seen = [(name, part.numbers, look(part, name)) for part, name in targets]
    if as_json:
        listed = [{"workspace": name, **found, **more} for name, found, more in seen]
        show.as_json({"file": str(path), "workspaces": listed})
        return
    for name, found, more in seen:
        if "new" in more:
            compared(name, "found", found, more["new"])
        else:
            tabulate(name, {"found": found, **more})
    out.print("Nothing was imported.")


def _compared_with(
    engine: Engine, file: str, mode: str, report: StepProgress, part: Part, name: str
) -> dict[str, Numbers]:
    """Return what is `new` to a workspace, or would be `removed` if it is replaced."""
    if mode == "replace":
        return {"removed": restore.removed(engine, name)}
    new = rehearse(engine, file, part, name, partial(report, f"comparing with {name}"))
    return {"new": Numbers({noun: new[noun] for noun in part.numbers})}


def tabulate(title: str, columns: Mapping[str, Numbers]) -> None:
    """Print numbers by noun in columns, without the nouns of which there is nothing."""
    nouns = [noun for noun in exports.NOUNS.values() if any(numbers[noun] for numbers in columns.values())]
    show.numbers((title, *columns), [(noun, *(numbers[noun] for numbers in columns.values())) for noun in nouns])


def note_if_new(engine: Engine) -> None:
    """Print a note if the workspace to import into may be a typing error."""
    if line := engine.note_if_new():
        note(line)


def _target(settings: Settings, engine: Engine, every: bool) -> str | None:
    """Return the workspace to import a file into; None for the names in the file."""
    return engine.workspace_name if "workspace" in settings.model_fields_set and not every else None


def _form(source: LineFile) -> object:
    """Return the format of a file of memoryd; raise InvalidInputError for any other file."""
    head = (source.head() or {}).get(HEAD)
    form = head.get("format") if isinstance(head, dict) else None
    if form not in (FORMAT, journal_file.FORMAT["format"]):
        raise InvalidInputError(f"{source.path.name} is not a memoryd export. Nothing was imported.")
    return form


def _import_journal(engine: Engine, source: LineFile, mode: ImportMode, *, as_json: bool) -> None:
    workspace = engine.workspace(make=True)
    with reported() as report:
        kept = Journal(Scope(engine, workspace)).kept
        done = journal_file.load(kept, source, mode, lambda part: report("importing the journal", part), engine.secrets)
    pairs = {
        name: Numbers(turns=of["memories"], summaries=of["summaries"])
        for name, of in (("read", done.read), ("new", done.new))
    }
    if as_json:
        answer = {"file": str(source.path), "mode": mode, "workspace": workspace.name, **pairs}
        show.as_json(answer | {"masked": dict(Counter(done.masked))})
    else:
        tabulate(workspace.name, pairs)
        masked(done.masked)


def print_restored(done: Iterable[RestoredWorkspace]) -> None:
    """Print what was imported into each workspace, and how much of it was new."""
    for outcome in done:
        compared(outcome.workspace, "read", outcome.read, outcome.new)
        masked(Counter(outcome.masked).elements())
        for remark in outcome.remarks[: restore.REMARKS]:
            note(f"{outcome.workspace}: {remark}")
        if (more := len(outcome.remarks) - restore.REMARKS) > 0:
            note(f"... and {more} more like that.")


def compared(title: str, verb: str, read: Numbers, new: Numbers) -> None:
    """Print how much was read, and how much of it is new."""
    existing = Numbers({noun: number - new[noun] for noun, number in read.items()})
    tabulate(title, {verb: read, "new": new, "existing": existing})


def masked(found: Iterable[str]) -> None:
    """Print the kinds of secrets that were masked, if any."""
    if kinds := list(found):
        note(secrets.masked_notice(kinds))


def embed(engine: Engine) -> None:
    """Embed what was imported, or print why that has to wait."""
    with reported() as report:
        reason = restore.embed(engine, report)
    if reason:
        note(f"Until a running server makes the vectors, the import is found by words only. {reason}")
