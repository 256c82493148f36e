"""The documents from which a client learns where and how to log in (RFC 9728, RFC 8414)."""

from functools import partial
from typing import Any

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from memoryd.core.access.tokens import LEVELS
from memoryd.server.http.gate import MCP, RESOURCE

SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"
CALLBACK = "/oauth/callback"
"""The path to which a provider sends people back."""
METHODS = ("none", "client_secret_post", "client_secret_basic")
"""The ways a client may authenticate; `none` for clients that cannot keep a secret."""
HOUR = {"Cache-Control": "max-age=3600"}


def resource_of(issuer: str) -> str:
    """Return the resource that tokens are for: the URL that people enter in their clients."""
    return f"{issuer}{MCP}"


def resource_document(issuer: str, authorization_server: str) -> dict[str, Any]:
    """Return the metadata of the protected resource (RFC 9728)."""
    own = {"scopes_supported": LEVELS} if authorization_server == issuer else {}
    return {
        "resource": resource_of(issuer),
        "authorization_servers": [authorization_server],
        "bearer_methods_supported": ["header"],
        "resource_name": "memoryd",
        **own,
    }


def server_document(issuer: str, *, documents: bool) -> dict[str, Any]:
    """Return the metadata of the authorization server (RFC 8414); `documents`: whether it fetches those of clients."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}{AUTHORIZE}",
        "token_endpoint": f"{issuer}{TOKEN}",
        "registration_endpoint": f"{issuer}{REGISTER}",
        "revocation_endpoint": f"{issuer}{REVOKE}",
        "scopes_supported": LEVELS,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": METHODS,
        "revocation_endpoint_auth_methods_supported": METHODS,
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": documents,
        "authorization_response_iss_parameter_supported": True,
    }


def routes(issuer: str, authorization_server: str, own: dict[str, Any] | None = None) -> list[BaseRoute]:
    """Return the routes of the documents; `own`: the authorization server's document, if it is this server."""
    about = {path: resource_document(issuer, authorization_server) for path in (RESOURCE, f"{RESOURCE}{MCP}")}
    if own:  # clients look in all these places
        about |= dict.fromkeys((SERVER, f"{SERVER}{MCP}", OPENID), own)
    answers = {path: partial(JSONResponse, document, headers=HOUR) for path, document in about.items()}
    return [Route(path, lambda _, made=made: made(), methods=["GET"]) for path, made in answers.items()]
