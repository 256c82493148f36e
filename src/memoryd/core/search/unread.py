"""What takes the place of the cross-encoder's logit where it cannot read: it reads English only.

Cosines of the multilingual embedder differ by question, by language and by text more than between an answer and what
is none. So a record is compared with the other candidates in the same language: its evidence is how many deviations its
rescaled cosine is above their mean, and a little for the share of the question's words that it has. Some texts are near
every question, so a part of their nearness to one that asks for nothing is subtracted first.
The constants were chosen on 300 questions in ten languages (bench/languages), in sight of 140 others in seven.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

import numpy as np

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found, similarities, unrelated
from memoryd.languages import FOREIGN, asked_words, is_english
from memoryd.models.embedders import MULTILINGUAL, MULTILINGUAL_UNRELATED
from memoryd.store.base import Vector
from memoryd.text import in_common, is_latin, words

WORDED = 0.8
"""The evidence of all words of the question."""
PLAIN = "What?"
"""The question that asks for nothing. Its word in Spanish, Russian or Chinese is level, and so is the mean of 336 plain
questions in 21 languages."""
ANY = 0.5
"""The part of a text's nearness to that question that is subtracted: asked of English facts it brings .05 of R@1."""
COUNTED, APART = 20, 0.22
"""So many candidates with a rescaled cosine of 0 and this deviation, as those of unrelated texts, count beside those
that are found: a few have no mean of their own. Where nearly all are in another language than the question, and their
mean is lower, it is that; of a fact in two languages the one in the question's mostly comes first."""
MIXED = 0.2
"""The share of the candidates from which those in a language are more than a few."""
FEW = 10
"""Of fewer candidates none stands out, so the nearest is named in any case."""
ANSWER, STEEP, HIGHEST = 2.6, 5.5, 4.0
"""The evidence that has the logit 0, from which a prompt takes a record for an answer; the logits that each further
deviation adds, and the highest. So Profile.sure is not reached by nine of ten questions without an answer, and 0 not by
99 of a hundred such questions and pieces of work for an agent; but by one of five prompts about what a fact is about:
of these the embedder cannot tell an answer. Among fewer than COUNTED candidates less is enough, since the best of n
normal deviates is about sqrt(2 ln n): in stores of 10 and 5 facts prompts so get .30 and .43 of the right ones in place
of .18 and .12, and .001 and .002 of those that nothing answers a wrong one."""
FEWEST = 5
"""So many at least: every second of two unrelated records is above the mean."""
NEAREST = -11.0
"""The logit from which a record is named as one of the nearest."""
OF_NONSENSE = -7.7
"""The logit from which a record is named if the question may be nonsense."""


def logits(found: Found, legible: Collection[str]) -> dict[str, float]:
    """Return a logit for each candidate with a multilingual vector that the cross-encoder cannot read.

    Raise ModelError.
    """
    embedder = next((one.embedder for one in found.candidates.compared if one.model == MULTILINGUAL), None)
    if embedder is None:
        return {}
    plain, terms = _plain(embedder.embed_query), set(asked_words(found.query))
    near: dict[bool, dict[str, float]] = {True: {}, False: {}}  # texts in the question's language are nearer to it
    cosines = similarities(found.candidates)
    for key, cosine in cosines.items():
        if key in found.records and key in found.vectors and key not in legible:
            near[is_english(found.records[key].body)][key] = cosine
    others = len(near[False])
    alone = min(others, len(cosines) - others) < MIXED * len(cosines)
    if is_english(found.query):
        near[True].clear()  # their cosines are the English embedder's
    made = {}
    raised = found.candidates.raised / (1 - unrelated(found.candidates))
    for english in filter(near.get, near):
        group, usual = near[english], raised if english != is_english(found.query) else 0.0
        evidence = {}
        for key, deviations in _outstanding(group, found, plain, alone=alone).items():
            share = in_common(terms, full_text(found.records[key])) / max(1, len(terms))
            evidence[key] = deviations + WORDED * share
        best = max(evidence, key=evidence.__getitem__) if len(group) < FEW else ""
        answer = ANSWER - _best_of(COUNTED) + _best_of(min(max(len(cosines), FEWEST), COUNTED))
        for key, own in evidence.items():
            named = len(cosines) < FEW or (key == best and group[key] > usual)
            logit = min(STEEP * (own - answer), HIGHEST)
            made[key] = max(NEAREST, logit) if named else logit
    return made


def least(query: str, *, speaks: bool) -> float:
    """Return the logit from which a record is named as one of the nearest.

    `speaks` says whether a word of the query is in a record or is an English function word.
    """
    known = speaks or not is_latin(query) or not FOREIGN.isdisjoint(words(query))
    return NEAREST if known else OF_NONSENSE


def _outstanding(near: Mapping[str, float], found: Found, plain: Vector, *, alone: bool) -> dict[str, float]:
    """Return by how many deviations each record is nearer to the question than the others.

    `alone` says that hardly any candidates are in other languages.
    """
    texts, number = np.stack([ranking.whole(found.vectors[key]) for key in near]), len(near) + COUNTED
    common = np.tile(plain, texts.shape[1] // len(plain))  # beside it are zeros
    own = np.array(list(near.values())) - ANY * ranking.rescale(texts @ common, MULTILINGUAL_UNRELATED)
    mean = (own.sum() + (COUNTED * min(0.0, own.mean()) if alone else 0.0)) / number
    deviation = np.sqrt((((own - mean) ** 2).sum() + COUNTED * APART**2) / number)
    return dict(zip(near, ((own - mean) / deviation).tolist(), strict=True))


def _best_of(number: int) -> float:
    """Return how many deviations the best of some unrelated records is above their mean."""
    return math.sqrt(2 * math.log(number))


@lru_cache(maxsize=1)
def _plain(embed: Callable[[str], Vector]) -> Vector:
    return embed(PLAIN)
