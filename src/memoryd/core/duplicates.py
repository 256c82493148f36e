"""Which memories say the same for certain."""

from memoryd import ranking
from memoryd.text import fingerprint, may_differ


def same(one: str, other: str, similarity: float) -> bool:
    """Whether two memories say the same for certain; `similarity` is their rescaled cosine."""
    if fingerprint(one) == fingerprint(other):
        return True
    return similarity >= ranking.RECALL.same and not may_differ(one, other)
