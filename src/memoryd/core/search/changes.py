"""Evidence that a newer text changes what an older one states, as far as a question is concerned.

How near two texts are does not tell a change from two facts that both hold: the front and the back door are nearer to
each other than a stand-up at 09:45 and its move to 10:15. The words tell, and none of them alone:

- both are about the same matter: a rare word of the question is in both, and the cross-encoder, asked with the older
  text, rates the newer one as an answer (unrelated facts of a store hardly ever get more than -5);
- the older text answers the question, and the newer one does not answer it far better, as then nothing was changed;
- the newer text has words of change (`moved`, `no longer`, `took over`), or names what the older one stated beside them
  (`switched from Vim`);
- against it, it says that it adds something (`also`, `another`), or begins with a case (`In exam weeks ...`);
- against it, the question has a word that only one of the two has, and the other has a counterpart there: `back door`
  and `front door`, `version 2` and `version 3`, Anna and Anja. Then both hold.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from memoryd.core.search.asked_values import has_asked_value, lacks_asked_value, takes_office
from memoryd.core.search.compared import SENTENCE, YEAR, ComparedText, alignment, choosing, compared, negates, same_kind
from memoryd.core.search.contrasts import PRONOUN, against, first_stem, opposite, stated_before

ENOUGH = 2.75
"""The sum of the evidence at which a text counts as a change. Of 122 pairs of a fact and its change it finds 98, of 79
that both hold 6."""

POSSIBLE = 0.75
"""The sum from which a newer text may be a change, so that it is shown beside the older one."""

ANOTHER = 1.0
"""How much more it takes for a text that changes a better hit already: most texts change one fact."""

SUGGESTED = 2.5
"""The evidence of `may_replace` from which somebody is asked. Of 137 facts and their changes, among the memories of
eight people, it finds 64 by words alone, and 83 if the cross-encoder has read; of 1,202 memories that are stored one
after another, 63 and 60 name something that they do not replace."""
LIKELY = 1.5
"""The evidence by words alone from which reading may decide. From 1 on it would find 3 more, at twice the cost."""

_READ = ((2.0, 1.25), (-2.5, 0.75), (-6.5, 0.25), (-math.inf, -1.0))
"""The cross-encoder's logits of the newer text, and their points."""
READ = 2 * _READ[0][1]
"""The points that reading a text can add at most: asked with the question, and with the older text."""
_OFF = -3.0
"""The points of a newer text that hardly answers, is not about what the older one states, and has nothing of it. Of 35
texts about another attribute of the same subject 5 are still taken for changes (14 without), of 95 changes 79 (81)."""
CERTAIN = ENOUGH + ANOTHER - _READ[-1][1]
"""The evidence that is enough whatever the cross-encoder says of the newer text, asked with the older one, unless the
newer text may turn out to be off the point."""
_ANSWERS, _WEAK, _BETTER, _DOUBT, _UNRELATED, _WORSE = 5.0, 2.0, 3.5, -2.5, -5.0, 4.0
"""Logits: the older text surely answers the question, hardly does, does far worse than the newer one; below the next
one the newer text is about the same matter only if it has a sign of a change, below the fifth one hardly ever. The
last one is a distance: a newer text that is worse by more hardly answers at all."""
_MORE = 0.75
"""Logits: a newer text that answers the question by less than this better than its mere subject does only names it. Of
96 facts with a newer text about another attribute of the same subject 14 are taken for outdated, without this 63; of
285 changes 225 are found, without this 231."""
SURELY = 4.0
"""The logit from which a newer text answers, and does not only name its subject."""
_NEAREST = 2  # facts between the two
_NAMED = 2.0  # points of a name or a number


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a change, and against it, by name; each part is a number of points."""

    parts: Mapping[str, float]
    doubt: float = 0.0
    """How many points less it may be once the cross-encoder has read the newer text with the older one, besides what
    that says of every pair."""

    @classmethod
    def of(cls, parts: Iterable[tuple[str, float]]) -> "Evidence":
        """Return the evidence of these parts, without those that have no points."""
        return cls({name: points for name, points in parts if points})

    @property
    def total(self) -> float:
        """The sum of the points."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Logits:
    """What the cross-encoder says of two texts; None if it has not read them so."""

    older: float | None = None
    """Asked with the question, of the older text."""
    newer: float | None = None
    """Asked with the question, of the newer text."""
    matter: float | None = None
    """Asked with the older text, of the newer one."""
    named: float | None = None
    """Asked with the question, of `subject` alone."""


def evidence(
    question: str,
    older: str,
    newer: str,
    logits: Logits,
    common: Collection[str] = (),
    frequent: Collection[str] = (),
    between: int | None = None,
    least: float = -math.inf,
) -> Evidence:
    """Return the evidence that `newer` changes what `older` says about a question.

    `common` are stems that many texts have, so that to share them means nothing; those that are `frequent` do not name
    what both are about. `between` is the number of facts that are nearer to one of the two than the other one is, if
    there are enough facts for it to tell anything. Below `least` what only lowers the sum is left out.
    """
    asked, old = compared(question), compared(older)
    new = _of_the_matter(compared(newer), old, (old.content | asked.content).difference(common))
    signs = new.changes or new.hints or same_kind(old, new)
    about = dict(_about(asked, old, new, common, frequent))
    found = about | {"near_it": _place(between, named=about["old_value"] >= _NAMED)}
    if logits.older is not None and logits.older >= _ANSWERS and has_asked_value(asked, old, new, common):
        found |= {"asked_value": 1.0}
    parts = dict((*_read(logits, signs=signs), *found.items(), *_unlinked(logits, found, between)))
    better = logits.older is not None and logits.newer is not None and logits.newer > logits.older
    if better and new.changes and about["old_value"]:  # it says what became of that, however poorly that answered
        parts |= {"older_answers": max(parts.get("older_answers", 0.0), 0.0), "better_answer": 0.0}
    parts["only_named"] = -4.5 if _only_named(old, new, logits) else 0.0
    off = not found["old_value"] and _far_worse(logits) and not same_kind(old, new)
    if sum(parts.values()) >= least:
        parts["off_the_point"] = _OFF if off and logits.matter is not None and logits.matter < _WEAK else 0.0
        denied = found["old_value"] >= _NAMED  # `Achterberg has retired` has no other name
        parts["lacks_value"] = -4.0 if not denied and lacks_asked_value(asked, old, new) else 0.0
        parts |= against(asked, old, new)
    return replace(Evidence.of(parts.items()), doubt=-_OFF if off and logits.matter is None else 0.0)


def subject(question: str, older: str, newer: str, common: Collection[str] = ()) -> str:
    """Return the words of the newer text that name what all three are about, and '' if it may say more about that.

    `Dad's front door` of `Dad's front door has been repainted`, if the question is about its code. It may say more if
    it also has something of what the older one alone states, other than `common` words, or all words of the question.
    """
    asked, old, new = map(compared, (question, older, newer))
    shared, about = old.content & new.content, asked.content & old.content
    if asked.content <= new.content or shared - asked.content.union(common):
        return ""
    return " ".join(token for token, stem in zip(new.tokens, new.stems, strict=True) if stem in shared & about)


def _of_the_matter(new: ComparedText, old: ComparedText, matter: Collection[str]) -> ComparedText:
    """Return a text without the signs of a change of those of its sentences that speak of another matter."""
    sentences = SENTENCE.split(new.text) if new.changes or new.hints else []
    if len(sentences) < 2:
        return new
    about = [
        part
        for part in map(compared, sentences)
        if not part.content.isdisjoint(matter) or same_kind(old, part) or PRONOUN.search(part.text)
    ]
    return replace(new, changes=any(part.changes for part in about), hints=any(part.hints for part in about))


def may_replace(
    older: str, newer: str, near: float, common: Collection[str] = (), matter: float | None = None
) -> Evidence:
    """Return the evidence that `newer` replaces `older`, whatever is asked; `near` is their rescaled cosine.

    `matter` is what the cross-encoder says of the newer text, asked with the older one, if it has read them. Only a
    suggestion for somebody who decides: without a question nothing says which of two differences matters.
    """
    parts = dict(_differences(compared(older), compared(newer), near, common))
    most = 0.0 if min(parts.values()) < 0 else 1.75  # one matter is no evidence where something tells two things apart
    read = 0.0 if matter is None else min(max(0.25 * (matter + 1), -1.25), most)
    return Evidence.of([*parts.items(), ("same_matter", read)])


def asked_otherwise(
    question: str, older: str, newer: str, near: float, common: Collection[str] = (), matter: float | None = None
) -> Evidence:
    """Return the evidence of `may_replace`, and against it, for a question in another language than both texts.

    Of such a question only names and numbers tell anything, since these are written alike.
    """
    found = may_replace(older, newer, near, common, matter).parts
    return Evidence.of([*found.items(), *against(compared(question), compared(older), compared(newer))])


def _differences(
    old: ComparedText, new: ComparedText, near: float, common: Collection[str]
) -> Iterator[tuple[str, float]]:
    shared = (old.content & new.content).difference(common)
    before, named = stated_before(new), new.beside_change & old.content - frozenset(common)
    aligned = alignment(old, new)
    alike, places = aligned.ratio(), sum(kind == "replace" for kind, *_ in aligned.get_opcodes())
    differs = same_kind(old, new) or places == 1 or _denies(old) != _denies(new)
    yield "change_words", (1.0 if new.changes else 0.5 if new.hints else 0.0) if shared else 0.0
    yield "differs", 0.75 if differs and shared else 0.0
    yield "old_value", min(1.0, 0.5 * len(named)) if shared else 0.0
    yield "same_topic", 0.5 if shared and first_stem(new) in old.content else 0.0
    yield "same_sentence", 1.0 if alike >= 0.6 and places <= 1 else 0.0
    yield "shares_words", 1.5 * len(shared) / max(min(len(old.content), len(new.content)), 1)
    yield "near", 0.5 if near >= 0.5 else 0.0
    yield "far", -1.0 if near < 0.25 else 0.0
    yield "other_before", -2.0 if before and not before & old.content else 0.0
    missing = old.content - new.content
    yield "counterpart", -3.0 if opposite(missing, old, new) or opposite(new.content - old.content, new, old) else 0.0
    yield "two_differences", -1.0 if alike >= 0.5 and places > 1 and not new.changes else 0.0


def _denies(one: ComparedText) -> bool:
    return any(map(negates, one.tokens))


def _read(logits: Logits, *, signs: bool) -> Iterator[tuple[str, float]]:
    """Yield what the cross-encoder says; `signs` says whether the newer text has any sign of a change."""
    yield "answers", _points(logits.newer)
    yield "same_matter", _points(logits.matter)
    if not signs and max(logits.newer or 0.0, logits.matter or 0.0) < _DOUBT:
        yield "no_sign", -1.0
    if logits.older is not None:
        yield "older_answers", 0.5 if logits.older >= _ANSWERS else -1.5 if logits.older < _WEAK else 0.0
        far_better = logits.newer is not None and logits.newer - logits.older > _BETTER
        yield "better_answer", -2.0 if far_better else 0.0


def _points(logit: float | None) -> float:
    return 0.0 if logit is None else next(points for least, points in _READ if logit >= least)


def _about(
    asked: ComparedText, old: ComparedText, new: ComparedText, common: Collection[str], frequent: Collection[str]
) -> Iterator[tuple[str, float]]:
    yield "change_words", 1.2 if new.changes else 0.6 if new.hints else 0.0
    yield "old_value", _named(asked, old, new, common)
    shared = len((old.content & new.content).difference(common))
    yield "shares_words", 0.75 * shared / max(min(len(old.content), len(new.content)), 1)
    subject = (asked.telling & old.telling & new.telling).difference(frequent, choosing())
    yield "same_subject", 2.0 if subject or takes_office(asked, old, new) else 0.0


def _place(between: int | None, *, named: bool) -> float:
    """Return points for the place of two facts: the fewer others are between them, the likelier one changes the other.

    Facts that do not change each other may be as near, if they are about one person. A text that has `named` what the
    older one stated need not be near it.
    """
    return 0.0 if between is None else 0.6 - 0.7 * math.log1p(min(between, _NEAREST) if named else between)


def _unlinked(logits: Logits, found: Mapping[str, float], between: int | None) -> Iterator[tuple[str, float]]:
    """Yield what it says that nothing links two texts but words of change: not their words, their place or a reading.

    A text that itself answers the question is linked by that.
    """
    newer = logits.newer or 0.0
    linked = bool(found["same_subject"] or found["old_value"])
    yield "no_link", -1.0 if (between or 0) > _NEAREST and not linked and newer < _WEAK else 0.0
    beside_it = logits.older is None and newer < _UNRELATED and (logits.matter or 0.0) < 0
    unrelated = not found["old_value"] and max(newer, logits.matter or 0.0) < _UNRELATED
    yield "unrelated", -1.5 if beside_it else -1.0 if unrelated else 0.0


def _only_named(old: ComparedText, new: ComparedText, logits: Logits) -> bool:
    """Return whether the newer text answers the question hardly better than its mere subject does.

    Another value of the same kind, in a text that answers the older one, is more than the subject.
    """
    if logits.newer is None or logits.named is None or logits.newer - logits.named >= _MORE:
        return False
    return (logits.matter or 0.0) < _WEAK or not same_kind(old, new)


def _far_worse(logits: Logits) -> bool:
    """Return whether the newer text hardly answers the question, and the older one far better."""
    if logits.older is None or logits.newer is None:
        return False
    return logits.newer < min(_WEAK, logits.older - _WORSE)


def _named(asked: ComparedText, old: ComparedText, new: ComparedText, common: Collection[str]) -> float:
    """Return points if the newer text says what became of what only the older one stated.

    That stands beside a word of change or a negation: `sold the Skoda`, `can't do 9:15`. Names and numbers count in
    full, other words by a third.
    """
    near = (new.beside_change & old.content) - _of_the_name(asked, old, new)
    if not near:
        return 0.0
    names = {stem for token, stem in zip(new.tokens[1:], new.stems[1:], strict=True) if token[:1].isupper()}
    values = {
        stem: token[:1].isupper() if place else stem in names
        for place, (token, stem) in enumerate(zip(old.tokens, old.stems, strict=True))
        if stem in near and stem not in asked.content and stem not in common
    }
    full = sum(name or _is_number(stem) for stem, name in values.items() if not YEAR.fullmatch(stem))
    return min(2.0, 2.0 * full + 0.65 * (len(values) - full))


def _of_the_name(asked: ComparedText, old: ComparedText, new: ComparedText) -> set[str]:
    """Return the words beside one of the question in both texts, which belong to its name: `Nordlys Hosting`."""
    both = set(pairwise(old.stems)).intersection(pairwise(new.stems))
    return {one for pair in both if not asked.content.isdisjoint(pair) for one in pair}


def _is_number(stem: str) -> bool:
    """Return whether a word is a number that hardly occurs by chance."""
    return any(map(str.isdigit, stem)) and len(stem) > 1
