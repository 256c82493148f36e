"""`memoryd models`: fetch, list or move the bundled models, or use another embedder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, AsJson, command, demand_writable, named, new_file, out, reported
from memoryd.core.engine import Engine
from memoryd.errors import ModelError
from memoryd.models import archive, weights
from memoryd.models.embedders import MULTILINGUAL
from memoryd.models.helpers import LOADING
from memoryd.models.providers import Spec
from memoryd.models.pull import pull as fetch
from memoryd.models.pull import pull_languages
from memoryd.settings import Settings

models = typer.Typer(add_completion=False, no_args_is_help=True, help="The bundled models: fetch, list and move them.")
_USES = {weights.EMBEDDER: "embedder", weights.RERANKER: "reranker", weights.MULTILINGUAL: "other languages"}


@models.command()
@command("data_dir")
def pull(
    settings: Settings,
    every: Annotated[
        bool, typer.Option("--all", help="Also the model for all languages but English, another 91 MB.")
    ] = False,
) -> None:
    """Download the bundled models, 69 MB, and verify them; verified files are kept."""
    directory = weights.place(settings)
    with reported() as report:
        sources = [fetch(directory, report), pull_languages(directory, report) if every else ""]
    came = f" They came from {' and '.join(filter(None, sources))}." if any(sources) else ""
    out.print(f"The models in {directory} are verified.{came}", soft_wrap=True)


@models.command()
@command("data_dir")
def export(
    settings: Settings,
    file: Annotated[Path, typer.Argument(parser=named, help="The archive; an existing file is replaced.")],
) -> None:
    """Write the bundled models to one file, for a machine without a network."""
    target = new_file(file)
    archive.export_archive(weights.place(settings), target)
    out.print(f"Wrote {target}: {show.size(target.stat().st_size)}.", soft_wrap=True)


@models.command(name="import")
@command("data_dir")
def import_(
    settings: Settings, file: Annotated[Path, typer.Argument(parser=named, help="A file written by `models export`.")]
) -> None:
    """Install the models of an archive after verifying them; refuse any other file without changing anything."""
    archive.import_archive(file.expanduser().absolute(), settings.models)
    out.print(f"The models in {settings.models} are verified.", soft_wrap=True)


@models.command()
@command(*FILES)
def use(
    settings: Settings,
    model: Annotated[str, typer.Argument(help="`multilingual`, or any value of MEMORY_EMBEDDER.")],
) -> None:
    """Fetch an embedding model and embed everything stored; until that is done, searches use the old vectors."""
    demand_writable(settings, "models use writes")
    with Engine(settings.model_copy(update={"embedder": model, "reranker": "none"})) as engine, reported() as report:
        engine.demand_database()
        report(f"loading {model}", 0.0)
        engine.helpers.embedder.start()
        embedder = engine.helpers.embedder.get(LOADING)
        if embedder is None:
            raise ModelError(engine.helpers.embedder.reason or f"{model} is not an embedding model. Name one.")
        engine.embedding.complete(lambda done: report(f"embedding with {embedder.name}", done))
    out.print(f"Everything stored has vectors of {embedder.name}.", soft_wrap=True)
    out.print(f"Now set MEMORY_EMBEDDER={model} for every client of this database.", soft_wrap=True)


@models.command(name="list")
@command("data_dir")
def list_(settings: Settings, as_json: AsJson = False) -> None:
    """List the models: state, size, and which are configured."""
    force = {"embedder": settings.embedder, "reranker": settings.reranker_spec}
    force["other languages"] = MULTILINGUAL if settings.languages == "all" else "none"
    rows = [_model(settings, model, force[use]) for model, use in _USES.items()]
    if as_json:
        show.as_json({"in_force": force, "models": rows})
        return
    show.numbers(
        ("model", "use", "state", "size"),
        [(row["model"], row["use"], row["state"], show.size(row["size"])) for row in rows],
    )
    out.print()
    show.facts([*force.items(), ("directory", weights.place(settings))])


def _model(settings: Settings, model: str, spec: str) -> dict[str, Any]:
    """Return the description of a bundled model; its state is that of its worst file."""
    directory = weights.place(settings)
    files = [weight for weight in (*weights.WEIGHTS, *weights.LANGUAGES) if weight.model == model]
    states = {weights.check(directory, weight) for weight in files}
    return {
        "model": MULTILINGUAL if model == weights.MULTILINGUAL else f"bundled:{model}",
        "use": _USES[model],
        "in_force": Spec.parse(spec) in (Spec("bundled"), Spec("bundled", model), Spec.parse(MULTILINGUAL)),
        "state": next(state for state in ("corrupt", "missing", "verified") if state in states),
        "size": sum(weight.size for weight in files),
        "path": str(directory / model),
    }
