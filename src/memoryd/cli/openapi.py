"""`memoryd openapi`: the description of the tools over plain HTTP."""

from memoryd.cli import show
from memoryd.cli.frame import command
from memoryd.server.http.openapi import document
from memoryd.settings import Settings
from memoryd.toolsets import chosen


@command("toolsets")
def openapi(settings: Settings) -> None:
    """Print the OpenAPI document of the tools over plain HTTP: of all toolsets, unless --toolsets names some."""
    named = "toolsets" in settings.model_fields_set
    show.as_json(document(chosen(settings.toolsets if named else ["all"], read_only=settings.read_only)))
