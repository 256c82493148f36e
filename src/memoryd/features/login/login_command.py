"""The commands for people who log in over HTTP with a password."""

import sys
from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, AsJson, bound, command, demand_writable, note
from memoryd.core.access.tokens import Level
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.login.parts import accounts_of
from memoryd.settings import Settings

logins = typer.Typer(
    add_completion=False, no_args_is_help=True, help="People who log in over HTTP with a password, and admit clients."
)

OWNER = "owner"
HEADS = ("name", "most", "workspace", "created_at")


@logins.command(name="set")
@command(*FILES)
def set_(
    settings: Settings,
    name: Annotated[str, typer.Argument(help="The name of the person.")] = OWNER,
    *,
    level: Annotated[Level | None, typer.Option(help="The highest level they may grant; initially admin.")] = None,
    workspace: Annotated[str | None, typer.Option(metavar="NAME", help="Only this workspace; initially all.")] = None,
) -> None:
    """Set the password of a person: ask for it, or read it as one line from stdin.

    A new password ends the logins that were made with the old one. An omitted option changes nothing.
    """
    demand_writable(settings, "login set writes")
    allowed = None if workspace is None else bound(workspace)
    password = _typed() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    with Engine(settings, fetch=False) as engine:
        changed = accounts_of(engine).set(name, password, level, allowed)
    show.verbatim(f"{name} has a {'new password' if changed else 'password'}.")
    if changed:
        note("All logins of this person have ended.")
    if not settings.public_url:
        note("Logins need MEMORY_PUBLIC_URL, the URL at which clients reach the server. Set it.")


def _typed() -> str:
    """Ask for a password twice. Raise InvalidInputError if they differ."""
    first = typer.prompt("Password", hide_input=True)
    if typer.prompt("Again", hide_input=True) != first:
        raise InvalidInputError("The two passwords differ. Nothing was changed.")
    return str(first)


@logins.command(name="list")
@command(*FILES)
def list_(settings: Settings, *, as_json: AsJson = False) -> None:
    """List the people who have a password."""
    with Engine(settings, fetch=False) as engine:
        names = show.workspace_names(engine.workspaces.all())
        found = [
            {
                "name": one.name,
                "most": one.level,
                "created_at": one.created_at,
                "workspace": names.get(one.workspace, one.workspace),
            }
            for one in accounts_of(engine).all()
        ]
    if as_json:
        show.as_json({"people": found})
    elif found:
        show.numbers(HEADS, [[each[head] for head in HEADS] for each in found])
    else:
        show.verbatim("No one has a password. `memoryd login set` sets one.")


@logins.command()
@command(*FILES)
def remove(settings: Settings, name: Annotated[str, typer.Argument(help="The name of the person.")]) -> None:
    """Remove a person: the password, and all logins made with it."""
    demand_writable(settings, "login remove writes")
    with Engine(settings, fetch=False) as engine:
        accounts_of(engine).remove(name)
    show.verbatim(f"{name} can no longer log in; all their logins have ended.")
