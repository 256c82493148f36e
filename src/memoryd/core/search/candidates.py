"""The data between the stages of a search: the candidates, and all that ranking needs to know about them."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memoryd.core.records.spaces import Compared
from memoryd.core.search import ranking
from memoryd.core.search.as_of import Past
from memoryd.core.search.ranking import Neighbours, Profile, Scores
from memoryd.core.search.times import Span
from memoryd.model import Hit, Record, Workspace
from memoryd.models.embedders import MULTILINGUAL, Embedder
from memoryd.store.base import Vector


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates by words and by vectors: BM25 and cosine by id, and the embedder of the vectors, if any."""

    words: Mapping[str, float]
    vectors: Mapping[str, float] = field(default_factory=dict)
    embedder: Embedder | None = None
    vector: Vector = field(default_factory=lambda: np.empty(0, np.float32))
    """The question's vector, for the vectors in Found; empty without an embedder."""
    compared: Sequence[Compared] = ()
    """The sets of vectors that were searched."""
    nearest_from: Mapping[str, str] = field(default_factory=dict)
    """The perspective from which each record is nearest, by id."""
    own: Scores = field(default_factory=dict)
    """The cosines of texts in the question's language ..."""
    others: Scores = field(default_factory=dict)
    """... and of texts in another one ..."""
    raised: float = 0.0
    """... which are raised by this in `vectors`."""
    timely: tuple[str, ...] = ()
    """The best candidates of the time that the question names, which no other may crowd out."""
    closed: bool = False
    """True if the query has operators: only records that match it are returned."""
    degraded: str = ""
    """What could not be searched by meaning, in one sentence; '' if everything was."""


@dataclass(frozen=True, slots=True)
class Found:
    """All that ranking needs from one snapshot, because the ranking models run after it was closed."""

    query: str
    candidates: Candidates
    records: Mapping[str, Record]
    vectors: Mapping[str, Vector]
    """The vectors of the records, from the general perspective; empty without an embedder."""
    beside: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """The neighbours of some records in their sessions, by id and place: 1 is the next, -1 the previous one."""
    hits: Sequence[Hit] = ()
    """The candidates by composite score; empty for a question about another time."""
    past: Past | None = None
    """The records of the past time that the question is about, if any."""
    span: Span | None = None
    """The span of time that the question names."""
    named: Sequence[str] = ()
    """The ids of the records that the question names."""
    narrowed: bool = False
    """Whether the caller limits the search to tags or kinds: what has these is worth naming even if nothing bears."""
    origins: Mapping[str, Workspace] = field(default_factory=dict)
    """The workspace of each record; empty if only one was searched."""
    across: Mapping[str, Vector] = field(default_factory=dict)
    """The multilingual vectors of English records, if `vectors` has English ones of them and multilingual ones of
    others."""
    gist: tuple[str, ...] = ()
    """What the cross-encoder reads of the query, if that is not all of it."""

    @property
    def ids(self) -> list[str]:
        """Return the ids of all records that may be among the hits."""
        return [*self.records, *(self.past.others if self.past else ())]


def spread(candidates: Candidates, depth: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the scores by words and by vectors, each spread to [0, 1]; a list of `depth` entries was cut off.

    In another language even the answer may be as far from the question as unrelated texts in one language are from each
    other, so for a question that is not English the last of any list has 0.
    """
    across = any(one.model == MULTILINGUAL for one in candidates.compared[:1])
    return (
        ranking.spread(candidates.words, 0.0, cut=len(candidates.words) >= depth),
        ranking.spread(candidates.vectors, unrelated(candidates), cut=across or len(candidates.vectors) >= depth),
    )


def uncrowded(candidates: Candidates, vectors: Mapping[str, Vector], profile: Profile) -> Candidates:
    """Return the candidates with the cosines of `ranking.uncrowded`; vectors may be missing.

    Those of different embedders (see side_by_side) cannot be compared, and so do not crowd each other.
    """
    groups = defaultdict[int, dict[str, Vector]](dict)
    for key in filter(vectors.__contains__, candidates.vectors):
        row = ranking.whole(vectors[key])
        groups[int(np.abs(row).argmax()) // len(candidates.compared[0].vector)][key] = row
    found = dict(candidates.vectors)
    for rows in groups.values():
        found |= ranking.uncrowded(candidates.vectors, rows, profile)
    return replace(candidates, vectors=found)


def farther(own: Scores, others: Scores, embedder: Embedder) -> float:
    """Return how much farther texts are from a question for their language alone (see `ranking.gap`)."""
    return ranking.gap(own, others, embedder.unrelated, read=embedder.name != MULTILINGUAL)


def similarities(candidates: Candidates) -> dict[str, float]:
    """Return the rescaled cosines of query and record."""
    return {key: ranking.rescale(cosine, unrelated(candidates)) for key, cosine in candidates.vectors.items()}


def around(found: Found, keys: Iterable[str], known: Container[str], profile: Profile) -> Neighbours:
    """Return the known neighbours of each of `keys`, and how closely they are related."""
    vectors = found.vectors

    def related(one: str, other: str) -> float:
        cosine = float(vectors[one][0] @ vectors[other][0])
        return ranking.related(ranking.rescale(cosine, unrelated(found.candidates)), profile)

    return {
        key: {other: related(key, other) for other in found.beside[key].values() if other in known and other in vectors}
        for key in keys
        if key in found.beside and key in vectors
    }


def lengths(records: Iterable[Record]) -> dict[str, int]:
    """Return the length of each record's body, by id."""
    return {record.id: len(record.body) for record in records}


def unrelated(candidates: Candidates) -> float:
    """Return the mean cosine of unrelated texts; 0 without an embedder."""
    return candidates.embedder.unrelated if candidates.embedder else 0.0
