"""Keeping it well: doctor, backup, models."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memoryd.cli import show
from memoryd.cli.frame import FAILED, FILES, Json, command, out, printable, reported
from memoryd.core.doctor import Diagnosis, Doctor
from memoryd.core.engine import Engine
from memoryd.errors import StoreError
from memoryd.models import weights
from memoryd.settings import Settings

models = typer.Typer(no_args_is_help=True, help="The bundled models: fetch and list them.")
_USES = {weights.EMBEDDER: "embedder", weights.RERANKER: "reranker"}


# doctor --------------------------------------------------------------------------------------------------------------


@command(*FILES)
def doctor(
    settings: Settings,
    repair: Annotated[bool, typer.Option("--repair", help="Index words anew, drop bad vectors, embed.")] = False,
    as_json: Json = False,
) -> None:
    """Show what is in force, check rows, words, vectors, models and disk, and say what to do about each finding."""
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
        out.print(Text(printable(f"! {finding.subject}: {finding.problem}."), style="red"), soft_wrap=True)
        out.print(Text(printable(f"  {finding.remedy}")), soft_wrap=True)
    if not diagnosis.findings:
        out.print(Text("All is well.", style="green"))


# backup --------------------------------------------------------------------------------------------------------------


@command(*FILES)
def backup(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="A new file; MEMORY_DB_PATH can point to it.")],
    as_json: Json = False,
) -> None:
    """Write everything into one file, consistent while others go on writing, and check it."""
    target = file.expanduser().absolute()
    with Engine(settings, fetch=False) as engine, reported() as report:
        engine.demand_database()
        before = _counts(engine)
        engine.store.backup(target, engine.workspaces.all(), lambda done: report("copying", done))
        report("checking the copy", 0.0)
        copied = _checked(settings, target, before, _counts(engine))
    result = {"file": str(target), "size": target.stat().st_size, "records": sum(copied.values())}
    if as_json:
        show.as_json(result)
    else:
        out.print(f"Wrote {target}: {result['records']} records, {show.size(target.stat().st_size)}.", soft_wrap=True)


def _counts(engine: Engine) -> dict[str, int]:
    """The rows of each workspace, deleted ones included: others may add some meanwhile, but hardly take any away."""
    return {
        workspace.name: sum(row["number"] for row in engine.store.read(workspace, lambda q: q.all("doctor.counts")))
        for workspace in engine.workspaces.all()
    }


def _checked(settings: Settings, target: Path, before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What the copy holds. Raises StoreError where it is damaged or lacks something."""
    with Engine(settings.model_copy(update={"db_path": target}), fetch=False) as engine:
        problems = engine.store.problems(None)
        copied = _counts(engine)
    problems += [
        f"{name} has {copied.get(name, 0)} records instead of {number}"
        for name, number in before.items()
        if not min(number, after.get(name, 0)) <= copied.get(name, 0) <= max(number, after.get(name, 0))
    ]
    if problems:
        raise StoreError(f"Do not rely on {target}: {'; '.join(problems)}. Run `memoryd doctor`, then back up again.")
    return copied


# models --------------------------------------------------------------------------------------------------------------


@models.command()
@command("data_dir")
def pull(settings: Settings) -> None:
    """Fetch the bundled models, 69 MB, and verify them; what is there and whole is left alone."""
    with reported() as report:
        weights.pull(settings.models, report)
    out.print(f"The models in {settings.models} are verified.", soft_wrap=True)


@models.command(name="list")
@command("data_dir")
def list_(settings: Settings, as_json: Json = False) -> None:
    """List the models: state, size, place, and which are in force."""
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
    """One bundled model: its state is that of its worst file."""
    files = [weight for weight in weights.WEIGHTS if weight.model == model]
    states = {weights.check(settings.models, weight) for weight in files}
    return {
        "model": f"bundled:{model}",
        "use": _USES[model],
        "in_force": spec in ("bundled", f"bundled:{model}"),
        "state": next(state for state in ("corrupt", "missing", "verified") if state in states),
        "size": sum(weight.size for weight in files),
        "path": str(settings.models / model),
    }
