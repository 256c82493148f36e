"""`memoryd import` of a folder that `memoryd export` wrote and a person may have edited: show, ask, apply."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from memoryd import features
from memoryd.cli import exports, show
from memoryd.cli.foreign import ImportOptions
from memoryd.cli.frame import FAILED, confirm, fail, note, out
from memoryd.core.engine import Engine
from memoryd.core.transfer.export_formats import ExportFormat, FolderChanges
from memoryd.settings import Settings
from memoryd.text import counted

SHOWN = 20  # changes that are shown of each kind
VERBS = ("added", "changed", "removed")


def writer(path: Path) -> ExportFormat | None:
    """Return the format of an export that wrote a folder or an archive of one; None if none did."""
    known: list[ExportFormat] = [features.load("exports", name) for name in features.names("exports")]
    return next((form for form in known if form.is_own(path)), None)


def take(settings: Settings, form: ExportFormat, path: Path, wish: ImportOptions, *, every: bool, forget: bool) -> None:
    """Show what differs; apply it after asking, unless that is agreed. Fail the command if files cannot be used."""
    name = settings.workspace if "workspace" in settings.model_fields_set and not every else ""
    with Engine(settings, fetch=False) as engine:
        found = form.compare(engine, path, name, forget=forget, apply=False)
        if not wish.as_json:
            _print(path, found)
        if not wish.dry_run:
            if not wish.agreed:
                forget = _asked(path, found, forget)
            found = form.compare(engine, path, name, forget=forget, apply=True)
            if wish.vectors and any(one.changes for one in found):
                exports.embed(engine)
    if wish.as_json:
        listed = [
            {**asdict(one), **{verb: dict(_numbers(one, verb)) for verb in VERBS}, "unknown": sorted(one.unknown)}
            for one in found
        ]
        show.as_json({"path": str(path), "workspaces": listed})
    else:
        _print_end(found, forget, wish)
    if refused := sum(len(one.refused) for one in found):
        raise fail(f"Files that were not read: {refused}. Correct them, and import again.", FAILED)


def _asked(path: Path, found: Sequence[FolderChanges], forget: bool) -> bool:
    """Ask whether to apply what differs; return whether to forget what was removed, too."""
    confirm(
        "Apply this?",
        f"{path.name} is a folder that memoryd wrote. Nothing was imported: preview it with --dry-run, apply what "
        "differs with --yes.",
    )
    removed = sum(_numbers(one, "removed").total() for one in found)
    return forget or bool(removed and typer.confirm(f"Forget the {removed} removed ones, too?", err=True))


def _numbers(found: FolderChanges, verb: str) -> Counter[str]:
    return Counter(change.noun for change in found.changes if change.what == verb)


def _print(path: Path, found: Sequence[FolderChanges]) -> None:
    out.print(f"{path.name} is a folder that memoryd wrote. Compared with the memory:", soft_wrap=True)
    for one in found:
        exports.tabulate(one.workspace, {verb: _numbers(one, verb) for verb in VERBS})
        for verb in VERBS:
            changes = [change for change in one.changes if change.what == verb]
            for change in changes[:SHOWN]:
                show.verbatim(f"{verb} {change.noun}: {change.title}")
                for line in change.diff if verb == "changed" else ():
                    show.verbatim(f"  {line}", style="dim")
            if len(changes) > SHOWN:
                note(f"... and {len(changes) - SHOWN} more {verb}; --json shows all.")
        for remark in one.remarks:
            note(f"{remark}.")
        for file, why in one.refused.items():
            note(f"{file} was not read: it {why}.")
        if one.forgotten:
            note(f"{counted(one.forgotten, 'record')} of the folder were forgotten here, and stay so.")
        if one.unknown:
            note(f"Properties that memoryd does not keep: {', '.join(sorted(one.unknown))}.")


def _print_end(found: Sequence[FolderChanges], forget: bool, wish: ImportOptions) -> None:
    removed = sum(_numbers(one, "removed").total() for one in found)
    if removed and not forget:
        note(f"{counted(removed, 'record')} without a file any more: --forget forgets what was deleted.")
    out.print("Nothing was imported." if wish.dry_run else "Imported.")
