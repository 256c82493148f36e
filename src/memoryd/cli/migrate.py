"""`memoryd migrate`: copy the memory to another database."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import AsJson, command, demand_writable, out, reported
from memoryd.core.transfer import migration as core
from memoryd.core.transfer.migration import MigrationOutcome
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.settings import Settings

PLACE = "`postgresql://...`, a file, or a data directory"
HEADS = ("records", "relations", "embeddings", "events")


@command()
def migrate(
    settings: Settings,
    source: Annotated[str, typer.Option("--from", metavar="SOURCE", help=f"Where the memory is: {PLACE}.")],
    target: Annotated[str, typer.Option("--to", metavar="TARGET", help="Where it goes: likewise.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Copy the whole memory to another database and verify it. What exists there is not written again."""
    demand_writable(settings, "migrate writes")
    places = {"--from": source, "--to": target}
    for option, place in places.items():
        _check(option, place, settings)
    with _named(places), reported() as report:
        outcome = core.migrate(source, target, settings, report)
    if as_json:
        show.as_json(outcome.as_dict())
    else:
        _print(outcome)
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


def _check(option: str, place: str, settings: Settings) -> None:
    """Raise InvalidInputError that names the option, unless the value is a place."""
    if not place:
        raise InvalidInputError(f"{option} is empty. It takes {PLACE}.")
    try:
        core.at(place, settings)
    except InvalidInputError as error:
        raise InvalidInputError(f"{option}: {error}") from None


@contextmanager
def _named(places: Mapping[str, str]) -> Iterator[None]:
    """Let errors name the options that give a URL, instead of the setting that does so elsewhere."""
    options = " or ".join(option for option, place in places.items() if place.startswith(core.SERVER))
    try:
        yield
    except MemorydError as error:
        error.args = (str(error).replace("MEMORY_DATABASE_URL", options),)
        raise


def _print(outcome: MigrationOutcome) -> None:
    show.numbers(
        ("workspace", "status", *HEADS, "written now"),
        [(w.name, w.status, *(w.rows[head] for head in HEADS), w.written) for w in outcome.moved],
    )
    out.print()
