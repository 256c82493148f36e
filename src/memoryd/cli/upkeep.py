"""The commands `doctor`, `audit`, `backup` and `migrate`."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from memoryd.cli import service, show
from memoryd.cli.frame import FAILED, FILES, PLACE, AsJson, command, demand_writable, named, new_file, out, reported
from memoryd.core.admin.audit import JOURNAL, AuditFinding, findings
from memoryd.core.admin.doctor import Diagnosis, Doctor
from memoryd.core.base.clock import day
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.core.transfer import migration
from memoryd.core.workspaces.registry import ARCHIVED
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.settings import Settings
from memoryd.text import counted

# doctor --------------------------------------------------------------------------------------------------------------


@command(*FILES)
def doctor(
    settings: Settings,
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild the word index, drop damaged vectors, embed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the configuration, check rows, words, vectors, models and disk, and suggest a remedy for each problem."""
    with Engine(settings, fetch=False) as engine, reported() as report:
        examiner = Doctor(engine, report)
        diagnosis = examiner.examine()
        if repair and diagnosis.findings:
            examiner.repair()
            diagnosis = examiner.examine()
    diagnosis.facts["service"] = service.described(settings)
    if as_json:
        show.as_json(asdict(diagnosis))
    else:
        _print(diagnosis)
    if diagnosis.findings:
        raise typer.Exit(FAILED)


def _print(diagnosis: Diagnosis) -> None:
    facts = dict(diagnosis.facts)
    files, workspaces = facts.pop("files"), facts.pop("workspaces")
    show.facts(facts.items())
    out.print()
    if files:
        show.numbers(("file", "size"), [(path, show.size(size)) for path, size in files.items()])
        out.print()
        heads = ("workspace", "records", "deleted", "embedded")
        show.numbers(heads, [(w["name"], *(w.get(head, "?") for head in heads[1:])) for w in workspaces])
        out.print()
    alike: dict[tuple[str, str], list[str]] = {}
    for finding in diagnosis.findings:
        alike.setdefault((finding.problem, finding.remedy), []).append(finding.subject)
    for (problem, remedy), subjects in alike.items():
        for subject in subjects:
            show.verbatim(f"! {subject}: {problem}.", style="red")
        show.verbatim(f"  {remedy}")
    if not diagnosis.findings:
        out.print(Text("All is well.", style="green"))


# audit --------------------------------------------------------------------------------------------------------------


@command(*PLACE)
def audit(settings: Settings, *, as_json: AsJson = False) -> None:
    """List texts that contain secrets or read like instructions to an agent, without showing the texts.

    Covers every workspace that is not archived, or only the one that --workspace names.
    """
    with Engine(settings, fetch=False) as engine:
        engine.demand_database()
        if "workspace" in settings.model_fields_set:
            chosen = [engine.workspace(make=False)]
        else:
            chosen = [workspace for workspace in engine.workspaces.all() if workspace.status != ARCHIVED]
        scopes = {workspace.name: Scope(engine, workspace) for workspace in chosen}
        number = 0
        for number, finding in enumerate(findings(engine, chosen), 1):
            _print_finding(scopes[finding.workspace], finding, number, as_json=as_json)
    if as_json:
        out.file.write("\n]\n" if number else "[]\n")
    elif not number:
        out.print(Text("Nothing was found.", style="green"))


def _print_finding(scope: Scope, finding: AuditFinding, number: int, *, as_json: bool) -> None:
    """Print one finding, as soon as it is found: there may be very many."""
    if as_json:
        out.file.write((",\n" if number > 1 else "[\n") + json.dumps(finding.as_dict()))
        return
    what = f"{finding.where} {finding.predicate}" + (", deleted" if finding.deleted else "")
    named = scope.shortened([finding.id])[finding.id] if finding.table != JOURNAL else finding.id  # read only whole
    show.verbatim(f"{finding.workspace}  {finding.kind} {named}  {day(finding.created_at)}  {what}")


# backup --------------------------------------------------------------------------------------------------------------


@command(*FILES)
def backup(
    settings: Settings,
    file: Annotated[Path, typer.Argument(parser=named, help="A new file; MEMORY_DB_PATH can point to it.")],
    as_json: AsJson = False,
) -> None:
    """Write everything to one file, consistent even while others write, and check it."""
    target = new_file(file)
    with Engine(settings, fetch=False) as engine, reported() as report:
        engine.demand_database()
        records = migration.backup(engine, target, report)
    size = target.stat().st_size
    if as_json:
        show.as_json({"file": str(target), "size": size, "records": records})
    else:
        out.print(f"Wrote {target}: {counted(records, 'record')}, {show.size(size)}.", soft_wrap=True)


# migrate --------------------------------------------------------------------------------------------------------------

WHERE = "`postgresql://...`, a file, or a data directory"
MOVED = ("records", "relations", "embeddings", "events")


@command()
def migrate(
    settings: Settings,
    source: Annotated[str, typer.Option("--from", metavar="SOURCE", help=f"Where the memory is: {WHERE}.")],
    target: Annotated[str, typer.Option("--to", metavar="TARGET", help="Where it goes: likewise.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Copy the whole memory to another database and verify it. What exists there is not written again."""
    demand_writable(settings, "migrate writes")
    places = {"--from": source, "--to": target}
    for option, place in places.items():
        if not place:
            raise InvalidInputError(f"{option} is empty. It takes {WHERE}.")
        try:
            migration.at(place, settings)
        except InvalidInputError as error:
            raise InvalidInputError(f"{option}: {error}") from None
    with _naming(places), reported() as report:
        outcome = migration.migrate(source, target, settings, report)
    if as_json:
        show.as_json(outcome.as_dict())
    else:
        rows = [(one.name, one.status, *(one.rows[head] for head in MOVED), one.written) for one in outcome.moved]
        show.numbers(("workspace", "status", *MOVED, "written now"), rows)
        out.print()
    outcome.demand_same()
    if not as_json:
        out.print("Source and target have the same content.")
    if outcome.stayed and not as_json:
        out.print(
            f"Not copied are tokens and people: {', '.join(outcome.stayed)}. Before you serve the target over HTTP, "
            "create them there with `memoryd token create` or `memoryd login set`: a server without any admits "
            "everyone on its machine.",
            soft_wrap=True,
            markup=False,
        )


@contextmanager
def _naming(places: Mapping[str, str]) -> Iterator[None]:
    """Let errors name the options that give a URL, instead of the setting that does so elsewhere."""
    options = " or ".join(option for option, place in places.items() if place.startswith(migration.SERVER))
    try:
        yield
    except MemorydError as error:
        error.args = (str(error).replace("MEMORY_DATABASE_URL", options),)
        raise
