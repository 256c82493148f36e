"""What tells that a newer text speaks of something else than an older one, so that both hold."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from memoryd.core.search.compared import (
    CALENDAR,
    CHANGE,
    COUNTERPARTS,
    DAYS,
    TOKEN,
    YEAR,
    ComparedText,
    alignment,
    alike,
    compared,
    same_kind,
    stem_of,
    stems,
)
from memoryd.text import STOP_WORDS

_ADDS = re.compile(
    r"\b(?:also|too(?=\s*(?:[.,;:!)]|$))|as well|another|additional(?:ly)?|besides|moreover|in addition|exceptions?"
    r"|overrid\w+)\b",
    re.IGNORECASE,
)
"""Words of a text that adds something to what holds already: `too` at the end of a clause, not `too much`."""
PRONOUN = re.compile(r"\b(?:he|she|they|it|him|her|them|his|hers|their|its)\b", re.IGNORECASE)
_LEADING = STOP_WORDS | frozenset(
    """as update correction actually since from starting now today note new please according due at on in per no not one
    everybody everyone""".split()
)
"""Words with which a text may begin without saying what it is about."""
_BEFORE = re.compile(
    r"\bfrom ([^,.;]{1,40}?) (?:to|into|over)\b|\binstead of ([^,.;]{1,40})|\brather than ([^,.;]{1,40})", re.IGNORECASE
)
_SPAN = re.compile(
    r"\b(?:between|from) (\w[\w.:]*(?: [ap]\.?m\b)?) (?:and|to|until|till|through) (\w[\w.:]*(?: [ap]\.?m\b)?)",
    re.IGNORECASE,
)
"""What holds between two times or other values: of two such spans each has a fact of its own."""
_OF_DAY = re.compile(rf"\d{{1,2}}[:.]\d\d|noon|midnight|(?:{'|'.join(DAYS)})", re.IGNORECASE)
_ONE_VALUE = re.compile(
    r"(?:the|our|my|your|his|her|their|its|[\w-]+['’]s|to)\b[^.;]{0,60}?(?:\bis\b|\bare\b|\bhave\b|\bruns on\b|=|:)",
    re.IGNORECASE,
)
"""A text of the form `the code word is`, of which there is one; there may be several of `Lene is allergic to`."""
_CONDITION = re.compile(
    r"(?!\w+-(?!only\b))(?:In|For|During|At|On|With|If|When|While|Up to|Under|Unless|Except|Outside|Only|(?=\w+-only\b)"
    r"|(?=(?:From )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
    r" (?:to|till|until|through)\b)|(?=(?:From|Between) \d\d?(?:[:.]\d\d)?(?: ?[ap]m)? (?:to|and|till|until|through)\b)"
    r")\b([^,.]{1,30})"
)
_STEPS = frozenset("step part phas stag chapter volum episod section round day week".split())
_CARDINALS = frozenset("one two thre four fiv six".split())
_ORDINALS = frozenset("first second third fourth fifth sixth last".split())
_OF_SOME = frozenset("of for with".split())
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
_PLACED = re.compile(
    r"\b([\w-]+) (?:by|next to|beside|behind|near|opposite|in|at|on|under|above|below|outside|inside) "
    r"(?:the|our|my|his|her|their) ((?:\w+ )?\w+) (?:is|are|was|were|has|have|had|needs?|takes?|can|must|may|will)\b"
)
"""A thing of which there may be several, and where that one is that something is stated of."""
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
_DOERS = frozenset("i we you they he she to".split())
_TIMED = frozenset(("date", "weekday", "time"))
_LABEL = re.compile(r"([^.:;!?\n]{3,60}): ")
_ARTICLES = frozenset("the a an our my for".split())
_NO_ATTRIBUTE = frozenset("new old other same our former next last all more".split())


def against(asked: ComparedText, old: ComparedText, new: ComparedText) -> Iterator[tuple[str, float]]:
    """Yield the points against a change, by name; a text with words of change may speak of more than one thing."""
    before = stated_before(new)
    yield "other_before", -6.0 if before and not before & (old.content | asked.content) else 0.0
    apart = -3.0 if before & old.content else -6.5  # `from 30 to 90` says what it changes
    yield "counterpart", apart if _contrast(asked, old, new) or _contrast(asked, new, old) else 0.0
    yield "other_step", -6.0 if _other_step(old, new) else 0.0
    yield "narrower", -4.5 if _narrower(asked, old, new) else 0.0
    yield "other_part", -4.0 if _other_part(asked, old, new) else 0.0
    yield "opposite", -1.5 if _opposed(asked, old, new) or _opposed(asked, new, old) else 0.0
    if not new.changes:
        yield "adds", -4.5 if _ADDS.search(new.text) else 0.0
        yield "other_year", -6.0 if _other_year(asked, old, new) or _other_year(asked, new, old) else 0.0
        yield "condition", -4.5 if _conditional(asked, old, new) else 0.0
        yield "other_owner", -3.0 if _other_owner(asked, old, new) else 0.0
        yield "second_answer", -4.0 if not new.hints and _second_answer(old, new) else 0.0
        yield "other_thing", -4.5 if _other_thing(asked, old, new) else 0.0
        yield "other_kind", -4.5 if _other_kind(asked, old, new) or _other_place(asked, old, new) else 0.0
        yield "event", -4.0 if _EVENT.search(new.text) and not _EVENT.search(old.text) else 0.0


def _other_thing(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text speaks of another thing of the same owner: `has a new mascot`, `Ann's call is`."""
    known = asked.content | old.content
    added = (match[1] for match in _NEW_THING.finditer(new.text))
    owned = _OWNED.match(new.text)
    things = [[word] for word in added]
    named = names(asked) & old.content  # where there is none, his brother may have taken over what he did
    things += [
        [word] for owner, word in _RELATIVE.findall(new.text) if named and (not owner or stem_of(owner) in named)
    ]
    if owned and stem_of(owned[1]) in old.content:
        things.append(owned[2].split())
    return any(known.isdisjoint(map(stem_of, thing)) for thing in things)


def _other_kind(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the texts begin with two kinds of what is asked about: `Sandbox keys are`, `Live keys get`."""
    begun = [one.stems[one.tokens[0].lower() in _ARTICLES :][:2] if one.tokens else () for one in (old, new)]
    if min(map(len, begun)) < 2:
        return False
    (kind, thing), (other, same) = begun
    new_kind = other not in old.content | asked.content | _NO_ATTRIBUTE and other in new.content
    return thing == same and thing in asked.content and new_kind and kind in old.content - new.content - asked.content


def _other_place(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text speaks of such a thing elsewhere: `butt by the shed is`, `butt in the yard has`."""
    here, there = ({stem_of(thing): stems(place) for thing, place in _PLACED.findall(one.text)} for one in (old, new))
    shared = asked.content & here.keys() & there.keys()
    return any(here[thing].isdisjoint(there[thing]) and there[thing] - asked.content for thing in shared)


def _other_owner(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text names others in place of whom the question and the older one name."""
    missing, owned = (names(asked) & old.content) - new.content, _OWNED.match(new.text)
    if owned and _MINE.match(old.text) and stem_of(owned[1]) not in old.content | asked.content:
        return True
    return bool(missing and names(new) - old.content - asked.content) and not PRONOUN.search(new.text)


def _other_year(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether the question has a year that only `one` has, and `other` has another one."""
    years, others = ({stem for stem in part if YEAR.fullmatch(stem)} for part in (one.content, other.content))
    return bool((asked.content & years) - others) and bool(others - years)


def _other_step(old: ComparedText, new: ComparedText) -> bool:
    """Return whether the texts are different steps of one thing: `step 1` and `step 2`."""
    steps, others = (dict(_numbered(one)) for one in (old, new))
    return any(noun in others and others[noun] != number for noun, number in steps.items())


def _numbered(one: ComparedText) -> Iterator[tuple[str, str]]:
    for a, b in _side_by_side(one.text):
        if a in _STEPS and (b.isdigit() or b in _CARDINALS):
            yield a, b
        if b in _STEPS and a in _ORDINALS:
            yield b, a


def _narrower(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text is the older one, but of some of it only: `the accounts of partners are`."""
    blocks = alignment(old, new).get_opcodes()
    narrowing = _OF_SOME - {"with"} if new.changes else _OF_SOME  # `replaced Express with Fastify`
    for before, (kind, first, last, start, end), after in zip(blocks, blocks[1:], blocks[2:], strict=False):
        added = set(new.stems[start:end]) & new.content
        instead = all(
            words[0].lower() in narrowing for words in (old.tokens[first:last], new.tokens[start:end]) if words
        )
        within = before[0] == after[0] == "equal" and kind in ("insert", "replace") and instead
        if (
            within
            and added
            and added.isdisjoint(asked.content | old.content)
            and not CHANGE.search(" ".join(new.tokens[start:end]))
        ):
            return True
    return False


def _other_part(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text says that something was replaced of which nothing was stated or asked."""
    replaced = _REPLACED.search(new.text)
    things = {stem_of(token) for token in TOKEN.findall(replaced[1])} & new.content if replaced else set()
    return bool(things) and things.isdisjoint(old.content | asked.content)


def _second_answer(old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text is the same sentence with something else of which there may be several.

    The number of another name is no other value: `uses Django 5`, `uses Postgres 16`.
    """
    versions, others = _versions(old), _versions(new)
    elsewhere = bool(versions and others) and versions.isdisjoint(others)
    several = not _ONE_VALUE.match(old.text) and (elsewhere or not same_kind(old, new))
    return several and alike(old, new, 0.5 if elsewhere else 0.55)


def _versions(one: ComparedText) -> set[str]:
    """Return the stems of the names with a number after them; `May 5` is a date."""
    after_first = list(zip(one.tokens, one.stems, strict=True))[1:]
    return {
        stem
        for (name, stem), (number, _) in pairwise(after_first)
        if name[:1].isupper() and number[:1].isdigit() and name.lower() not in DAYS
    }


def stated_before(new: ComparedText) -> frozenset[str]:
    """Return the stems of what the newer text says was before: `from 39 to 45`, `instead of 9`.

    Without a word of change `from Monday to Wednesday` is a span of time.
    """
    before = (value for match in _BEFORE.finditer(new.text) for value in match.groups() if value)
    return stems(" ".join(value for value in before if new.changes or not _OF_DAY.fullmatch(value)))


def _conditional(asked: ComparedText, old: ComparedText, new: ComparedText) -> bool:
    """Return whether the newer text begins with a case that neither the older one nor the question speaks of."""
    match = _CONDITION.match(new.text)
    return bool(match and stems(match[1]) - asked.content - old.content)


def _contrast(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether a word of the question that only `one` has, has a counterpart in `other`."""
    if _other_label(asked, one, other):
        return True
    missing = _missing(asked, one, other)
    return bool(missing) and (
        _opposed(asked, one, other)
        or _other_number(asked, other, missing)
        or _other_span(asked, one, other)
        or _other_attribute(asked, one, other, missing)
        or _other_name(asked, one, other, missing)
        or _other_identifier(asked, one, other)
        or _in_its_place(asked, one, other, missing)
    )


def _other_label(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether the question has `teachers`, and one text begins with `For teachers: `, one with `For pupils: `.

    Both labels begin or end with the same word, or what follows is alike, and the other one has no time, as
    `Rent since June: ` has.
    """
    labels = [
        (compared(match[1]), match.end()) for match in (_LABEL.match(one.text), _LABEL.match(other.text)) if match
    ]
    if len(labels) < 2 or not all(label.stems for label, _ in labels):
        return False
    (mine, start), (its, start2) = labels
    dated = not DAYS.isdisjoint(map(str.lower, its.tokens)) or not _TIMED.isdisjoint(its.kinds)
    if its.changes or its.hints or dated:
        return False
    same = alike(compared(one.text[start:]), compared(other.text[start2:]), 0.5)
    own, others = mine.content - its.content, its.content - mine.content
    if same and own and others and own <= names(mine) and others <= names(its):
        return True  # `Gone Camden: ` and `Gone Hackney: `
    like = same or mine.stems[0] == its.stems[0] or mine.stems[-1] == its.stems[-1]
    return bool(like and asked.content & own and others - asked.content)


def _missing(asked: ComparedText, one: ComparedText, other: ComparedText) -> frozenset[str]:
    return (asked.content & one.content) - other.content


def _opposed(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    return opposite(_missing(asked, one, other), one, other, COUNTERPARTS + CALENDAR)


def opposite(
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


def _other_span(asked: ComparedText, one: ComparedText, other: ComparedText) -> bool:
    """Return whether the question has `between 20:00 and midnight` where `other` has `between midnight and 6:00`."""
    here, there = _spans(one.text) & _spans(asked.text), _spans(other.text)
    return bool(here and there) and here.isdisjoint(there)


def _spans(text: str) -> set[tuple[str, ...]]:
    return {match.groups() for match in _SPAN.finditer(text.lower())}


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
        for a, b in _side_by_side(other.text)
    )


def _side_by_side(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stems of words with nothing but blanks between them."""
    for one, other in pairwise(TOKEN.finditer(text)):
        if text[one.end() : other.start()].isspace():
            yield stem_of(one[0]), stem_of(other[0])


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


def names(one: ComparedText) -> frozenset[str]:
    """Return the stems of the names of people and places in a text: its first word hardly ever is one."""
    rest = zip(one.tokens[1:], one.stems[1:], strict=True)
    return frozenset(
        stem
        for token, stem in rest
        if token[:1].isupper() and token[1:].islower() and stem in one.content and token.lower() not in DAYS
    )


def _other_name(asked: ComparedText, one: ComparedText, other: ComparedText, missing: Collection[str]) -> bool:
    """Return whether `other` begins with another name than the one that is asked for; `he` or `its` may mean that."""
    if PRONOUN.search(other.text):
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
    first = first_stem(other)
    return bool(names) and first is not None and first not in one.content | asked.content and begins_with_name(other)


def _in_its_place(asked: ComparedText, one: ComparedText, other: ComparedText, missing: frozenset[str]) -> bool:
    """Return whether two texts are the same sentence, but for other words in the place of one that is asked for.

    Far more words than it are not in its place.
    """
    missing -= {stem_of(token) for token in asked.tokens if token.endswith("ed")}  # is collected, is picked up
    if not missing or not alike(one, other, 0.5):
        return False
    for kind, start, end, start2, end2 in alignment(one, other).get_opcodes():
        instead = " ".join(other.tokens[start2:end2])
        change = CHANGE.search(" ".join(other.tokens[start2 : end2 + 1]))  # `left Acme` says more than `left`
        in_place = kind == "replace" and end2 - start2 <= 2 * (end - start) + 1
        asked_for = in_place and missing.intersection(one.stems[start:end])
        named = {stem for stem in other.stems[start2:end2] if not stem[:1].isdigit()}  # `allows 900` is one of `600`
        if asked_for and (named & other.content) - asked.content and not (change and change.start() < len(instead)):
            return True
    return False


def first_stem(one: ComparedText) -> str | None:
    """Return the stem of the first word that says what a text is about."""
    return next((s for t, s in zip(one.tokens, one.stems, strict=True) if t.lower() not in _LEADING), None)


def begins_with_name(one: ComparedText) -> bool:
    token = next((t for t in one.tokens if t.lower() not in _LEADING), "")
    return (
        token[:1].isupper() and not CHANGE.fullmatch(token) and not token.endswith(("ed", "ing"))
    )  # `Shifted the dump`
