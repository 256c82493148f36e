"""What was believed at a time: what is gone or says something else now, beside what has stayed the same.

What is gone is in no index any more. It is read, compared with the question here, and searched on beside the rest.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memoryd.core.records.records import full_text, record_of
from memoryd.model import Filter, Record
from memoryd.models.embedders import Embedder
from memoryd.query_syntax import parse_query
from memoryd.store.base import Queries, Vector
from memoryd.text import content_words, words

READ = 20_000  # records that are gone or changed, the last ones: of more, those from longer ago are not found
EMBEDDED = 40  # of them that are compared by meaning: a quarter of a second
LONGEST = 1_000  # characters of each


@dataclass(frozen=True, slots=True)
class Past:
    """The records of a time that pass a filter."""

    unchanged: tuple[str, ...]
    """The ids of those that are still the same, whatever they are."""
    others: Mapping[str, Record]
    """All others by id, as they were."""


def at(queries: Queries, time: str, allowed: Filter) -> Past:
    """What there was at a time."""
    tags, kinds = list(dict.fromkeys(allowed.tags)), [str(kind) for kind in allowed.kinds]
    rows = queries.all(
        "past.others", at=time, limit=READ, kinds=json.dumps(kinds), any_kind=int(not kinds),
        tags=json.dumps(tags), tag_count=len(tags),
    )  # fmt: skip
    unchanged = queries.all("past.unchanged", at=time, session=allowed.session)
    return Past(tuple(row["id"] for row in unchanged), {row["id"]: record_of(row) for row in rows})


def by_words(past: Past, query: str, best: float, *, closed: bool) -> dict[str, float]:
    """How well those that are otherwise now match by words: by the share of its words, where all of them are `best`.

    Where syntax decides what belongs in (`closed`), all that it matches are `best`.
    """
    if closed:
        parsed = parse_query(query)
        return {key: best for key, one in past.others.items() if parsed and parsed.matches(words(full_text(one)))}
    wanted = frozenset(content_words(query))
    shares = {
        key: len(wanted.intersection(words(full_text(one)))) / max(len(wanted), 1) for key, one in past.others.items()
    }
    return {key: best * share for key, share in shares.items() if share}


def by_meaning(past: Past, found: Mapping[str, float], embedder: Embedder, vector: Vector) -> dict[str, float]:
    """The cosines of those that are otherwise now, first of those that were `found` by words."""
    order = sorted(past.others, key=lambda key: -found.get(key, 0.0))[:EMBEDDED]
    texts = {key: full_text(past.others[key])[:LONGEST] for key in order}
    return {key: _cosine(embedder.embed_passage(text, hurry=True), vector) for key, text in texts.items()}


def _cosine(chunks: Vector, vector: Vector) -> float:
    """As the stores compare a text of several chunks: the mean of its best one and of all."""
    cosines = chunks @ vector
    return float(cosines.max() + cosines.mean()) / 2
