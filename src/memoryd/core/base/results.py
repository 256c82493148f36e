"""Results of tools as JSON: compact, without empty fields, with what they cost."""

import json
from typing import Any, NotRequired, TypeVar, cast

from typing_extensions import TypedDict

from memoryd.model import Workspace
from memoryd.text import CHARACTERS_PER_TOKEN, size


class Searched(TypedDict):
    """A result that a search is part of."""

    degraded: NotRequired[str]
    """What the search could not do, in one sentence; absent if it could do everything."""


class Counted(TypedDict):
    """A result that says what it costs."""

    tokens_used: int


class Placed(TypedDict):
    """A hit that names its workspace, if several are read together."""

    workspace: NotRequired[str]


BodyT = TypeVar("BodyT")
CountedT = TypeVar("CountedT", bound=Counted)


def compact(body: object) -> str:
    """Return JSON as results are shown: without blanks, all letters as they are."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def placed(workspace: Workspace | None) -> Placed:
    """Return the field that names the workspace of a hit; none where only one is read."""
    return {"workspace": workspace.name} if workspace else {}


def without_empty(body: BodyT, *names: str) -> BodyT:
    """Remove those of the named fields that are empty: what is seldom needed costs no tokens. Return the result."""
    fields = cast(dict[str, Any], body)
    for name in names:
        if not fields[name]:
            del fields[name]
    return body


def counted(body: CountedT) -> CountedT:
    """Set `tokens_used` to what the result costs as compact JSON, that number's own digits included; return it."""
    body["tokens_used"] = 0
    rest = size(compact(body)) - len("0")
    for _ in range(2):
        body["tokens_used"] = -(-(rest + len(str(body["tokens_used"]))) // CHARACTERS_PER_TOKEN)  # rounded up
    return body
