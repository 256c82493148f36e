"""What texts are about, told in their own words: nothing is made up, so no model is needed."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoryd.store.base import Queries
from memoryd.text import CHARACTERS_PER_TOKEN, STOP_WORDS, cut, sentences, words

SAMPLE = 5_000  # observations that tell how rare a word is; more would tell the same
TOLD = 3  # words of a rationale or a label
LOOKED_AT = 60  # sentences of a node that a draft chooses from
DRAFT_TOKENS = 60
SAID = 0.25  # of its worth a word keeps for each sentence of a draft that has it

Terms = Counter[str]
"""In how many texts of something each word is."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """How much a word tells, by how few texts of the graph have it."""

    counts: Terms
    texts: int

    def __call__(self, term: str) -> float:
        """The inverse document frequency of a word, never 0."""
        return math.log(1 + (self.texts + 1) / (self.counts[term] + 1))


def rarity(queries: Queries) -> Rarity:
    """How rare words are in the observations of this graph."""
    rows = queries.all("observations.sample", limit=SAMPLE)
    return Rarity(terms(row["body"] for row in rows), len(rows))


def terms(texts: Iterable[str]) -> Terms:
    """The words that texts are about: no stop words, no single letters, no numbers."""
    return Counter(term for text in texts for term in _terms(text))


def _terms(text: str) -> set[str]:
    return {word for word in words(text) if word not in STOP_WORDS and len(word) > 1 and not word.isdigit()}


def draft(texts: Iterable[str], rare: Rarity, tokens: int = DRAFT_TOKENS) -> str:
    """The sentences that are most typical of some texts, in their order.

    Each adds words that are frequent here and rare elsewhere, so none says again what another has said.
    """
    parts = list(dict.fromkeys(part for text in texts for part in sentences(text)))
    about = [_terms(part) for part in parts]
    worth = {term: count**2 * rare(term) for term, count in Counter(t for each in about for t in each).items()}
    by_worth = sorted(range(len(parts)), key=lambda n: (-_gain(parts[n], about[n], worth), n))
    chosen = _choose(parts, about, worth, by_worth[:LOOKED_AT], tokens * CHARACTERS_PER_TOKEN)
    if not chosen and parts:
        return cut(parts[by_worth[0]], tokens)
    return " ".join(_ended(parts[n]) for n in sorted(chosen))


def _choose(
    parts: Sequence[str], about: Sequence[set[str]], worth: dict[str, float], candidates: list[int], room: int
) -> list[int]:
    chosen: list[int] = []
    said: set[str] = set()
    left = dict(worth)
    while candidates:
        best = max(candidates, key=lambda n: (_gain(parts[n], about[n], left), -n))
        candidates.remove(best)
        if len(parts[best]) + 2 <= room and (not chosen or about[best] - said):
            chosen.append(best)
            room -= len(parts[best]) + 2  # a full stop and a blank
            said |= about[best]
            left |= {term: left[term] * SAID for term in about[best]}
    return chosen


def _gain(part: str, about: set[str], worth: dict[str, float]) -> float:
    """What a sentence tells for its length: long ones are not to win by being long, nor the shortest by being short."""
    return sum(worth.get(term, 0.0) for term in sorted(about)) / (len(part) + 20)


def _ended(part: str) -> str:
    return f"{part}." if part[-1].isalnum() else part


def shared(one: Terms, other: Terms, rare: Rarity) -> list[str]:
    """The words that two things share, those first that tell most."""
    return _best({term: min(one[term], other[term]) * rare(term) for term in one.keys() & other.keys()})


def typical(members: Sequence[Terms], rare: Rarity) -> list[str]:
    """The words that most members of a group have, and few others."""
    having = Counter(term for each in members for term in each)
    return _best({term: count * rare(term) for term, count in having.items() if count > 1})


def _best(worth: dict[str, float]) -> list[str]:
    return sorted(worth, key=lambda term: (-worth[term], term))[:TOLD]
