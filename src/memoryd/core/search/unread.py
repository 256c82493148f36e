"""What takes the place of the cross-encoder's logit where it cannot read: it reads English only.

Cosines of the multilingual embedder differ by question more than between an answer and what is none, so a record is
compared with the others: its evidence is how much nearer than their mean it is, in rescaled cosines, and a little for
the share of the question's words that it has. Fitted to 300 questions in ten languages (bench/languages).
"""

from collections.abc import Collection, Mapping

from memoryd.core.records.records import full_text
from memoryd.core.search.candidates import Found, similarities
from memoryd.languages import FOREIGN, is_english
from memoryd.models.embedders import MULTILINGUAL
from memoryd.text import content_words, in_common, is_latin, words

WORDED = 0.08
"""The evidence of all words of the question."""
SURE = 0.255
"""The evidence that nine of ten questions without an answer do not reach."""
NONE = 0.35
"""The evidence that 99 of 100 do not reach."""
SURE_LOGIT = -4.0
"""The logit at SURE, as Profile.sure; at NONE it is 0, from which a prompt takes it for an answer."""
LOWEST, HIGHEST = -11.0, 4.0
NEAREST, OF_NONSENSE = -10.0, -6.6
"""The logit from which a record is named as one of the nearest; the same if the question may be nonsense."""
COUNTED = 10
"""So many candidates with a rescaled cosine of 0, as unrelated texts have, count beside those that are found."""


def logits(found: Found, legible: Collection[str]) -> dict[str, float]:
    """Return a logit for each candidate with a multilingual vector that the cross-encoder cannot read."""
    if all(one.model != MULTILINGUAL for one in found.candidates.compared):
        return {}
    terms = set(content_words(found.query)) - FOREIGN
    near: dict[bool, dict[str, float]] = {True: {}, False: {}}  # texts in the question's language are nearer to it
    cosines = similarities(found.candidates)
    for key, cosine in cosines.items():
        if key in found.records and key not in legible:
            near[is_english(found.records[key].body)][key] = cosine
    if is_english(found.query):
        near[True].clear()  # their cosines are the English embedder's
    few, made = len(cosines) < COUNTED, {}
    for group in near.values():
        for key, cosine in group.items():
            evidence = cosine - _expected(group, key) + WORDED * _share(terms, found, key)
            made[key] = _logit(evidence, few=few)
    return made


def least(query: str, *, speaks: bool) -> float:
    """Return the logit from which a record is named as one of the nearest.

    `speaks` says whether a word of the query is in a record or is an English function word.
    """
    known = speaks or not is_latin(query) or not FOREIGN.isdisjoint(words(query))
    return NEAREST if known else OF_NONSENSE


def _expected(near: Mapping[str, float], key: str) -> float:
    """Return the mean cosine of the other records."""
    return (sum(near.values()) - near[key]) / (len(near) - 1 + COUNTED)


def _share(terms: Collection[str], found: Found, key: str) -> float:
    return in_common(terms, full_text(found.records[key])) / max(1, len(terms))


def _logit(evidence: float, *, few: bool) -> float:
    return min(HIGHEST, max(NEAREST if few else LOWEST, SURE_LOGIT * (1 - (evidence - SURE) / (NONE - SURE))))
