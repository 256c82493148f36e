"""Names of nodes: which node a name means, and which names differ only in spelling."""

import json
import re
import string
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from memoryd.core.graph.transaction import entity
from memoryd.errors import NotFoundError
from memoryd.hidden import seen
from memoryd.model import Entity
from memoryd.store.base import Queries

LISTED, LISTED_LENGTH = 10, 500  # maximum names in an error, and maximum characters of each
MEANT = 5  # maximum names that differ from one only in spelling and are named with it
COMPARED = 200  # characters of a name by which the stores index its spelling
_CASES = (str, str.casefold, str.lower, str.upper, str.title, str.capitalize)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s_-]+(?=\d)")
_SEPARATORS = re.compile(r"[\s_-]+")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))  # models write them, too
_INDEXED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase, " -_")

Suggestions = dict[str, list[str]]
"""The names of existing nodes that differ from a name only in spelling, by that name."""


class Suggesting(TypedDict, total=False):
    """A result that names the existing nodes which may be meant by names."""

    did_you_mean: Suggestions
    """Absent if there are none."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The nodes that names mean, and the names that differ from the others only in spelling."""

    found: dict[str, Entity]
    similar: Suggestions

    def by_own_name(self) -> dict[str, Entity]:
        """Return the nodes by the names that they have."""
        return {one.name: one for one in self.found.values()}

    def suggested(self) -> Suggesting:
        """Return the field of a result that names those; no field if there are none."""
        return {"did_you_mean": self.similar} if self.similar else {}


def composed(name: str) -> str:
    """Return a name as it is compared: composed (NFC), without blanks around it."""
    return unicodedata.normalize("NFC", name).strip()


def spelling(name: str) -> str:
    """Return what is the same for names that differ only in case, blanks, dashes, `_` and what no reader sees.

    Between digits a separator stays one: `1-2` is `1_2`, but not `12`.
    """
    folded = composed(composed(_plain(name)).casefold())
    return _SEPARATORS.sub("", _BETWEEN_DIGITS.sub("\0", folded)) or folded


def _plain(name: str) -> str:
    """Return a name as a reader sees it, with plain dashes and blanks."""
    return " ".join(seen(name)[0].translate(_DASHES).split())


def named(queries: Queries, names: Iterable[str]) -> dict[str, Entity]:
    """Return the entities with exactly these names, by name."""
    rows = queries.all("entities.named", names=json.dumps(list(dict.fromkeys(names)), ensure_ascii=False))
    return {row["name"]: entity(row) for row in rows}


def by_id(queries: Queries, ids: Iterable[str]) -> dict[str, Entity]:
    """Return the entities with these ids that exist, by id."""
    rows = queries.all("entities.by_id", ids=json.dumps(sorted(set(ids))))
    return {row["id"]: entity(row) for row in rows}


def look_up(queries: Queries, names: Iterable[str]) -> LookedUp:
    """Return the entities that names mean: those with exactly that name, or else with one that is equal composed."""
    wanted = list(dict.fromkeys(names))
    there = named(queries, [*wanted, *map(composed, wanted)])
    found = {name: there.get(name) or there.get(composed(name)) for name in wanted}
    spelled = _spelled(queries, [name for name in wanted if not found[name]])
    similar: Suggestions = {}
    for name, others in spelled.items():
        found[name] = next((one for one in others if composed(one.name) == composed(name)), None)
        if not found[name] and others:
            similar[name] = [one.name for one in others[:MEANT]]
    return LookedUp({name: one for name, one in found.items() if one}, similar)


def _spelled(queries: Queries, names: Sequence[str]) -> dict[str, list[Entity]]:
    """Return the entities whose names differ from each of these only in spelling, ordered by name."""
    keys = sorted({key for name in names for key in _keys(name)})
    rows = queries.all("entities.spelled", keys=json.dumps(keys, ensure_ascii=False)) if keys else []
    by_spelling: defaultdict[str, list[Entity]] = defaultdict(list)
    for one in sorted(map(entity, rows), key=lambda one: one.name):
        by_spelling[spelling(one.name)].append(one)
    return {name: by_spelling[spelling(name)] for name in names}


def _keys(name: str) -> set[str]:
    """Return the spellings under which a store may have indexed a name: its `lower` may know ASCII letters only."""
    spelled = {composed(one) for one in (name, _plain(name))}
    forms = {unicodedata.normalize(form, case(one)) for form in ("NFC", "NFD") for case in _CASES for one in spelled}
    return {form[:COMPARED].translate(_INDEXED) for form in forms}


def same_spelling(queries: Queries) -> list[tuple[str, str]]:
    """Return the ids of nodes whose names differ only in spelling, each with the first by name of its group."""
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in queries.all("entities.names"):
        groups[spelling(row["name"])].append((row["name"], row["id"]))
    ordered = (sorted(group) for group in groups.values() if len(group) > 1)
    return [(first, other) for (_, first), *others in sorted(ordered) for _, other in others]


def demand(queries: Queries, *names: str) -> list[Entity]:
    """Return the entity of each name; raise NotFoundError that lists the names without one."""
    known = look_up(queries, names)
    if missing := [name for name in dict.fromkeys(names) if name not in known.found]:
        meant = list(dict.fromkeys(other for name in missing for other in known.similar.get(name, ())))
        raise NotFoundError(
            f"{'Nodes' if len(missing) > 1 else 'Node'} {_listed(missing)} not found. "
            + (f"Did you mean {_listed(meant)}? " if meant else "")
            + "Names are matched exactly; look them up with search_nodes."
        )
    return [known.found[name] for name in names]


def _listed(names: Sequence[str]) -> str:
    """Return the first LISTED names for an error, shortened, and the number of the rest."""
    listed = [repr(name) if len(name) <= LISTED_LENGTH else f"{name[:LISTED_LENGTH]!r}..." for name in names[:LISTED]]
    return ", ".join(listed) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
