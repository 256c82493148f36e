"""`memoryd doctor` and `memoryd backup`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from memoryd.cli import service, show
from memoryd.cli.frame import FAILED, FILES, AsJson, command, named, new_file, out, reported
from memoryd.core.admin.doctor import Diagnosis, Doctor
from memoryd.core.engine import Engine
from memoryd.core.transfer import migration
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
