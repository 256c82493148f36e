"""The search pipeline: candidates by words and by vector, fused, lifted, gated, scored, reranked, deduplicated."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal

import numpy as np

from memoryd.core.base.clock import FOREVER, hours_since, moment
from memoryd.core.records import perspectives, short_ids
from memoryd.core.records.deduplication import may_differ
from memoryd.core.records.question import Question
from memoryd.core.records.records import fetch, full_text
from memoryd.core.records.spaces import ACROSS
from memoryd.core.scope import Scope
from memoryd.core.search import as_of as past
from memoryd.core.search import ranking, related, side_by_side, times
from memoryd.core.search.as_of import Past
from memoryd.core.search.candidates import (
    Candidates,
    Found,
    around,
    farther,
    lengths,
    similarities,
    spread,
    uncrowded,
    unrelated,
)
from memoryd.core.search.current import states
from memoryd.core.search.ranking import Profile, Scores
from memoryd.core.search.reranking import Reranking
from memoryd.core.search.times import Span
from memoryd.core.search.union import union
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Findings, Hit, Record, VectorSet, Workspace
from memoryd.query_syntax import literal_query, parse_query
from memoryd.store.base import Queries, Vector, visible
from memoryd.text import asks, content_words, estimate_tokens, speaker

log = logging.getLogger(__name__)

Mode = Literal["auto", "embedding", "text"]
"""Search by meaning and words, or by one of the two alone (c)."""

COMPARED = 50  # hits that are compared with each other for near-duplicates


class Search:
    """Finds records of a workspace: `find` runs inside a snapshot, `ranked` or `meant` after it."""

    def __init__(self, scope: Scope, profile: Profile = ranking.RECALL) -> None:
        self._scope = scope
        self._profile = profile
        self._reranking = Reranking(scope.engine.helpers, profile)

    def read(
        self, query: str, allowed: Filter, as_of: str = "", *, named: bool = False
    ) -> tuple[Found, dict[str, str]]:
        """Return what may bear on a query in all workspaces that are read, and with `named` the short form of each id.

        With the time `as_of`, search the records as they were then.
        """
        span = self._named_time(query, allowed) if not as_of else None

        def work(scope: Scope, question: Question) -> tuple[Found, dict[str, str]]:
            search, joined = Search(scope, self._profile), bool(self._scope.included)
            found = search.find(question, allowed, as_of, joined=joined, span=span)
            return found, short_ids.shorten(question.queries, found.ids) if named else {}

        parts = [(scope.workspace, *scope.ask(query, partial(work, scope))) for scope in self._scope.each]
        short = {key: name for *_, names in parts for key, name in names.items()}
        return self.union([(workspace, found) for workspace, found, _ in parts]), short

    def _named_time(self, query: str, allowed: Filter) -> Span | None:
        """Return the span of time that a query names, or is limited to; None for one with operators."""
        parsed = parse_query(query)
        if not self._profile.time or (parsed and parsed.binding):
            return None
        return times.named(query, moment(self._scope.engine.clock.now()), allowed.after, allowed.before)

    def hits(self, query: str, allowed: Filter) -> Findings[Hit]:
        """Return the records of this workspace only that bear on a query, best first, then those related to it."""
        return self.ranked(self._scope.ask(query, lambda question: self.find(question, allowed)), with_related=True)

    def find(
        self,
        question: Question,
        allowed: Filter,
        as_of: str = "",
        *,
        joined: bool = False,
        span: Span | None = None,
    ) -> Found:
        """Return the records that may bear on a question, with all that ranking needs; for `as_of` see `read`.

        `joined` says that they will be ranked together with those of other workspaces: these crowd each other, too, and
        more may pass the gate.
        `span` is the time that the question names.
        """
        if as_of:
            return self._find_then(question, allowed, as_of)
        if span and span.alone:
            return self._find_all(question, _within(allowed, span), span)
        queries, candidates = question.queries, self.candidates(question, allowed)
        if span and not candidates.closed:
            candidates = self._with_time(question, candidates, _within(allowed, span))
        both = candidates.vectors.keys() | candidates.words.keys()
        vectors = self._vectors(queries, list(both), candidates)
        if not joined:
            candidates = uncrowded(candidates, vectors, self._profile)
        parts = spread(candidates, self._profile.depth)
        apart = candidates.closed or allowed.tags or candidates.embedder is None or not self._profile.lift
        fused = self._fuse(candidates, *parts)
        if apart and not joined:  # then no lift can bring back what the gate drops
            fused = ranking.gate(fused, self._profile.gate)
        lifting = [] if apart else _best(fused, self._profile.lifting)
        beside = self._beside(queries, lifting, allowed)
        neighbours = (key for keys in beside.values() for key in keys.values())
        named = short_ids.mentioned(queries, question.text, allowed.session, "ids.living")
        ids = list(dict.fromkeys([*_best(fused, self._profile.depth), *candidates.timely, *neighbours, *named]))
        records = self._fetch(question, ids, allowed)
        vectors |= self._vectors(queries, [key for key in ids if key not in both], candidates)
        admitted = _admitted(named, records, allowed)
        narrowed = bool(allowed.tags or allowed.kinds)
        found = Found(question.text, candidates, records, vectors, beside, gist=question.gist)
        found = replace(found, span=span, named=admitted, narrowed=narrowed)
        hits = self._scored(found, *parts)
        further = [] if apart else [_id(hit) for hit in hits[: self._profile.lifting] if _id(hit) not in lifting]
        found = replace(found, hits=hits, beside={**beside, **self._beside(queries, further, allowed)})
        return self._with_across(question, found if candidates.closed else self._with_alike(question, found, allowed))

    def _with_alike(self, question: Question, found: Found, allowed: Filter) -> Found:
        """Return `found` with the records nearest to its best ones: a change may have no word of the question."""
        embedder, best = found.candidates.embedder, found.hits[: self._profile.asked_around]
        vectors = [found.vectors[_id(hit)] for hit in best if _id(hit) in found.vectors]
        if embedder is None or len(found.candidates.vectors) < self._profile.depth:  # then all are candidates anyway
            return found
        near = [
            self._scope.index.nearest(
                question.queries, [VectorSet(GENERAL, model)], ranking.whole(part), allowed, self._profile.alike
            )[0]
            for of in vectors
            for model, part in side_by_side.parts(found.candidates.compared, of)
        ]
        ids = [key for key in dict.fromkeys(key for one in near for key, _ in one) if key not in found.records]
        return replace(
            found,
            records={**found.records, **self._fetch(question, ids, allowed)},
            vectors={**found.vectors, **self._vectors(question.queries, ids, found.candidates)},
        )

    def union(self, parts: Sequence[tuple[Workspace, Found]]) -> Found:
        """Return what was found in several workspaces as one, ranked together; of one workspace unchanged."""
        if len(parts) == 1:
            return parts[0][1]
        found = union(parts, self._profile.depth)
        if found.past:
            return found
        return self._with_hits(replace(found, candidates=uncrowded(found.candidates, found.vectors, self._profile)))

    def _find_then(self, question: Question, allowed: Filter, as_of: str) -> Found:
        """Return the records of a past time: the candidates among the unchanged ones, and all others."""
        then = past.at(question, as_of, allowed)
        allowed = replace(allowed, among=then.unchanged)
        candidates = self.candidates(question, allowed)
        named = short_ids.mentioned(question.queries, question.text, allowed.session, "ids.ever")
        same = set(named).intersection(then.unchanged)
        ids = list(dict.fromkeys([*_best(self._fused(candidates), 2 * self._profile.depth), *same]))
        records = past.related_then(question, as_of, self._fetch(question, ids, allowed))
        vectors = self._vectors(question.queries, ids, candidates)
        admitted = _admitted(named, {**records, **then.others}, replace(allowed, among=None))
        return Found(question.text, candidates, records, vectors, past=then, named=admitted, gist=question.gist)

    def _find_all(self, question: Question, allowed: Filter, span: Span) -> Found:
        """Return the newest records that a filter lets through; all of them are hits.

        They are fewer than `depth`, so that their list does not count as cut off, which would drop the last.
        """
        rows = question.queries.all("records.spanned", **visible(allowed), limit=self._profile.depth - 1)
        ids = [row["id"] for row in rows]
        scores = {key: 1 - place / (2 * len(ids)) for place, key in enumerate(ids)}  # no gate drops half of the best
        candidates = Candidates(scores, closed=True)
        records = self._fetch(question, ids, allowed)
        return self._with_hits(Found(question.text, candidates, records, {}, span=span))

    def ranked(self, found: Found, *, with_related: bool = False) -> Findings[Hit]:
        """Return the hits that bear on the question, best first, without near-duplicates of better ones.

        The records that the question names come first. With `with_related` those follow that are only related to it,
        or to what bears. Each has the parts of its score.
        """
        hits, found = self._reranked(found)
        best = self._distinct([hit for hit in hits.best if with_related or hit.bears], found)
        return Findings(_named_first(best, found), hits.degraded)

    def located(self, hits: Sequence[Hit], found: Found, budget: int) -> list[Hit]:
        """Return the hits; if not all fit into `budget` tokens, those to be cut have the part that answers."""
        if sum(estimate_tokens(hit.record.body) for hit in hits) <= budget:
            return list(hits)
        return self._reranking.located(hits, found)

    def meant(self, found: Found) -> Findings[Hit]:
        """Return only the hits that have a word of the query or are near it in meaning, including near-duplicates."""
        hits, found = self._reranked(found)
        words, near = found.candidates.words, similarities(found.candidates)
        best = [hit for hit in hits.best if hit.bears] or hits.best
        meant = [hit for hit in best if _id(hit) in words or near.get(_id(hit), 0.0) >= self._profile.near]
        return Findings(meant, hits.degraded)

    def _reranked(self, found: Found) -> tuple[Findings[Hit], Found]:
        """Return the hits in order, and `found` with the records that have changed since the time in question."""
        if found.past:
            found = self._with_past(found, found.past)
        if found.candidates.closed:
            dated = _newest_first(found.hits) if found.span and found.span.alone else found.hits
            return Findings(list(dated)), found
        hits = self._reranking.rerank(found.hits, found)
        return replace(hits, degraded=found.candidates.degraded or hits.degraded), found

    # candidates ------------------------------------------------------------------------------------------------------

    def candidates(self, question: Question, allowed: Filter, mode: Mode = "auto", depth: int = 0) -> Candidates:
        """Return the candidates by words, by vectors or both (`mode`), up to `depth` each (0: the profile's)."""
        depth = depth or self._profile.depth
        degraded = "" if mode == "text" else question.degraded(allowed)
        words, closed = ({}, False) if mode == "embedding" else self._words(question, allowed, depth)
        remarks = " ".join(filter(None, (question.cut, "" if closed else degraded)))  # syntax means words only
        by_words = Candidates(words, closed=closed, degraded=remarks)
        return by_words if mode == "text" else self._with_vectors(question, by_words, allowed, depth)

    def _words(self, question: Question, allowed: Filter, depth: int) -> tuple[dict[str, float], bool]:
        """Return the candidates by words, and whether the query has syntax; a quote that matches nothing is none."""
        parsed = (literal_query if self._profile.literal or question.cut else parse_query)(question.text)
        tried = [parsed, literal_query(question.text)] if parsed and parsed.syntax and not parsed.binding else [parsed]
        for query in filter(None, tried):
            if words := dict(self._scope.index.words(question.queries, query, allowed, depth)):
                return words, query.syntax
        return {}, bool(tried[-1] and tried[-1].syntax)

    def _with_vectors(self, question: Question, by_words: Candidates, allowed: Filter, depth: int) -> Candidates:
        """Add the records nearest to the question, each from the perspective from which it is nearest."""
        embedder, queries, index = question.embedder, question.queries, self._scope.index
        if embedder is None:
            return by_words
        names = list(perspectives.templates(queries)) if self._profile.every_perspective else [GENERAL]
        best: dict[str, float] = {}
        nearest_from: dict[str, str] = {}
        near: list[Scores] = []
        raised = 0.0
        for one in question.compared:
            sets = [VectorSet(name, one.model) for name in names]
            if by_words.closed:
                found = index.cosines(queries, sets, one.vector, list(by_words.words))
            else:
                found = list(map(dict, index.nearest(queries, sets, one.vector, allowed, depth)))
            scaled = [ranking.on_scale(cosines, one.embedder.unrelated, embedder.unrelated) for cosines in found]
            near.append(scaled[0])
            if len(near) > 1:
                raised = farther(near[0], near[1], embedder)
            for perspective, cosines in zip(names, scaled, strict=True):
                aside = 0.0 if perspective == GENERAL else self._profile.aside * (1 - embedder.unrelated)
                for key, own in cosines.items():
                    cosine = own + raised - aside
                    if cosine > best.get(key, -np.inf):
                        best[key], nearest_from[key] = cosine, perspective
        if len(question.compared) > 1:
            best = {key: best[key] for key in _best(best, depth)}
        return replace(
            by_words,
            vectors=best,
            embedder=embedder,
            vector=side_by_side.joint(question.compared),
            compared=question.compared,
            nearest_from=nearest_from,
            own=near[0],
            others=near[1] if len(near) > 1 else {},
            raised=raised,
        )

    def _with_time(self, question: Question, found: Candidates, allowed: Filter) -> Candidates:
        """Add the best candidates of a time, which others may have crowded out; `allowed` lets only these through."""
        of_time = self.candidates(question, allowed, depth=self._profile.lifting)
        return replace(
            found,
            words={**of_time.words, **found.words},
            vectors={**of_time.vectors, **found.vectors},
            own={**of_time.own, **found.own},
            others={**of_time.others, **found.others},
            nearest_from={**of_time.nearest_from, **found.nearest_from},
            timely=(*of_time.words, *of_time.vectors),
        )

    def _with_past(self, found: Found, then: Past) -> Found:
        """Return `found` together with the records that were changed or deleted since."""
        same, query = found.candidates, found.query
        words = past.by_words(then, query, max(same.words.values(), default=1.0), closed=same.closed)
        near = self._near(then, words, same) if not same.closed else {}
        candidates = replace(same, words={**same.words, **words}, vectors={**same.vectors, **near})
        fused = self._fused(candidates)
        kept = [*found.named, *_best(fused, self._profile.depth)]
        records = {key: found.records[key] for key in kept if key in found.records}
        others = {key: record for key, record in then.others.items() if key in fused or key in found.named}
        found = replace(found, candidates=candidates, records=records | others)
        return self._with_hits(found)

    def _near(self, then: Past, scores: Mapping[str, float], same: Candidates) -> dict[str, float]:
        """Return the cosines of changed and deleted records; empty without an embedder, or if it fails."""
        if same.embedder is None:
            return {}
        try:
            return past.by_meaning(then, scores, same.embedder, same.compared[0].vector)
        except ModelError as error:
            log.warning("changed and deleted records are searched by words alone: %s", error)
            return {}

    def _fetch(self, question: Question, ids: Sequence[str], allowed: Filter) -> dict[str, Record]:
        """Return the records among `ids` of the allowed kinds and times: a neighbour may be of others."""
        accesses = self._scope.engine.accesses.of(self._scope.workspace)
        found = fetch(question.queries, ids, allowed.session, accesses)
        return {
            key: related.bearing(record, question.text)
            for key, record in found.items()
            if (not allowed.kinds or record.kind in allowed.kinds)
            and allowed.after <= record.created_at < (allowed.before or FOREVER)
        }

    def _vectors(self, queries: Queries, ids: Sequence[str], candidates: Candidates) -> dict[str, Vector]:
        if not ids or candidates.embedder is None:
            return {}
        found = [self._scope.index.vectors(queries, VectorSet(GENERAL, one.model), ids) for one in candidates.compared]
        return side_by_side.joined(candidates.compared, found)

    def _with_across(self, question: Question, found: Found) -> Found:
        """Return `found` with the vectors by which its English facts are compared with those in other languages."""
        facts = [key for key, record in found.records.items() if states(record)]
        if not facts or len({one.embedder.name for one in found.candidates.compared}) < 2:
            return found
        return replace(found, across=self._scope.index.vectors(question.queries, VectorSet(GENERAL, ACROSS), facts))

    def _beside(self, queries: Queries, ids: Sequence[str], allowed: Filter) -> dict[str, dict[int, str]]:
        """Return the neighbours of each of `ids` in its session, by place."""
        if not ids:
            return {}
        rows = queries.all("records.neighbours", ids=json.dumps(ids), session=allowed.session)
        return {row["id"]: {place: row[name] for place, name in _PLACES.items() if row[name]} for row in rows}

    # scores ----------------------------------------------------------------------------------------------------------

    def _fused(self, candidates: Candidates) -> dict[str, float]:
        return self._fuse(candidates, *spread(candidates, self._profile.depth))

    def _fuse(self, of: Candidates, words: Mapping[str, float], vectors: Mapping[str, float]) -> dict[str, float]:
        """Return the fused scores; those of the time that the question names are raised by what the gate requires."""
        fused = ranking.fuse(words, vectors, self._profile.alpha)
        return ranking.favour(fused, set(of.timely), self._profile.gate * max(fused.values(), default=0.0))

    def _with_hits(self, found: Found) -> Found:
        return replace(found, hits=self._scored(found, *spread(found.candidates, self._profile.depth)))

    def _scored(self, found: Found, words: Mapping[str, float], vectors: Mapping[str, float]) -> list[Hit]:
        """Return every candidate with its composite score, best first, from its spread scores."""
        profile, records = self._profile, found.records
        fused = self._fuse(found.candidates, words, vectors)
        lifted = self._lifted(fused, found)
        now = moment(self._scope.engine.clock.now())
        hits = []
        for key, fusion in ranking.gate({key: lifted[key] for key in lifted if key in records}, profile.gate).items():
            record = records[key]
            why = {
                "words": words.get(key, 0.0),
                "meaning": vectors.get(key, 0.0),
                "context": lifted[key] - fused.get(key, 0.0),
                "fusion": fusion,
                **self._circumstances(record, now),
            }
            if found.span:
                why["time"] = found.span.share(record.created_at)
            score = ranking.composite(why, profile)
            hits.append(Hit(record=record, score=score, why=why, workspace=found.origins.get(key)))
        return sorted(hits, key=lambda hit: -hit.score)

    def _lifted(self, fused: Mapping[str, float], found: Found) -> dict[str, float]:
        """Return the fused scores, raised for the speaker, the neighbours and the session of each record."""
        if not found.beside:
            return dict(fused)
        profile, records = self._profile, found.records
        terms = set(content_words(found.query))
        named = {key for key, record in records.items() if terms.intersection(content_words(speaker(record.body)))}
        spoken = ranking.favour(fused, named, profile.speaker)
        near = around(found, _best(spoken, profile.lifting), records, profile)
        asking = {key for key in near if asks(records[key].body)}
        after = {key: found.beside[key].get(1, "") for key in near}
        sizes = lengths(records.values())
        lifted = ranking.lift(spoken, ranking.answered(near, asking, after, profile), sizes, profile)
        sessions = {key: record.session_id for key, record in records.items()}
        return ranking.lift_in_sessions(lifted, sessions, sizes, profile)

    def _circumstances(self, record: Record, now: datetime) -> dict[str, float]:
        """Return the parts of a record's score that do not depend on the question."""
        profile = self._profile
        recalled = hours_since(record.accessed_at, now) if record.accessed_at else 0.0
        return {
            "recency": ranking.recency(hours_since(record.updated_at, now), profile),
            "importance": record.importance,
            "access": ranking.access(record.access_count, recalled, profile),
        }

    # near-duplicates -------------------------------------------------------------------------------------------------

    def _distinct(self, hits: Sequence[Hit], found: Found) -> list[Hit]:
        """Return the hits without near-duplicates of better ones, but keep texts that may state different facts."""
        vectors = found.vectors
        compared = [hit for hit in hits[:COMPARED] if _id(hit) in vectors]
        if len(compared) < 2:
            return list(hits)
        whole = np.stack([ranking.whole(vectors[_id(hit)]) for hit in compared])
        near = ranking.rescale(whole @ whole.T, unrelated(found.candidates)) >= self._profile.same
        repeated: set[str] = set()
        for better, worse in np.argwhere(np.triu(near, 1)).tolist():
            one, other = compared[better], compared[worse]
            if _id(one) not in repeated and not may_differ(full_text(one.record), full_text(other.record)):
                repeated.add(_id(other))
        return [hit for hit in hits if _id(hit) not in repeated]


def _within(allowed: Filter, span: Span) -> Filter:
    """Return a filter that lets only the records of a span through."""
    return replace(allowed, after=max(allowed.after, span.after), before=min(allowed.before or FOREVER, span.before))


def _newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in the order of time; their scores follow it."""
    newest = sorted(hits, key=lambda hit: hit.record.created_at, reverse=True)
    return [replace(hit, score=1 - place / len(newest)) for place, hit in enumerate(newest)]


_PLACES = {-1: "before_id", -2: "before_that_id", 1: "after_id", 2: "after_that_id"}


def _admitted(named: Sequence[str], records: Mapping[str, Record], allowed: Filter) -> tuple[str, ...]:
    """Return the records that a question names and that a filter lets through."""
    among = None if allowed.among is None else set(allowed.among)
    return tuple(
        key
        for key in named
        if key in records and set(allowed.tags) <= set(records[key].tags) and (among is None or key in among)
    )


def _named_first(hits: Sequence[Hit], found: Found) -> list[Hit]:
    """Return the records that the question names, then the hits.

    Of a question that consists of ids these are only hits that contain one.
    """
    if not found.named:
        return list(hits)
    known = {_id(hit): hit for hit in hits}
    first = []
    for key in found.named:
        hit = known.get(key) or Hit(record=found.records[key], score=1.0, workspace=found.origins.get(key))
        first.append(replace(hit, score=1.0, bears=True, why={**hit.why, "named": 1.0}))
    alone = not content_words(short_ids.unmentioned(found.query))
    return first + [hit for hit in hits if _id(hit) not in found.named and (not alone or hit.why.get("words", 0.0) > 0)]


def _id(hit: Hit) -> str:
    return hit.record.id


def _best(scores: Mapping[str, float], number: int) -> list[str]:
    return sorted(scores, key=lambda key: -scores[key])[:number]
