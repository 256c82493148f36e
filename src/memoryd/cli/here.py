"""The workspace that a person means: one that is named, else that of the directory's project, else the default one."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any

from memoryd.cli.frame import PLACE, command, note
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.settings import AUTO, DEFAULT_WORKSPACE, Settings


def command_here(function: Callable[..., None], *, asking: bool = False) -> Callable[..., None]:
    """Turn a function into a command as `command(*PLACE)` does, on the workspace that is meant here."""

    @wraps(function)
    def run(settings: Settings, **given: Any) -> None:
        function(here(settings, asking=asking), **given)

    return command(*PLACE)(run)


asking_here = partial(command_here, asking=True)
"""The same for a command that only asks: where the project has no memory yet, of the one about the user."""


def here(settings: Settings, *, asking: bool = False) -> Settings:
    """Return the settings with `auto` as the workspace if none is named and the directory's project has one.

    It will get one if `install` has given projects a memory each. So people see what agents see.
    """
    if "workspace" in settings.model_fields_set:
        return settings
    automatic = settings.model_copy(update={"workspace": AUTO})
    with Engine(automatic, fetch=False) as engine, suppress(InvalidInputError):  # a file may name another's workspace
        choice = engine.choice()
        if not engine.store.placement.exists():
            return settings
        if choice.known(engine.workspaces):
            return automatic if choice.keys else settings
        if personal := engine.workspaces.personal():
            if not asking:
                return automatic
            where = "This project has" if choice.keys else "Outside of projects there is"
            unread = choice.keys and engine.workspaces.get(DEFAULT_WORKSPACE)
            rest = f" What is in {DEFAULT_WORKSPACE} is not read here." if unread else ""
            note(f"{where} no memory yet: the first one makes the workspace {choice.name!r}.{rest}")
            return settings.model_copy(update={"workspace": personal.name})
    return settings
