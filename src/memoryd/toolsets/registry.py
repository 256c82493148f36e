"""What a tool is: a name, texts for the model, the shapes of what goes in and out, a capability and a handler."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import not_
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from memoryd.core.engine import Engine
from memoryd.core.security.secrets import IDENTITY, Secrets, noted
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.model import Workspace
from memoryd.text import estimate_tokens, unstorable

Json = dict[str, Any]
Progress = Callable[[float, float], None]
Capability = Literal["read", "write", "admin"]
Needs = Literal["workspace", "project", "nothing"]
"""Where a tool runs: in the workspace in force; b: in a project that the session chose, where projects are offered; or
in none at all."""

TOLD = 10  # wrong arguments that one error tells of

# what the arguments of several toolsets are made of
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Query = Annotated[Text, Field(max_length=2_000)]
Tag = Annotated[Text, Field(max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=50)]


class Arguments(BaseModel):
    """What a tool takes, or an object within that. Unknown ones are rejected, and so is text that no store can keep."""

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a server builds only what it offers

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        for place, text in _texts(value):
            if bad := unstorable(text):
                raise ValueError(f"{place}holds U+{ord(bad.group()):04X} at character {bad.start()}, which is no text")
        return value


class NoArguments(Arguments):
    """Nothing."""


LeftOut = Field(exclude_if=not_)
"""A field of a result that is left out while it is empty: what is seldom there costs no tokens."""


class Result(BaseModel):
    """What a tool gives, as data."""

    model_config = ConfigDict(defer_build=True)

    def masked(self, secrets: Secrets) -> Self:
        """Return what was stored of the arguments that it repeats."""
        said = {name: value for name, value in self if isinstance(value, str) and name not in IDENTITY}
        return self.model_copy(update=secrets.masked(said))

    def as_json(self) -> Json:
        """Return the JSON object of it; a `tokens_used` that was not given is what this object costs."""
        body: Json = self.model_dump(mode="json", by_alias=True)
        return body if "tokens_used" in self.model_fields_set else counted(body)


def counted(body: Json) -> Json:
    """Set the `tokens_used` of an answer that has one to what it costs, that number's own digits included."""
    if "tokens_used" in body:
        for _ in range(2):
            body["tokens_used"] = estimate_tokens(compact(body))
    return body


def compact(body: object) -> str:
    """Return JSON as answers show it: no blanks, all letters as they are."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


class Searched(Result):
    """What a search gives."""

    degraded: Annotated[str, LeftOut] = ""
    """What the search could not do, in one sentence; absent where nothing is amiss."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def unheard(_done: float, _total: float) -> None:
    """Nobody wants to know how far something is."""


@dataclass(frozen=True, slots=True)
class Call:
    """In whose name and where a tool runs."""

    engine: Engine
    place: Workspace | None
    """None for a tool that needs nothing."""
    session_id: str
    """As the client names it; '' where there is none."""
    principal: str = ""
    """Whose session it is; '' where the process has one user."""
    progress: Progress = unheard
    """Tells the caller, if he wants to know, how much is done, of how much."""

    @property
    def session(self) -> str:
        """Whose volatile records are visible, what new records are marked with, and who has an active project."""
        return self.named(self.session_id)

    def named(self, session_id: str) -> str:
        """The session of that name: of each principal it is another one."""
        return f"{self.principal}/{session_id}" if self.principal else session_id

    @property
    def workspace(self) -> Workspace:
        """Where a tool runs that needs a workspace or a project."""
        assert self.place is not None, "the tool's `needs` promised none"
        return self.place


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives: data, or a text for the model.

    Some clients show their model the structured content alone, others the text alone: so each must be the whole answer.
    Data is shown as the same JSON in both. A text is shown alone, its figures beside it where no model looks.
    """

    result: Result
    text: str | None = None
    """The whole answer where it is a text; without figures a sentence that says as much as the result."""
    figures: Mapping[str, Any] | None = None
    """What programs may want to know of a text that is the whole answer."""
    session: str | None = None
    """The session of the connection from now on, where the tool changes that."""
    masked: tuple[str, ...] = ()
    """The kinds of the secrets that were masked before anything was stored."""
    marked: bool = False
    """Whether the text marks by itself what reads like instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ArgumentsT]):
    """One tool of a toolset."""

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    result: type[Result]
    capability: Capability
    handler: Callable[[Call, ArgumentsT], Answer]
    needs: Needs = "workspace"
    destructive: bool = False
    idempotent: bool = False
    lasting: bool = False
    """Whether it may take as long as it takes: it works through all that there is, and tells how far it is."""
    text: bool = False
    """Whether its answers, or some of them, are texts: then no schema can promise data."""
    error_text: Callable[[MemorydError], str] = str
    """How an error is told."""

    def run(self, call: Call, arguments: Any) -> Answer:
        """Validate the arguments and run. Raises InvalidInputError that names each wrong argument, or MemorydError.

        The answer says which secrets were masked on the way into the store.
        """
        valid = self._valid(arguments)
        with noted() as masked:
            answer = self.handler(call, valid)
        result = answer.result.masked(call.engine.secrets) if masked else answer.result
        return replace(answer, result=result, masked=(*answer.masked, *masked))

    def _valid(self, arguments: Any) -> ArgumentsT:
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(_explain(self.name, self.arguments, error)) from None


def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of arguments or a result."""
    schema: dict[str, Any] = _schema(shape.model_json_schema())
    return schema


def _schema(schema: Any) -> Any:
    """A JSON schema without the titles and class texts that pydantic adds: they cost a client's tokens."""
    if isinstance(schema, list):
        return [_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    return {name: _schema(part) for name, part in schema.items() if name not in noise}


def _texts(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text in the value of an argument, and where; an object within it is an Arguments that looks at its own."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, f"item {number} ")


def _explain(tool: str, arguments: type[Arguments], error: ValidationError) -> str:
    """Each wrong argument with what is wrong about it, and what the tool takes where one is unknown."""
    wrong = []
    for one in error.errors()[:TOLD]:
        place = ".".join(map(str, one["loc"])) or "arguments"
        if one["type"] == "extra_forbidden":
            wrong.append(f"{place}: {_unknown(tool, arguments, one['loc'])}")
        else:
            wrong.append(f"{place}: {one['msg'].removeprefix('Value error, ')}{_given(one['input'])}")
    if error.error_count() > TOLD:
        wrong.append(f"and {error.error_count() - TOLD} more")
    return f"Invalid arguments for {tool}. " + "; ".join(wrong)


def _unknown(tool: str, arguments: type[Arguments], place: Sequence[int | str]) -> str:
    """What is wrong with a name at a place that a tool, or an object within its arguments, does not take there."""
    parents = [part for part in place[:-1] if isinstance(part, str)]
    for name in parents:
        (arguments,) = get_args(arguments.model_fields[name].annotation)  # a list of objects
    for name, field in arguments.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices) and place[-1] in field.validation_alias.choices:
            return f"another name of {name}, which is given as well; give one of them"
    names = [field.alias or name for name, field in arguments.model_fields.items()]
    return f"unknown argument; {'it' if parents else tool} takes {', '.join(names) or 'none'}"


def _given(value: object) -> str:
    if isinstance(value, str | list):
        return f" (it has {len(value)})" if len(value) > 50 else f" (it is {value!r})"
    return f" (it is {value!r})" if isinstance(value, int | float | bool) or value is None else ""


Toolset = Sequence[Tool[Any]]
