"""The arithmetic of search: pure functions over scores by record id. An id that is absent scores 0.

words + vectors -> fuse -> favour, lift -> gate -> composite -> (cross-encoder: lift, blend, close)
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float32])
Scores = Mapping[str, float]
Neighbours = Mapping[str, Mapping[str, float]]
"""For a record that may lift others its neighbours in the session, each with how closely they are related."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The constants of one way to search. Defaults are seed d's; what it leaves open was measured (docs/search.md)."""

    literal: bool = False
    """Whether operators in a text are words like others: prompts are not written for a search."""
    every_perspective: bool = False
    """Whether records are searched from each perspective (c), or from the general one only."""
    aside: float = 0.08
    """Subtracted from any other perspective's rescaled cosine. The best of five is the best of five draws: without
    this, questions about a record's own text lose .05 of R@10; with it nothing, and questions about its context still
    find it (docs/benchmarks.md)."""
    depth: int = 100
    """Candidates by words, and as many by vector. 50 (d) costs up to .02 of R@30; the deeper list costs nothing."""
    alpha: float = 0.5
    """The share of the vectors in the fusion, the words have the rest (d); .4 to .6 are level."""
    lift: float = 0.4
    """How far a record is lifted toward its best neighbour in its session; .3 to .5 are level."""
    lift_length: int = 300
    """Characters up to which the lift is full, then it falls as 1 / length: a long text speaks for itself."""
    lifting: int = 30
    """How many of the best lift their neighbours, and bring in those that matched nothing themselves."""
    apart: float = 0.1
    together: float = 0.3
    """Rescaled cosines between which a neighbour comes to count as context. Turns of a conversation are mostly above
    (median .5); facts that were only noted one after the other are around .25 and lift each other less, or not."""
    answer: float = 0.5
    """How much more a question lifts the record right after it; 1 is level."""
    session: float = 0.1
    """How far a record is lifted toward the best other one of its session; .15 is level, .2 costs on long chats."""
    speaker: float = 0.1
    """Added to the fused score of a text that begins with a name that the question has too; .05 to .15 are level."""
    fusion: float = 0.65
    recency: float = 0.15
    importance: float = 0.1
    access: float = 0.1
    """The weights of the composite (d)."""
    recency_decay: float = 0.001
    access_decay: float = 0.002
    """Per hour."""
    access_full: int = 10
    """Recalls from which on more do not count."""
    gate: float = 0.05
    """Below this part of the best fusion a candidate is dropped (d); level up to .1."""
    head: int = 8
    """The cross-encoder reads the best so many, then ..."""
    further: int = 6
    """... so many more at a time, ...; 5 is level, 4 costs long chats .02 of R@10."""
    reach: float = 4.0
    """... while the total of one of the last so many is at most so far behind the best; 5 is level, and costs more."""
    short: int = 500
    """Characters up to which a text is read beyond the head: one of 1,000 costs as much as three of 400."""
    most: int = 30
    """How many of the best may be read at all; 20 costs .01 of R@10, 40 is level."""
    read: int = 1_000
    """Characters of each that it reads, about 256 tokens; half costs .07 of MRR on abstracts, .02 on long chats."""
    reading: int = 10_000
    """Characters that it reads in all: half a second at most. Fewer long texts are reranked than short ones."""
    prior: float = 3.0
    """Logits that the best composite is worth beside the cross-encoder's own; 2 to 6 are level."""
    gap: float = 5.0
    """Logits behind the best from which on a record is dropped (d)."""
    keep: int = 10
    """How many of the first are dropped only at twice the gap: the gap alone costs up to .07 of R@10, this .003."""
    hopeless: float = -11.0
    """At this logit the cross-encoder is as sure as it can be (its floor is -11.3) that a record does not bear on the
    query. It is dropped, unless its own vector says otherwise: paraphrases of few words fool the cross-encoder."""
    sure: float = -4.0
    """The best logit from which on something rather answers than not, so that what lies far behind fills a budget. Of
    the questions of a conversation 97 % reach it, of those of another one 10 %."""
    worded: float = 0.5
    """Below that only what is at least so good by words fills it: the cross-encoder does not read lists of words."""
    near: float = 0.1
    """Rescaled cosine of query and record from which on it does. Of unrelated ones few reach it (mean -.13)."""
    same: float = 0.95
    """Rescaled cosine from which on two texts are near-duplicates (d)."""


RECALL = Profile()
"""Seed d's retrieval pipeline."""

GRAPH = Profile(every_perspective=True, alpha=0.8)
"""Seed c's search of nodes: fused words and vectors, and no more stages. Facts are short, so one common word that
happens to be in both weighs too much at .5: on a team's graph 18 of 32 paraphrased questions had the right node
first, 22 at .8, 23 without words; but of 154 rare words 108 without them, 132 at .8, 143 at .5."""

JOURNAL = Profile(same=math.inf)
"""Seed e asks for vector and words; the rest is as for memories, but a turn that repeats another one is a turn too."""

PROMPT = Profile(literal=True, head=4, most=4, read=500, reading=2_000)
"""What goes with a prompt. An agent waits for it at every turn, so that the cross-encoder reads less."""

FAINT = 0.01
"""At most this is a match worth whose list has nothing in common with the query: less than the gate asks for."""


MATCHED = 0.2
"""The part of its share of terms that a match is worth at least: BM25 gives nothing for a word that half of a small
vault has. Among equal shares the order stays BM25's; a fifth also leaves a rare word ahead of two that most have."""


def bm25_norm(scores: Scores, covered: Scores) -> dict[str, float]:
    """Return BM25 in [0, 1]: a share of the best score among those with the most terms, times the share of terms.

    So 1 is the best match that has every term (a: an exact match), and a record that alone has one word of three is
    worth a third, however small the store makes its BM25.
    """
    most = max(covered.values(), default=0.0)
    best = max((scores[key] for key in scores if covered[key] >= most), default=0.0)
    parts = {key: min(1.0, score / best) if best > 0 else 1.0 for key, score in scores.items()}
    return {key: covered[key] * (MATCHED + (1 - MATCHED) * part) for key, part in parts.items()}


def relevances(words: Scores, cosines: Scores) -> dict[str, float]:
    """Return .4 words + .6 cosine where there is a cosine, else the words alone (a), without scores of 0."""
    blended = {key: 0.4 * words.get(key, 0.0) + 0.6 * max(0.0, cosine) for key, cosine in cosines.items()}
    return {key: value for key, value in (dict(words) | blended).items() if value > 0}


def spread(scores: Scores, least: float, *, cut: bool) -> dict[str, float]:
    """Return one list's scores by min-max in [0, 1] (relativeScoreFusion, Bruch et al. 2023).

    Zero is what an absent record would have: the last score if the list was `cut` off, else `least`, which means
    nothing in common. So the only matches of a small store all count.

    If not even the best is above `least`, all are faint, in their order. A query that is near to nothing must not
    make a match of the nearest: `gate` drops the faint ones beside the other list's. They are not zero, as `gate`
    would then drop them even if there are no others, such as after a filter by tags.
    """
    high = max(scores.values(), default=least)
    if high <= least:
        return {key: FAINT / (1 + least - score) for key, score in scores.items()}
    low = min(scores.values()) if cut else least
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) if score > low else 0.0 for key, score in scores.items()}


def fuse(words: Scores, vectors: Scores, alpha: float) -> dict[str, float]:
    """Return (1 - alpha) words + alpha vectors, each spread; a candidate of one list keeps only its part (d)."""
    keys = dict.fromkeys([*vectors, *words])
    return {key: (1 - alpha) * words.get(key, 0.0) + alpha * vectors.get(key, 0.0) for key in keys}


def favour(scores: Scores, keys: Container[str], bonus: float) -> dict[str, float]:
    """Return the scores, those of `keys` greater by a bonus."""
    return {key: score + bonus if key in keys else score for key, score in scores.items()}


def lift(scores: Scores, neighbours: Neighbours, lengths: Mapping[str, int], profile: Profile) -> dict[str, float]:
    """Return each score, raised by a part of its distance to the best neighbour; never lowered, never above that one.

    A short turn often lacks the question's words because they stand in the turn that it answers. Good neighbours are
    evidence for it; poor ones are none against it, which is why a mean would hand the ranking to long texts.
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
    """Return the neighbours, that right after a question more closely related: it is likely to be the answer."""
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
    """Return each score, raised by a part of its distance to the best other one of its session."""
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
    """Return the scores of at least `share` of the best, scaled so that the best is 1."""
    best = max(scores.values(), default=0.0)
    return {key: score / best for key, score in scores.items() if score > 0 and score >= share * best}


def recency(hours: float, profile: Profile) -> float:
    """Return 1.0 for now, falling exponentially with the hours since."""
    return math.exp(-profile.recency_decay * hours)


def access(count: int, hours: float, profile: Profile) -> float:
    """Return how often and how recently a record was recalled, as one figure in [0, 1]."""
    return math.exp(-profile.access_decay * hours) * min(count / profile.access_full, 1.0)


def composite(parts: Scores, profile: Profile) -> float:
    """Return the weighted sum of fusion, recency, importance and access, each in [0, 1] (d)."""
    return (
        profile.fusion * parts["fusion"]
        + profile.recency * parts["recency"]
        + profile.importance * parts["importance"]
        + profile.access * parts["access"]
    )


def blend(logit: float, composite: float, profile: Profile) -> float:
    """Return logit + weighted composite. A logit is a log-odds, so what the cross-encoder cannot see is added."""
    return logit + profile.prior * composite / profile.fusion


def promising(read: Sequence[str], logits: Scores, totals: Scores, profile: Profile) -> bool:
    """Return whether reading on may change what comes first: what was `read` last came close to the best.

    Where nothing answers so far, only one more group is worth reading.
    """
    close = max(totals[key] for key in read[-profile.further :]) >= max(totals.values()) - profile.reach
    return close and (len(logits) <= profile.head or max(logits.values()) >= profile.sure)


def sigmoid(logit: float) -> float:
    """Return a logit as a probability."""
    return 1 / (1 + math.exp(-logit))


def bearing(order: Sequence[str], logits: Scores, similarities: Scores, profile: Profile) -> list[str]:
    """Return `order` without hopeless records. `similarities` are the rescaled cosines of query and record."""
    return [
        key for key in order if logits[key] > profile.hopeless or similarities.get(key, 0.0) >= profile.near
    ]  # fmt: skip


def close(order: Sequence[str], logits: Scores, profile: Profile) -> list[str]:
    """Return `order` without what lies too far behind the best logit."""
    best = max((logits[key] for key in order), default=0.0)
    near = [key for key in order if logits[key] > best - 2 * profile.gap]
    return [key for rank, key in enumerate(near) if rank < profile.keep or logits[key] >= best - profile.gap]


def rescale(cosine: Number, unrelated: float) -> Number:
    """Return a cosine scaled so that the model's unrelated texts have 0 and equal ones 1: comparable across models."""
    return (cosine - unrelated) / (1 - unrelated)


def whole(chunks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector of a text from those of its chunks: (chunks, dim) to (dim,)."""
    if len(chunks) == 1:
        return np.asarray(chunks[0])
    mean = chunks.mean(0)
    return np.asarray(mean / np.float32(np.linalg.norm(mean)))
