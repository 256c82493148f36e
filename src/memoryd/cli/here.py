"""The workspace that a person means: one that is named, else that of the directory's project, else the default one."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from memoryd.cli.frame import PLACE, command
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.settings import AUTO, Settings


def command_here(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into a command as `command(*PLACE)` does, on the workspace that is meant here."""

    @wraps(function)
    def run(settings: Settings, **given: Any) -> None:
        function(here(settings), **given)

    return command(*PLACE)(run)


def here(settings: Settings) -> Settings:
    """Return the settings with `auto` as the workspace if none is named and the directory's project has one.

    It will get one if `install` has given projects a memory each. So people see what agents see.
    """
    if "workspace" in settings.model_fields_set:
        return settings
    automatic = settings.model_copy(update={"workspace": AUTO})
    with Engine(automatic, fetch=False) as engine, suppress(InvalidInputError):  # a file may name another's workspace
        choice = engine.choice()
        known = choice.keys and engine.store.placement.exists()
        if known and (choice.known(engine.workspaces) or engine.workspaces.per_project()):
            return automatic
    return settings
