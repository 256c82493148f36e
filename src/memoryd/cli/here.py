"""The workspace that a person means: one that is named, else that of the directory's project, else the default one."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from memoryd.cli.frame import PLACE, command, note
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import LISTED, check_name
from memoryd.errors import InvalidInputError
from memoryd.settings import AUTO, Settings


def command_here(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into a command as `command(*PLACE)` does, on the workspace that is meant here."""

    @wraps(function)
    def run(settings: Settings, **given: Any) -> None:
        function(here(settings), **given)

    return command(*PLACE)(run)


def note_if_new(settings: Settings) -> None:
    """Print a note if the workspace that is named does not exist yet: it may be a typing error."""
    if "workspace" not in settings.model_fields_set or settings.workspace == AUTO:
        return
    check_name(settings.workspace)
    with Engine(settings, fetch=False) as engine:
        if (known := engine.workspaces.all()) and not engine.workspaces.get(settings.workspace):
            names = ", ".join(workspace.name for workspace in known[:LISTED])
            note(f"The workspace {settings.workspace!r} is new. There are: {names}.")


def here(settings: Settings) -> Settings:
    """Return the settings with `auto` as the workspace if none is named and the directory's project already has one.

    So people see what agents see, whether those have one memory or one per project.
    """
    if "workspace" in settings.model_fields_set:
        return settings
    automatic = settings.model_copy(update={"workspace": AUTO})
    with Engine(automatic, fetch=False) as engine, suppress(InvalidInputError):  # a file may name another's workspace
        choice = engine.choice()
        if choice.keys and engine.store.placement.exists() and choice.known(engine.workspaces):
            return automatic
    return settings
