"""Perspectives: templates that put a record's text into a context before it is embedded (c).

`general` embeds every record without context. The others embed only observations; their templates name the entity, its
relations and so on, so their vectors differ with any model, even one that takes no instructions. A part in brackets is
omitted if its fields are empty.
"""

import json
import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from memoryd.core.records.records import RELATED, text_of, ties_of, with_related
from memoryd.errors import InvalidInputError
from memoryd.model import GENERAL, Kind, Workspace
from memoryd.store.base import AFTER_EVERY_ID, Queries, Row
from memoryd.text import spaced

DEFAULTS: Mapping[str, str] = {
    GENERAL: "{entity}: {text}",
    "technical": "{type}: {text}",
    "relational": "{entity}[ ({related})]: {text}",
    "temporal": "{entity}, {date}: {text}",
    "project": "{workspace}[, {tags}], {entity}[ ({summary})]: {text}",
}
"""The defaults: the five of c."""

FIELDS = ("text", "entity", "type", "summary", "tags", "related", "date", "workspace")
"""The fields that a template may name."""

NAME_LENGTH, TEMPLATE_LENGTH = 50, 500

_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


def templates(queries: Queries) -> dict[str, str]:
    """Return the templates of a workspace's perspectives by name."""
    return {row["name"]: row["template"] for row in queries.all("perspectives.all")} or dict(DEFAULTS)


def edited(
    queries: Queries, changed: Mapping[str, str], removed: Sequence[str] = (), *, reset: bool = False
) -> dict[str, str]:
    """Return the perspectives of a workspace, or with `reset` the defaults, with some changed and some removed.

    Raise InvalidInputError for an invalid template, or a name that cannot be removed.
    """
    for name, template in changed.items():
        check(name, template)
    now = dict(DEFAULTS) if reset else templates(queries)
    for name in removed:
        if name == GENERAL or name not in now:
            why = "recall searches it" if name == GENERAL else f"there are: {', '.join(now)}"
            raise InvalidInputError(f"The perspective {name} cannot be removed: {why}.")
    return {name: template for name, template in (now | dict(changed)).items() if name not in removed}


def withdraw(queries: Queries, wanted: Mapping[str, str]) -> dict[str, str]:
    """Remove the perspectives whose templates are not `wanted`, so that nothing uses them; return the others."""
    kept = {name: template for name, template in templates(queries).items() if wanted.get(name) == template}
    _replace(queries, kept)
    return kept


def add(queries: Queries, wanted: Mapping[str, str]) -> dict[str, str]:
    """Add the perspectives that are missing; return all."""
    every = dict(wanted) | templates(queries)
    _replace(queries, every)
    return every


def _replace(queries: Queries, wanted: Mapping[str, str]) -> None:
    queries.run("perspectives.clear")
    if wanted != DEFAULTS:
        queries.many("perspectives.add", [{"name": name, "template": template} for name, template in wanted.items()])


def to_be_counted(queries: Queries, after: str = "", last: str = AFTER_EVERY_ID) -> dict[str, Any]:
    """Return the parameters of statements that count vectors: the perspectives of an observation, and bounds of ids."""
    names = list(templates(queries))
    return {"perspectives": json.dumps(names), "many": len(names), "after": after, "last": last}


def render(template: str, values: Mapping[str, str]) -> str:
    """Return a template filled with values."""

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(values[name] for name in _named(match[1])) else ""

    return _OPTIONAL.sub(optional, template).format_map(values)


def check(name: str, template: str) -> None:
    """Raise InvalidInputError if a perspective cannot be used."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or len(name) > NAME_LENGTH or name == "client":
        raise InvalidInputError(f"{name!r} cannot name a perspective: use lower-case letters, digits, - and _.")
    if name == GENERAL and template != DEFAULTS[GENERAL]:
        raise InvalidInputError(f"The template of {GENERAL} is the text of a record alone and cannot be changed.")
    try:
        named = _named(template)
    except ValueError as error:
        raise InvalidInputError(f"The template of {name} is malformed: {error}. Put names in {{braces}}.") from None
    if "text" not in named or len(template) > TEMPLATE_LENGTH:
        raise InvalidInputError(f"The template of {name} must name {{text}}, in at most {TEMPLATE_LENGTH} characters.")
    if unknown := [field for field in named if field not in FIELDS]:
        raise InvalidInputError(
            f"The template of {name} names {{{unknown[0]}}}, which does not exist. There are: {', '.join(FIELDS)}."
        )


def texts(queries: Queries, workspace: Workspace, ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the text to embed of each living record, by perspective."""
    every = templates(queries)
    rows = queries.all("perspectives.contexts", ids=json.dumps(ids))
    relations = related(queries, [row["entity_id"] for row in rows if row["entity_id"]])
    return {row["id"]: _texts(row, every, relations, workspace) for row in rows}


def related(queries: Queries, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return for each entity its oldest relations as text, such as `works at Acme` or `Ann manages`."""
    rows = queries.all("perspectives.related", ids=json.dumps(list(entity_ids))) if entity_ids else []
    return dict.fromkeys(entity_ids, ()) | {row["id"]: _related(row) for row in rows}


def _related(row: Row) -> tuple[str, ...]:
    ties = ties_of(row["related"])[:RELATED]
    return tuple(f"{tie.source} {spaced(tie.type)} {tie.target}".strip() for tie in ties)


def naming(every: Mapping[str, str], field: str) -> list[str]:
    """Return the names of the perspectives whose templates name a field."""
    return [name for name, template in every.items() if field in _named(template)]


def drop(queries: Queries, entity_ids: Sequence[str], field: str) -> list[str]:
    """Drop the vectors of entities' observations whose templates name a field; return the records' ids.

    The relations are part of an entity's own text, so if these have changed, its own vectors are dropped too.
    """
    if not entity_ids:
        return []
    names, ids = naming(templates(queries), field), json.dumps(list(entity_ids))
    own = list(entity_ids) if field == "related" else []
    if own:
        queries.run("entities.unembed", ids=ids)
    if not names:
        return own
    queries.run("perspectives.drop", entities=ids, perspectives=json.dumps(names))
    return own + [row["id"] for row in queries.all("perspectives.observations", entities=ids)]


def _texts(
    row: Row, every: Mapping[str, str], relations: Mapping[str, Sequence[str]], workspace: Workspace
) -> dict[str, str]:
    text = text_of(row["kind"], row["name"], row["type"], row["body"])
    general = {GENERAL: with_related(text, row["name"] or "", ties_of(row["related"]))}
    if row["kind"] != Kind.OBSERVATION:
        return general
    values = {
        "text": row["body"],
        "entity": row["name"],
        "type": row["entity_type"] or "",
        "summary": row["summary"] or "",
        "tags": ", ".join(json.loads(row["entity_tags"] or "[]")),
        "related": ", ".join(relations[row["entity_id"]]),
        "date": row["created_at"][:10],
        "workspace": workspace.name,
    }
    return {name: render(template, values) for name, template in every.items()} | general


def _named(template: str) -> list[str]:
    """Return the fields that a template names; raise ValueError if it is malformed or formats a field."""
    fields = []
    for _, field, form, conversion in Formatter().parse(template):
        if field is not None:
            if form or conversion:
                raise ValueError(f"{{{field}}} takes no format")
            fields.append(field)
    return fields
