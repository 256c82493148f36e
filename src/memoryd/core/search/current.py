"""Which of two hits holds today: a change goes before what it changes, and what it changes is marked."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memoryd.core.base.clock import day
from memoryd.core.records.records import full_text
from memoryd.core.search import changes, changes_across, foreign_changes, ranking, unread
from memoryd.core.search.candidates import Found, similarities, unrelated
from memoryd.core.search.changes import Evidence
from memoryd.core.search.compared import stems
from memoryd.core.search.ranking import Profile
from memoryd.languages import is_english, is_foreign
from memoryd.model import Hit, Kind, Record
from memoryd.models.embedders import MULTILINGUAL_UNRELATED
from memoryd.store.base import Vector
from memoryd.text import speaker

FACTS = (Kind.MEMORY, Kind.OBSERVATION)
"""The kinds that state what holds. A turn, or a session's summary, holds for its time only."""
LONGEST = 300
"""Characters of a text, on one line, that is taken for a statement. A longer one speaks of so much that words of change
prove nothing about the question, and code, tables and lists state nothing."""
NEAR = 2.0
"""The weight of how near two facts are, in the order in which pairs are read."""
COMMON = 3
"""A word that more than this many of the facts that were found have is common ..."""
COMMON_SHARE = 0.05
"""... if they are more than this share of them."""
OTHER_TAGS = -2.0
"""The evidence of two facts that both have tags, and none in common."""
CLEAR = 3.0
"""The distance in logits behind the best within which a hit in another language than English may be changed. Of 169
changes among other facts 166 change such a hit, of 249 other texts that were taken for changes 148."""
LEAST_ASKED = 0.1
"""How near an older text counts at least to be to the question, where how near a newer one is is compared with that."""
TELLING = 30
"""How many facts there must be for their places among each other to tell anything."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A hit, and a newer one that may change what it states."""

    older: Hit
    newer: Hit
    near: float
    """Their rescaled cosine."""
    common: frozenset[str]
    """Stems of words that many of the found facts have."""
    frequent: frozenset[str]
    """Stems of words that more of them have than these two."""
    between: int | None
    """How many facts are nearer to one of the two than the other one is; None if there are few facts."""
    asked: float
    """How near the newer one is to the question, as a rescaled cosine."""
    older_asked: float = 0.0
    """How near the older one is to it."""

    @property
    def texts(self) -> tuple[str, str]:
        """What the older and the newer hit state."""
        return full_text(self.older.record), full_text(self.newer.record)

    def foreign(self, question: str) -> bool:
        """Return whether the question or one of the texts is surely not English."""
        return any(map(is_foreign, (question, *self.texts)))

    def is_asked_otherwise(self, question: str) -> bool:
        """Return whether two English texts are asked about in another language."""
        return is_foreign(question) and all(map(is_english, self.texts))

    def read(self, question: str) -> bool:
        """Return whether the cross-encoder reads the newer text: alone, or with the older one, if that is English."""
        return not self.foreign(question) or (is_english(question) and is_english(self.texts[1]))

    def subject(self, question: str, newer: float | None) -> str:
        """Return what the newer text has of the question and the older one alone, '' if it surely answers.

        `newer` is as in `evidence`.
        """
        surely = self.newer.why.get("reranker", newer or 0.0) >= changes.SURELY
        return "" if surely else changes.subject(question, *self.texts, self.common)

    def evidence(
        self,
        question: str,
        newer: float | None = None,
        matter: float | None = None,
        named: float | None = None,
        least: float = -math.inf,
    ) -> Evidence:
        """Return the evidence for a change, given what the cross-encoder says of the newer hit, as far as it is known.

        `newer` is its logit if it is asked with the question, `matter` if with the older hit, `named` that of its
        `subject`. For `least` see changes.
        """
        if changes_across.differ(*self.texts):
            alike = not changes_across.differ(question, self.texts[1])
            logit = self.newer.why.get("reranker", newer) if alike else None
            found = changes_across.evidence(question, *self.texts, self.near, self.asked, logit)
        elif self.is_asked_otherwise(question):
            found = changes.asked_otherwise(question, *self.texts, self.near, self.common, matter)
        elif self.foreign(question):
            share = self.asked / max(self.older_asked, LEAST_ASKED)
            found = foreign_changes.evidence(question, *self.texts, self.near, share)
        else:
            older = self.older.why.get("reranker") if self.older.bears else None  # near the floor it says nothing
            logits = changes.Logits(older, self.newer.why.get("reranker", newer), matter, named)
            found = changes.evidence(question, *self.texts, logits, self.common, self.frequent, self.between, least)
        one, other = self.older.record.tags, self.newer.record.tags
        tagged_apart = bool(one and other) and set(one).isdisjoint(other)  # such as the licences of two projects
        return replace(found, parts={**found.parts, "other_tags": OTHER_TAGS}) if tagged_apart else found


def pairs(hits: Sequence[Hit], found: Found, profile: Profile) -> list[Pair]:
    """Return the `profile.changes` likeliest pairs of a fact and its change, of the best hits, in the hits' order.

    Those are the hits that bear on the question, or if none does, the nearest.
    """
    turns = spoken(found.records)
    shown = [hit for hit in hits if hit.bears] or hits
    stating = [hit for hit in shown if states(hit.record) and hit.record.id not in turns]
    best = [hit for hit in stating if hit.why.get("reranker", -math.inf) >= profile.answering][: profile.compared]
    if not best:
        return []
    known = {hit.record.id: hit for hit in hits}
    facts = [
        known.get(key) or Hit(record=record, score=0.0, workspace=found.origins.get(key))
        for key, record in found.records.items()
        if states(record) and key not in turns
    ]
    texts = [full_text(fact.record) for fact in facts]
    common, frequent = common_stems(texts), common_stems(texts, 2, 0)
    placed = _Places([fact for fact in facts if fact.record.id in found.vectors], found)
    asked = similarities(found.candidates)
    pairs = [
        Pair(older, newer, near, common, frequent, between, *(asked.get(one.record.id, 0.0) for one in (newer, older)))
        for older in best
        for newer, near, between in placed.newer(older, profile)
    ]
    return _likely(pairs, hits, found.query, profile)


class _Places:
    """How near facts are to each other."""

    def __init__(self, facts: Sequence[Hit], found: Found) -> None:
        self._facts = facts
        self._times = np.unique([fact.record.created_at for fact in facts], return_inverse=True)[1]
        self._places = {fact.record.id: place for place, fact in enumerate(facts)}
        vectors = np.array([ranking.whole(found.vectors[fact.record.id]) for fact in facts])
        self._near = ranking.rescale(vectors @ vectors.T, unrelated(found.candidates))
        if found.across and facts:
            self._compare_languages(vectors, found)

    def _compare_languages(self, vectors: Vector, found: Found) -> None:
        """Fill in how near facts in two languages are; most of these pairs have nothing in common.

        An English fact that has no multilingual vector yet stays comparable with other English ones.
        """
        foreign = vectors[:, len(found.candidates.compared[0].vector) :]
        across = [found.across.get(fact.record.id) for fact in self._facts]
        rows = np.array([row if one is None else ranking.whole(one) for one, row in zip(across, foreign, strict=True)])
        english, others = np.array([one is not None for one in across]), np.array([row.any() for row in foreign])
        between = (english[:, None] & others) | (others[:, None] & english)
        near = ranking.rescale(rows @ rows.T, MULTILINGUAL_UNRELATED)
        near -= near[between].sum() / (between.sum() + ranking.GAP_COUNTED)
        self._near = np.where(between, near, self._near)

    def newer(self, older: Hit, profile: Profile) -> Iterator[tuple[Hit, float, int | None]]:
        """Yield the newer facts that are near an older one, how near, and how many are between the two (see Pair)."""
        place = self._places.get(older.record.id)
        if place is None:
            return
        near, later = self._near[place], self._times > self._times[place]
        others = np.flatnonzero(later & (near >= profile.related))
        own = near[others, None]
        nearer = ((near > own) & later).sum(axis=1)
        to_other = ((self._near[others] > own) & (self._times < self._times[others, None])).sum(axis=1)
        for other, between in zip(others.tolist(), (nearer + to_other).tolist(), strict=True):
            yield self._facts[other], float(near[other]), between if len(self._facts) >= TELLING else None


@dataclass(frozen=True, slots=True)
class Couple:
    """A text, and a newer one that may replace it, whatever is asked."""

    older: str
    newer: str
    near: float
    """Their rescaled cosine."""
    common: frozenset[str]
    """Stems of words that many of the texts have that are compared."""

    def evidence(self, matter: float | None = None) -> Evidence:
        """Return the evidence that the newer text replaces the older one; see `changes.may_replace`."""
        if is_foreign(self.older) or is_foreign(self.newer):
            return foreign_changes.may_replace(self.older, self.newer, self.near)
        return changes.may_replace(self.older, self.newer, self.near, self.common, matter)


def states(record: Record) -> bool:
    """Return whether a record is one statement of what holds."""
    return record.kind in FACTS and is_statement(record.body)


def is_statement(text: str) -> bool:
    """Return whether a text is a single statement, rather than code or a list."""
    text = text.strip()
    return len(text) <= LONGEST and "\n" not in text


def spoken(records: Mapping[str, Record]) -> set[str]:
    """Return the ids of the turns of a conversation: of turns, or of memories with whose speaker others begin, too.

    One alone names its subject: `Payments: Tomasz took over.`
    """
    names = Counter(speaker(record.body) for record in records.values())
    return {
        key
        for key, record in records.items()
        if record.kind == Kind.INTERACTION or ((name := speaker(record.body)) and names[name] > 1)
    }


def _likely(pairs: Sequence[Pair], hits: Sequence[Hit], question: str, profile: Profile) -> list[Pair]:
    """Return the likeliest pairs that may be a change for all that is known before the newer hit is read.

    They keep the order of their older hits; for each, what is likeliest comes first.
    """
    scored = []
    for pair in pairs:
        read = "reranker" in pair.newer.why or not pair.older.bears or not pair.read(question)
        least = min(changes.ENOUGH - (changes.READ / 2 if read else changes.READ), changes.POSSIBLE)
        total = pair.evidence(question, least=least).total
        if total >= least and (not pair.foreign(question) or _stands(pair, hits, profile)):
            scored.append((total + NEAR * pair.near, pair))
    places = {pair.older.record.id: place for place, pair in reversed(list(enumerate(pairs)))}
    likeliest = sorted(scored, key=lambda one: -one[0])[: profile.changes]
    return [pair for _, pair in sorted(likeliest, key=lambda one: (places[one[1].older.record.id], -one[0]))]


def _stands(pair: Pair, hits: Sequence[Hit], profile: Profile) -> bool:
    """Return whether the older hit is clearly what was asked for: near the best one, and not doubtful unless it is it.

    In other languages than English hardly more than words tells whether a newer one changes it.
    """
    best = max(hit.why.get("reranker", -math.inf) for hit in hits if hit.record.id != pair.newer.record.id)
    least = max(min(best, unread.HIGHEST) - CLEAR, min(best, profile.doubtful))
    return pair.older.why.get("reranker", -math.inf) >= least


def common_stems(texts: Sequence[str], most: int = COMMON, share: float = COMMON_SHARE) -> frozenset[str]:
    """Return the stems that many of some texts have, so that two of them share these by chance."""
    numbers = Counter(stem for text in texts for stem in stems(text))
    return frozenset(stem for stem, number in numbers.items() if number > max(most, share * len(texts)))


def ordered(
    hits: Sequence[Hit],
    pairs: Sequence[Pair],
    judged: Callable[[Pair], Evidence],
    logits: Mapping[str, float],
) -> list[Hit]:
    """Return the hits with each change right before the first hit that it changes; what it changes follows, marked.

    What may be a change, but not surely, follows what it may change, so that a reader can tell; neither is marked.
    `logits` are the cross-encoder's of newer hits that have none in `why`, as far as `judged` needed them.
    """
    order = {hit.record.id: hit for hit in hits}
    changing: set[str] = set()
    for pair in pairs:
        older, newer = order[pair.older.record.id], order.get(pair.newer.record.id, pair.newer)
        if older.changed_by:
            continue
        found, key = judged(pair), newer.record.id
        why = {**newer.why, **found.parts} | ({"reranker": logits[key]} if key in logits else {})
        if found.total >= changes.ENOUGH + (changes.ANOTHER if key in changing else 0.0):
            changing.add(key)
            bears = older.bears or (key in order and newer.bears)
            score = max(newer.score, older.score)
            newer = replace(newer, bears=bears, timed=True, score=score, why=why)
            order = _placed(order, newer, replace(older, timed=True, changed_by=key))
            continue
        if found.total >= changes.POSSIBLE and older.bears and not newer.bears:
            score = newer.score if key in order else older.score
            newer = replace(newer, bears=True, score=score, why=why)
            order = _placed(order, older, newer)
        if key in order and day(older.record.created_at) == day(newer.record.created_at):  # which one is newer?
            order |= {hit.record.id: replace(hit, timed=True) for hit in (older, newer)}
    return list(order.values())


def _placed(order: Mapping[str, Hit], one: Hit, other: Hit) -> dict[str, Hit]:
    """Return the hits with `one` right before `other`, at the place of the better one, unless it is before already."""
    keys = list(order)
    first, second = one.record.id, other.record.id
    places = [keys.index(key) for key in (first, second) if key in order]
    if places != sorted(places) or len(places) < 2:
        keys[min(places) : min(places) + 1] = first, second
        keys = list(dict.fromkeys(keys))
    known = {**order, first: one, second: other}
    return {key: known[key] for key in keys}
