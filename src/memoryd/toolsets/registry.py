"""What a tool is: a name, texts for the model, the shapes of what goes in and out, a capability and a handler."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator

from memoryd.core.engine import Engine
from memoryd.model import Workspace

Capability = Literal["read", "write", "admin"]


class Arguments(BaseModel):
    """What a tool takes. Unknown arguments are rejected, not ignored, and so is text that no store can keep."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and (bad := _UNSTORABLE.search(text)):
                raise ValueError(f"holds U+{ord(bad.group()):04X} at character {bad.start()}, which is no text")
        return value


class Result(BaseModel):
    """What a tool gives, as structured content."""


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # NUL and lone surrogates

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
        """Validate the arguments and run. Raises pydantic's ValidationError, or MemorydError."""
        return self.handler(call, self.arguments.model_validate(arguments))


Toolset = Sequence[Tool[Any]]
