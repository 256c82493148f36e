"""Reranking by the cross-encoder: which hits it reads, which part of each, and the resulting order."""

import logging
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found, around, lengths, similarities
from memoryd.core.search.ranking import Profile
from memoryd.errors import ModelError
from memoryd.model import Hit
from memoryd.models.helpers import UNUSABLE, Helpers
from memoryd.models.rerankers import Reranker
from memoryd.store.base import Vector

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Hits, best first."""

    close: Sequence[Hit]
    """The hits that answer the question."""
    filling: Sequence[Hit]
    """The hits that answer, and those far behind that still bear on the question."""
    degraded: str = ""
    """Why nothing was reranked, in one sentence; '' if all is well."""


class Reranking:
    """The last stage of a search, whose models run after the snapshot was closed."""

    def __init__(self, helpers: Helpers, profile: Profile) -> None:
        self._helpers = helpers
        self._profile = profile

    def rerank(self, hits: Sequence[Hit], found: Found) -> Reranked:
        """Return the hits in the order of their totals of the cross-encoder's logit and the composite score."""
        if not hits or not self._profile.head:
            return Reranked(hits, hits)
        self._helpers.reranker.start()
        reranker = self._helpers.reranker.get(self._helpers.patience)
        if reranker is None:
            return _unranked(hits, self._helpers.why_not("reranker"))
        if not reranker.reads(found.query):
            return Reranked(hits, hits)
        profile = self._profile
        legible = {key for key, record in found.records.items() if reranker.reads(record.body[: profile.read])}
        if not legible:
            return Reranked(hits[: profile.keep], hits[: profile.keep])
        readable = {hit.record.id: hit for hit in hits if hit.record.id in legible}
        logits, lifted = self._logits(reranker, readable, found)
        if readable and not logits:
            return _unranked(hits, UNUSABLE["reranker"])
        unread = min([profile.hopeless, *logits.values()])
        scored = []
        for hit in hits:
            key = hit.record.id
            logit = lifted.get(key, unread)
            scored.append(_scored(hit, logit, logits.get(key), ranking.blend(logit, hit.why, hit.score, profile)))
        return self._parted(sorted(scored, key=lambda hit: -hit.score), legible, found)

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
            if not ranking.promising(list(read), logits, totals, self._profile):
                break
        return logits, lifted

    def _parted(self, hits: Sequence[Hit], legible: Container[str], found: Found) -> Reranked:
        """Return the hits that answer and those that fill a budget; hits that are not `legible` fill by words only."""
        profile, near = self._profile, similarities(found.candidates)
        lifted = {hit.record.id: hit.why["lifted"] for hit in hits if "reranker" in hit.why}
        bearing = ranking.bearing(list(lifted), lifted, near, profile)
        close = set(ranking.close(bearing, lifted, profile))
        sure = [key for key in lifted if lifted[key] >= profile.sure]
        beside = self._beside(sure, found, hits)

        def fills(hit: Hit) -> bool:
            key, words = hit.record.id, hit.why["words"]
            if key not in legible:
                return words >= profile.worded
            if sure:
                return words > 0 or near.get(key, 0.0) >= profile.near or key in beside
            return key in bearing and words >= profile.worded

        filling = [hit for hit in hits if hit.record.id in close or fills(hit)]
        return Reranked([hit for hit in hits if hit.record.id in close], filling)

    def _beside(self, keys: Iterable[str], found: Found, hits: Sequence[Hit]) -> set[str]:
        """Return the hits next to one of `keys` in its session that are as closely related as turns usually are."""
        near = around(found, keys, {hit.record.id for hit in hits}, self._profile)
        return {other for beside in near.values() for other, related in beside.items() if related == 1}

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
        try:
            logits = _scores(reranker, found.query, {key: text[: self._profile.read] for key, text in texts.items()})
            cut = {key: text for key, text in texts.items() if len(text) > self._profile.read}
            if cut and max(logits.values()) < self._profile.sure:  # the answer may be further on in a text
                further = _scores(reranker, found.query, cut)
                logits |= {key: max(logits[key], logit) for key, logit in further.items()}
        except ModelError as error:
            log.warning("not reranked: %s", error)
            return {}
        return logits

    def _passage(self, text: str, chunks: Vector | None, found: Found) -> str:
        """Return the beginning of a text, or, if it was embedded in chunks, the chunk nearest to the question."""
        read = self._profile.read
        if chunks is None or len(text) <= 2 * read:
            return text[:read]
        return _nearest_part(text, chunks @ found.candidates.vector)


def _unranked(hits: Sequence[Hit], why_not: str) -> Reranked:
    """Return the hits unchanged; `why_not` is '' if all is well."""
    return Reranked(hits, hits, f"Not reranked: {why_not}." if why_not else "")


def _scores(reranker: Reranker, query: str, texts: Mapping[str, str]) -> dict[str, float]:
    return dict(zip(texts, reranker.score(query, list(texts.values())), strict=True))


def _scored(hit: Hit, lifted: float, logit: float | None, total: float) -> Hit:
    """Return a hit with its final score; `logit` is None if it was not read."""
    why = {**hit.why, "composite": hit.score, "lifted": lifted} | ({} if logit is None else {"reranker": logit})
    return replace(hit, score=ranking.sigmoid(total), why=why)


def _nearest_part(text: str, cosines: Vector) -> str:
    """Return the part of a text whose chunk has the best cosine; all chunks have the same length."""
    size, best = len(text) / len(cosines), int(cosines.argmax())
    return text[int(best * size) : int((best + 1) * size) + 1]
