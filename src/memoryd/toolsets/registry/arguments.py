"""Arguments of tools: the base of their models, parts that several toolsets have, and what is wrong with those given.

Clients fill in what they do not know, and models write lists as texts: what has one meaning only is understood.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from memoryd.core.base.limits import TAG, TAGS
from memoryd.core.base.results import compact
from memoryd.text import storable, unstorable

FIELDS = 100  # of an object; more than twice as many as any tool takes
EXEMPLIFIED = 50  # characters of an argument that becomes an example of the right form
FILLER = "random_string"
"""What some clients add because they cannot call a tool without arguments."""

# parts of the arguments of several toolsets
NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Query = Annotated[NonEmptyText, Field(max_length=100_000)]  # of a long one its beginning and its end are searched
Tag = Annotated[NonEmptyText, Field(max_length=TAG)]
Tags = Annotated[list[Tag], Field(max_length=TAGS)]
Time = Annotated[NonEmptyText, Field(max_length=100)]
MemoryId = Annotated[NonEmptyText, Field(max_length=1_000)]  # ids of imported turns may be this long


class Arguments(BaseModel):
    """The arguments of a tool, or an object in them. Unknown fields and text that no store can keep are errors.

    Null, and '' for what cannot be an empty text, mean that an optional argument is not given: many clients fill in
    every argument. A text that contains the JSON of a list or an object counts as that, where a field takes no text.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a server builds only what it offers

    LABELS: ClassVar[dict[str, str]] = {}
    """Fields with their only value, by which clients say what an object is; they are ignored."""

    @model_validator(mode="before")
    @classmethod
    def _own(cls, value: object) -> object:
        value = _as_object(value, cls)
        if not isinstance(value, dict):
            return value
        if len(value) > FIELDS:  # each would become a separate error
            raise ValueError(f"{len(value):,} fields are too many")
        return {name: part for name, part in value.items() if not cls._ignores(name, part)}

    @classmethod
    def _ignores(cls, name: str, value: object) -> bool:
        if name == FILLER:
            return not any(field.is_required() for field in cls.model_fields.values())
        return name in cls.LABELS and cls.LABELS[name] == value

    @field_validator("*", mode="wrap")
    @classmethod
    def _valid(cls, value: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
        field = cls.model_fields[info.field_name or ""]
        if value is None and not field.is_required():
            return field.get_default(call_default_factory=True)
        try:
            return validate(_storable(_as_list(value, field.annotation)))
        except ValueError:  # also pydantic's
            if value == "" and not field.is_required():
                return field.get_default(call_default_factory=True)
            raise


def shown_as(default: Any) -> Any:
    """Show a default of an argument whose handler gets None, so that it can tell whether the argument was given."""
    return Field(json_schema_extra={"default": default})


def _storable(value: object) -> object:
    """Return a value. Raise ValueError if one of its texts cannot be stored."""
    for place, text in _texts(value):
        if bad := unstorable(text):
            raise ValueError(f"{place}has U+{ord(bad.group()):04X} at character {bad.start()}, which is not text")
    return value


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
    fits = text.strip() and len(text) <= EXEMPLIFIED and not unstorable(text)
    return compact([text if fits else "..."])


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


# what is wrong with the arguments of a call, in words that let a model repair it --------------------------------------

SHOWN_ERRORS = 10  # invalid arguments that one error message names
BLANK = "must not be blank"  # the only pattern of any argument is \S
REPEATED = 100  # characters of an argument, or of its name, that an error repeats
CLOSE = 0.75  # least likeness (difflib's) of a name to the one that is meant

HABITS: Mapping[str, str] = {
    "limit top_k k n n_results num_results max_results max count page_size": "limit n_results token_budget",
    "max_tokens tokens budget token_limit max_length": "token_budget limit",
    "text body message memory fact note value data": "content new_content contents prompt",
    "q question search search_query text topic": "query task",
    "id uuid memory memory_id memory_ids record_id": "ids id key",
    "entity entities node nodes entity_name title id": "name names entity_name entity_names entities",
    "type kind": "entity_type relation_type kinds category",
    "relation predicate relationship": "relation_type",
    "source subject start from_node": "from_entity",
    "target object end to_node": "to_entity",
    "facts observation text content": "contents observations new_content",
    "tag label labels keywords": "tags category",
    "since start start_date from_date created_after": "after",
    "until end end_date to_date created_before": "before older_than",
    "at date time timestamp": "as_of",
    "session conversation_id thread_id": "session_id",
    "priority weight": "importance",
    "replaces": "supersedes",
}
"""Names that models and other servers use, and what they may mean, the first that a tool has."""

PLACES = {"namespace", "workspace", "project", "project_id"}
"""Names for a workspace, which no argument chooses."""


def explained(tool: str, arguments: type[Arguments], error: ValidationError) -> str:
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
    taker = "it" if parents else tool
    return f"unknown argument; {_meant(str(place[-1]), names)}{taker} takes {', '.join(names) or 'none'}"


def _meant(wrong: str, names: Sequence[str]) -> str:
    """Return a question about what a wrong name may mean; '' if nothing is likely."""
    own = {_plain(name): name for name in names}
    habits = [meant for words, meant in HABITS.items() if _plain(wrong) in map(_plain, words.split())]
    likely = [own[_plain(name)] for meant in habits for name in meant.split() if _plain(name) in own]
    if found := likely or [own[name] for name in get_close_matches(_plain(wrong), own, 1, CLOSE)]:
        return f"did you mean {found[0]}? "
    return "no argument chooses the workspace, but a setting, a header or switch_project; " if wrong in PLACES else ""


def _plain(name: str) -> str:
    """Return a name regardless of its spelling: `sessionId` is `session_id`."""
    return name.lower().replace("_", "").replace("-", "")


def _given(value: object) -> str:
    if isinstance(value, str | list) and len(value) > 50:
        return f" (it has {len(value)})"
    shown = isinstance(value, str | list | int | float | bool) or value is None
    return f" (it is {shortened(repr(value))})" if shown else ""


def shortened(text: str) -> str:
    """Shorten what a caller sent, for an error message: the whole could fill a model's context, or not be text."""
    return storable(text if len(text) <= REPEATED else f"{text[:REPEATED]}…")
