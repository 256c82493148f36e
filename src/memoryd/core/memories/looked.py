"""Where a recall looked that found nothing, in one line: so that a wrong workspace or tag does not look like a miss."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.model import Filter, Workspace

TAGS = 10_000  # tags that are compared with one that no record has
OTHERS = 10  # other workspaces that are counted if this one is empty
NAMED = 3  # of these, and of tags, that are named at most

SMALL_TALK = "That asks for nothing."


def where(scope: Scope, allowed: Filter, as_of: str = "") -> str:
    """Return what a search without hits had looked at; `as_of` is its past time."""
    numbers = sum(map(_numbers, scope.each), Counter[str]())
    if not numbers:
        return _empty(scope)
    if unknown := _unknown(scope, allowed.tags):
        return unknown
    names = [_quoted(one.workspace) for one in scope.each]
    tagged = f" with the tags {', '.join(allowed.tags)}" if allowed.tags else ""
    timed = " of that time" if allowed.after or allowed.before or as_of else ""
    noun = "record of these kinds" if allowed.kinds else "memory"
    total = sum(numbers[kind] for kind in allowed.kinds or numbers)
    among = "" if timed else f" among {total:,}"
    places = "workspace" if len(names) == 1 else "the workspaces"
    return f"No {noun}{timed}{tagged} bears on this{among} in {places} {', '.join(names)}."


def _numbers(scope: Scope) -> Counter[str]:
    return scope.read(lambda queries: records.numbers(queries, scope.session))


def _empty(scope: Scope) -> str:
    """Return that the workspace is empty, and which of those that the caller may use are not."""
    names = [_quoted(one.workspace) for one in scope.each]
    empty = f"Workspace {names[0]} is empty" if len(names) == 1 else f"The workspaces {', '.join(names)} are empty"
    read = {one.workspace.id for one in scope.each}
    others = [one for one in scope.engine.workspaces.all("active") if one.id not in read and scope.grant.sees(one.id)]
    numbers = [(_numbers(Scope(scope.engine, one)).total(), one) for one in others[:OTHERS]]
    filled = sorted((pair for pair in numbers if pair[0]), key=lambda pair: -pair[0])[:NAMED]
    return "; ".join([empty, *(f"{_quoted(one)} has {number:,}" for number, one in filled)]) + "."


def _unknown(scope: Scope, tags: Sequence[str]) -> str:
    """Return which of the tags no record has, and which similar ones there are; '' if all exist."""
    if not tags:
        return ""
    known = {
        row["tag"]
        for one in scope.each
        for row in one.read(lambda q: q.all("records.tags", session=scope.session, limit=TAGS))
    }
    missing = [tag for tag in tags if tag not in known]
    if not missing:
        return ""
    alike = [tag for tag in sorted(known) if _bare(tag) in set(map(_bare, missing))][:NAMED]
    there = f"; there is {', '.join(alike)}" if alike else ""
    return f"No memory has the tag {', '.join(missing)}{there}."


def _bare(tag: str) -> str:
    """Return a tag without case, accents, blanks, hyphens and a plural s."""
    letters = unicodedata.normalize("NFKD", tag).casefold()
    return "".join(letter for letter in letters if letter.isalnum()).removesuffix("s")


def _quoted(workspace: Workspace) -> str:
    return " ".join(workspace.name.split())
