"""The cross-encoder: which of the hits it reads, what of each, and the order that follows."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found, around, lengths, similarities
from memoryd.core.search.ranking import Profile
from memoryd.errors import ModelError
from memoryd.model import Hit
from memoryd.models.helpers import Helpers
from memoryd.models.rerankers import Reranker
from memoryd.store.base import Vector

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Hits, best first."""

    close: Sequence[Hit]
    """Those that answer."""
    filling: Sequence[Hit]
    """Those that answer, and what lies far behind them and still bears on the question."""
    degraded: str = ""
    """Why nothing was reranked, in one sentence; '' where nothing is amiss."""


class Reranking:
    """The last stage of a search, for which the models run after the snapshot was closed."""

    def __init__(self, helpers: Helpers, profile: Profile) -> None:
        self._helpers = helpers
        self._profile = profile

    def rerank(self, hits: Sequence[Hit], found: Found) -> Reranked:
        """Return the hits in the order of their totals: of what the cross-encoder says, and what was known before.

        It reads the best few, then on in their order while what it read last comes close to the best. An unread hit
        counts as hopeless until its neighbours lift it.
        """
        profile = self._profile
        by_id = {hit.record.id: hit for hit in hits}
        logits: dict[str, float] = {}
        lifted: dict[str, float] = {}
        totals: dict[str, float] = {}
        while read := self._read(self._next(by_id, logits), found):
            logits |= read
            lifted = self._lifted(logits, by_id, found)
            totals = ranking.blend(lifted, {key: hit.score for key, hit in by_id.items()}, profile)
            if not ranking.promising(list(read), logits, totals, profile):
                break
        if not logits:
            why_not = self._helpers.why_not("reranker") if hits and profile.head else ""
            return Reranked(hits, hits, f"Not reranked: {why_not}." if why_not else "")
        order = sorted(totals, key=lambda key: -totals[key])
        scored = [_scored(by_id[key], lifted[key], logits.get(key), totals[key]) for key in order]
        return self._parted(scored, similarities(found.candidates))

    def _parted(self, hits: Sequence[Hit], near: Mapping[str, float]) -> Reranked:
        """Return the hits that answer and those that fill a budget. `near` are rescaled cosines with the question."""
        profile = self._profile
        lifted = {hit.record.id: hit.why["lifted"] for hit in hits if "reranker" in hit.why}
        bearing = ranking.bearing(list(lifted), lifted, near, profile)
        close, sure = set(ranking.close(bearing, lifted, profile)), max(lifted.values()) >= profile.sure

        def fills(hit: Hit) -> bool:
            if sure:
                return hit.why["words"] > 0 or near.get(hit.record.id, 0.0) >= profile.near
            return hit.record.id in bearing and hit.why["words"] >= profile.worded

        filling = [hit for hit in hits if hit.record.id in close or (bearing and fills(hit))]
        return Reranked([hit for hit in hits if hit.record.id in close], filling)

    # reading ---------------------------------------------------------------------------------------------------------

    def _next(self, hits: Mapping[str, Hit], read: Collection[str]) -> dict[str, Hit]:
        """Return the best hits that are not `read`: the first few, or a few more short ones, as far as may be read."""
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

    def _lifted(self, logits: Mapping[str, float], hits: Mapping[str, Hit], found: Found) -> dict[str, float]:
        """Return the logit of each hit, lifted by those of its neighbours; an unread one has that of the worst read."""
        unread = min(self._profile.hopeless, *logits.values())
        known = {key: logits.get(key, unread) for key in hits}
        near = around(found, logits, hits, self._profile)
        return ranking.lift(known, near, lengths(hit.record for hit in hits.values()), self._profile)

    def _part(self, hit: Hit) -> int:
        """Return how many characters are read of a hit."""
        return min(len(hit.record.body), self._profile.read)

    def _read(self, head: Mapping[str, Hit], found: Found) -> dict[str, float]:
        """Return the cross-encoder's logit of each hit; empty without one that knows the language, or if it fails."""
        if not head:
            return {}
        self._helpers.reranker.start()
        reranker = self._helpers.reranker.get(self._helpers.patience)
        if reranker is None or not reranker.reads(found.query):
            return {}
        texts = {key: self._passage(full_text(hit.record), found.vectors.get(key), found) for key, hit in head.items()}
        try:
            logits = _scores(reranker, found.query, {key: text[: self._profile.read] for key, text in texts.items()})
            cut = {key: text for key, text in texts.items() if len(text) > self._profile.read}
            if cut and max(logits.values()) < self._profile.sure:  # what answers may stand further on
                further = _scores(reranker, found.query, cut)
                logits |= {key: max(logits[key], logit) for key, logit in further.items()}
        except ModelError as error:
            log.warning("not reranked: %s", error)
            return {}
        return logits

    def _passage(self, text: str, chunks: Vector | None, found: Found) -> str:
        """Return a text's beginning, or of a long one that was embedded in chunks the one nearest to the question."""
        read = self._profile.read
        if chunks is None or len(text) <= 2 * read:
            return text[:read]
        return _nearest_part(text, chunks @ found.candidates.vector)


def _scores(reranker: Reranker, query: str, texts: Mapping[str, str]) -> dict[str, float]:
    return dict(zip(texts, reranker.score(query, list(texts.values())), strict=True))


def _scored(hit: Hit, lifted: float, logit: float | None, total: float) -> Hit:
    """Return a hit with its final score; `logit` is None if it was not read."""
    why = {**hit.why, "composite": hit.score, "lifted": lifted} | ({} if logit is None else {"reranker": logit})
    return replace(hit, score=ranking.sigmoid(total), why=why)


def _nearest_part(text: str, cosines: Vector) -> str:
    """Return the part of a text whose chunk has the best cosine; chunks are equally long."""
    size, best = len(text) / len(cosines), int(cosines.argmax())
    return text[int(best * size) : int((best + 1) * size) + 1]
