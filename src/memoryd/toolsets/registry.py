"""Tools: functions whose signatures are the argument models, and whose docstrings describe them to a model.

The first parameter is the call; each other one is an argument, with its limits, its description and its default. The
type that is returned is that of the result.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from memoryd.core.access.tokens import EVERYTHING, Grant
from memoryd.core.base.limits import TAG, TAGS
from memoryd.core.base.progress import CountProgress, ignore_progress
from memoryd.core.base.results import compact
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope, together
from memoryd.core.security.secrets import noted
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.model import Workspace
from memoryd.text import unstorable

Capability = Literal["read", "write", "admin"]
Needs = Literal["workspace", "project", "nothing"]
"""Where a tool runs: in the workspace in force; b: in the project that the session chose, where projects are offered;
or in no workspace."""

COMPLETED = 100  # values of a completion (the protocol's maximum)
SHOWN_ERRORS = 10  # invalid arguments that one error message names
BLANK = "must not be blank"  # the only pattern of any argument is \S
FIELDS = 100  # of an object; more than twice as many as any tool takes
EXEMPLIFIED = 50  # characters of an argument that becomes an example of the right form
REPEATED = 100  # characters of an argument, or of its name, that an error repeats

# parts of the arguments of several toolsets
NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Query = Annotated[NonEmptyText, Field(max_length=100_000)]  # of a long one its beginning and its end are searched
Tag = Annotated[NonEmptyText, Field(max_length=TAG)]
Tags = Annotated[list[Tag], Field(max_length=TAGS)]
Time = Annotated[NonEmptyText, Field(max_length=100)]
MemoryId = Annotated[NonEmptyText, Field(max_length=1_000)]  # ids of imported turns may be this long


class Arguments(BaseModel):
    """The arguments of a tool, or an object in them. Unknown fields and text that no store can keep are errors.

    A text that contains the JSON of a list or an object counts as that, where a field takes no text.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a server builds only what it offers

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: object) -> object:
        value = _as_object(value, cls)
        if isinstance(value, dict) and len(value) > FIELDS:  # each would become a separate error
            raise ValueError(f"{len(value):,} fields are too many")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object, info: ValidationInfo) -> object:
        value = _as_list(value, cls.model_fields[info.field_name or ""].annotation)
        for place, text in _texts(value):
            if bad := unstorable(text):
                raise ValueError(f"{place}has U+{ord(bad.group()):04X} at character {bad.start()}, which is not text")
        return value


def shown_as(default: object = None) -> Any:
    """Let the schema of an argument show no null, and `default` if there is one, though its handler gets None.

    So a handler can tell whether the argument was given.
    """

    def show(schema: dict[str, Any]) -> None:
        schema |= schema.pop("anyOf")[0] | {"default": default}

    return Field(json_schema_extra=show)


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
        """Return the session of that name; the same name means different sessions for different principals."""
        return f"{self.principal}/{session_id}" if self.principal else session_id

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

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        schema: dict[str, Any] = _schema(self.arguments.model_json_schema())
        return schema

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the result."""
        schema: dict[str, Any] = _schema(TypeAdapter(self.result).json_schema(mode="serialization"))
        return schema

    def run(self, call: Call, arguments: Any) -> Answer[Any]:
        """Validate the arguments and run; the answer names the kinds of secrets that were masked before storing.

        Raise InvalidInputError that names each invalid argument, or MemorydError.
        """
        valid = self._valid(arguments)
        with noted() as masked:
            result = self.handler(call, **dict(valid))
        answer = result if isinstance(result, Answer) else Answer(result)
        return replace(answer, masked=(*answer.masked, *masked))

    def _valid(self, arguments: Any) -> Arguments:
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(_explain(self.name, self.arguments, error)) from None


class Toolset(list[Tool]):
    """The tools of a toolset, or of a part of one, in order, and what they have in common."""

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        needs: Needs = "workspace",
        error_text: Callable[[MemorydError], str] = str,
        base: type[Arguments] = Arguments,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        """Begin with `tools`. `descriptions`: by the names of tools, in place of docstrings."""
        super().__init__(tools)
        self._needs = needs
        self._error_text, self._base, self._descriptions = error_text, base, descriptions or {}

    def tool(
        self,
        title: str,
        capability: Capability,
        *,
        needs: Needs | None = None,
        destructive: bool = False,
        idempotent: bool = False,
        lasting: bool = False,
        text: bool = False,
    ) -> Callable[[HandlerT], HandlerT]:
        """Add a tool of the decorated function. The parameters are the fields of Tool."""

        def add(handler: HandlerT) -> HandlerT:
            name = handler.__name__
            self.append(
                Tool(
                    name=name,
                    title=title,
                    description=self._descriptions.get(name) or " ".join((handler.__doc__ or "").split()),
                    capability=capability,
                    handler=handler,
                    needs=needs or self._needs,
                    destructive=destructive,
                    idempotent=idempotent,
                    lasting=lasting,
                    text=text,
                    error_text=self._error_text,
                    base=self._base,
                )
            )
            return handler

        return add


def _schema(schema: Any) -> Any:
    """Return a JSON schema without what pydantic adds, and costs a client tokens: titles, docstrings, null defaults."""
    if isinstance(schema, list):
        return [_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    if schema.get("default", ...) is None:
        noise.add("default")
    return {name: _schema(part) for name, part in schema.items() if name not in noise}


# Many models send the JSON of a list or an object as a text.


def _as_list(value: object, annotation: Any) -> object:
    """Return the list that a text contains, if a field takes a list but no text; else the value itself.

    Raise ValueError, which shows the right form, for any other text in place of a list.
    """
    if not isinstance(value, str) or (wanted := _list_type(annotation)) is None:
        return value
    found = _parsed(value)
    if not isinstance(found, list):
        raise ValueError(f"should be a valid list, such as {_list_example(wanted, value)}")  # noqa: TRY004 - pydantic's
    return found


def _as_object(value: object, model: type[BaseModel]) -> object:
    """Return an object, or the one that a text contains. Raise ValueError, which shows the right form, otherwise."""
    found = _parsed(value) if isinstance(value, str) else value
    if not isinstance(found, dict | model):
        raise ValueError(f"should be a valid object, such as {_object_example(model)}")  # noqa: TRY004 - pydantic's
    return found


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _list_type(annotation: Any) -> Any:
    """Return the type of a list in an annotation such as `list[str] | None`, or None if it allows anything else."""
    options = (annotation,) if get_origin(annotation) is list else get_args(annotation)
    bare = [get_args(option)[0] if get_origin(option) is Annotated else option for option in options]
    lists = [option for option in bare if get_origin(option) is list]
    return lists[0] if lists and all(option in (lists[0], NoneType) for option in bare) else None


def _list_example(wanted: Any, text: str) -> str:
    (items,) = get_args(wanted)
    items = get_args(items)[0] if get_origin(items) is Annotated else items
    if isinstance(items, type) and issubclass(items, BaseModel):
        return f"[{_object_example(items)}]"
    if items in (int, float):
        return "[1, 2]"
    return compact([text if text.strip() and len(text) <= EXEMPLIFIED else "..."])


def _object_example(model: type[BaseModel]) -> str:
    names = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return "{" + ", ".join(f'"{name}": ...' for name in names) + "}"


def _texts(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of an argument with its place, except those in objects: Arguments check their own."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, f"item {number} ")


def _explain(tool: str, arguments: type[Arguments], error: ValidationError) -> str:
    """Return an error message that names each invalid argument; for an unknown one, what the tool takes."""
    wrong = []
    for one in error.errors()[:SHOWN_ERRORS]:
        place = shortened(".".join(map(str, one["loc"]))) or "arguments"
        if one["type"] == "extra_forbidden":
            wrong.append(f"{place}: {_unknown(tool, arguments, one['loc'])}")
        else:
            why = BLANK if one["type"] == "string_pattern_mismatch" else one["msg"].removeprefix("Value error, ")
            wrong.append(f"{place}: {why}{_given(one['input'])}")
    if error.error_count() > SHOWN_ERRORS:
        wrong.append(f"and {error.error_count() - SHOWN_ERRORS} more")
    return f"Invalid arguments for {tool}. " + "; ".join(wrong)


def _unknown(tool: str, arguments: type[Arguments], place: Sequence[int | str]) -> str:
    """Return what is wrong with an argument that the tool, or an object in its arguments, does not take."""
    parents = [part for part in place[:-1] if isinstance(part, str)]
    for name in parents:
        (arguments,) = get_args(arguments.model_fields[name].annotation)  # a list of objects
    for name, field in arguments.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices) and place[-1] in field.validation_alias.choices:
            return f"another name of {name}, which is given as well; give only one of them"
    names = [field.alias or name for name, field in arguments.model_fields.items()]
    return f"unknown argument; {'it' if parents else tool} takes {', '.join(names) or 'none'}"


def _given(value: object) -> str:
    if isinstance(value, str | list) and len(value) > 50:
        return f" (it has {len(value)})"
    shown = isinstance(value, str | list | int | float | bool) or value is None
    return f" (it is {shortened(repr(value))})" if shown else ""


def shortened(text: str) -> str:
    """Shorten what a caller sent, for an error message: the whole could fill a model's context."""
    return text if len(text) <= REPEATED else f"{text[:REPEATED]}…"
