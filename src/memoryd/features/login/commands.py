"""The commands `login`, for people who log in over HTTP with a password, and `access`, about clients they admitted."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, AsJson, bound, command, demand_writable, note
from memoryd.core.access import access_log
from memoryd.core.access.tokens import Level
from memoryd.core.base.clock import FOREVER
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.login.accounts import accounts_of
from memoryd.features.login.logins import Login, logins_of
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
    show.listed("people", HEADS, found, "No one has a password. `memoryd login set` sets one.", raw=as_json)


@logins.command()
@command(*FILES)
def remove(settings: Settings, name: Annotated[str, typer.Argument(help="The name of the person.")]) -> None:
    """Remove a person: the password, and all logins made with it."""
    demand_writable(settings, "login remove writes")
    with Engine(settings, fetch=False) as engine:
        accounts_of(engine).remove(name)
    show.verbatim(f"{name} can no longer log in; all their logins have ended.")


# clients -------------------------------------------------------------------------------------------------------------

access = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Clients that people have admitted over HTTP, and a log."
)

ADMITTED = ("id", "person", "client", "allows", "workspace", "created_at", "used_at", "expires_at")
ENTRY = ("at", "act", "subject", "client", "detail")


@access.command(name="list")
@command(*FILES)
def admitted(settings: Settings, *, as_json: AsJson = False) -> None:
    """List the clients that people have admitted."""
    with Engine(settings, fetch=False) as engine:
        names = show.workspace_names(engine.workspaces.all())
        found = [_login(login, names) for login in logins_of(engine).all()]
    show.listed("logins", ADMITTED, found, "No client has been admitted.", raw=as_json)


@access.command()
@command(*FILES)
def revoke(
    settings: Settings,
    which: Annotated[str, typer.Argument(help="The id of a login, or the name of a person or a client.")],
) -> None:
    """End a login, or all logins of a person or a client, at once."""
    demand_writable(settings, "access revoke writes")
    with Engine(settings, fetch=False) as engine:
        ended = logins_of(engine).revoke(which)
    for one in ended:
        show.verbatim(f"Ended {one.id}: {one.client_name}, admitted by {one.person}.")


@access.command()
@command(*FILES)
def log(
    settings: Settings,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the events of access, the latest first: clients admitted or refused, logins and tokens revoked."""
    with Engine(settings, fetch=False) as engine:
        found = list(map(asdict, access_log.last(engine.store, limit)))
    show.listed("log", ENTRY, found, "The log of access is empty.", raw=as_json)


def _login(login: Login, names: dict[str, str]) -> dict[str, str]:
    return {
        "id": login.id,
        "person": login.person,
        "client": login.client_name,
        "allows": login.grant.level,
        "workspace": names.get(login.grant.workspace, login.grant.workspace),
        "created_at": login.created_at,
        "used_at": login.used_at,
        "expires_at": "unused for 90 days" if login.expires_at == FOREVER else login.expires_at,
    }
