"""What a tool is: a name, texts for the model, the shapes of what goes in and out, a capability and a handler."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.text import unstorable

Capability = Literal["read", "write", "admin"]


class Arguments(BaseModel):
    """What a tool takes. Unknown arguments are rejected, not ignored, and so is text that no store can keep."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        for text in _texts(value):
            if bad := unstorable(text):
                raise ValueError(f"holds U+{ord(bad.group()):04X} at character {bad.start()}, which is no text")
        return value


class Result(BaseModel):
    """What a tool gives, as structured content."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Call:
    """In whose name and where a tool runs."""

    engine: Engine
    workspace: Workspace
    session: str
    """Whose volatile records are visible, and what new records are marked with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and a text for the model where that is not simply the result as JSON."""

    result: Result
    text: str | None = None


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
    destructive: bool = False
    idempotent: bool = False

    def run(self, call: Call, arguments: Any) -> Answer:
        """Validate the arguments and run. Raises InvalidInputError that names each wrong argument, or MemorydError."""
        try:
            valid = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(_explain(self.name, self.arguments, error)) from None
        return self.handler(call, valid)


def _texts(value: object) -> Iterator[str]:
    """Every text in what was sent."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(part)


def _explain(tool: str, arguments: type[Arguments], error: ValidationError) -> str:
    """Each wrong argument with what is wrong about it, and what the tool takes where one is unknown."""
    wrong = []
    for one in error.errors():
        place = ".".join(map(str, one["loc"])) or "arguments"
        if one["type"] == "extra_forbidden":
            wrong.append(f"{place}: unknown argument; {tool} takes {', '.join(arguments.model_fields)}")
        else:
            wrong.append(f"{place}: {one['msg']}{_given(one['input'])}")
    return f"Invalid arguments for {tool}. " + "; ".join(wrong)


def _given(value: object) -> str:
    if isinstance(value, str | list):
        return f" (it has {len(value)})" if len(value) > 50 else f" (it is {value!r})"
    return f" (it is {value!r})" if isinstance(value, int | float | bool) or value is None else ""


Toolset = Sequence[Tool[Any]]
