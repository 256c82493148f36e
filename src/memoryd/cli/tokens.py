"""The commands for tokens of HTTP callers."""

from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, AsJson, bound, command, demand_writable, note, out
from memoryd.core.access.tokens import Level, Token
from memoryd.core.base.clock import FOREVER
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings
from memoryd.toolsets import chosen

tokens = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Tokens for callers over HTTP, and what they allow."
)

HEADS = ("name", "id", "allows", "workspace", "created_at", "expires_at")


@tokens.command()
@command(*FILES)
def create(
    settings: Settings,
    name: Annotated[str, typer.Argument(help="The name of the token, such as its user or purpose.")],
    *,
    level: Annotated[Level, typer.Option(help="What it allows.")] = "write",
    allow: Annotated[str | None, typer.Option(metavar="TOOL,...", help="Only these tools, instead of a level.")] = None,
    workspace: Annotated[str | None, typer.Option(metavar="NAME", help="Only this workspace.")] = None,
    expires: Annotated[float, typer.Option(metavar="DAYS", min=0, help="Days until it expires; 0: never.")] = 0,
) -> None:
    """Create a token and print it on the last line; it is not shown again."""
    demand_writable(settings, "token create writes")
    tools = [tool.strip() for tool in (allow or "").split(",") if tool.strip()]
    if allow is not None and not tools:
        raise InvalidInputError("--allow names no tool. Omit it to allow the tools of a level.")
    offered = chosen(["all"], read_only=False)
    if unknown := [tool for tool in tools if tool not in offered]:
        raise InvalidInputError(f"Unknown tool {unknown[0]!r}. Use some of: {', '.join(offered)}.")
    with Engine(settings, fetch=False) as engine:
        token = engine.tokens.create(name, level, tools, bound(workspace), expires)
    note("From now on every request over HTTP needs a token. Send it as `Authorization: Bearer TOKEN`.")
    out.print(token, soft_wrap=True)


@tokens.command(name="list")
@command(*FILES)
def list_(settings: Settings, *, as_json: AsJson = False) -> None:
    """List the tokens, without their secrets."""
    with Engine(settings, fetch=False) as engine:
        names = show.workspace_names(engine.workspaces.all())
        found = [_shown(token, names) for token in engine.tokens.all()]
    nothing = "No tokens yet: requests over HTTP from this machine need none."
    show.listed("tokens", HEADS, found, nothing, raw=as_json)


@tokens.command()
@command(*FILES)
def revoke(settings: Settings, name: Annotated[str, typer.Argument(help="Its name or id.")]) -> None:
    """Revoke a token, effective at once."""
    demand_writable(settings, "token revoke writes")
    with Engine(settings, fetch=False) as engine:
        show.verbatim(f"Revoked the token {engine.tokens.revoke(name).name}.")
        if not engine.tokens.any():
            note("It was the last one: a server that only this machine can reach needs none from now on.")


def _shown(token: Token, names: dict[str, str]) -> dict[str, str]:
    grant = token.grant
    return {
        "name": token.name,
        "id": token.id,
        "allows": ", ".join(sorted(grant.tools)) or grant.level,
        "workspace": names.get(grant.workspace, grant.workspace),
        "created_at": token.created_at,
        "expires_at": "never" if token.expires_at == FOREVER else token.expires_at,
    }
