"""`memoryd ui`: the page where people see, search, correct and undo what is remembered."""

from typing import Annotated

import typer

from memoryd.cli.frame import PLACE, command, out
from memoryd.features.page import local
from memoryd.server import logs
from memoryd.settings import Settings

Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open it; or print a key to log in with.")]


@command(*PLACE, "read_only", "port")
def ui(settings: Settings, *, browser: Browser = True) -> None:
    """Open the page of the memory in the browser: see, search, correct, undo."""
    logs.set_up(settings.log_level)
    local.show(settings, lambda line: out.print(line, soft_wrap=True), browser=browser)
