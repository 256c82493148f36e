"""Whether two memories say the same for certain, without a language model: what differs or is uncertain is kept."""

from memoryd import ranking
from memoryd.text import fingerprint, may_differ


def same(one: str, other: str, similarity: float) -> bool:
    """Whether two texts say the same for certain. `similarity` is the rescaled cosine of their vectors."""
    if fingerprint(one) == fingerprint(other):
        return True
    return similarity >= ranking.RECALL.same and not may_differ(one, other)
