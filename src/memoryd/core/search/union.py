"""Joins what was found in several workspaces, each on its own snapshot, into one set of candidates to rank."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import itemgetter
from typing import TypeVar

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking, side_by_side
from memoryd.core.search.as_of import Past
from memoryd.core.search.candidates import Candidates, Found, farther, unrelated
from memoryd.core.search.ranking import Scores
from memoryd.model import Workspace
from memoryd.text import content_words, in_common

T = TypeVar("T")


def union(parts: Sequence[tuple[Workspace, Found]], depth: int) -> Found:
    """Return everything that was found, still without hits; of equal ids only the first workspace's record.

    `depth` is the maximum number of candidates by words, and by vector.
    """
    if any(found.candidates.closed for _, found in parts):  # the other parts have no match of the query's operators
        parts = [part for part in parts if part[1].candidates.closed]
    first = max((found for _, found in parts), key=lambda found: len(_names(found)))  # it has vectors for all others
    origins: dict[str, Workspace] = {}
    for workspace, found in parts:
        origins = dict.fromkeys(found.ids, workspace) | origins
    own = [_only(found, origins, workspace) for workspace, found in parts]
    pasts = [found.past for found in own if found.past]
    same = [found for found in own if _names(found) == _names(first)[: len(_names(found))]]
    return replace(
        first,
        candidates=_candidates(own, first.candidates, depth),
        records=_joined([found.records for found in own]),
        vectors=_joined([side_by_side.widened(found.vectors, len(first.candidates.vector)) for found in same]),
        across=_joined([found.across for found in same]),
        beside=_joined([found.beside for found in own]),
        past=Past(tuple(key for one in pasts for key in one.unchanged), _joined([one.others for one in pasts]))
        if pasts
        else None,
        named=tuple(dict.fromkeys(key for one in own for key in one.named)),
        origins=origins,
    )


def _names(found: Found) -> list[str]:
    """Return the embedders of the vectors of what was found; those of different ones cannot be compared."""
    return list(dict.fromkeys(one.embedder.name for one in found.candidates.compared))


def _only(found: Found, origins: Mapping[str, Workspace], workspace: Workspace) -> Found:
    """Return what was found in a workspace, without ids of another one: both have the same ids after an import."""
    twice = {key for key in found.ids if origins[key] is not workspace}
    if not twice:
        return found
    lists = found.candidates.words, found.candidates.vectors
    words, vectors = ({k: v for k, v in of.items() if k not in twice} for of in lists)
    return replace(
        found,
        candidates=replace(found.candidates, words=words, vectors=vectors),
        records={key: record for key, record in found.records.items() if key not in twice},
        beside={key: near for key, near in found.beside.items() if key not in twice},
    )


def _candidates(parts: Sequence[Found], first: Candidates, depth: int) -> Candidates:
    words = _joined([_comparable(found) for found in parts])
    every = [found.candidates for found in parts]
    own = _joined([_scaled(one.own, one, first) for one in every])
    others = _joined([_scaled(one.others, one, first) for one in every])
    raised = farther(own, others, first.embedder) if first.embedder else 0.0
    vectors = _joined([_scaled(_as_found(one), one, first) for one in every])
    vectors = {key: cosine + raised if key in others else cosine for key, cosine in vectors.items()}
    return replace(
        first,
        words=dict(nlargest(depth, words.items(), key=itemgetter(1))),
        vectors=dict(nlargest(depth, vectors.items(), key=itemgetter(1))),
        nearest_from=_joined([one.nearest_from for one in every]),
        own=own,
        others=others,
        raised=raised,
        timely=tuple(key for one in every for key in one.timely),
        degraded=" ".join(dict.fromkeys(filter(None, (one.degraded for one in every)))),
    )


def _as_found(one: Candidates) -> dict[str, float]:
    """Return the cosines of one workspace, none of them raised: how far another language is, all show together."""
    return {key: cosine - one.raised if key in one.others else cosine for key, cosine in one.vectors.items()}


def _scaled(cosines: Scores, of: Candidates, as_of: Candidates) -> dict[str, float]:
    return ranking.on_scale(cosines, unrelated(of), unrelated(as_of))


def _comparable(found: Found) -> dict[str, float]:
    """Return the scores by words of one workspace, scaled so that they can be compared with those of another.

    BM25 depends on the number of texts, and on how many have a word. So the best match scores the share of the
    query's words that it has, and the others score in proportion to it.
    """
    words = found.candidates.words
    best = max(words, key=lambda key: words[key], default="")
    if not words or words[best] <= 0:
        return dict(words)
    terms = content_words(found.query)
    has = in_common(terms, full_text(found.records[best])) if best in found.records else 0
    worth = 1.0 if found.candidates.closed else max(has, 1) / max(len(terms), 1)
    return {key: worth * score / words[best] for key, score in words.items()}


def _joined(parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
    return {key: value for part in reversed(parts) for key, value in part.items()}
