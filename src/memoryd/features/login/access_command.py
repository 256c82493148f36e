"""The commands about access over HTTP."""

from dataclasses import asdict
from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, AsJson, command, demand_writable
from memoryd.core.access import access_log
from memoryd.core.base.clock import FOREVER
from memoryd.core.engine import Engine
from memoryd.features.login.logins import Login
from memoryd.features.login.parts import logins_of
from memoryd.settings import Settings

access = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Clients that people have admitted over HTTP, and a log."
)

HEADS = ("id", "person", "client", "allows", "workspace", "created_at", "used_at", "expires_at")
ENTRY = ("at", "act", "subject", "client", "detail")


@access.command(name="list")
@command(*FILES)
def list_(settings: Settings, *, as_json: AsJson = False) -> None:
    """List the clients that people have admitted."""
    with Engine(settings, fetch=False) as engine:
        names = show.workspace_names(engine.workspaces.all())
        found = [_shown(login, names) for login in logins_of(engine).all()]
    if as_json:
        show.as_json({"logins": found})
    elif found:
        show.numbers(HEADS, [[each[head] for head in HEADS] for each in found])
    else:
        show.verbatim("No client has been admitted.")


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
    if as_json:
        show.as_json({"log": found})
    elif found:
        show.numbers(ENTRY, [[each[head] for head in ENTRY] for each in found])
    else:
        show.verbatim("The log of access is empty.")


def _shown(login: Login, names: dict[str, str]) -> dict[str, str]:
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
