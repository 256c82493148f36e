"""The cross-encoder: which of the hits it reads, what of each, and the order that follows."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found, around, lengths, similarities
from memoryd.core.search.ranking import Profile
from memoryd.errors import ModelError
from memoryd.model import Hit
from memoryd.models.helpers import Helpers
from memoryd.store.base import Vector

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits that answer, then those that lie far behind them, each best first."""

    close: Sequence[Hit]
    far: Sequence[Hit] = ()
    degraded: str = ""
    """Why nothing was reranked, in one sentence; '' where nothing is amiss."""


class Reranking:
    """The last stage of a search, for which the models run after the snapshot was closed."""

    def __init__(self, helpers: Helpers, profile: Profile) -> None:
        self._helpers = helpers
        self._profile = profile

    def rerank(self, hits: Sequence[Hit], found: Found) -> Reranked:
        """Return the hits as the cross-encoder orders them; those that it did not read are far if something answers."""
        profile = self._profile
        head = {hit.record.id: hit for hit in hits[: self.head(hits)]}
        logits = self._read(head, found)
        if not logits:
            why_not = self._helpers.why_not("reranker") if head else ""
            return Reranked(hits, degraded=f"Not reranked: {why_not}." if why_not else "")
        near = around(found, head, head, profile)
        lifted = ranking.lift(logits, near, lengths(hit.record for hit in head.values()), profile)
        totals = ranking.blend(lifted, {key: hit.score for key, hit in head.items()}, profile)
        order = sorted(totals, key=lambda key: -totals[key])
        bearing = ranking.bearing(order, lifted, similarities(found.candidates), profile)
        if not bearing:
            return Reranked(())
        scored = {
            key: replace(head[key], score=ranking.sigmoid(totals[key]), why={**head[key].why, "reranker": logits[key]})
            for key in bearing
        }
        close = set(ranking.close(bearing, lifted, profile))
        far = [scored[key] for key in bearing if key not in close]
        if max(lifted.values()) < profile.sure:
            far = [hit for hit in far if hit.why["words"] >= profile.worded]
        else:
            below = scored[bearing[-1]].score  # what was not read goes on where the head ends
            far += [replace(hit, score=hit.score * below) for hit in hits[len(head) :]]
        return Reranked([scored[key] for key in bearing if key in close], far)

    def head(self, hits: Sequence[Hit]) -> int:
        """Return how many of the hits the cross-encoder reads."""
        number, left = 0, self._profile.reading
        for hit in hits[: self._profile.head]:
            left -= self._part(len(hit.record.body))
            if left < 0 and number:
                break
            number += 1
        return number

    def _part(self, length: int) -> int:
        """Return how many characters are read of a text: its beginning, or one chunk of a long one."""
        read = self._profile.read
        return min(length, read) if length <= 2 * read else 2 * read

    def _read(self, head: Mapping[str, Hit], found: Found) -> dict[str, float]:
        """Return the cross-encoder's logit of each hit; empty without one, or if it fails."""
        if not head:
            return {}
        self._helpers.reranker.start()
        reranker = self._helpers.reranker.get(self._helpers.patience)
        if reranker is None:
            return {}
        try:
            return dict(zip(head, reranker.score(found.query, self._passages(head, found)), strict=True))
        except ModelError as error:
            log.warning("not reranked: %s", error)
            return {}

    def _passages(self, head: Mapping[str, Hit], found: Found) -> list[str]:
        """Return the beginning of each text, or the chunk nearest to the question if it was embedded in chunks."""
        return [self._passage(full_text(hit.record), found.vectors.get(key), found) for key, hit in head.items()]

    def _passage(self, text: str, chunks: Vector | None, found: Found) -> str:
        read = self._profile.read
        if chunks is None or len(text) <= 2 * read:
            return text[:read]
        return _nearest_part(text, chunks @ found.candidates.vector)


def _nearest_part(text: str, cosines: Vector) -> str:
    """Return the part of a text whose chunk has the best cosine; chunks are equally long."""
    size, best = len(text) / len(cosines), int(cosines.argmax())
    return text[int(best * size) : int((best + 1) * size) + 1]
