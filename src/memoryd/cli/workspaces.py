"""Commands for workspaces: list, create, archive, restore, delete. Agents know workspaces as projects."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from memoryd import environment
from memoryd.cli import show
from memoryd.cli.frame import FILES, PLACE, AsJson, command, confirm, demand_writable, note
from memoryd.cli.here import command_here
from memoryd.core.engine import Engine
from memoryd.core.records.perspectives import templates
from memoryd.core.workspaces.project import declare, declared_keys
from memoryd.core.workspaces.registry import ARCHIVED, StatusFilter
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Workspace
from memoryd.settings import AUTO, DEFAULT_WORKSPACE, Settings

workspaces = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Workspaces: separate memories, which agents know as projects."
)

WorkspaceArgument = Annotated[str, typer.Argument(help="Name of the workspace.")]
HEADS = ("name", "status", "created_at", "updated_at", "description")
CHANGES = "That changes workspaces"
SHOWN = ("id", "name", "description", "status", "created_at", "updated_at")


@workspaces.command(name="list")
@command(*FILES)
def list_(
    settings: Settings,
    status: Annotated[StatusFilter, typer.Option(help="Only active or archived workspaces.")] = "all",
    *,
    as_json: AsJson = False,
) -> None:
    """List the workspaces."""
    with Engine(settings, fetch=False) as engine:
        found = [_shown(workspace) for workspace in engine.workspaces.all(status)]
    nothing = "No workspaces yet." if status == "all" else f"No {status} workspaces."
    show.listed("workspaces", HEADS, found, nothing, raw=as_json)


@workspaces.command()
@command(*FILES)
def create(
    settings: Settings,
    name: WorkspaceArgument,
    *,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it is about.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a workspace, in a separate file if SQLite is used."""
    with _changing(settings) as engine:
        _print_outcome("Created", engine.workspaces.create(name, description), as_json=as_json)


@workspaces.command()
@command(*FILES)
def archive(settings: Settings, name: WorkspaceArgument, *, as_json: AsJson = False) -> None:
    """Archive a workspace: its contents are kept, and it cannot be used until it is restored."""
    with _changing(settings) as engine:
        archived = engine.workspaces.archive(name)
        if not engine.store.placement.is_archived(archived):
            note("Another process has its file open: it is moved to the archive once that process closes it.")
        _print_outcome("Archived", archived, as_json=as_json)


@workspaces.command()
@command(*FILES)
def restore(settings: Settings, name: WorkspaceArgument, *, as_json: AsJson = False) -> None:
    """Restore an archived workspace."""
    with _changing(settings) as engine:
        _print_outcome("Restored", engine.workspaces.restore(name), as_json=as_json)


@workspaces.command()
@command(*FILES)
def delete(
    settings: Settings,
    name: WorkspaceArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a workspace and all its contents permanently, after confirmation."""
    with _changing(settings) as engine:
        found = engine.workspaces.find(name)
        if not yes:
            what = f"workspace {found.name}" + (" (archived)" if found.status == ARCHIVED else "")
            alone = f"Deleting {what} and all its contents needs confirmation, and stdin is not a terminal. Add --yes."
            confirm(f"Permanently delete {what} and all its contents?", alone)
        _print_outcome("Deleted", engine.workspaces.delete(found.name), as_json=as_json)


@workspaces.command()
@command(*PLACE)
def which(settings: Settings, *, as_json: AsJson = False) -> None:
    """Show which workspace is in force here, and why: without --workspace, that of this directory's project."""
    if "workspace" not in settings.model_fields_set:
        settings = settings.model_copy(update={"workspace": AUTO})
    with Engine(settings, fetch=False) as engine:
        choice = engine.choice()
        found, per_project = choice.known(engine.workspaces), engine.workspaces.personal()
    if as_json:
        name = found.name if found else None
        show.as_json({"workspace": name, "found_by": choice.found_by, "keys": choice.keys})
    else:
        why = f": {choice.found_by}" if choice.found_by else ""
        show.verbatim(f"{found.name if found else f'{choice.name} (not created yet)'}{why}.")
        if choice.keys and not found:
            until = "" if per_project else f" Until then the commands here use {DEFAULT_WORKSPACE}."
            note(f"Its first memory creates it.{until}")


@workspaces.command()
@command(*FILES)
def use(settings: Settings, name: WorkspaceArgument, *, as_json: AsJson = False) -> None:
    """Let the project of this directory use a workspace: write its file `.memoryd`, and allow that file."""
    with _changing(settings) as engine:
        engine.workspaces.ensure(name)
        file = declare(Path(environment.directory()), name)
        workspace = engine.workspaces.lead(declared_keys(name), name)  # last: it opens the workspace to such files
    if as_json:
        show.as_json({**_shown(workspace), "file": str(file)})
    else:
        show.verbatim(f"{file} declares the workspace {workspace.name}; MEMORY_NAMESPACE=auto uses it here.")


@workspaces.command()
@command_here
def include(
    settings: Settings,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Workspaces; none: list them.")] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Stop including them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read other workspaces together with the one in force: recall, briefings and searches rank over all of them."""
    if names:
        demand_writable(settings, CHANGES)
    with Engine(settings, fetch=False) as engine:
        for one in names or ():
            engine.workspaces.find(one)  # before the workspace in force is created
        workspace = engine.workspace(make=bool(names))
        if names:
            workspace = engine.workspaces.include(workspace.name, names, remove=remove)
        found = [
            one.name + (" (archived)" if one.status == ARCHIVED else "")
            for one in engine.workspaces.included(workspace)
        ]
    if as_json:
        show.as_json({"workspace": workspace.name, "includes": found})
    else:
        show.verbatim(f"{workspace.name} is read together with: {', '.join(found) or 'no other'}.")


@workspaces.command()
@command(*FILES)
def perspectives(
    settings: Settings,
    name: WorkspaceArgument,
    *,
    add: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=TEMPLATE", help="Add one, or change its template.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Remove one.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Restore the five defaults.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change the perspectives with which a workspace's observations are embedded."""
    changed = dict(map(_template, add or ()))
    with Engine(settings, fetch=False) as engine:
        workspace = engine.workspaces.active(name)
        if reset or changed or remove:
            demand_writable(settings, CHANGES)
            engine.embedding.change_perspectives(workspace, changed, remove or (), reset=reset)
            note("A running server recreates the vectors in the background; `memoryd doctor --repair` does it now.")
        found = engine.store.read(workspace, templates)
    if as_json:
        show.as_json({"perspectives": found})
    else:
        show.facts(found.items())


def _template(given: str) -> tuple[str, str]:
    name, equals, template = given.partition("=")
    if not equals:
        raise InvalidInputError(f"--set takes NAME=TEMPLATE, such as 'dated={{date}}: {{text}}'; {given!r} has no =.")
    return name, template


@contextmanager
def _changing(settings: Settings) -> Iterator[Engine]:
    demand_writable(settings, CHANGES)
    with Engine(settings, fetch=False) as engine:
        try:
            yield engine
        except (InvalidInputError, NotFoundError) as error:  # agents know workspaces as projects, people do not
            error.args = (re.sub(r'\bproject (?=")', "workspace ", str(error)),)
            raise


def _print_outcome(what: str, workspace: Workspace, *, as_json: bool) -> None:
    if as_json:
        show.as_json(_shown(workspace))
    else:
        show.verbatim(f"{what} workspace {workspace.name}.")


def _shown(workspace: Workspace) -> dict[str, str]:
    return {name: getattr(workspace, name) for name in SHOWN}
