"""Ids as people and models write them: the first characters, as many as tell a record from all others.

Of random ids alone: what several ids begin with by design, such as a date, names another record a moment later.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Literal

from memoryd.errors import InvalidInputError
from memoryd.store.base import AFTER_EVERY_ID, Queries

SHOWN = 8  # characters of an id that are shown at least: one in 65,000 memories shares them with another
TAKEN = 6  # ... and that must be given at least
CANDIDATES = 5  # ids that an error names where several begin so

_RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Among = Literal["ids.living", "ids.ever"]


def shorten(queries: Queries, ids: Sequence[str]) -> dict[str, str]:
    """Return how each record is named: by 8 characters, or by more where another id begins with these."""
    rows = queries.all("ids.beside", ids=json.dumps(list(dict.fromkeys(ids))))
    return {row["id"]: _shortest(row) for row in rows}


def _shortest(row: Mapping[str, str | None]) -> str:
    """An id is nearest to those beside it in the alphabet: what differs from them differs from all."""
    own = str(row["id"])
    if not _RANDOM.fullmatch(own):
        return own
    return own[: max(SHOWN, *(1 + _alike(own, row[beside] or "") for beside in ("before_id", "after_id")))]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def names(given: str, record_id: str) -> bool:
    """Return whether what was given names a record: its id, or enough of how that begins."""
    begins = len(given) >= TAKEN and record_id.startswith(given)
    return given == record_id or (begins and _RANDOM.fullmatch(record_id) is not None)


def resolve(queries: Queries, field: str, given: Sequence[str], session: str, *among: Among) -> list[str]:
    """Return the id that each of `given` begins, looked for where `among` says, in this order; else what was given.

    Raise InvalidInputError, naming the `field` and the candidates, where several ids begin so.
    """
    return [_resolved(queries, field, one, session, among) for one in given]


def _resolved(queries: Queries, field: str, given: str, session: str, among: Sequence[Among]) -> str:
    for statement in among:
        rows = queries.all(statement, first=given, last=given + AFTER_EVERY_ID, session=session, limit=CANDIDATES + 1)
        found = [str(row["id"]) for row in rows]
        if found[:1] == [given]:
            return given
        named = [one for one in found if names(given, one)]
        if len(named) > 1:
            more = " and more" if len(named) > CANDIDATES else ""
            raise InvalidInputError(
                f"{field}: several ids begin with {given!r}: {', '.join(named[:CANDIDATES])}{more}. "
                "Give more characters of the one that is meant."
            )
        if named:
            return named[0]
    return given
