"""The arithmetic of search: pure functions over scores by record id. An absent id scores 0.

words + vectors -> fuse -> favour, lift -> gate -> composite -> (cross-encoder: lift, blend, close)
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float32])
Scores = Mapping[str, float]
Neighbours = Mapping[str, Mapping[str, float]]
"""The neighbours, in its session, of each record that may lift others, and how closely they are related to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The constants of one kind of search. The defaults are seed d's; the rest was measured (docs/search.md)."""

    literal: bool = False
    """Whether operators in a text are ordinary words: prompts are not written as queries."""
    every_perspective: bool = False
    """Whether records are searched from each perspective (c), or from the general one only."""
    aside: float = 0.08
    """Subtracted from any other perspective's rescaled cosine. The best of five is the best of five draws: without
    this, questions about a record's own text lose .05 of R@10; with it nothing, and questions about its context still
    find it (docs/benchmarks.md)."""
    depth: int = 100
    """Candidates by words, and as many by vector. 50 (d) costs up to .02 of R@30; the deeper list costs nothing."""
    crowd: int = 10
    """How many nearest other candidates tell how crowded the place of a record is; 5 and 20 are level."""
    crowded: float = 0.25
    """How much of the mean cosine to these is subtracted. By vectors alone it brings .02 of R@10 on conversations and
    .02 of R@1 on everyday questions and on abstracts; .5 is level."""
    alpha: float = 0.5
    """The share of the vectors in the fusion; the words have the rest (d); .4 to .6 are level."""
    lift: float = 0.4
    """How far a record is lifted toward its best neighbour in its session; .3 to .5 are level."""
    lift_length: int = 300
    """Characters up to which the lift is full; beyond, it falls as 1 / length, as a long text needs no context."""
    lifting: int = 30
    """How many of the best records lift their neighbours, including neighbours that did not match themselves."""
    apart: float = 0.1
    together: float = 0.3
    """A neighbour counts as context not at all below `apart`, and fully above this rescaled cosine. Turns of a
    conversation are mostly above it (median .5); facts that were merely noted in succession are around .25."""
    answer: float = 0.5
    """How much more a question lifts the record right after it; 1 is level."""
    session: float = 0.1
    """How far a record is lifted toward the best other one of its session; .15 is level, .2 costs on long chats."""
    speaker: float = 0.1
    """Added to the fused score of a text that begins with a name from the question; .05 to .15 are level."""
    fusion: float = 0.65
    recency: float = 0.15
    importance: float = 0.1
    access: float = 0.1
    """The weights of the composite (d)."""
    recency_decay: float = 0.001
    access_decay: float = 0.002
    """The decay of the access score per hour."""
    access_full: int = 10
    """The number of recalls beyond which further ones do not count."""
    gate: float = 0.05
    """A candidate below this share of the best fused score is dropped (d); level up to .1."""
    head: int = 8
    """The cross-encoder first reads this many of the best hits, then ..."""
    further: int = 6
    """... this many more at a time, ...; 5 is level, 4 costs long chats .02 of R@10."""
    reach: float = 4.0
    """... while the total of one of the last group is within this distance of the best; 5 is level, and costs more."""
    begun: float = -math.inf
    """If none of the head has this logit, nothing else is read. Of 378 prompts among 1,000 facts each gets the same
    with -9, and those that get nothing have 1.9 texts read on average, not 2.7."""
    enough: float = math.inf
    """If something but a summary has this logit, nothing else is read. Of 612 prompts about everyday facts, with 5 the
    same get something, 344 right facts in place of 349 and 188 others in place of 226, in 85 ms in place of 112."""
    short: int = 500
    """Maximum characters of a text that is read beyond the head: one of 1,000 costs as much as three of 400."""
    most: int = 30
    """Maximum number of hits that are read; 20 costs .01 of R@10, 40 is level."""
    read: int = 1_000
    """Characters that are read of each, about 256 tokens; half costs .07 of MRR on abstracts, .02 on long chats."""
    reading: int = 10_000
    """Characters that are read in total, in at most half a second, so fewer long texts are reranked than short ones."""
    prior: float = 3.0
    """The weight of the composite score in logits, added to the cross-encoder's logit; 2 to 6 are level."""
    behind: float = 8.0
    """The distance in logits behind the best within which a record bears on the query. Seed d asks for 5, which loses
    .02 of the evidence of conversations within 300 tokens; 10 adds a third of unrelated text to everyday answers."""
    least: float = -6.0
    """The logit from which a record may bear on the query at all."""
    time: float = 2.0
    """Added to the logit of a record of the time that the question names; of 26 such questions
    it brings the right one of several alike to the first place in 22, in place of 10, and takes none of 20 answers that
    name a time themselves from it. 1 to 2.5 are level. 0: times are not read."""
    sure: float = -4.0
    """If no logit reaches this, nothing surely bears on the query. Of the questions about a conversation 97 % reach it,
    of those about another one 10 %."""
    doubtful: float = 0.0
    few: int = 3
    """Of facts below this logit, only so many bear on the query that there are this many with all others. Of 30
    questions with such a best one, the fact that answers is among three in all but one, and what nothing answers has up
    to seven that share a name with it."""
    unsure: float = 20.0
    """The weight of the rescaled cosine, in logits, if nothing surely bears; then the logit counts half, since near the
    floor it says little; 15 to 40 are level. If something is sure, 10 costs .04 of R@1."""
    keep: int = 10
    """How many hits bear on a query that no cross-encoder has read, at most, ..."""
    strong: float = 0.5
    """The rescaled cosine at which meaning alone is as good a match as all words."""
    half: float = 0.5
    """... and the share of the best fused score that they need."""
    hopeless: float = -11.0
    """The logit of a record that was not read. The cross-encoder's floor is -11.3."""
    worded: float = 0.5
    """The score by words from which a text that the cross-encoder cannot read is related to the query; and the share of
    the query's words that makes a text one of the nearest, if nothing surely bears on the query."""
    near: float = 0.1
    """The rescaled cosine at which a record is related to a query. Few unrelated records reach it (mean -.13)."""
    nearest: float = 0.15
    """The rescaled cosine that one of a hundred records needs to be named as nearest where nothing surely bears on the
    query; one alone needs none, as the best of few draws is lower."""
    asked_around: int = 2
    """For this many of the best records by composite score, ..."""
    alike: int = 20
    """... this many records nearest to each are read, too: a change may have no word of the question."""
    without_words: float = 0.15
    """How much more it needs if no record has a word of the query, which has no English function word either: to the
    embedder, even nonsense is near something."""
    locating: int = 6_000
    """Characters that the cross-encoder reads to find the part of a long text that answers."""
    compared: int = 3
    """How many of the best hits are compared with newer facts that may change them, ..."""
    related: float = 0.05
    """... from this rescaled cosine of the two on; changes in other words are often below .2, ..."""
    changes: int = 4
    """... of which the cross-encoder reads the likeliest, this many; 6 and 8 find no more, and cost."""
    answering: float = -math.inf
    """The logit without which a hit is not shown, as in a prompt, and so not compared either."""
    same: float = 0.95
    """The rescaled cosine at which two texts are near-duplicates (d)."""


RECALL = Profile()
"""Seed d's retrieval pipeline."""

GRAPH = Profile(every_perspective=True, alpha=0.8)
"""Seed c's search of nodes: fused words and vectors, without the later stages. Facts are short, so at .5 a common word
that happens to be in both weighs too much: on a team's graph 18 of 32 paraphrased questions had the right node first,
22 at .8, 23 without words; but of 154 rare words 108 without words, 132 at .8, 143 at .5."""

JOURNAL = Profile(same=math.inf)
"""Seed e asks for vector and words; the rest is as for memories, except that a turn that repeats another is kept."""

PROMPT = Profile(
    literal=True, time=0.0, head=2, further=2, begun=-4.0, enough=5.0, most=4, read=500, reading=2_000, answering=0.0
)
"""Prompt recall. An agent waits for it at every turn, so the cross-encoder reads less."""

FAINT = 0.01
"""The maximum score in a list that has nothing in common with the query: less than the gate requires."""


MATCHED = 0.2
"""The minimum score of a match, as a part of its share of terms: BM25 gives nothing for a word that half of a small
vault has. Among equal shares the order stays BM25's; with a fifth, a rare word also stays ahead of two common ones."""


def bm25_norm(scores: Scores, covered: Scores) -> dict[str, float]:
    """Return BM25 in [0, 1]: relative to the best score of the records with the most terms, times the share of terms.

    So the best match with every term gets 1 (a: an exact match), and the only record with one word of three gets a
    third, however small its BM25 is.
    """
    most = max(covered.values(), default=0.0)
    best = max((scores[key] for key in scores if covered[key] >= most), default=0.0)
    parts = {key: min(1.0, score / best) if best > 0 else 1.0 for key, score in scores.items()}
    return {key: covered[key] * (MATCHED + (1 - MATCHED) * part) for key, part in parts.items()}


def relevances(words: Scores, cosines: Scores) -> dict[str, float]:
    """Return .4 words + .6 cosine if there is a cosine, else the words alone (a), without scores of 0."""
    blended = {key: 0.4 * words.get(key, 0.0) + 0.6 * max(0.0, cosine) for key, cosine in cosines.items()}
    return {key: value for key, value in (dict(words) | blended).items() if value > 0}


def spread(scores: Scores, least: float, *, cut: bool) -> dict[str, float]:
    """Return the scores of one list, scaled to [0, 1] by min-max (relativeScoreFusion, Bruch et al. 2023).

    Zero is the score of an absent record: the last score if the list was `cut` off, else `least`, which means nothing
    in common. So the only matches of a small store all count.

    If not even the best is above `least`, all scores become faint, in the same order. For a query that is near nothing,
    the nearest record must not become a match: `gate` drops faint scores if the other list has better ones. They are
    not zero, because `gate` would then drop them even if there are no others, such as after a filter by tags.
    """
    high = max(scores.values(), default=least)
    if high <= least:
        return {key: FAINT / (1 + least - score) for key, score in scores.items()}
    low = min(scores.values()) if cut else least
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) if score > low else 0.0 for key, score in scores.items()}


def uncrowded(cosines: Scores, vectors: Mapping[str, NDArray[np.float32]], profile: Profile) -> dict[str, float]:
    """Return the cosine of each vector's record, lower for one that is near many others, higher for one that is not.

    Some texts are near every question (hubs, Radovanović et al. 2010), and so near each other. As in the local scaling
    of Conneau et al. 2018, a part of the mean cosine to the nearest others is subtracted; the mean of all cosines
    stays. Of few candidates all are nearest, so theirs are returned as they are.
    """
    if len(vectors) < 2 * profile.crowd:
        return {key: cosines[key] for key in vectors}
    rows = np.stack(list(vectors.values()))
    between = rows @ rows.T
    np.fill_diagonal(between, -1.0)
    density = np.partition(between, -profile.crowd, axis=1)[:, -profile.crowd :].mean(axis=1)
    shifts = profile.crowded * (density - density.mean())
    return {key: cosines[key] - shift for key, shift in zip(vectors, shifts.tolist(), strict=True)}


_GAP, GAP_COUNTED = 0.15, 20
"""The usual distance between the mean rescaled cosines of a question to texts in its language and to others, by the
multilingual embedder (Hindi .04, German and Spanish .22, Chinese .36), which counts as much as so many texts."""

_PART = 0.5
"""How much of the gap counts if the cross-encoder reads what is in the question's language: of a fact in both languages
that one comes first in .75 of 150 English questions then, in .69 with all of it. Of 300 about facts in either, .80 in
place of .81 have the right one first."""


def gap(own: Scores, others: Scores, unrelated: float, *, read: bool) -> float:
    """Return how much farther `others` are from a question than texts in its `own` language, for their language alone.

    `read` says whether the cross-encoder reads these. Without either there is nothing to level.

    Where a store has texts in two languages, what answers may be in the other one: of 120 questions in Portuguese and
    Chinese about as many facts of which half are English, .73 then have the right one first in place of .53.
    """
    number = min(len(own), len(others), GAP_COUNTED)
    if not number:
        return 0.0
    seen = fmean(own.values()) - fmean(others.values())
    found = (number * seen + GAP_COUNTED * _GAP * (1 - unrelated)) / (number + GAP_COUNTED)
    return found * (_PART if read else 1)


def fuse(words: Scores, vectors: Scores, alpha: float) -> dict[str, float]:
    """Return (1 - alpha) words + alpha vectors, each spread; a candidate in one list only gets that part (d)."""
    keys = dict.fromkeys([*vectors, *words])
    return {key: (1 - alpha) * words.get(key, 0.0) + alpha * vectors.get(key, 0.0) for key in keys}


def favour(scores: Scores, keys: Container[str], bonus: float) -> dict[str, float]:
    """Return the scores, with a bonus added to those of `keys`."""
    return {key: score + bonus if key in keys else score for key, score in scores.items()}


def lift(scores: Scores, neighbours: Neighbours, lengths: Mapping[str, int], profile: Profile) -> dict[str, float]:
    """Return each score, raised by a part of its distance to the best neighbour's; never lowered, never above that.

    A short turn often lacks the question's words because they are in the turn that it answers. Good neighbours are
    evidence for it, but poor ones are not evidence against it, which is why a mean would favour long texts.
    """
    lifted = dict(scores)
    for key, around in neighbours.items():
        for other, related in around.items():
            own = scores.get(other, 0.0)
            share = related * profile.lift * min(1.0, profile.lift_length / max(lengths[other], 1))
            raised = own + share * max(0.0, scores.get(key, 0.0) - own)
            lifted[other] = max(lifted.get(other, 0.0), raised)
    return lifted


def answered(neighbours: Neighbours, asking: Container[str], after: Mapping[str, str], profile: Profile) -> Neighbours:
    """Return the neighbours, with the one right after a question more closely related: it is probably the answer."""
    return {
        key: {
            other: share * (1 + profile.answer) if key in asking and other == after.get(key) else share
            for other, share in around.items()
        }
        for key, around in neighbours.items()
    }


def lift_in_sessions(
    scores: Scores, sessions: Mapping[str, str | None], lengths: Mapping[str, int], profile: Profile
) -> dict[str, float]:
    """Return each score, raised by a part of its distance to the best other score in its session."""
    best: dict[str, list[float]] = {}
    for key, score in scores.items():
        if session := sessions.get(key):
            best[session] = sorted([*best.get(session, ()), score], reverse=True)[:2]
    lifted = dict(scores)
    for key, score in scores.items():
        first, *second = best.get(sessions.get(key) or "", [score])
        other = first if score < first else max(second, default=score)
        share = profile.session * min(1.0, profile.lift_length / max(lengths.get(key, 0), 1))
        lifted[key] = score + share * max(0.0, other - score)
    return lifted


def related(similarity: float, profile: Profile) -> float:
    """Return how closely two neighbours are related, 0 to 1, from their rescaled cosine."""
    return min(1.0, max(0.0, (similarity - profile.apart) / (profile.together - profile.apart)))


def gate(scores: Scores, share: float) -> dict[str, float]:
    """Return the scores that are at least `share` of the best, scaled so that the best is 1."""
    best = max(scores.values(), default=0.0)
    return {key: score / best for key, score in scores.items() if score > 0 and score >= share * best}


def recency(hours: float, profile: Profile) -> float:
    """Return 1.0 for now, falling exponentially with the hours since."""
    return math.exp(-profile.recency_decay * hours)


def access(count: int, hours: float, profile: Profile) -> float:
    """Return how often and how recently a record was recalled, as one figure in [0, 1]."""
    return math.exp(-profile.access_decay * hours) * min(count / profile.access_full, 1.0)


def composite(parts: Scores, profile: Profile) -> float:
    """Return the weighted sum of fusion, recency, importance and access, each in [0, 1] (d).

    For a question that names a time, being of that time takes the place of recency.
    """
    return (
        profile.fusion * parts["fusion"]
        + profile.recency * parts.get("time", parts["recency"])
        + profile.importance * parts["importance"]
        + profile.access * parts["access"]
    )


def blend(logit: float, parts: Scores, composite: float, profile: Profile) -> float:
    """Return logit + weighted composite. Logits are log-odds, so evidence that the cross-encoder lacks is added."""
    return logit + profile.prior * composite / profile.fusion + profile.time * parts.get("time", 0.0)


def doubt(logit: float, near: float, parts: Scores, profile: Profile) -> float:
    """Return the total of a hit that the cross-encoder has read, where nothing surely bears.

    Then meaning says more than logits near the floor do, and words say nothing more: it has read what has them.
    """
    named = profile.time * parts.get("time", 0.0)
    return (logit + profile.hopeless) / 2 + profile.prior + profile.unsure * near + named


def promising(read: Sequence[str], logits: Scores, totals: Scores, profile: Profile) -> bool:
    """Return whether reading on may change the top hits, because the hits `read` last came close to the best.

    If nothing answers so far, at most one more group is worth reading.
    """
    close = max(totals[key] for key in read[-profile.further :]) >= max(totals.values()) - profile.reach
    least = profile.begun if len(logits) <= profile.head else profile.sure
    return close and least <= max(logits.values())


def probability(total: float) -> float:
    """Return about how probable it is that a hit answers, from the sum of its logit and what was added to that.

    Fitted by hand to questions about everyday memories: of hits with a logit of 8 nearly all answer, with 4 four
    fifths, with 0 two fifths, with -4 a tenth. What was added is 3.3 on average.
    """
    return 1 / (1 + math.exp(-0.45 * (total - 4.3)))


def bearing(logits: Scores, profile: Profile) -> set[str]:
    """Return the records that bear on the query by their logits; none if no logit is sure."""
    best = max(logits.values(), default=profile.hopeless)
    if best < profile.sure:
        return set()
    return {key for key, logit in logits.items() if logit >= max(best - profile.behind, profile.least)}


def nearness(number: int, profile: Profile, *, speaks: bool) -> float:
    """Return the rescaled cosine from which one of a number of candidates is named as nearest.

    The best of many unrelated records is nearer than that of few, by about the logarithm of their number. `speaks` says
    whether the query has a word that a record or the language has: else it may be nonsense.
    """
    share = math.log10(min(max(number, 1), profile.depth)) / math.log10(profile.depth)
    return share * (profile.nearest + (0.0 if speaks else profile.without_words))


def rescale(cosine: Number, unrelated: float) -> Number:
    """Return a cosine rescaled to 0 for the model's unrelated texts and 1 for equal ones, comparable across models."""
    return (cosine - unrelated) / (1 - unrelated)


def on_scale(cosines: Scores, own: float, other: float) -> dict[str, float]:
    """Return cosines as they would be for an embedder whose unrelated texts have the cosine `other`, not `own`."""
    if own == other:
        return dict(cosines)
    return {key: other + (1 - other) * rescale(cosine, own) for key, cosine in cosines.items()}


def whole(chunks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector of a text from the vectors of its chunks: (chunks, dim) to (dim,)."""
    if len(chunks) == 1:
        return np.asarray(chunks[0])
    mean = chunks.mean(0)
    return np.asarray(mean / np.float32(np.linalg.norm(mean)))
