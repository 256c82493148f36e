"""Keywords and drafts of summaries (TF-IDF): both quote the texts, so no model is needed."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoryd.excerpts import cut
from memoryd.sentences import sentences
from memoryd.store.base import Queries
from memoryd.text import CHARACTERS_PER_TOKEN, STOP_WORDS, size, words

SAMPLE = 5_000  # observations from which the rarity of words is estimated; more hardly change it
LABEL_WORDS = 3  # words of a rationale or a label
CHOICES = 60  # sentences of a node from which a draft is chosen
DRAFT_TOKENS = 60
REPEATED = 0.25  # share of its weight that a word keeps per sentence of the draft that has it

Terms = Counter[str]
"""The number of texts in which each word occurs."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """The rarity of words among the observations of a graph."""

    counts: Terms
    texts: int

    def __call__(self, term: str) -> float:
        """Return the inverse document frequency of a word, which is above 0."""
        return math.log(1 + (self.texts + 1) / (self.counts[term] + 1))


def rarity(queries: Queries) -> Rarity:
    """Return the rarity of words in the observations of a graph."""
    rows = queries.all("observations.sample", limit=SAMPLE)
    return Rarity(terms(row["body"] for row in rows), len(rows))


def terms(texts: Iterable[str]) -> Terms:
    """Return in how many texts each word occurs, without stop words, single letters and numbers."""
    return Counter(term for text in texts for term in _terms(text))


def _terms(text: str) -> set[str]:
    return {word for word in words(text) if word not in STOP_WORDS and len(word) > 1 and not word.isdigit()}


def draft(texts: Iterable[str], rare: Rarity, tokens: int = DRAFT_TOKENS) -> str:
    """Return the most typical sentences of texts, in their order, in at most `tokens` tokens.

    Each one adds words that are frequent here and rare elsewhere, so no sentence repeats another.
    """
    parts = list(dict.fromkeys(part for text in texts for part in sentences(text)))
    about = [_terms(part) for part in parts]
    weights = {term: count**2 * rare(term) for term, count in Counter(t for each in about for t in each).items()}
    by_worth = sorted(range(len(parts)), key=lambda n: (-_gain(parts[n], about[n], weights), n))
    chosen = _choose(parts, about, weights, by_worth[:CHOICES], tokens * CHARACTERS_PER_TOKEN)
    if not chosen and parts:
        return cut(parts[by_worth[0]], tokens)
    return " ".join(parts[n] + ("." if parts[n][-1].isalnum() else "") for n in sorted(chosen))


def _choose(
    parts: Sequence[str], about: Sequence[set[str]], weights: dict[str, float], candidates: list[int], room: int
) -> list[int]:
    chosen: list[int] = []
    covered: set[str] = set()
    left = dict(weights)
    while candidates:
        best = max(candidates, key=lambda n: (_gain(parts[n], about[n], left), -n))
        candidates.remove(best)
        if size(parts[best]) + 2 <= room and (not chosen or about[best] - covered):
            chosen.append(best)
            room -= size(parts[best]) + 2  # a full stop and a blank
            covered |= about[best]
            left |= {term: left[term] * REPEATED for term in about[best]}
    return chosen


def _gain(part: str, about: set[str], weights: dict[str, float]) -> float:
    """Return the weight of a sentence per length, damped so that the shortest sentences do not win."""
    return sum(weights.get(term, 0.0) for term in sorted(about)) / (len(part) + 20)


def shared(one: Terms, other: Terms, rare: Rarity) -> list[str]:
    """Return the most significant words that two nodes share."""
    return _best({term: min(one[term], other[term]) * rare(term) for term in one.keys() & other.keys()})


def typical(members: Sequence[Terms], rare: Rarity) -> list[str]:
    """Return the words that are common in a group and rare in other texts."""
    having = Counter(term for each in members for term in each)
    return _best({term: count * rare(term) for term, count in having.items() if count > 1})


def _best(weights: dict[str, float]) -> list[str]:
    return sorted(weights, key=lambda term: (-weights[term], term))[:LABEL_WORDS]
