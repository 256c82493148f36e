"""The OpenAPI 3.1 document of tools over plain HTTP, generated from the registry."""

from collections.abc import Mapping
from typing import Any

from memoryd import __version__
from memoryd.toolsets.registry import Tool, inlined

WORKSPACE, SESSION = "X-Memory-Workspace", "X-Memory-Session"

ERRORS = {
    "400": "An argument is invalid, or a header is missing.",
    "401": "A token is required.",
    "403": "The token does not allow this.",
    "404": "Nothing of that name exists.",
    "409": "The workspace is archived.",
    "429": "Too many calls.",
    "503": "The server or its database is busy or unreachable.",
    "504": "The call took too long.",
}


_ERROR = {"$ref": "#/components/schemas/Error"}


def document(tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of some tools."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "memoryd",
            "version": __version__,
            "description": "The memory of LLM agents over plain HTTP.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {f"/tools/{name}": {"post": _operation(tool)} for name, tool in tools.items()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                status: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
                for status, text in ERRORS.items()
            },
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {"error": {"type": "string"}},
                    "required": ["error"],
                },
            },
        },
        "security": [{}, {"token": []}],
    }


def _operation(tool: Tool) -> dict[str, Any]:
    result = inlined(tool.output_schema)  # `#/$defs` would not resolve within this document
    return {
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "parameters": [_header(WORKSPACE, "The workspace."), _header(SESSION, "The session.")],
        "requestBody": {"required": True, "content": {"application/json": {"schema": tool.input_schema}}},
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": result}}},
            **{status: {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
        },
    }


def _header(name: str, what: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": what, "schema": {"type": "string"}}
