"""Tools: functions whose signatures are the argument models, and whose docstrings describe them to a model.

The first parameter is the call; each other one is an argument, with its limits, its description and its default. The
type that is returned is that of the result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError, create_model

from memoryd.core.access.tokens import EVERYTHING, Grant, session_of
from memoryd.core.base.progress import CountProgress, ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope, together
from memoryd.core.security.secrets import noted
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.model import Workspace
from memoryd.toolsets.registry.arguments import Arguments, explained

Capability = Literal["read", "write", "admin"]
Needs = Literal["workspace", "project", "given", "nothing"]
"""Where a tool runs: in the workspace in force; b: in the project that the session chose, where projects are offered;
in the one that a request over HTTP names, while a process of one user gets none; or in no workspace."""

COMPLETED = 100  # values of a completion (the protocol's maximum)


@dataclass(frozen=True, slots=True)
class Call:
    """The engine, the workspace and the session that a tool runs with."""

    engine: Engine
    place: Workspace | None
    """None for a tool that needs no workspace."""
    session_id: str
    """The client's name for the session; '' without a session."""
    principal: str = ""
    """The user or token that owns the session; '' if the process has one user."""
    progress: CountProgress = ignore_progress
    """Reports how much of how much is done."""
    grant: Grant = EVERYTHING
    """The workspaces that the caller may see."""

    @property
    def session(self) -> str:
        """The session whose volatile records are visible, that marks new records and has an active project."""
        return self.named(self.session_id)

    @property
    def scope(self) -> Scope:
        """The scope of the call in core."""
        return together(self.engine, self.workspace, self.session, self.grant)

    def named(self, session_id: str) -> str:
        """Return the caller's session of that name."""
        return session_of(self.principal, session_id)

    @property
    def workspace(self) -> Workspace:
        """The workspace of a tool that needs a workspace or a project."""
        assert self.place is not None, "the tool's `needs` is `nothing`"
        return self.place


ResultT = TypeVar("ResultT", bound=Mapping[str, object])


@dataclass(frozen=True, slots=True)
class Answer(Generic[ResultT]):
    """The result of a tool as JSON data, or a text for the model. A tool may return data alone.

    Some clients show their model only the structured content, others only the text: so each must be the whole answer.
    Data is sent as the same JSON in both. A text is sent as text only, with its figures in `_meta`.
    """

    result: ResultT
    text: str | None = None
    """The whole answer, if it is a text; without figures, a sentence that says as much as the result."""
    figures: Mapping[str, Any] | None = None
    """Data for programs, if the text is the whole answer."""
    session: str | None = None
    """The new session of the connection, if the tool changes it."""
    masked: tuple[str, ...] = ()
    """The kinds of the secrets that were masked before anything was stored."""
    marked: bool = False
    """Whether the text already marks passages that read like instructions."""
    notes: tuple[str, ...] = ()
    """What the caller should know besides, a sentence each."""
    short: ResultT | None = None
    """The part of a long result that fits into a model's context."""

    @property
    def shown(self) -> ResultT:
        """The result for callers over a protocol, who may be models; programs in this process get all of it."""
        return self.result if self.short is None else self.short


HandlerT = TypeVar("HandlerT", bound=Callable[..., Mapping[str, object] | Answer[Any]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """One tool of a toolset."""

    name: str
    title: str
    description: str
    capability: Capability
    handler: Callable[..., Mapping[str, object] | Answer[Any]]
    needs: Needs = "workspace"
    destructive: bool = False
    idempotent: bool = False
    lasting: bool = False
    """Whether it has no time limit: it works through everything, and reports its progress."""
    text: bool = False
    """Whether some of its answers are texts; then it declares no output schema."""
    error_text: Callable[[MemorydError], str] = str
    """How an error is worded for callers."""
    base: type[Arguments] = Arguments
    """How the arguments are spelled."""
    right: str = ""
    """The tool that a token must allow for this one, if it is another."""

    @cached_property
    def arguments(self) -> type[Arguments]:
        """The model of the arguments. It is made when it is first used: a server uses only the tools that it offers."""
        _, *parameters = signature(self.handler).parameters.values()
        fields: Any = {
            each.name: (each.annotation, ... if each.default is Parameter.empty else each.default)
            for each in parameters
        }
        return create_model(self.name, __base__=self.base, __doc__=self.description, **fields)

    @property
    def result(self) -> Any:
        """The TypedDict that the handler returns, alone or in an Answer."""
        returned = signature(self.handler).return_annotation
        return get_args(returned)[0] if get_origin(returned) is Answer else returned

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, which nothing may change."""
        schema: dict[str, Any] = inlined(self.arguments.model_json_schema())
        for change in (plain, short):
            schema = _everywhere(change, schema)
        return schema

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the result, which nothing may change."""
        schema: dict[str, Any] = _everywhere(short, TypeAdapter(self.result).json_schema(mode="serialization"))
        return schema

    def run(self, call: Call, arguments: Any) -> Answer[Any]:
        """Validate the arguments and run.

        The answer names the kinds of secrets that were masked before storing, and a workspace that may be a typing
        error. Raise InvalidInputError that names each invalid argument, or MemorydError.
        """
        valid = self.valid(arguments)
        new = call.engine.note_if_new(call.place, call.grant) if call.place and self.capability == "write" else ""
        with noted() as masked:
            result = self.handler(call, **dict(valid))
        answer = result if isinstance(result, Answer) else Answer(result)
        return replace(answer, masked=(*answer.masked, *masked), notes=(*answer.notes, *([new] if new else ())))

    def valid(self, arguments: Any) -> Arguments:
        """Return the arguments as their model; raise InvalidInputError that names each invalid one."""
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(explained(self.name, self.arguments, error)) from None


class Toolset(list[Tool]):
    """The tools of a toolset, in order, and what they have in common."""

    def __init__(self, *, descriptions: Mapping[str, str] | None = None, **common: Any) -> None:
        """`descriptions`: by the names of tools, in place of docstrings; `common`: fields that all tools have."""
        super().__init__()
        self._descriptions, self._common = descriptions or {}, common

    def tool(self, title: str, capability: Capability, **more: Any) -> Callable[[HandlerT], HandlerT]:
        """Add a tool of the decorated function; `more`: further fields of Tool."""

        def add(handler: HandlerT) -> HandlerT:
            name = handler.__name__
            description = self._descriptions.get(name) or " ".join((handler.__doc__ or "").split())
            about = {"name": name, "title": title, "description": description, "capability": capability}
            self.append(Tool(handler=handler, **self._common | about | more))
            return handler

        return add


# JSON schemas as clients get them: short, and of arguments in keywords that the makers of models take -----------------

BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
"""Keywords that Gemini refuses, together with all other tools, and what clients get instead; validation is exact."""
NULL = {"type": "null"}


def _everywhere(change: Callable[[dict[str, Any]], dict[str, Any]], schema: Any) -> Any:
    """Return a schema with a change of each object in it, from the outside in."""
    if isinstance(schema, list):
        return [_everywhere(change, part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _everywhere(change, part) for name, part in change(schema).items()}


def short(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object without what pydantic adds, and costs a client tokens: titles, docstrings, null defaults."""
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    if schema.get("default", ...) is None:
        noise.add("default")
    return {name: part for name, part in schema.items() if name not in noise}


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object of an argument without choices of null and excluded bounds.

    Null is understood for every optional argument. Some makers take no choice (`anyOf`) beside a description.
    """
    if NULL in (choices := schema.get("anyOf", ())):
        (alone,) = (choice for choice in choices if choice != NULL)
        schema = alone | {name: part for name, part in schema.items() if name != "anyOf"}
    return {BOUNDS.get(name, name): part for name, part in schema.items()}


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its `$defs` in place of the references to them."""
    shapes = schema.get("$defs", {})

    def resolved(part: dict[str, Any]) -> dict[str, Any]:
        shape = shapes[part["$ref"].removeprefix("#/$defs/")] if "$ref" in part else {}
        return shape | {key: value for key, value in part.items() if key not in ("$ref", "$defs")}

    whole: dict[str, Any] = _everywhere(resolved, schema)
    return whole
