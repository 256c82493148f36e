"""The commands for upkeep: doctor, backup, models."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memoryd.cli import show
from memoryd.cli.frame import FAILED, FILES, AsJson, command, out, reported
from memoryd.core.admin.doctor import Diagnosis, Doctor
from memoryd.core.engine import Engine
from memoryd.core.transfer import migration
from memoryd.models import archive, weights
from memoryd.models.providers import Spec
from memoryd.models.pull import pull as fetch
from memoryd.settings import Settings

models = typer.Typer(add_completion=False, no_args_is_help=True, help="The bundled models: fetch, list and carry them.")
_USES = {weights.EMBEDDER: "embedder", weights.RERANKER: "reranker"}


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
    if as_json:
        show.as_json(diagnosis.as_dict())
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
    for finding in diagnosis.findings:
        show.verbatim(f"! {finding.subject}: {finding.problem}.", style="red")
        show.verbatim(f"  {finding.remedy}")
    if not diagnosis.findings:
        out.print(Text("All is well.", style="green"))


# backup --------------------------------------------------------------------------------------------------------------


@command(*FILES)
def backup(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="A new file; MEMORY_DB_PATH can point to it.")],
    as_json: AsJson = False,
) -> None:
    """Write everything into one file, consistent even while others write, and check it."""
    target = file.expanduser().absolute()
    with Engine(settings, fetch=False) as engine, reported() as report:
        engine.demand_database()
        records = migration.backup(engine, target, report)
    size = target.stat().st_size
    if as_json:
        show.as_json({"file": str(target), "size": size, "records": records})
    else:
        out.print(f"Wrote {target}: {records} records, {show.size(size)}.", soft_wrap=True)


# models --------------------------------------------------------------------------------------------------------------


@models.command()
@command("data_dir")
def pull(settings: Settings) -> None:
    """Download the bundled models, 69 MB, and verify them; verified files are kept."""
    directory = weights.place(settings)
    with reported() as report:
        source = fetch(directory, report)
    came = f" They came from {source}." if source else ""
    out.print(f"The models in {directory} are verified.{came}", soft_wrap=True)


@models.command()
@command("data_dir")
def export(
    settings: Settings, file: Annotated[Path, typer.Argument(help="The archive; what is there is replaced.")]
) -> None:
    """Write the bundled models into one file, for a machine without a network."""
    target = file.expanduser().absolute()
    archive.export_archive(weights.place(settings), target)
    out.print(f"Wrote {target}: {show.size(target.stat().st_size)}.", soft_wrap=True)


@models.command(name="import")
@command("data_dir")
def import_(settings: Settings, file: Annotated[Path, typer.Argument(help="As `models export` wrote it.")]) -> None:
    """Install the models of an archive after verifying them; any other file is refused, and nothing is changed."""
    archive.import_archive(file.expanduser().absolute(), settings.models)
    out.print(f"The models in {settings.models} are verified.", soft_wrap=True)


@models.command(name="list")
@command("data_dir")
def list_(settings: Settings, as_json: AsJson = False) -> None:
    """List the models: state, size, path, and which are configured."""
    force = {"embedder": settings.embedder, "reranker": settings.reranker_spec}
    rows = [_model(settings, model, force[use]) for model, use in _USES.items()]
    if as_json:
        show.as_json({"in_force": force, "models": rows})
        return
    show.numbers(
        ("model", "use", "state", "size", "path"),
        [(row["model"], row["use"], row["state"], show.size(row["size"]), row["path"]) for row in rows],
    )
    out.print()
    show.facts(force.items())


def _model(settings: Settings, model: str, spec: str) -> dict[str, Any]:
    """Return the description of a bundled model; its state is that of its worst file."""
    directory = weights.place(settings)
    files = [weight for weight in weights.WEIGHTS if weight.model == model]
    states = {weights.check(directory, weight) for weight in files}
    return {
        "model": f"bundled:{model}",
        "use": _USES[model],
        "in_force": Spec.parse(spec) in (Spec("bundled"), Spec("bundled", model)),
        "state": next(state for state in ("corrupt", "missing", "verified") if state in states),
        "size": sum(weight.size for weight in files),
        "path": str(directory / model),
    }
