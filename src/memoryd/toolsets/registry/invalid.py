"""What is wrong with the arguments of a call, in words that let a model repair it."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from pydantic import AliasChoices, ValidationError

from memoryd.text import storable
from memoryd.toolsets.registry.arguments import Arguments

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
