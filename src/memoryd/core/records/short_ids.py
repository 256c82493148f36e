"""Short ids: the first characters of an id, as many as distinguish it from all others.

Only for random ids: a prefix that ids share by design, such as a date, may match another record later.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Literal

from memoryd.errors import InvalidInputError
from memoryd.store.base import AFTER_EVERY_ID, Queries

SHOWN = 8  # minimum characters of an id that are shown: one in 65,000 memories shares them with another
TAKEN = 6  # ... and minimum characters that must be given
CANDIDATES = 5  # ids that an error message lists if several match

MENTIONED = 10  # ids in a text that are looked up: a pasted log may have thousands of numbers that look like one
_MENTION = re.compile(
    r"(?<![\w-])(?:[0-9a-f]{8}(?:-[0-9a-f]{1,12}){0,4}(?!\w)|(?:mem|summary)_[^\s\"'`,;()]+[\w])", re.IGNORECASE
)
"""What may be an id or its beginning: of a random one at least SHOWN characters, of a turn or a summary any."""
_RANDOM = re.compile(r"(mem_|summary_(?:[a-z-]+:)?)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A random id: also of a turn, from its agent, or of the summary of a session, whose client may be named before it."""

Among = Literal["ids.living", "ids.ever"]


def shorten(queries: Queries, ids: Sequence[str]) -> dict[str, str]:
    """Return the short form of each id: SHOWN characters, or more if another id begins with these."""
    rows = queries.all("ids.beside", ids=json.dumps(list(dict.fromkeys(ids))))
    return {row["id"]: _shortest(row) for row in rows}


def short(queries: Queries, record_id: str) -> str:
    """Return the short form of one id."""
    return shorten(queries, [record_id])[record_id]


def _shortest(row: Mapping[str, str | None]) -> str:
    """Return the prefix in which an id differs from its neighbours in sort order, and so from all others."""
    own = str(row["id"])
    random = _RANDOM.fullmatch(own)
    if not random:
        return own
    shown = SHOWN + len(random[1] or "")
    near = [one for one in (row["before_id"], row["after_id"]) if one and one.startswith(own[:shown])]
    return own[: max([shown, *(1 + _alike(own, one) for one in near)])]


def _alike(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def names(given: str, record_id: str) -> bool:
    """Return whether `given` is the id of a record, or a long enough prefix of it."""
    random = _RANDOM.fullmatch(record_id)
    least = TAKEN + len(random[1] or "") if random else len(record_id)
    return given == record_id or (len(given) >= least and record_id.startswith(given))


def unnamed(given: Sequence[str], ids: Collection[str]) -> list[str]:
    """Return the items of `given` that name none of `ids`."""
    return [one for one in given if not any(names(one, record_id) for record_id in ids)]


def mentioned(queries: Queries, text: str, session: str, among: Among) -> list[str]:
    """Return the ids that a text mentions, whole or by their beginning, in order; no others of that form."""
    found = (match[0] for match in _MENTION.finditer(text))
    given = dict.fromkeys(one if "_" in one else one.lower() for one in found)  # random ids are in lower case
    return list(
        dict.fromkeys(key for one in list(given)[:MENTIONED] for key in _beginning(queries, one, session, among))
    )


def unmentioned(text: str) -> str:
    """Return a text without what may be ids."""
    return _MENTION.sub(" ", text)


def _beginning(queries: Queries, given: str, session: str, among: Among) -> list[str]:
    """Return the id `given`, or the few that begin with it; of more, none is meant."""
    ids = _begun(queries, given, session, among)
    if ids[:1] == [given]:
        return [given]
    return ids if len(ids) <= CANDIDATES and ("_" in given or all(map(_RANDOM.fullmatch, ids))) else []


def _begun(queries: Queries, given: str, session: str, among: Among) -> list[str]:
    """Return the ids that begin with `given`, that itself first, up to one more than the CANDIDATES."""
    rows = queries.all(among, first=given, last=given + AFTER_EVERY_ID, session=session, limit=CANDIDATES + 1)
    return [str(row["id"]) for row in rows]


def resolve(queries: Queries, field: str, given: Sequence[str], session: str, *among: Among) -> list[str]:
    """Return for each of `given` the id that begins with it, looked up by each of `among` in turn, or else itself.

    Raise InvalidInputError, naming the `field` and the candidates, if several ids begin with it.
    """
    return [_resolved(queries, field, beginning, session, among) for beginning in given]


def _resolved(queries: Queries, field: str, given: str, session: str, among: Sequence[Among]) -> str:
    for statement in among:
        ids = _begun(queries, given, session, statement)
        if ids[:1] == [given]:
            return given
        named = [record_id for record_id in ids if names(given, record_id)]
        if len(named) > 1:
            more = " and more" if len(named) > CANDIDATES else ""
            raise InvalidInputError(
                f"{field}: several ids begin with {given!r}: {', '.join(named[:CANDIDATES])}{more}. "
                "Give more characters of the id that you mean."
            )
        if named:
            return named[0]
    return given
