"""Resources, prompts and completions over the protocol."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp import types

from memoryd.errors import InvalidParamsError
from memoryd.server.apps import ClientApp
from memoryd.toolsets import prompts, resources
from memoryd.toolsets.registry import Call, Tool

T = TypeVar("T")
RunWithin = Callable[[Any, Callable[[Call], T]], Awaitable[T]]
"""A function that runs work in the workspace and session of a request, in a thread; errors become protocol errors."""
Offered = Callable[[Any], Mapping[str, Tool]]
"""The tools that the sender of a request may call."""

JSON = "application/json"


class Resources:
    """Handlers of `resources/...`: for the vault and the page of the app, each if the caller may use it."""

    def __init__(
        self, within: RunWithin[Any], of_vault: Callable[[Any], bool], app_for: Callable[[Any], ClientApp | None]
    ) -> None:
        self._within = within
        self._of_vault = of_vault
        self._app_for = app_for

    async def list(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        """resources/list."""
        cursor = params.cursor if params else None
        app = self._app_for(ctx)
        pages = [app.resource] if app and not cursor else []
        if not self._of_vault(ctx):
            return types.ListResourcesResult(resources=pages)
        found, following = await self._within(ctx, lambda call: resources.listed(call, cursor))
        return types.ListResourcesResult(resources=[*map(_resource, found), *pages], next_cursor=following)

    async def templates(self, ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        """resources/templates/list."""
        known = resources.TEMPLATES if self._of_vault(ctx) else ()
        return types.ListResourceTemplatesResult(resource_templates=[_template(one) for one in known])

    async def read(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """resources/read."""
        app = self._app_for(ctx)
        if app and (params.uri == app.uri or not self._of_vault(ctx)):
            return app.read(params.uri)
        text, meta = await self._within(ctx, lambda call: resources.read(call, params.uri))
        content = types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text, _meta=meta or None)
        return types.ReadResourceResult(contents=[content])


class Prompts:
    """Handlers of `prompts/...`."""

    def __init__(self, within: RunWithin[Any], tools: Offered) -> None:
        self._within = within
        self._tools = tools

    async def list(self, ctx: Any, _params: Any) -> types.ListPromptsResult:
        """prompts/list."""
        return types.ListPromptsResult(prompts=[_prompt(one) for one in prompts.offered(self._tools(ctx)).values()])

    async def get(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """prompts/get."""
        prompt, given, tools = self.known(ctx, params.name), params.arguments or {}, self._tools(ctx)
        text = await self._within(ctx, lambda call: prompts.rendered(prompt, tools, call, given))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    def known(self, ctx: Any, name: str) -> prompts.Prompt:
        """Return a prompt by name. Raise InvalidParamsError."""
        offered = prompts.offered(self._tools(ctx))
        if name in offered:
            return offered[name]
        names = ", ".join(offered) or "none"
        raise InvalidParamsError(f"Unknown prompt: {name[:100]}. There are: {names}.")


class Completions:
    """The handler of `completion/complete`."""

    def __init__(self, within: RunWithin[Any], offered: Prompts, with_resources: Callable[[Any], bool]) -> None:
        self._within = within
        self._prompts = offered
        self._with_resources = with_resources

    async def complete(self, ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        """completion/complete."""
        name, value = params.argument.name, params.argument.value

        def work(call: Call) -> tuple[list[str], bool]:
            if isinstance(params.ref, types.PromptReference):
                return prompts.completed(self._prompts.known(ctx, params.ref.name), call, name, value), False
            if not self._with_resources(ctx):
                raise InvalidParamsError("This server offers no resources.")
            return resources.completed(call, params.ref.uri, name, value)

        values, more = await self._within(ctx, work)
        return types.CompleteResult(completion=types.Completion(values=values, has_more=more))


def _resource(one: resources.Listed) -> types.Resource:
    return types.Resource(uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type=JSON)


def _template(one: resources.Listed) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=one.uri, name=one.name, title=one.title, description=one.description, mime_type=JSON
    )


def _prompt(one: prompts.Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=False)
        for argument in one.arguments
    ]
    return types.Prompt(name=one.name, title=one.title, description=one.description, arguments=arguments)
