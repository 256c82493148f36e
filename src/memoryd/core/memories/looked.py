"""Where a recall looked that found nothing, in one line: so that a wrong workspace or tag does not look like a miss."""

import unicodedata
from collections.abc import Sequence

from memoryd.core.scope import Scope
from memoryd.model import Filter, Kind, Workspace

TAGS = 10_000  # tags that are compared with one that no record has
OTHERS = 10  # other workspaces that are counted if this one is empty
NAMED = 3  # of these, and of tags, that are named at most

SMALL_TALK = "That asks for nothing."


def where(scope: Scope, allowed: Filter) -> str:
    """Return what a search without hits had looked at."""
    parts = [(one, _number(one, ())) for one in scope.each]
    if not any(number for _, number in parts):
        return _empty(scope)
    if unknown := _unknown(scope, allowed.tags):
        return unknown
    names = ", ".join(_quoted(one.workspace) for one, _ in parts)
    tagged = f" with the tags {', '.join(allowed.tags)}" if allowed.tags else ""
    timed = " of that time" if allowed.after or allowed.before else ""
    noun = "record of these kinds" if allowed.kinds else "memory"
    total = sum(_number(one, allowed.kinds) for one in scope.each)
    among = "" if timed else f" among {total:,}"
    places = "workspace" if len(parts) == 1 else "the workspaces"
    return f"No {noun}{timed}{tagged} bears on this{among} in {places} {names}."


def _number(scope: Scope, kinds: Sequence[Kind]) -> int:
    """Return how many records of some kinds, or of any, a workspace has."""
    rows = scope.read(lambda queries: queries.all("records.counts", session=scope.session))
    return sum(row["number"] for row in rows if not kinds or row["kind"] in kinds)


def _empty(scope: Scope) -> str:
    """Return that the workspace is empty, and which of those that the caller may use are not."""
    names = [_quoted(one.workspace) for one in scope.each]
    empty = f"Workspace {names[0]} is empty" if len(names) == 1 else f"The workspaces {', '.join(names)} are empty"
    read = {one.workspace.id for one in scope.each}
    others = [one for one in scope.engine.workspaces.all("active") if one.id not in read and scope.grant.sees(one.id)]
    numbers = [(_number(Scope(scope.engine, one), ()), one) for one in others[:OTHERS]]
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
