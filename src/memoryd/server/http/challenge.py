"""The refusal of a credential, from which a client learns what it needs and where to get it (RFC 6750, RFC 9728)."""

from starlette.responses import JSONResponse, Response

from memoryd.core.access.tokens import LEVELS, Level

MCP = "/mcp"
RESOURCE = "/.well-known/oauth-protected-resource"
"""The path of the metadata of the protected resource."""


def scope_of(level: Level) -> str:
    """Return a level as scopes: each includes those before it."""
    return " ".join(LEVELS[: LEVELS.index(level) + 1])


def challenge(issuer: str | None, status: int, error: str, text: str, level: Level | None) -> Response:
    """Return the refusal of a credential (RFC 6750, 3), with the scopes it needs and where to get one.

    `level` is None if another server issues the tokens, since its scopes are not known.
    """
    given = {"error": error, "error_description": text}
    if issuer:
        given |= {"scope": scope_of(level)} if level else {}
        given |= {"resource_metadata": f"{issuer}{RESOURCE}{MCP}"}
    header = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in given.items())
    return JSONResponse({"error": error, "error_description": text}, status, {"WWW-Authenticate": header})


def insufficient(issuer: str, tool: str, level: Level) -> Response:
    """Return the answer to a login that does not cover a tool."""
    return challenge(issuer, 403, "insufficient_scope", f"This login does not allow {tool}.", level)
