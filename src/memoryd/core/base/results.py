"""Results of tools as JSON: compact, without empty fields, with their cost."""

import json
from typing import Any, Generic, NotRequired, TypeVar, cast

from typing_extensions import TypedDict

from memoryd.model import Workspace
from memoryd.text import CHARACTERS_PER_TOKEN, size


class Searched(TypedDict):
    """A result that includes a search."""

    degraded: NotRequired[str]
    """What the search could not do, in one sentence; absent if it was complete."""


class Counted(TypedDict):
    """A result with its cost in tokens."""

    tokens_used: int


class Placed(TypedDict):
    """A hit that names its workspace, if several are read together."""

    workspace: NotRequired[str]


ItemT = TypeVar("ItemT")


class WholeList(TypedDict, Generic[ItemT]):
    """A list that no budget limits."""

    result: list[ItemT]


BodyT = TypeVar("BodyT")
CountedT = TypeVar("CountedT", bound=Counted)


def compact(body: object) -> str:
    """Return JSON as in results: without blanks, and without escapes of letters."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def placed(workspace: Workspace | None) -> Placed:
    """Return the field with the workspace of a hit; no field if only one workspace is read."""
    return {"workspace": workspace.name} if workspace else {}


def without_empty(body: BodyT, *names: str) -> BodyT:
    """Remove the named fields if they are empty, so that rarely needed ones cost no tokens. Return the result."""
    fields = cast(dict[str, Any], body)
    for name in names:
        if not fields[name]:
            del fields[name]
    return body


def counted(body: CountedT) -> CountedT:
    """Set `tokens_used` to the cost of the result as compact JSON, including the digits of that number; return it."""
    body["tokens_used"] = 0
    rest = size(compact(body)) - len("0")
    for _ in range(2):
        body["tokens_used"] = -(-(rest + len(str(body["tokens_used"]))) // CHARACTERS_PER_TOKEN)  # rounded up
    return body
