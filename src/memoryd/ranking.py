"""The arithmetic of search: pure functions over scores. Constants stand in a profile beside the seed that asks for them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The constants of one way to search."""

    depth: int = 50
    """Candidates by words, and as many by vector."""
    alpha: float = 0.5
    """The part of the vectors in the fusion; the words have the rest."""
    relevance: float = 0.65
    recency: float = 0.15
    importance: float = 0.1
    access: float = 0.1
    recency_decay: float = 0.001
    """An hour."""
    access_decay: float = 0.002
    """An hour."""
    access_full: int = 10
    """Recalls from which on more do not count."""
    gate: float = 0.05
    """Candidates below this part of the best fusion score are dropped."""
    reranked: int = 20
    gap: float = 5.0
    """Reranked candidates this many logits below the best are dropped."""
    same: float = 0.95
    """Rescaled cosine from which two texts are near-duplicates."""


RECALL = Profile()
"""Seed d's retrieval pipeline."""


def spread(scores: Mapping[str, float]) -> dict[str, float]:
    """Min-max to [0, 1]; 1.0 for all where they are equal (relativeScoreFusion, Bruch et al. 2023)."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}


def fuse(words: Mapping[str, float], vectors: Mapping[str, float], alpha: float) -> dict[str, float]:
    """(1 - alpha) words + alpha vectors, each already in [0, 1]; a candidate of one list keeps only its part."""
    return {
        key: (1 - alpha) * words.get(key, 0.0) + alpha * vectors.get(key, 0.0) for key in dict.fromkeys([*words, *vectors])
    }


def recency(hours: float, profile: Profile) -> float:
    """1.0 now, falling exponentially with the hours since."""
    return math.exp(-profile.recency_decay * hours)


def access(count: int, hours: float, profile: Profile) -> float:
    """How often and how lately it was recalled, in [0, 1]."""
    return math.exp(-profile.access_decay * hours) * min(count / profile.access_full, 1.0)


def rescale(cosine: float, unrelated: float) -> float:
    """A cosine on a scale where the model's unrelated texts are at 0 and equal ones at 1: comparable between models."""
    return (cosine - unrelated) / (1 - unrelated)
