"""Whether a client gets one memory for each project: ask, and say what lies in the memory that it had before."""

import sys

import typer

from memoryd.cli.frame import note
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import ARCHIVED, PERSONAL
from memoryd.features.install.catalog import Client
from memoryd.model import Workspace
from memoryd.settings import AUTO, DEFAULT_WORKSPACE, Settings
from memoryd.text import counted

QUESTION = (
    f"One memory for each project, read together with one about you, `{PERSONAL}`? (no: what the agent learns in one "
    "project comes up in all others)"
)
LEFT = (
    "{} in the workspace `default`, which projects do not read. `memoryd workspace include default --workspace "
    "PROJECT` reads them in a project; `memoryd workspace use default`, run in a project's directory, gives them to it."
)


def decided(settings: Settings, client: Client, before: str | None, *, dry_run: bool) -> Settings:
    """Return the settings with a workspace, that of the project unless another is named or wanted.

    `before` is the workspace that the client's entry names, None if it names none.
    """
    if "workspace" in settings.model_fields_set or not client.in_project:
        return settings
    if before is None:
        asked = sys.stdin.isatty() and not dry_run
        before = AUTO if not asked or typer.confirm(QUESTION, default=True, err=True) else DEFAULT_WORKSPACE
    return settings.model_copy(update={"workspace": before})


def prepare(settings: Settings) -> None:
    """Create the workspace that projects are read together with, and say what lies in the default one."""
    with Engine(settings, fetch=False) as engine:
        if not settings.read_only:
            engine.workspaces.ensure(PERSONAL)
        default = engine.workspaces.get(DEFAULT_WORKSPACE)
        if default is None or default.status == ARCHIVED or not (number := _number(engine, default)):
            return
        there = f"{counted(number, 'record')} {'is' if number == 1 else 'are'}"
        ask = sys.stdin.isatty() and not settings.read_only
        if ask and typer.confirm(f"{there} in `{DEFAULT_WORKSPACE}`. Read it in every project, too?", err=True):
            for workspace in engine.workspaces.all("active"):
                if workspace.name == PERSONAL or engine.workspaces.is_of_project(workspace):
                    engine.workspaces.include(workspace.name, [DEFAULT_WORKSPACE])
        else:
            note(LEFT.format(there))


def _number(engine: Engine, workspace: Workspace) -> int:
    return sum(row["number"] for row in engine.store.read(workspace, lambda q: q.all("records.kinds", session="")))
