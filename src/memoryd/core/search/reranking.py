"""Reranking by the cross-encoder: which hits it reads, which part of each, and the resulting order."""

import logging
import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from memoryd.core.records.records import full_text, labels
from memoryd.core.search import changes, cross_encoder, current, ranking, times, unread
from memoryd.core.search.candidates import Found, around, lengths, similarities
from memoryd.core.search.changes import Evidence
from memoryd.core.search.compared import stems
from memoryd.core.search.current import Pair
from memoryd.core.search.ranking import Profile
from memoryd.errors import ModelError
from memoryd.model import Findings, Hit, Kind, Record
from memoryd.models.embedders import MULTILINGUAL
from memoryd.models.helpers import UNUSABLE, Helpers
from memoryd.models.rerankers import Reranker
from memoryd.sentences import sentence_spans
from memoryd.store.base import Vector
from memoryd.text import STOP_WORDS, content_words, in_common, words

log = logging.getLogger(__name__)

PART = 240
"""Characters of a part of a long text at least: about three sentences, enough to tell what it is about."""
BEGUN = 150  # characters of the first sentence or line of the text that are read before each other part


class Reranking:
    """The last stage of a search, whose models run after the snapshot was closed."""

    def __init__(self, helpers: Helpers, profile: Profile) -> None:
        self._helpers = helpers
        self._profile = profile

    def rerank(self, hits: Sequence[Hit], found: Found) -> Findings[Hit]:
        """Return the hits that bear on the question, and those that are only related to it, best first."""
        if not hits or not self._profile.head:
            return self._unread(hits, found)
        self._helpers.reranker.start()
        reranker = self._helpers.reranker.get(self._helpers.patience)
        if reranker is None:
            return self._unread(hits, found, self._helpers.why_not("reranker"))
        legible = self._legible(reranker, found)
        meant = self._meant(found, legible)
        if not legible and not meant:
            return self._unread(hits, found)
        readable = {hit.record.id: hit for hit in hits if hit.record.id in legible}
        logits, lifted = self._logits(reranker, readable, found)
        if readable and not logits:
            return self._unread(hits, found, UNUSABLE["reranker"])
        scored = self._scored(hits, logits, lifted, meant, found)
        parted = self._parted(scored, legible, found)
        return Findings(self._current(reranker, parted, found))

    def _meant(self, found: Found, legible: Collection[str]) -> dict[str, float]:
        """Return logits for what the cross-encoder cannot read; empty if the multilingual embedder fails."""
        try:
            return unread.logits(found, legible)
        except ModelError as error:
            log.warning("not ordered by meaning: %s", error)
            return {}

    def _legible(self, reranker: Reranker, found: Found) -> set[str]:
        """Return the records whose language the cross-encoder reads; none if it cannot read the question."""
        taken_for_another = any(one.model == MULTILINGUAL for one in found.candidates.compared[:1])
        if taken_for_another or not reranker.reads(found.query):
            return set()
        read = self._profile.read
        return {key for key, record in found.records.items() if reranker.reads(record.body[:read])}

    def _unread(self, hits: Sequence[Hit], found: Found, why_not: str = "") -> Findings[Hit]:
        """Return the hits by composite score; `why_not` says why the cross-encoder did not read them, or is ''."""
        profile = self._profile
        strength = self._strength(hits[: profile.keep], found)
        parted = [
            replace(
                hit,
                score=hit.score * strength,
                bears=bool(hit.why.get("time")) or (rank < profile.keep and hit.why.get("fusion", 1.0) >= profile.half),
            )
            for rank, hit in enumerate(hits)
        ]
        return Findings(parted, f"Not reranked: {why_not}." if why_not else "")

    def _strength(self, hits: Sequence[Hit], found: Found) -> float:
        """Return how much the best hits have in common with the question, 0 to 1: their composite scores are relative.

        That is the share of its words that one of them has, or how near one is to it.
        """
        terms, near = content_words(found.query), similarities(found.candidates)
        worded = (in_common(terms, full_text(hit.record)) / max(len(terms), 1) for hit in hits)
        meant = (near.get(hit.record.id, 0.0) / self._profile.strong for hit in hits)
        return min(1.0, max([0.0, *worded, *meant]))

    def _logits(
        self, reranker: Reranker, hits: Mapping[str, Hit], found: Found
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the cross-encoder's logits of the hits that it reads, and these logits lifted by neighbours.

        It reads the best few, then more in order while the hits that it read last come close to the best.
        """
        logits: dict[str, float] = {}
        lifted: dict[str, float] = {}
        while read := self._read(reranker, self._next(hits, logits), found):
            logits |= read
            near, sizes = around(found, logits, logits, self._profile), lengths(hits[key].record for key in logits)
            lifted = ranking.lift(logits, near, sizes, self._profile)
            totals = {
                key: ranking.blend(logit, hits[key].why, hits[key].score, self._profile)
                for key, logit in lifted.items()
            }
            if self._answered(logits, hits) or not ranking.promising(list(read), logits, totals, self._profile):
                break
        return logits, lifted

    def _answered(self, logits: Mapping[str, float], hits: Mapping[str, Hit]) -> bool:
        """Return whether a hit surely answers; not a summary, which may repeat a question of its session."""
        facts = (logit for key, logit in logits.items() if hits[key].record.kind is not Kind.SUMMARY)
        return max(facts, default=self._profile.hopeless) >= self._profile.enough

    def _scored(
        self,
        hits: Sequence[Hit],
        logits: Mapping[str, float],
        lifted: Mapping[str, float],
        meant: Mapping[str, float],
        found: Found,
    ) -> list[Hit]:
        """Return the hits with their final scores, best first; `meant` has the logits of what cannot be read."""
        profile, near = self._profile, similarities(found.candidates)
        lifted = {**lifted, **meant}
        least = min([profile.hopeless, *logits.values(), *meant.values()])
        unsure = max(lifted.values(), default=least) < profile.sure
        scored = []
        for hit in hits:
            key = hit.record.id
            logit = lifted.get(key, least)
            meaning = max(0.0, near.get(key, 0.0)) if unsure else 0.0
            if unsure and key not in meant:
                total = ranking.doubt(logit, meaning, hit.why, profile)
            else:
                total = ranking.blend(logit, hit.why, hit.score, profile) + profile.unsure / 2 * meaning
            scored.append(_scored(hit, logit, logits.get(key, meant.get(key)), total))
        return sorted(scored, key=lambda hit: -hit.score)

    def _parted(self, hits: Sequence[Hit], legible: Collection[str], found: Found) -> list[Hit]:
        """Return the hits that bear on the question or are related to it; those not `legible` by words only."""
        profile, near = self._profile, similarities(found.candidates)
        lifted = {
            hit.record.id: hit.why["lifted"] + profile.time * (hit.why.get("time", 0.5) - 0.5)
            for hit in hits
            if "reranker" in hit.why
        }
        bearing = ranking.bearing(lifted, profile)
        if not bearing:
            return self._nearest_hits(hits, legible, found)
        if legible and not found.span:
            bearing = self._few(bearing, lifted, hits, found)
        sure = [key for key in lifted if lifted[key] >= profile.sure]
        beside = self._beside(sure, found, hits)

        def related(hit: Hit) -> bool:
            key, worded = hit.record.id, hit.why["words"]
            if key not in legible:
                return worded >= profile.worded or hit.why["lifted"] >= unread.NEAREST
            return worded > 0 or near.get(key, 0.0) >= profile.near or key in beside

        return [
            replace(hit, bears=hit.record.id in bearing) for hit in hits if hit.record.id in bearing or related(hit)
        ]

    def _few(
        self, bearing: Collection[str], lifted: Mapping[str, float], hits: Sequence[Hit], found: Found
    ) -> set[str]:
        """Return the turns among the bearing records, what is not doubtful, and of the other facts the first few."""
        profile, turns = self._profile, current.spoken(found.records)
        clear = {key for key in bearing if key in turns or lifted[key] >= profile.doubtful}
        facts = [hit.record.id for hit in hits if hit.record.id in bearing and hit.record.id not in turns]
        left = max(0, profile.few - sum(key in clear for key in facts))
        return clear.union([key for key in facts if key not in clear][:left])

    def _nearest_hits(self, hits: Sequence[Hit], legible: Container[str], found: Found) -> list[Hit]:
        """Return the hits that are near a question of which the cross-encoder sees no answer.

        Of a list of words, which the cross-encoder does not read, those with all of them bear on it all the same.
        """
        profile, near = self._profile, similarities(found.candidates)
        terms = content_words(found.query)
        phrased = not STOP_WORDS.isdisjoint(words(found.query))
        speaks = bool(found.candidates.words) or phrased
        least = ranking.nearness(len(near), profile, speaks=speaks)
        least_unread = unread.least(found.query, speaks=speaks)
        of_time = [hit for hit in hits if hit.why.get("time")]
        then = sum(hit.why["time"] == 1 for hit in of_time)
        if of_time and then <= max(profile.keep, len(hits) // 2):  # else it may be `this year`, of which everything is
            asked = stems(times.remainder(found.query, found.span)) if found.span else frozenset()
            return [
                replace(
                    hit,
                    bears=hit.why["time"] == 1  # what was noted the day after may be about that day itself
                    and (near.get(hit.record.id, 0.0) >= least or not asked.isdisjoint(stems(full_text(hit.record)))),
                )
                for hit in of_time
            ]
        parted = []
        for hit in hits:
            shared = in_common(terms, full_text(hit.record)) / max(len(terms), 1) if hit.why["words"] else 0.0
            key = hit.record.id
            is_near = key in near and near[key] >= least
            floor = profile.least if key in legible else least_unread
            stands_out = (key in legible and is_near) or hit.why["lifted"] >= floor
            if found.narrowed or shared >= profile.worded or stands_out:
                parted.append(replace(hit, bears=shared == 1 and not phrased))
        return parted

    def _beside(self, keys: Iterable[str], found: Found, hits: Sequence[Hit]) -> set[str]:
        """Return the hits next to one of `keys` in its session that are as closely related as turns usually are."""
        near = around(found, keys, {hit.record.id for hit in hits}, self._profile)
        return {other for beside in near.values() for other, related in beside.items() if related == 1}

    # changes ---------------------------------------------------------------------------------------------------------

    def _current(self, reranker: Reranker, hits: Sequence[Hit], found: Found) -> list[Hit]:
        """Return the hits with each change before what it changes, which is marked.

        A change often has few of the question's words, so the cross-encoder reads what is newer than one of the best
        hits, and speaks of a change, even if it is not among the first.
        """
        logits: dict[str, float] = {}

        def judged(pair: Pair) -> Evidence:
            """Return the evidence of a pair; the cross-encoder reads only what may decide whether it is enough."""
            key = pair.newer.record.id
            if pair.read(found.query) and "reranker" not in pair.newer.why and key not in logits:
                logits.update(self._read(reranker, {key: pair.newer}, found))
            if pair.is_asked_otherwise(found.query):
                return pair.evidence(found.query, matter=cross_encoder.matter(self._helpers, reranker, *pair.texts))
            if pair.foreign(found.query):
                return pair.evidence(found.query, logits.get(key))
            return self._english(reranker, pair, logits.get(key), found)

        return current.ordered(hits, current.pairs(hits, found, self._profile), judged, logits)

    def _english(self, reranker: Reranker, pair: Pair, logit: float | None, found: Found) -> Evidence:
        """Return the evidence of a pair of English texts, of which the newer one has this logit if it is no hit."""
        evidence, subject = pair.evidence(found.query, logit), pair.subject(found.query, logit)
        matter = None
        most = math.inf if subject else changes.CERTAIN + evidence.doubt
        if changes.ENOUGH - changes.READ / 2 <= evidence.total < most:
            older, newer = pair.texts
            matter = next(iter(cross_encoder.logits(self._helpers, reranker, older, [newer])), None)
            evidence = pair.evidence(found.query, logit, matter)
        if evidence.total < changes.ENOUGH or not subject:
            return evidence
        named = self._answers(reranker, found, [_labelled(pair.newer.record, subject)])
        return pair.evidence(found.query, logit, matter, next(iter(named), None))

    # parts -----------------------------------------------------------------------------------------------------------

    def located(self, hits: Sequence[Hit], found: Found) -> list[Hit]:
        """Return the hits, the long ones with the part of their text that answers best, for an excerpt.

        The cross-encoder reads the parts of the first hits, within `locating` characters in all; of a text longer than
        two thirds of that those of the chunk nearest to the question, which may be another one than that of the answer.
        """
        reranker = self._helpers.reranker.get(0) if self._profile.head else None
        left = self._profile.locating
        marked = []
        for hit in hits:
            short = len(hit.record.body) <= min(left, 2 * self._profile.locating // 3)
            start, end = (0, len(hit.record.body)) if short else self._nearest(hit, found)
            parts = _parts(hit.record.body, start, end)
            left -= end - start
            if reranker and len(parts) > 1 and left >= 0 and reranker.reads(found.query):
                start, end = self._best_part(reranker, hit.record.body, parts, found)
            marked.append(replace(hit, answer=(start, end)) if end - start < len(hit.record.body) else hit)
        return marked

    def _nearest(self, hit: Hit, found: Found) -> tuple[int, int]:
        """Return the part of a text whose chunk is nearest to the question; the whole text if it has one chunk."""
        chunks = found.vectors.get(hit.record.id)
        if chunks is None or len(chunks) < 2:
            return 0, len(hit.record.body)
        return _chunk(len(hit.record.body), chunks @ found.candidates.vector)

    def _best_part(
        self, reranker: Reranker, body: str, parts: Sequence[tuple[int, int]], found: Found
    ) -> tuple[int, int]:
        """Return the part that the cross-encoder rates best; the whole text if it fails.

        It reads each part after the beginning of the text, as what a part is about is often named there alone.
        """
        begun = slice(*next(iter(sentence_spans(body, 0, len(body)))))
        texts = [f"{body[begun][:BEGUN]}\n{body[start:end]}" if start else body[:end] for start, end in parts]
        logits = self._answers(reranker, found, texts)
        return parts[max(range(len(parts)), key=lambda place: logits[place])] if logits else (0, len(body))

    # reading ---------------------------------------------------------------------------------------------------------

    def _next(self, hits: Mapping[str, Hit], read: Collection[str]) -> dict[str, Hit]:
        """Return the best hits not yet `read`: the first few, or a few more short ones, within the limits."""
        profile = self._profile
        number = profile.further if read else profile.head
        left = profile.reading - sum(self._part(hits[key]) for key in read)
        more: dict[str, Hit] = {}
        for key in list(hits)[: profile.most]:
            size = self._part(hits[key])
            if key in read or (read and size > profile.short):
                continue
            left -= size
            if len(more) == number or (left < 0 and (read or more)):
                break
            more[key] = hits[key]
        return more

    def _part(self, hit: Hit) -> int:
        """Return the number of characters that are read of a hit."""
        return min(len(hit.record.body), self._profile.read)

    def _read(self, reranker: Reranker, head: Mapping[str, Hit], found: Found) -> dict[str, float]:
        """Return the cross-encoder's logit for each hit; empty if it fails."""
        if not head:
            return {}
        texts = {key: self._passage(full_text(hit.record), found.vectors.get(key), found) for key, hit in head.items()}
        begun = [_labelled(head[key].record, text[: self._profile.read]) for key, text in texts.items()]
        logits = dict(zip(texts, self._answers(reranker, found, begun), strict=False))
        cut = {key: _labelled(head[key].record, text) for key, text in texts.items() if len(text) > self._profile.read}
        if not logits or not cut or max(logits.values()) >= self._profile.sure:
            return logits
        further = self._answers(reranker, found, list(cut.values()))  # the answer may be further on in a text
        return (
            logits | {key: max(logits[key], logit) for key, logit in zip(cut, further, strict=True)} if further else {}
        )

    def _answers(self, reranker: Reranker, found: Found, texts: Sequence[str]) -> list[float]:
        """Return the cross-encoder's logit of each text, the best one if it reads the question in parts."""
        asked = [
            cross_encoder.logits(self._helpers, reranker, question, texts) for question in found.gist or (found.query,)
        ]
        return [max(logits) for logits in zip(*asked, strict=False)]

    def _passage(self, text: str, chunks: Vector | None, found: Found) -> str:
        """Return the beginning of a text, or, if it was embedded in chunks, the chunk nearest to the question."""
        read = self._profile.read
        if chunks is None or len(text) <= 2 * read:
            return text[:read]
        start, end = _chunk(len(text), chunks @ found.candidates.vector)
        return text[start:end]


def _labelled(record: Record, text: str) -> str:
    """Return a part of a record after its tags, which often name what the text leaves out, such as its project."""
    return f"{', '.join(labels(record))}: {text}" if labels(record) else text


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a text between two places, each a few whole sentences or lines."""
    found: list[tuple[int, int]] = []
    for first, last in sentence_spans(text, start, end):
        if found and found[-1][1] - found[-1][0] < PART:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def _scored(hit: Hit, lifted: float, logit: float | None, total: float) -> Hit:
    """Return a hit with its final score; `logit` is None if it was not read."""
    why = {**hit.why, "composite": hit.score, "lifted": lifted} | ({} if logit is None else {"reranker": logit})
    return replace(hit, score=ranking.probability(total), why=why)


def _chunk(length: int, cosines: Vector) -> tuple[int, int]:
    """Return the part of a text whose chunk has the best cosine; all chunks have the same length."""
    size, best = length / len(cosines), int(cosines.argmax())
    return int(best * size), min(length, int((best + 1) * size) + 1)
