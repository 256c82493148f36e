"""What takes the place of the cross-encoder's logit where it cannot read: it reads English only.

Cosines of the multilingual embedder differ by question, by language and by text more than between an answer and what
is none. So a record is compared with the other candidates in the same language: its evidence is how many deviations its
rescaled cosine is above their mean, and a little for the share of the question's words that it has. Some texts are near
every question, so a part of their nearness to the mean of plain questions is subtracted first.
The constants were chosen on 300 questions in ten languages (bench/languages), and tried on 150 others.
"""

import base64
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from memoryd.core.records.records import full_text
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found, similarities
from memoryd.languages import FOREIGN, asked_words, is_english
from memoryd.models.embedders import MULTILINGUAL, MULTILINGUAL_UNRELATED
from memoryd.store.base import Vector
from memoryd.text import in_common, is_latin, words

WORDED = 0.8
"""The evidence of all words of the question."""
MEAN_QUESTION = Path(__file__).with_name("mean_question.txt")
"""The mean vector of sixteen plain questions in each of 21 languages (bench/languages/mean_question.py),
as float16 in base64."""
ANY = 0.5
"""The part of a text's nearness to that mean that is subtracted: asked of English facts it brings .04 of R@1."""
COUNTED, APART = 10, 0.18
"""So many candidates with a rescaled cosine of 0 and this deviation, as those of unrelated texts, count beside those
that are found: a few have no mean of their own. Where nearly all are in another language than the question, and their
mean is lower, it is that; of a fact in two languages the one in the question's mostly comes first."""
FEW = 0.2
"""The share of the candidates below which those in a language are few."""
LEAST, NAMED, SURE, NONE, MOST = 0.6, 0.86, 2.45, 3.05, 3.8
"""The evidence at the five logits that follow. From NAMED on a record is named as one of the nearest; SURE is not
reached by nine, NONE not by 99 of a hundred questions without an answer."""
LOWEST, NEAREST, SURE_LOGIT, ANSWER, HIGHEST = -13.0, -11.7, -4.0, 0.0, 4.0
"""SURE_LOGIT is Profile.sure; from ANSWER on a prompt takes it for an answer."""
OF_NONSENSE = -8.6
"""The logit from which a record is named if the question may be nonsense."""


def logits(found: Found, legible: Collection[str]) -> dict[str, float]:
    """Return a logit for each candidate with a multilingual vector that the cross-encoder cannot read."""
    if all(one.model != MULTILINGUAL for one in found.candidates.compared):
        return {}
    terms = set(asked_words(found.query))
    near: dict[bool, dict[str, float]] = {True: {}, False: {}}  # texts in the question's language are nearer to it
    cosines = similarities(found.candidates)
    for key, cosine in cosines.items():
        if key in found.records and key in found.vectors and key not in legible:
            near[is_english(found.records[key].body)][key] = cosine
    others = len(near[False])
    alone = min(others, len(cosines) - others) < FEW * len(cosines)
    if is_english(found.query):
        near[True].clear()  # their cosines are the English embedder's
    made = {}
    for group in filter(None, near.values()):
        evidence = {}
        for key, deviations in _outstanding(group, found, alone=alone).items():
            share = in_common(terms, full_text(found.records[key])) / max(1, len(terms))
            evidence[key] = deviations + WORDED * share
        best = max(evidence, key=evidence.__getitem__) if len(group) < COUNTED else ""  # few hardly stand out
        for key, own in evidence.items():
            named = len(cosines) < COUNTED or (key == best and group[key] > 0)
            made[key] = max(NEAREST if named else LOWEST, _logit(own))
    return made


def least(query: str, *, speaks: bool) -> float:
    """Return the logit from which a record is named as one of the nearest.

    `speaks` says whether a word of the query is in a record or is an English function word.
    """
    known = speaks or not is_latin(query) or not FOREIGN.isdisjoint(words(query))
    return NEAREST if known else OF_NONSENSE


def _outstanding(near: Mapping[str, float], found: Found, *, alone: bool) -> dict[str, float]:
    """Return by how many deviations each record is nearer to the question than the others.

    `alone` says that hardly any candidates are in other languages.
    """
    texts, number = np.stack([ranking.whole(found.vectors[key]) for key in near]), len(near) + COUNTED
    common = np.tile(mean_question(), texts.shape[1] // len(mean_question()))  # beside it are zeros
    own = np.array(list(near.values())) - ANY * ranking.rescale(texts @ common, MULTILINGUAL_UNRELATED)
    mean = (own.sum() + (COUNTED * min(0.0, own.mean()) if alone else 0.0)) / number
    deviation = np.sqrt((((own - mean) ** 2).sum() + COUNTED * APART**2) / number)
    return dict(zip(near, ((own - mean) / deviation).tolist(), strict=True))


@cache
def mean_question() -> Vector:
    """Return the vector in MEAN_QUESTION."""
    return np.frombuffer(base64.b64decode(MEAN_QUESTION.read_bytes()), "<f2").astype(np.float32)


def _logit(evidence: float) -> float:
    known = (LEAST, NAMED, SURE, NONE, MOST)
    return float(np.interp(evidence, known, (LOWEST, NEAREST, SURE_LOGIT, ANSWER, HIGHEST)))
