"""Evidence that a newer text changes what an older one states, in languages that the cross-encoder does not read.

As in `changes`, words of change tell, and what the two texts have in common with the question; a word of the question
in whose place the newer text has another one says that both hold. Endings differ more than in English, so two words are
the same if they begin alike; Chinese, Japanese and Korean are compared letter by letter, without particles.
The lines of change_words.txt have patterns of words: of a change, that often come with one (`hints`), of what is true
besides (`adds`), and for others than who is asked about.
"""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path

from memoryd.core.search.changes import Evidence
from memoryd.languages import FOREIGN
from memoryd.text import LETTERS, STOP_WORDS, composed, words

_ALIKE, _LEAST = 0.65, 3
"""Two words are the same if they have this share of the longer one, and so many letters, from their beginning."""
_SHORT = 3  # words, or letters, in the place of which a counterpart can stand: `puerta trasera`, `puerta principal`
_NEAR, _FAR = 0.5, 0.2  # rescaled cosines
_LETTER = re.compile(f"[{LETTERS}]")
_PARTICLES = frozenset("从由在把被用是将的了到也就和跟吗几多少哪里什么谁은는이가을를에의로으와과도만다한했고요서야")
_SILENT = re.compile("[\u3041-\u309f]")  # Japanese writes endings and particles in these letters
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*|[零一二三四五六七八九十百千万]+(?=[点點时時元年月日号號])")
_ARTICLE = re.compile("^[وبلك]?ال(?=..)")
_FROM = r"(?<!\w)(?:von|vom|del?|des|du|d[oa]s?|со?|из|من)\s+{0}|从\s*{0}|{0}\s*(?:から|에서|से(?!\w))"
_GENDERS = frozenset(("oa", "ao"))


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A text as it is compared."""

    plain: str
    units: tuple[str, ...]
    """Its words, or letters of scripts without blanks and of Korean."""
    content: frozenset[str]
    """Those that may say what it is about."""
    numbers: frozenset[str]


def evidence(question: str, older: str, newer: str, near: float) -> Evidence:
    """Return the evidence that `newer` changes what `older` says about a question; `near` is their rescaled cosine."""
    parts = _parts(_read(question), _read(older), _read(newer), near)
    return Evidence({name: points for name, points in parts if points})


@lru_cache(maxsize=4_096)
def _read(text: str) -> ForeignText:
    plain = composed(text.lower())
    units = tuple(word[0] if _LETTER.match(word) else _ARTICLE.sub("", word) for word in words(text))
    return ForeignText(plain, units, frozenset(filter(_tells, units)), frozenset(_NUMBER.findall(plain)))


def _tells(unit: str) -> bool:
    return not (unit in FOREIGN or unit in STOP_WORDS or unit in _PARTICLES or _SILENT.match(unit))


def _parts(asked: ForeignText, old: ForeignText, new: ForeignText, near: float) -> Iterator[tuple[str, float]]:
    changes = _has("changes", new)
    named = {unit for unit in asked.content if _in(unit, old.content)}
    kept = {unit for unit in named if _in(unit, new.content)}
    replaced, counterparts = _instead(asked, old, new, changes=changes)
    about = {unit for unit in named if unit in kept or not _in(unit, replaced)}
    before = [unit for unit in old.content if not _in(unit, asked.content) and _in(unit, new.content)]
    changed = any(re.search(_FROM.format(re.escape(unit)), new.plain) for unit in before)
    stated = old.numbers - asked.numbers
    yield "change_words", 1.5 if changes else 1.25 if _has("hints", new) else 0.0
    yield "same_subject", 1.5 * len(kept) / len(about) if about else 0.0
    yield "old_value", (1.25 if changed else min(1.0, 0.5 * len(before))) if changes else 0.0
    yield "asked_value", 0.75 if stated and new.numbers - old.numbers else 0.0
    yield "near_it", 0.5 if near >= _NEAR else -1.0 if near < _FAR else 0.0
    yield "no_link", -2.0 if not kept and not before else 0.0
    yield "counterpart", -4.0 if counterparts and not changed else 0.0
    yield "adds", -3.0 if not changes and _has("adds", new) else 0.0
    yield "other_owner", -4.0 if _found("others", new) - _found("others", old) - _found("others", asked) else 0.0
    yield "lacks_value", -2.0 if stated and not new.numbers and not before else 0.0


def _instead(asked: ForeignText, old: ForeignText, new: ForeignText, *, changes: bool) -> tuple[set[str], set[str]]:
    """Return what is in the older text where the newer one has words of a change, and what has a counterpart there.

    The latter are words of the question that the newer text does not have.
    """
    changing: set[str] = set()
    counterparts: set[str] = set()
    for kind, start, end, start2, end2 in SequenceMatcher(None, old.units, new.units, autojunk=False).get_opcodes():
        here, there = set(old.units[start:end]), new.units[start2:end2]
        if (changes and kind == "delete") or _changing(there):
            changing |= here
        elif kind == "replace" and end - start <= _SHORT and any(map(_tells, there)):
            counterparts |= {
                unit for unit in here & old.content if _in(unit, asked.content) and not _in(unit, new.content)
            }
    return changing, counterparts


def _changing(units: Collection[str]) -> bool:
    return any(_pattern("changes").search(text) for text in (" ".join(units), "".join(units)))


def _has(kind: str, text: ForeignText) -> bool:
    return bool(_found(kind, text))


def _found(kind: str, text: ForeignText) -> set[str]:
    return {match[0] for match in _pattern(kind).finditer(text.plain)}


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Return the patterns of all languages; those of letters without blanks between words may begin anywhere."""
    lines = Path(__file__).with_name("change_words.txt").read_text("utf-8").splitlines()
    found = [line.partition(": ")[2] for line in lines if line.startswith(f"{kind}: ")]
    unspaced = [one for one in found if _LETTER.search(one)]
    spaced = [one for one in found if one not in unspaced]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(unspaced)}")


def _in(unit: str, others: Collection[str]) -> bool:
    return any(_same(unit, other) for other in others)


def _same(one: str, other: str) -> bool:
    """Return whether two words may be forms of one; `niño` and `niña` are not."""
    if one == other:
        return True
    least = max(_LEAST, math.ceil(_ALIKE * max(len(one), len(other))))
    return one[:least] == other[:least] and (one[:-1] != other[:-1] or one[-1:] + other[-1:] not in _GENDERS)
