"""Tokens of callers over HTTP, and what programs are told of the tools."""

from typing import Annotated

import typer

from memoryd.cli import show
from memoryd.cli.frame import FILES, Json, command, note, out
from memoryd.core.access.tokens import Level, Token
from memoryd.core.base.clock import FOREVER
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings
from memoryd.toolsets import chosen

tokens = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Tokens: who may come in over HTTP, and what for."
)

HEADS = ("name", "id", "allows", "workspace", "created_at", "expires_at")


@tokens.command()
@command(*FILES)
def create(
    settings: Settings,
    name: Annotated[str, typer.Argument(help="What it is called, such as who or what will use it.")],
    *,
    level: Annotated[Level, typer.Option(help="What it allows.")] = "write",
    allow: Annotated[str | None, typer.Option(metavar="TOOL,...", help="Only these tools, instead of a level.")] = None,
    workspace: Annotated[str, typer.Option(metavar="NAME", help="Only this workspace.")] = "",
    expires: Annotated[float, typer.Option(metavar="DAYS", min=0, help="Valid for so long; 0: for ever.")] = 0,
) -> None:
    """Make a token, and print it last, on a line of its own: it is not shown again."""
    tools = [tool.strip() for tool in (allow or "").split(",") if tool.strip()]
    if allow is not None and not tools:
        raise InvalidInputError("--allow names no tool. Leave it out to allow those of a level.")
    offered = chosen(["all"], read_only=False)
    if unknown := [tool for tool in tools if tool not in offered]:
        raise InvalidInputError(f"There is no tool {unknown[0]!r}. There are: {', '.join(offered)}.")
    with Engine(settings, fetch=False) as engine:
        token = engine.tokens.create(name, level, tools, workspace, expires)
    note("From now on every request over HTTP needs a token. Send it as `Authorization: Bearer TOKEN`.")
    out.print(token, soft_wrap=True)


@tokens.command(name="list")
@command(*FILES)
def list_(settings: Settings, *, as_json: Json = False) -> None:
    """List the tokens, without what is secret of them."""
    with Engine(settings, fetch=False) as engine:
        names = {workspace.id: workspace.name for workspace in engine.workspaces.all()}
        found = [_shown(token, names) for token in engine.tokens.all()]
    if as_json:
        show.as_json({"tokens": found})
    elif found:
        show.numbers(HEADS, [[each[head] for head in HEADS] for each in found])
    else:
        show.verbatim("No tokens yet: requests over HTTP from this machine need none.")


@tokens.command()
@command(*FILES)
def revoke(settings: Settings, name: Annotated[str, typer.Argument(help="Its name or id.")]) -> None:
    """Make a token invalid, at once."""
    with Engine(settings, fetch=False) as engine:
        show.verbatim(f"Revoked the token {engine.tokens.revoke(name).name}.")


def _shown(token: Token, names: dict[str, str]) -> dict[str, str]:
    grant = token.grant
    return {
        "name": token.name,
        "id": token.id,
        "allows": ", ".join(sorted(grant.tools)) or grant.level,
        "workspace": names.get(grant.workspace, grant.workspace) or "any",
        "created_at": token.created_at,
        "expires_at": "never" if token.expires_at == FOREVER else token.expires_at,
    }
