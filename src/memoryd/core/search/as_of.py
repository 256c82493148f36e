"""Point-in-time queries: the records of a past time, unchanged, changed or deleted since.

No index has the earlier texts of changed and deleted records, so they are read and compared with the question here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from memoryd.core.records.question import Question
from memoryd.core.records.records import full_text, record_of
from memoryd.core.search import related
from memoryd.model import Filter, Kind, Record, Tie
from memoryd.models.embedders import Embedder
from memoryd.query_syntax import parse_query
from memoryd.store.base import Vector, visible
from memoryd.text import content_words, in_common, indexed_words

READ = 20_000  # changed or deleted records that are read, the latest ones; older ones are not found
EMBEDDED = 40  # of these, the records that are compared by meaning, which takes a quarter of a second
LONGEST = 1_000  # characters that are compared of each
RELATIONS = 5_000  # relations of all entities that may be found, which are read: 50 of each, as its text has today


@dataclass(frozen=True, slots=True)
class Past:
    """The records of a past time that match a filter."""

    unchanged: tuple[str, ...]
    """The ids of the records of any kind that have not changed since."""
    others: Mapping[str, Record]
    """All other records by id, as they were then."""


def at(question: Question, time: str, allowed: Filter) -> Past:
    """Return the records that existed at a time and match a filter."""
    queries = question.queries
    rows = queries.all("past.others", **visible(allowed), at=time, limit=READ)
    unchanged = queries.all("past.unchanged", at=time, session=allowed.session)
    others = related_then(question, time, {row["id"]: record_of(row) for row in rows})
    return Past(tuple(row["id"] for row in unchanged), others)


def related_then(question: Question, time: str, found: Mapping[str, Record]) -> dict[str, Record]:
    """Return records, and of the relations that the entities among them had at a time those that bear on a question."""
    entities = {key: record for key, record in found.items() if record.kind is Kind.ENTITY}
    if not entities:
        return dict(found)
    rows = question.queries.all("past.related", at=time, entities=json.dumps(list(entities)), limit=RELATIONS)
    ties: dict[str, list[Tie]] = {key: [] for key in entities}
    for row in rows:
        ties[row["entity"]].append(Tie(row["source"], row["relation_type"], row["target"]))
    with_ties = {key: replace(entities[key], related=tuple(of)) for key, of in ties.items()}
    return {**found, **{key: related.bearing(record, question.text) for key, record in with_ties.items()}}


def by_words(past: Past, query: str, best: float, *, closed: bool) -> dict[str, float]:
    """Score the changed and deleted records by words: the share of the query's words that a text has, times `best`.

    If the query has operators (`closed`), every record that it matches scores `best`.
    """
    if closed:
        parsed = parse_query(query)
        return {
            key: best for key, old in past.others.items() if parsed and parsed.matches(indexed_words(full_text(old)))
        }
    wanted = content_words(query)
    shares = {key: in_common(wanted, full_text(old)) / max(len(wanted), 1) for key, old in past.others.items()}
    return {key: best * share for key, share in shares.items() if share}


def by_meaning(past: Past, scores: Mapping[str, float], embedder: Embedder, vector: Vector) -> dict[str, float]:
    """Return the cosines of the changed and deleted records with the best `scores` by words; raise ModelError."""
    order = sorted(past.others, key=lambda key: -scores.get(key, 0.0))[:EMBEDDED]
    texts = {key: full_text(past.others[key])[:LONGEST] for key in order}
    return {key: _cosine(embedder.embed_passage(text, hurry=True), vector) for key, text in texts.items()}


def _cosine(chunks: Vector, vector: Vector) -> float:
    """Return the cosine of a text of several chunks as the stores do: the mean of the best cosine and the mean one."""
    cosines = chunks @ vector
    return float(cosines.max() + cosines.mean()) / 2
