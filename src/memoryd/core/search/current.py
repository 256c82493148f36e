"""Which of two hits holds today: a change goes before what it changes, and what it changes is marked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryd.core.records.records import full_text
from memoryd.core.search import changes, ranking
from memoryd.core.search.candidates import Found, unrelated
from memoryd.core.search.changes import Evidence
from memoryd.core.search.ranking import Profile
from memoryd.model import Hit, Kind, Record
from memoryd.text import speaker

FACTS = (Kind.MEMORY, Kind.OBSERVATION)
"""The kinds that state what holds. A turn, or a session's summary, holds for its time only."""
LONGEST = 300
"""Characters of a text, on one line, that is taken for a statement. A longer one speaks of so much that words of change
prove nothing about the question, and code, tables and lists state nothing."""
COMMON = 3
"""A word that more than this many of the facts that were found have is common ..."""
COMMON_SHARE = 0.05
"""... if they are more than this share of them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A hit, and a newer one that may change what it states."""

    older: Hit
    newer: Hit
    common: frozenset[str]
    """Stems of words that many of the found facts have."""
    frequent: frozenset[str]
    """Stems of words that more of them have than these two."""

    def evidence(self, question: str, logit: float | None) -> Evidence:
        """Return the evidence for a change, given the cross-encoder's logit of the newer hit, or None."""
        older, newer = full_text(self.older.record), full_text(self.newer.record)
        return changes.evidence(question, older, newer, logit, self.common, self.frequent)


def pairs(hits: Sequence[Hit], found: Found, profile: Profile) -> list[Pair]:
    """Return the pairs that may be a fact and its change, of the best hits; for each, what is likeliest first."""
    speakers = Counter(speaker(record.body) for record in found.records.values())
    best = [hit for hit in hits if hit.bears and states(hit.record) and not _speaks(hit.record, speakers)]
    best = best[: profile.compared]
    if not best:
        return []
    known = {hit.record.id: hit for hit in hits}
    facts = [
        known.get(key) or Hit(record=record, score=0.0, workspace=found.origins.get(key))
        for key, record in found.records.items()
        if states(record) and not _speaks(record, speakers)
    ]
    texts = [full_text(fact.record) for fact in facts]
    common, frequent = common_stems(texts), common_stems(texts, 2, 0)
    pairs = (Pair(older, newer, common, frequent) for older in best for newer in _newer(older, facts, found, profile))
    return _likely(list(pairs), found.query)


def states(record: Record) -> bool:
    """Return whether a record is one statement of what holds."""
    return record.kind in FACTS and is_statement(record.body)


def is_statement(text: str) -> bool:
    """Return whether a text is a single statement, rather than code or a list."""
    text = text.strip()
    return len(text) <= LONGEST and "\n" not in text


def _speaks(record: Record, speakers: Mapping[str, int]) -> bool:
    """Return whether a record is a turn of a conversation: others begin with the same name.

    One alone names its subject: `Payments: Tomasz took over.`
    """
    name = speaker(record.body)
    return bool(name) and speakers[name] > 1


def _likely(pairs: Sequence[Pair], question: str) -> list[Pair]:
    """Return the pairs that may be a change for all that is known before the newer hit is read, likeliest first.

    The order among different older hits stays.
    """
    scored = []
    for pair in pairs:
        logit = pair.newer.why.get("reranker")
        total = pair.evidence(question, logit).total
        if total + (changes.ANSWERS if logit is None else 0.0) >= changes.ENOUGH:
            scored.append((total, pair))
    places = {pair.older.record.id: place for place, pair in reversed(list(enumerate(pairs)))}
    return [pair for _, pair in sorted(scored, key=lambda one: (places[one[1].older.record.id], -one[0]))]


def common_stems(texts: Sequence[str], most: int = COMMON, share: float = COMMON_SHARE) -> frozenset[str]:
    """Return the stems that many of some texts have, so that two of them share these by chance."""
    numbers = Counter(stem for text in texts for stem in changes.stems(text))
    return frozenset(stem for stem, number in numbers.items() if number > max(most, share * len(texts)))


def _newer(older: Hit, facts: Sequence[Hit], found: Found, profile: Profile) -> Iterator[Hit]:
    """Yield the newer facts that are near an older one, the nearest first."""
    if older.record.id not in found.vectors:
        return
    own, base = ranking.whole(found.vectors[older.record.id]), unrelated(found.candidates)
    near: list[tuple[float, Hit]] = []
    for fact in facts:
        if fact.record.created_at > older.record.created_at and fact.record.id in found.vectors:
            cosine = ranking.rescale(float(own @ ranking.whole(found.vectors[fact.record.id])), base)
            if cosine >= profile.related:
                near.append((cosine, fact))
    for _, fact in sorted(near, key=lambda pair: -pair[0]):
        yield fact


def ordered(hits: Sequence[Hit], pairs: Sequence[Pair], question: str, logits: Mapping[str, float]) -> list[Hit]:
    """Return the hits with each change right before the first hit that it changes; what it changes follows, marked.

    `logits` are the cross-encoder's of newer hits that have none in `why`.
    """
    order = {hit.record.id: hit for hit in hits}
    for pair in pairs:
        older, newer = order[pair.older.record.id], order.get(pair.newer.record.id, pair.newer)
        key = newer.record.id
        if older.changed_by:
            continue
        logit = newer.why.get("reranker", logits.get(key))
        found = pair.evidence(question, logit)
        if found.total >= changes.ENOUGH:
            why = {**newer.why, **found.parts} | ({} if logit is None else {"reranker": logit})
            newer = replace(newer, bears=True, changes=True, score=max(newer.score, older.score), why=why)
            order = _placed(order, newer, replace(older, changed_by=key))
    return list(order.values())


def _placed(order: Mapping[str, Hit], newer: Hit, older: Hit) -> dict[str, Hit]:
    """Return the hits with `newer` before `older`, unless it is already."""
    keys = list(order)
    key = newer.record.id
    if key not in order or keys.index(key) > keys.index(older.record.id):
        keys = [other for other in keys if other != key]
        keys.insert(keys.index(older.record.id), key)
    known = {**order, key: newer, older.record.id: older}
    return {key: known[key] for key in keys}
