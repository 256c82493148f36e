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
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from memoryd.core.search.compared import (
    CALENDAR,
    CHANGE,
    COUNTERPARTS,
    DAYS,
    TOKEN,
    ComparedText,
    choosing,
    compared,
    negates,
    stem_of,
)
from memoryd.text import STOP_WORDS

ENOUGH = 2.75
"""The sum of the evidence at which a text counts as a change. Of 70 changes written by somebody who had not seen these
rules it finds 48, of 60 pairs that both hold 8; at 3.25 these are 39 and 6."""

ANOTHER = 1.0
"""How much more it takes for a text that changes a better hit already: most texts change one fact."""

SUGGESTED = 2.5
"""The evidence of `may_replace` from which somebody is asked. Of 60 facts and their changes it finds 38, of 40 pairs
that both hold 5, and of the other pairs in a store of 349 memories 3; at 2.25 these are 41, 5 and 46."""

_READ = ((2.0, 1.25), (-2.5, 0.75), (-6.5, 0.25), (-math.inf, -1.0))
"""The cross-encoder's logits of the newer text, and their points."""
READ = 2 * _READ[0][1]
"""The points that reading a text can add at most: asked with the question, and with the older text."""
CERTAIN = ENOUGH + ANOTHER - _READ[-1][1]
"""The evidence that is enough whatever the cross-encoder says of the newer text, asked with the older one."""
_ANSWERS, _WEAK, _BETTER, _DOUBT, _UNRELATED = 5.0, 2.0, 3.5, -2.5, -5.0
"""Logits: the older text surely answers the question, hardly does, does far worse than the newer one; below the next
one the newer text is about the same matter only if it has a sign of a change, below the last one hardly ever."""

_ADDS = re.compile(
    r"\b(?:also|too(?=\s*(?:[.,;:!)]|$))|as well|another|additional(?:ly)?|besides|moreover|in addition|exceptions?"
    r"|overrid\w+)\b",
    re.IGNORECASE,
)
"""Words of a text that adds something to what holds already: `too` at the end of a clause, not `too much`."""

_PRONOUN = re.compile(r"\b(?:he|she|they|it|him|her|them|his|hers|their|its)\b", re.IGNORECASE)
_LEADING = STOP_WORDS | frozenset(
    """as update correction actually since from starting now today note new please according due at on in per no not one
    everybody everyone""".split()
)
"""Words with which a text may begin without saying what it is about."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a change, and against it, by name; each part is a number of points."""

    parts: Mapping[str, float]

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
    asked, old, new = compared(question), compared(older), compared(newer)
    signs = new.changes or new.hints or _same_kind(old, new)
    about = dict(_about(asked, old, new, common, frequent))
    placed = {} if between is None else dict(_placed(between, new, named=bool(about["same_subject"])))
    found = about | placed
    parts = dict((*_read(logits, signs=signs), *found.items(), *_unlinked(logits, found)))
    if sum(parts.values()) >= least:
        parts |= _against(asked, old, new)
    return Evidence({name: points for name, points in parts.items() if points})


def may_replace(older: str, newer: str, near: float, common: Collection[str] = ()) -> Evidence:
    """Return the evidence that `newer` replaces `older`, whatever is asked; `near` is their rescaled cosine.

    Only a suggestion for somebody who decides: without a question nothing says which of two differences matters.
    """
    old, new = compared(older), compared(newer)
    return Evidence({name: points for name, points in _differences(old, new, near, common) if points})


def _differences(
    old: ComparedText, new: ComparedText, near: float, common: Collection[str]
) -> Iterator[tuple[str, float]]:
    shared = (old.content & new.content).difference(common)
    before, named = _before(new), new.beside_change & old.content - frozenset(common)
    aligned = _aligned(old, new)
    alike, places = aligned.ratio(), sum(kind == "replace" for kind, *_ in aligned.get_opcodes())
    differs = _same_kind(old, new) or places == 1 or _denies(old) != _denies(new)
    yield "change_words", (1.0 if new.changes else 0.5 if new.hints else 0.0) if shared else 0.0
    yield "differs", 0.75 if differs and shared else 0.0
    yield "old_value", min(1.0, 0.5 * len(named)) if shared else 0.0
    yield "same_sentence", 1.0 if alike >= 0.6 and places <= 1 else 0.0
    yield "shares_words", 1.5 * len(shared) / max(min(len(old.content), len(new.content)), 1)
    yield "near", 0.5 if near >= 0.5 else 0.0
    yield "far", -1.0 if near < 0.25 else 0.0
    yield "other_before", -2.0 if before and not before & old.content else 0.0
    missing = old.content - new.content
    yield "counterpart", -3.0 if _opposite(missing, old, new) or _opposite(new.content - old.content, new, old) else 0.0
    yield "two_differences", -1.0 if alike >= 0.5 and places > 1 and not new.changes else 0.0


def _denies(one: ComparedText) -> bool:
    return any(map(negates, one.tokens))


def _aligned(one: ComparedText, other: ComparedText) -> SequenceMatcher[str]:
    """Return where two texts have the same words in the same order, and where others."""
    return SequenceMatcher(None, one.stems, other.stems, autojunk=False)


def _alike(one: ComparedText, other: ComparedText, ratio: float) -> bool:
    """Return whether two texts are alike by this ratio; bounds that cost less decide most."""
    aligned = _aligned(one, other)
    return aligned.real_quick_ratio() >= ratio and aligned.quick_ratio() >= ratio and aligned.ratio() >= ratio


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
    yield "same_subject", 2.0 if (asked.telling & old.telling & new.telling).difference(frequent, choosing()) else 0.0


def _placed(between: int, new: ComparedText, *, named: bool) -> Iterator[tuple[str, float]]:
    """Yield what their place among the other facts says: a change is near what it changes.

    Facts that do not change each other are as near, if they are about one person; therefore it says less of a text
    without a word of change, and nothing where both are `named`. Of 62 changes among 200 facts about the same people
    it finds 4 more, and among 349 others 3 more of 55.
    """
    points = 1.0 if new.changes or new.hints else 0.5
    yield "nearest_to_it", points if between <= _NEAREST and not named else 0.0
    yield "far_apart", -1.0 if between > _FAR else 0.0


def _unlinked(logits: Logits, found: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield what it says that nothing links two texts but words of change: not their words, their place or a reading.

    A text that itself answers the question is linked by that.
    """
    newer = logits.newer or 0.0
    linked = any(found.get(name) for name in ("same_subject", "old_value", "nearest_to_it"))
    is_placed = "far_apart" in found
    yield "no_link", -1.0 if is_placed and not linked and newer < _WEAK else 0.0
    yield "unrelated", -1.0 if not found["old_value"] and max(newer, logits.matter or 0.0) < _UNRELATED else 0.0


def _against(asked: ComparedText, old: ComparedText, new: ComparedText) -> Iterator[tuple[str, float]]:
    before = _before(new)
    yield "other_before", -4.5 if before and not before & (old.content | asked.content) else 0.0
    yield "counterpart", -4.5 if _contrast(asked, old, new) or _contrast(asked, new, old) else 0.0
    yield "other_part", -3.0 if _other_part(asked, old, new) else 0.0
    yield "opposite", -1.5 if _opposed(asked, old, new) or _opposed(asked, new, old) else 0.0
    if not new.changes:
        yield "adds", -3.0 if _ADDS.search(new.text) else 0.0
        yield "other_year", -4.5 if _other_year(asked, old, new) or _other_year(asked, new, old) else 0.0
        yield "condition", -3.0 if _conditional(asked, old, new) else 0.0
        yield "other_owner", -2.0 if _other_owner(asked, old, new) else 0.0
        yield "second_answer", -3.0 if not new.hints and _second_answer(old, new) else 0.0
        yield "other_thing", -3.0 if _other_thing(asked, old, new) else 0.0
        yield "event", -3.0 if _EVENT.search(new.text) and not _EVENT.search(old.text) else 0.0


def _other_thing(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text speaks of another thing of the same owner: `has a new mascot`, `Ann's call is`."""
    known = asked.content | old.content
    added = (match[1] for match in _NEW_THING.finditer(new.text))
    owned = _OWNED.match(new.text)
    things = [[word] for word in added]
    named = _names(asked) & old.content  # where there is none, his brother may have taken over what he did
    things += [
        [word] for owner, word in _RELATIVE.findall(new.text) if named and (not owner or stem_of(owner) in named)
    ]
    if owned and stem_of(owned[1]) in old.content:
        things.append(owned[2].split())
    return any(known.isdisjoint(map(stem_of, thing)) for thing in things)


def _other_owner(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text names others in place of whom the question and the older one name."""
    missing, owned = (_names(asked) & old.content) - new.content, _OWNED.match(new.text)
    if owned and _MINE.match(old.text) and stem_of(owned[1]) not in old.content | asked.content:
        return True
    return bool(missing and _names(new) - old.content - asked.content) and not _PRONOUN.search(new.text)


def _other_year(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether the question has a year that only `one` has, and `other` has another one."""
    years, others = ({stem for stem in part if _YEAR.fullmatch(stem)} for part in (one.content, other.content))
    return bool((asked.content & years) - others) and bool(others - years)


def _other_part(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text says that something was replaced of which nothing was stated or asked."""
    replaced = _REPLACED.search(new.text)
    things = {stem_of(token) for token in TOKEN.findall(replaced[1])} & new.content if replaced else set()
    return bool(things) and things.isdisjoint(old.content | asked.content)


def _second_answer(old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text is the same sentence with something else of which there may be several."""
    return not _same_kind(old, new) and not _ONE_VALUE.match(old.text) and _alike(old, new, 0.55)


def _before(new: ComparedText) -> frozenset[str]:
    """Return the stems of what the newer text says was before: `from 39 to 45`, `instead of 9`."""
    found = " ".join(filter(None, (value for match in _BEFORE.finditer(new.text) for value in match.groups())))
    return frozenset(stem_of(token) for token in TOKEN.findall(found) if token.lower() not in STOP_WORDS)


def _conditional(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text begins with a case that neither the older one nor the question speaks of."""
    match = _CONDITION.match(new.text)
    words = {stem_of(token) for token in TOKEN.findall(match[1]) if token.lower() not in STOP_WORDS} if match else set()
    return bool(words - asked.content - old.content)


def _named(asked: ComparedText, old: ComparedText, new: ComparedText, common: Collection[str]) -> float:
    """Return points if the newer text says what became of what only the older one stated.

    That stands beside a word of change or a negation: `sold the Skoda`, `can't do 9:15`. Names and numbers count in
    full, other words by a third.
    """
    names = {stem for token, stem in zip(new.tokens[1:], new.stems[1:], strict=True) if token[:1].isupper()}
    near = new.beside_change
    values = {
        stem: (stem in names or token[:1].isupper()) if place else stem in names
        for place, (token, stem) in enumerate(zip(old.tokens, old.stems, strict=True))
        if stem in near and stem in old.content and stem not in asked.content and stem not in common
    }
    full = sum(name or _is_number(stem) for stem, name in values.items() if not _YEAR.fullmatch(stem))
    return min(2.0, 2.0 * full + 0.65 * (len(values) - full))


def _is_number(stem: str) -> bool:
    """Return whether a word is a number that hardly occurs by chance."""
    return any(map(str.isdigit, stem)) and len(stem) > 1


def _same_kind(old: ComparedText, new: ComparedText) -> bool:
    """Return whether both texts have a value of one kind, and the newer another one."""
    return any(new.kinds[kind] - values for kind, values in old.kinds.items() if kind in new.kinds)


def _contrast(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether a word of the question that only `one` has, has a counterpart in `other`."""
    missing = _missing(asked, one, other)
    return bool(missing) and (
        _opposed(asked, one, other)
        or _other_number(asked, other, missing)
        or _other_attribute(asked, one, other, missing)
        or _other_name(asked, one, other, missing)
        or _other_identifier(asked, one, other)
        or _in_its_place(one, other, missing)
    )


def _missing(asked: ComparedText, one: ComparedText, other: ComparedText) -> frozenset[str]:
    return (asked.content & one.content) - other.content


def _opposed(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    return _opposite(_missing(asked, one, other), one, other, COUNTERPARTS + CALENDAR)


def _opposite(
    missing: Collection[str], one: ComparedText, other: ComparedText, sets: Sequence[frozenset[str]] = COUNTERPARTS
) -> bool:
    if not missing:
        return False
    here = {token.lower() for token, stem in zip(one.tokens, one.stems, strict=True) if stem in missing}
    there = {token.lower() for token in other.tokens} - {token.lower() for token in one.tokens}
    return any(here & words and there & words for words in sets)


def _other_number(asked: ComparedText, other: ComparedText, missing: Collection[str]) -> bool:
    """Return whether the question has `version 2` where `other` has `version 3`."""
    numbered = {(a, b) for a, b in pairwise(asked.stems) if b in missing and b[:1].isdigit()}
    return any(
        a == noun and b[:1].isdigit() and b != number for noun, number in numbered for a, b in pairwise(other.stems)
    )


def _other_attribute(asked: ComparedText, one: ComparedText, other: ComparedText, missing: Collection[str]) -> bool:
    """Return whether the question has `bathroom tap` where `other` has `kitchen tap`."""
    before = ("", *map(str.lower, asked.tokens))
    heads = {
        b
        for doer, (a, b) in zip(before, pairwise(asked.stems), strict=False)
        if a in missing and b in one.content and b in other.content and doer not in _DOERS  # `do I eat fish`
    }
    return any(
        b in heads and a in other.content and a not in one.content and a not in _NO_ATTRIBUTE and a not in asked.content
        for a, b in pairwise(other.stems)
    )


def _other_identifier(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether the question has `heron-02` or `orders.created`, which only `one` has, and `other` one alike."""
    others = {_shape(token) for token in other.tokens if token.lower() not in one.text.lower()}
    lacking = other.text.lower()
    return any(
        (shape := _shape(token)) and shape in others and token.lower() not in lacking
        for token in asked.tokens
        if token in one.tokens
    )


def _shape(token: str) -> str:
    """Return which letters, digits and signs an identifier has, in groups; '' for any other word."""
    shape = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", token))
    return shape if "a" in shape and len(shape) > 2 and not _POSSESSIVE.search(token) else ""


def _names(one: ComparedText) -> frozenset[str]:
    """Return the stems of the names of people and places in a text: its first word hardly ever is one."""
    rest = zip(one.tokens[1:], one.stems[1:], strict=True)
    return frozenset(
        stem
        for token, stem in rest
        if token[:1].isupper() and token[1:].islower() and stem in one.content and token.lower() not in DAYS
    )


def _other_name(asked: ComparedText, one: ComparedText, other: ComparedText, missing: Collection[str]) -> bool:
    """Return whether `other` begins with another name than the one that is asked for; `he` or `its` may mean that."""
    if _PRONOUN.search(other.text):
        return False
    begun = zip(asked.tokens, asked.stems, strict=True)
    there = {stem for token, stem in begun if token[:1].isupper()}.intersection(other.stems)
    names = {
        stem
        for place, (token, stem) in enumerate(zip(asked.tokens, asked.stems, strict=True))
        if place
        and stem in missing
        and token[:1].isupper()
        and token[1:].islower()
        and there.isdisjoint(asked.stems[max(place - 1, 1) : place + 2])  # a part of a name may be left out
    }
    return bool(names) and _first(other) is not None and _first(other) not in one.content and _begins_with_name(other)


def _in_its_place(one: ComparedText, other: ComparedText, missing: Collection[str]) -> bool:
    """Return whether two texts are the same sentence, but for other words in the place of one that is asked for."""
    if not missing or not _alike(one, other, 0.5):
        return False
    for kind, start, end, start2, end2 in _aligned(one, other).get_opcodes():
        instead = " ".join(other.tokens[start2:end2])
        asked_for = kind == "replace" and set(one.stems[start:end]) & set(missing)
        if asked_for and set(other.stems[start2:end2]) & other.content and not CHANGE.search(instead):
            return True
    return False


def _first(one: ComparedText) -> str | None:
    """Return the stem of the first word that says what a text is about."""
    return next((s for t, s in zip(one.tokens, one.stems, strict=True) if t.lower() not in _LEADING), None)


def _begins_with_name(one: ComparedText) -> bool:
    token = next((t for t in one.tokens if t.lower() not in _LEADING), "")
    return (
        token[:1].isupper() and not CHANGE.fullmatch(token) and not token.endswith(("ed", "ing"))
    )  # `Shifted the dump`


_BEFORE = re.compile(
    r"\bfrom ([^,.;]{1,40}?) (?:to|into|over)\b|\binstead of ([^,.;]{1,40})|\brather than ([^,.;]{1,40})", re.IGNORECASE
)
_ONE_VALUE = re.compile(
    r"(?:the|our|my|your|his|her|their|its|[\w-]+['’]s|to)\b[^.;]{0,60}?(?:\bis\b|\bare\b|\bhave\b|=|:)", re.IGNORECASE
)
"""A text of the form `the code word is`, of which there is one; there may be several of `Lene is allergic to`."""
_CONDITION = re.compile(
    r"(?:In|For|During|At|On|With|If|When|While|Up to|Under|Unless|Except|Outside|Only|(?=\w+-only\b)"
    r"|(?=(?:From )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
    r" (?:to|till|until|through)\b))\b([^,.]{1,30})"
)
_NEAREST, _FAR = 2, 20  # facts between the two
_NEW_THING = re.compile(r"\b(?:an?|another) (?:new|second|further|extra) ([a-z-]+)\b")
_REPLACED = re.compile(
    r"(?<!\bthe )(?<!\ba )(?<!\ban )\b(?:replaced|renewed|repaired|mended) (?!by\b)((?:[\w'’-]+ ){0,3}?[\w'’-]+)"
    r"(?= (?:of|in|on|at|with|by|for|from|to|after|because|and)\b|[,.;:]|$)",
    re.IGNORECASE,
)
_OWNED = re.compile(
    r"(?:(?:The|Our|My) )?(?:[\w.-]+ )?([\w.-]+['’]s?) ((?:[\w-]+ ){0,2}?[\w-]+) (?:[A-Z]\w+ )?"
    r"(?:is|are|has|have)\b[^,;]*$"
)
_RELATIVE = re.compile(
    r"\b(?:(\w+)['’]s|his|her|their) (?:[\w-]+ ){0,2}?"
    r"(sister|brother|mother|father|son|daughter|wife|husband|partner|cousin|friend)\b"
)
"""Somebody who is called after somebody else."""
_MINE = re.compile(r"(?:My|Our)\b")
_POSSESSIVE = re.compile(r"['’]")
_EVENT = re.compile(
    r"(?<!since )(?<!as of )(?<!from )\b(?:last (?:\w+day|night|week|weekend|month|summer|autumn|winter|spring)"
    r"|yesterday|on \w+day (?:night|morning|afternoon|evening))\b",
    re.IGNORECASE,
)
"""Words of something that took place once, which changes no rule."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_DOERS = frozenset("i we you they he she to".split())
_NO_ATTRIBUTE = frozenset("new old other same our former next last all more".split())
