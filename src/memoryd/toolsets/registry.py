"""What a tool is: a name, texts for the model, the shapes of its arguments and its result, a capability, a handler."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from memoryd.core.access.tokens import EVERYTHING, Grant
from memoryd.core.base.progress import CountProgress, ignore_progress
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

COMPLETED = 100  # values of a completion (the protocol's most)
SHOWN_ERRORS = 10  # wrong arguments that one error names
BLANK = "must hold something besides blanks"  # what the one pattern of all arguments, \S, demands
FIELDS = 100  # of an object; no tool takes half as many
REPEATED = 100  # characters of an argument, or of its name, that an error repeats

# what the arguments of several toolsets are made of
NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Query = Annotated[NonEmptyText, Field(max_length=2_000)]
Tag = Annotated[NonEmptyText, Field(max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=50)]
Time = Annotated[NonEmptyText, Field(max_length=100)]
MemoryId = Annotated[NonEmptyText, Field(max_length=1_000)]  # of a turn that was imported


class Arguments(BaseModel):
    """The arguments of a tool, or an object within them. Unknown fields and text that no store can keep are errors."""

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a server builds only what it offers

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: object) -> object:
        if isinstance(value, dict) and len(value) > FIELDS:  # each would become an error of its own
            raise ValueError(f"{len(value):,} fields are too many")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        for place, text in _texts(value):
            if bad := unstorable(text):
                raise ValueError(f"{place}holds U+{ord(bad.group()):04X} at character {bad.start()}, which is no text")
        return value


class NoArguments(Arguments):
    """No arguments."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)
ResultT = TypeVar("ResultT", bound=Mapping[str, object])


@dataclass(frozen=True, slots=True)
class Call:
    """The engine, the workspace and the session that a tool runs with."""

    engine: Engine
    place: Workspace | None
    """None for a tool that needs no workspace."""
    session_id: str
    """As the client names it; '' without one."""
    principal: str = ""
    """The user or token whose session it is; '' where the process has one user."""
    progress: CountProgress = ignore_progress
    """Reports how much is done, and of how much."""
    grant: Grant = EVERYTHING
    """Which workspaces the caller may see."""

    @property
    def session(self) -> str:
        """The session whose volatile records are visible, that marks new records and has an active project."""
        return self.named(self.session_id)

    @property
    def scope(self) -> Scope:
        """What core works on."""
        return together(self.engine, self.workspace, self.session, self.grant)

    def named(self, session_id: str) -> str:
        """Return the session of that name; equal names of two principals are two sessions."""
        return f"{self.principal}/{session_id}" if self.principal else session_id

    @property
    def workspace(self) -> Workspace:
        """The workspace of a tool that needs a workspace or a project."""
        assert self.place is not None, "the tool's `needs` promised none"
        return self.place


@dataclass(frozen=True, slots=True)
class Answer(Generic[ResultT]):
    """The result of a tool as JSON data, or a text for the model.

    Some clients show their model the structured content alone, others the text alone: so each must be the whole answer.
    Data is shown as the same JSON in both. A text is shown alone, its figures beside it where no model looks.
    """

    result: ResultT
    text: str | None = None
    """The whole answer where it is a text; without figures a sentence that says as much as the result."""
    figures: Mapping[str, Any] | None = None
    """What programs may want to know of a text that is the whole answer."""
    session: str | None = None
    """The session of the connection from now on, where the tool changes that."""
    masked: tuple[str, ...] = ()
    """The kinds of the secrets that were masked before anything was stored."""
    marked: bool = False
    """Whether the text itself marks what reads like instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ArgumentsT, ResultT]):
    """One tool of a toolset."""

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    result: type[ResultT]
    """The TypedDict that the handler returns. The type checker compares the two; nothing does at run time."""
    capability: Capability
    handler: Callable[[Call, ArgumentsT], Answer[ResultT]]
    needs: Needs = "workspace"
    destructive: bool = False
    idempotent: bool = False
    lasting: bool = False
    """Whether it may run without a time limit: it works through everything, and reports its progress."""
    text: bool = False
    """Whether some of its answers are texts: then no schema can promise data."""
    error_text: Callable[[MemorydError], str] = str
    """The text of an error as its callers see it."""

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

    def run(self, call: Call, arguments: Any) -> Answer[ResultT]:
        """Validate the arguments and run; the answer names the kinds of secrets that were masked before storing.

        Raise InvalidInputError that names each wrong argument, or MemorydError.
        """
        valid = self._valid(arguments)
        with noted() as masked:
            answer = self.handler(call, valid)
        return replace(answer, masked=(*answer.masked, *masked))

    def _valid(self, arguments: Any) -> ArgumentsT:
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(_explain(self.name, self.arguments, error)) from None


def _schema(schema: Any) -> Any:
    """Return a JSON schema without the titles and class texts that pydantic adds: they cost a client's tokens."""
    if isinstance(schema, list):
        return [_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    return {name: _schema(part) for name, part in schema.items() if name not in noise}


def _texts(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of an argument with its place; objects within it are Arguments, which check their own."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, f"item {number} ")


def _explain(tool: str, arguments: type[Arguments], error: ValidationError) -> str:
    """Return a sentence for each wrong argument; for an unknown one, with what the tool takes."""
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
    """Return what is wrong with an argument that the tool, or an object within its arguments, does not take."""
    parents = [part for part in place[:-1] if isinstance(part, str)]
    for name in parents:
        (arguments,) = get_args(arguments.model_fields[name].annotation)  # a list of objects
    for name, field in arguments.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices) and place[-1] in field.validation_alias.choices:
            return f"another name of {name}, which is given as well; give one of them"
    names = [field.alias or name for name, field in arguments.model_fields.items()]
    return f"unknown argument; {'it' if parents else tool} takes {', '.join(names) or 'none'}"


def _given(value: object) -> str:
    if isinstance(value, str | list) and len(value) > 50:
        return f" (it has {len(value)})"
    shown = isinstance(value, str | list | int | float | bool) or value is None
    return f" (it is {shortened(repr(value))})" if shown else ""


def shortened(text: str) -> str:
    """Return the beginning of what a caller sent, as an error repeats it: whole it may fill a model's context."""
    return text if len(text) <= REPEATED else f"{text[:REPEATED]}…"


Toolset = Sequence[Tool[Any, Any]]
