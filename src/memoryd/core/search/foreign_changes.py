"""Evidence that a newer text changes what an older one states, in languages that the cross-encoder does not read.

As in `changes`, words of change tell, and what the two texts have in common with the question: more than a name, since
what is new about somebody changes hardly anything else that is true of them. So the newer text must be near the older
one or the question, too; and a word of the question in whose place it has another one says that both hold. Endings
differ more than in English, so two words are the same if they begin alike; Chinese, Japanese and Korean are compared
letter by letter, without particles.
The lines of change_words.txt have patterns of words: of a change, that often come with one (`hints`), of what is true
besides (`adds`), for others than who is asked about, and of what somebody reported (`reports`).
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from memoryd.core.search.changes import Evidence
from memoryd.languages import FOREIGN, SHARED
from memoryd.text import LEFT_OUT, LETTERS, STOP_WORDS, composed, is_letter, words

_ALIKE, _LEAST = 0.75, 3
"""Two words are the same if they have this share of the longer one, and so many letters, from their beginning."""
_SHORT = 3  # words, or letters, in the place of which a counterpart can stand: `puerta trasera`, `puerta principal`
_BY_CHANCE = 2  # digits of a number that two texts may have in common by chance
_SAME_SENTENCE = 0.5
_CLOSE, _NEAR, _FAR = 0.56, 0.5, 0.2
"""Rescaled cosines. Of 166 changes 144 reach the first one, of 20 texts that have only a name in common 2."""
_ABOUT = 1.2
"""How near a newer text is to the older one, and to the question as a share of how near the older one is to that, in
all, if it is about what was asked. Of 166 changes that have a word of the question 25 have less, half of which name
what was before; of 20 texts that have only a name in common with an older one, 19."""
_BETTER = 1.3
"""The share from which the newer text answers so much better that the older one is about something else."""
_LETTER = re.compile(f"[{LETTERS}]")
_PARTICLES = frozenset(
    "星期曜午从由在把被用是将的了到也就和跟吗几多少哪里什么谁은는이가을를에의로으와과도만다한했고요서야"
)
_KATAKANA = re.compile("([\u30a1-\u30fc]{2,})")  # names and words from elsewhere
_SILENT = re.compile("[\u3041-\u309f]|[a-zà-ÿ]{1,2}$")
"""Japanese writes endings and particles in these letters, and most words of two Latin ones are such: `em`, `às`."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*|[零一二三四五六七八九十百千万]+(?=[点點时時元年月日号號])")
_ARTICLE = re.compile("^[وبلك]?ال(?=..)")
_LEFT_OUT = re.compile(f"[{LEFT_OUT}]")
_IN_IDENTIFIER = re.compile(r"(?<=[a-zA-Z])[-.](?=\d)")
_FROM = (
    r"(?<!\w)(?:from|von|vom|del?|des|du|d[oa]s?|со?|из|من)\s+{0}|从\s*{0}|{0}\s*(?:から|에서|से(?!\w))"
    r"|(?<!\w)(?:nicht|no|pas|não|не|ليس|وليس)\s(?:\w{{1,3}}\s)?{0}"
    r"|不是[^，。]{{0,4}}{0}|{0}(?:で|じゃ)は?なく|{0}\S{{0,3}} 아니라"
)
"""What was before: `von Vim zu Helix`, `nicht am 14.`"""
_BEGINS_THERE = re.compile(
    r"^(?:beim?|in|im|auf|en|durante|à|au|lors|pendant|na|no|numa?|на|во?|في|خلال)\b"
    r"|^\w{1,10}?(?:上|で|에서)|^[^,।]{1,40} में "
)
"""A text that begins with where something was heard."""
_OF_ONE = re.compile(
    r"\b(?:wo|wann|wohin|wie ?viel|dónde|cuándo|cuánto|où|quand|combien|onde|quando|quanto|где|когда|сколько|कहाँ|कब"
    r"|कितने|أين|متى|كم)|哪里|哪儿|几点|什么时候|哪天|多少|どこ|いつ|何時|何曜日|いくら|어디|언제|몇 시|얼마"
)
"""Questions for a place, a time or an amount, of which there is one."""
_WHERE = re.compile(
    r"\b(?:wo|wohin|in welche[rm] (?:stadt|ort)|dónde|en qué (?:ciudad|barrio)|où|dans quelle ville|a?onde"
    r"|em que (?:cidade|bairro)|где|куда|в каком городе|أين)\b|कहाँ|किस शहर"
)
_MOVED = re.compile(
    r"\b(?:(?:um|weg|hin)?gezogen|se (?:ha )?mud\w+|mudou(?:-se| para)|déménagé|переехал|انتقل)|चल[ाी] ग|शिफ्ट"
)
"""Somebody lives elsewhere now: that answers where, whatever else is true of them."""
_WITH_ENDINGS = re.compile("[\u0600-\u06ff\u0900-\u097f]")
_SIGNS = ("changes", "hints", "adds", "others", "reports")
_GENDERS = frozenset(("oa", "ao"))


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A text as it is compared."""

    text: str
    plain: str
    units: tuple[str, ...]
    """Its words, or letters of scripts without blanks and of Korean."""
    content: frozenset[str]
    """Those that may say what it is about."""
    numbers: frozenset[str]
    signs: Mapping[str, frozenset[str]]
    """What it has of each kind of patterns."""


def evidence(question: str, older: str, newer: str, near: float, share: float) -> Evidence:
    """Return the evidence that `newer` changes what `older` says about a question; `near` is their rescaled cosine.

    `share` is how near the newer one is to the question, as a share of how near the older one is.
    """
    return Evidence.of(_parts(read(question), read(older), read(newer), near, share))


def may_replace(older: str, newer: str, near: float) -> Evidence:
    """Return the evidence that `newer` replaces `older`, whatever is asked; `near` is their rescaled cosine."""
    return Evidence.of(_differences(read(older), read(newer), near))


@lru_cache(maxsize=4_096)
def read(text: str) -> ForeignText:
    """Return a text as it is compared; a question compares many pairs of the same few texts."""
    text = _LEFT_OUT.sub("", text)
    plain = composed(text.lower())
    joined = _IN_IDENTIFIER.sub("", text)
    units = tuple(unit for part in _KATAKANA.split(joined) for unit in _units(part))
    signs = {kind: frozenset(match[0] for match in _pattern(kind).finditer(plain)) for kind in _SIGNS}
    return ForeignText(text, plain, units, frozenset(filter(_tells, units)), frozenset(_NUMBER.findall(plain)), signs)


def _units(part: str) -> Sequence[str]:
    if _KATAKANA.fullmatch(part):
        return (part,)
    return [word[0] if _LETTER.match(word) else _ARTICLE.sub("", word) for word in words(part)]


def _tells(unit: str) -> bool:
    return not any(unit in words for words in (FOREIGN, SHARED, STOP_WORDS, _PARTICLES)) and not _SILENT.match(unit)


def _parts(
    asked: ForeignText, old: ForeignText, new: ForeignText, near: float, share: float
) -> Iterator[tuple[str, float]]:
    changes, hints = bool(new.signs["changes"]), bool(new.signs["hints"])
    stated = old.numbers - asked.numbers
    value = bool(stated and new.numbers - old.numbers)
    if not (changes or hints or value or _OF_ONE.search(asked.plain)):
        return
    stands = _telling(old)
    named = {unit for unit in asked.content if _in(unit, stands)}
    shared = _shared(old, new)
    kept = {unit for unit in named if _in(unit, shared)}
    signs = "".join(new.signs["changes"] | new.signs["hints"])
    before = [unit for unit in shared - _measures(old) if not _in(unit, asked.content) and unit not in signs]
    changed = names_before(before, new)
    before = [unit for unit in before if not unit.isdigit() or len(unit) > _BY_CHANCE]
    moved = changes and bool(_WHERE.search(asked.plain) and _MOVED.search(new.plain))
    called = _called(named, old, new) if moved else set()
    if not kept and not called and not (near >= _NEAR and (changed or len(before) > 1)):
        return
    verbs = _verbs(old, named - kept) if changes else int(hints and _begins_with_other(asked, kept, named))
    kept, lacking = kept | called, 0 if called else max(0, len(named - kept) - verbs)
    alike = SequenceMatcher(None, old.units, new.units, autojunk=False)
    same = alike.ratio() >= _SAME_SENTENCE
    another = named == kept and ((value and same) or _other_end(alike, asked, old, kept))
    if not (changes or hints or value or another):
        return
    yield "change_words", 1.5 if changes else 1.25 if hints else 0.0
    yield "same_subject", 1.5 * len(kept) / (len(kept) + lacking) if kept else 0.0
    yield "other_subject", (-1.0 if kept else -0.5) if lacking and not changed else 0.0
    yield "old_value", (1.25 if changed else min(1.3, 0.65 * len(before))) if changes else 0.0
    yield "asked_value", 0.75 if value else 0.0
    yield "same_sentence", 0.0 if changes or not another else 0.5 if value else 1.25
    if kept and not moved:
        yield "other_matter", -1.25 if near + share < _ABOUT and not (before and near >= _NEAR) else 0.0
        little = 2 * len(named) <= max(len(asked.content), 2) and not (before or value)
        yield "name_alone", -1.0 if little and near < _CLOSE else 0.0
    yield "answers_alone", -2.0 if share >= _BETTER else 0.0
    yield "near_it", 0.5 if near >= _NEAR else -1.0 if near < _FAR else 0.0
    yield "counterpart", -4.0 if not changed and _counterpart(alike, asked, old, new) else 0.0
    yield "adds", -3.0 if not changes and new.signs["adds"] else 0.0
    yield "other_owner", -4.0 if new.signs["others"] - old.signs["others"] - asked.signs["others"] else 0.0
    whole = named == kept and near >= _NEAR
    yield "lacks_value", -2.0 if stated and not new.numbers and not before and not whole else 0.0
    yield "reported", -2.0 if _BEGINS_THERE.search(new.plain) and new.signs["reports"] else 0.0


def names_before(units: Collection[str], new: ForeignText) -> bool:
    """Return whether a text says of one of some words that it was before: `von Vim zu Helix`."""
    return any(re.search(_FROM.format(re.escape(unit.lower()) + r"(?!\d)"), new.plain) for unit in units)


def _differences(old: ForeignText, new: ForeignText, near: float) -> Iterator[tuple[str, float]]:
    changes, shared = bool(new.signs["changes"]), _shared(old, new)
    alike = SequenceMatcher(None, old.units, new.units, autojunk=False)
    places = sum(kind == "replace" for kind, *_ in alike.get_opcodes())
    same = alike.ratio() >= _SAME_SENTENCE
    yield "change_words", (1.0 if changes else 0.75 if new.signs["hints"] else 0.0) if shared else 0.0
    yield "differs", 0.75 if shared and old.numbers and new.numbers - old.numbers else 0.0
    yield "same_sentence", 0.75 if same and places <= 1 else 0.0
    yield "shares_words", 1.5 * len(shared) / max(min(len(old.content), len(new.content)), 1)
    yield "near", 0.5 if near >= _NEAR else 0.0
    yield "far", -1.0 if near < _FAR else 0.0
    yield "two_differences", -1.0 if same and places > 1 and not changes else 0.0
    yield "adds", -2.0 if not changes and new.signs["adds"] else 0.0
    yield "other_owner", -3.0 if new.signs["others"] - old.signs["others"] else 0.0


def _shared(old: ForeignText, new: ForeignText) -> set[str]:
    """Return what the newer text has of the older one's content; of letters only two that follow each other."""
    shared = _telling(old, set(pairwise(new.units)))
    return {unit for unit in shared if is_letter(unit) or _in(unit, new.content)}


def _telling(text: ForeignText, pairs: Collection[tuple[str, str]] | None = None) -> set[str]:
    """Return the content of a text: of letters those with another one beside them, in one of `pairs` if given."""
    beside = {
        unit
        for pair in pairwise(text.units)
        if all(map(is_letter, pair)) and text.content.issuperset(pair) and (pairs is None or pair in pairs)
        for unit in pair
    }
    return {unit for unit in text.content if unit in beside or not is_letter(unit)}


def _called(named: Collection[str], old: ForeignText, new: ForeignText) -> set[str]:
    """Return the words of the question after which the older text has the name with which the newer one begins."""
    return {one for one, name in pairwise(old.units) if one in named and new.units[:1] == (name,)}


def _measures(text: ForeignText) -> set[str]:
    """Return the units of a text that stand after a number: `60 Euro`."""
    return {unit for number, unit in pairwise(text.units) if number.isdigit()}


def _verbs(text: ForeignText, lacking: Collection[str]) -> int:
    """Return how many units may be the verb, in whose place a change has another one: `wohnt in`, `ist umgezogen`."""
    return min(2, sum(map(is_letter, lacking))) if _LETTER.match(text.plain) else 1


def _begins_with_other(asked: ForeignText, kept: Collection[str], named: Collection[str]) -> bool:
    """Return whether a word that the newer text lacks is asked before all that it has: the verb of `Wo steht X?`."""
    return next((unit not in kept for unit in asked.units if unit in named), False)


def _other_end(alike: SequenceMatcher[str], asked: ForeignText, old: ForeignText, kept: Collection[str]) -> bool:
    """Return whether the texts begin with all that is asked and a word more, and only one place or time may be true."""
    kind, _, end, _, _ = next(iter(alike.get_opcodes()), ("", 0, 0, 0, 0))
    last = max((place for place, unit in enumerate(old.units) if _in(unit, kept)), default=-1)
    return kind == "equal" and 0 <= last < end - 1 < len(old.units) - 1 and bool(_OF_ONE.search(asked.plain))


def _counterpart(alike: SequenceMatcher[str], asked: ForeignText, old: ForeignText, new: ForeignText) -> bool:
    """Return whether another word stands in the place of one of the question that the newer text does not have."""
    same = alike.ratio() >= _SAME_SENTENCE
    return any(
        kind == "replace"
        and end - start <= _SHORT
        and (same or (end2 - start2 <= _SHORT and bool(_LETTER.match(old.units[start]))))
        and any(map(_tells, new.units[start2:end2]))
        and not any(_says_changed(sep.join(new.units[start2:end2])) for sep in ("", " "))
        and any(
            unit in old.content and _in(unit, asked.content) and not _in(unit, new.content)
            for unit in old.units[start:end]
        )
        for kind, start, end, start2, end2 in alike.get_opcodes()
    )


def _says_changed(text: str) -> bool:
    return bool(_pattern("changes").search(text) or _pattern("hints").search(text))


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Return the patterns of all languages.

    Those in scripts without blanks, and in Korean, may begin anywhere; those in Hindi and Arabic are words' beginnings.
    """
    lines = Path(__file__).with_name("change_words.txt").read_text("utf-8").splitlines()
    found = [line.partition(": ")[2] for line in lines if line.startswith(f"{kind}: ")]
    unspaced = [one for one in found if _LETTER.search(one)]
    stems = [one for one in found if one not in unspaced and _WITH_ENDINGS.search(one)]
    spaced = [one for one in found if one not in unspaced and one not in stems]
    return re.compile(rf"(?<!\w)(?:(?:{'|'.join(spaced)})(?!\w)|{'|'.join(stems)})|{'|'.join(unspaced)}")


def _in(unit: str, others: Collection[str]) -> bool:
    return any(_same(unit, other) for other in others)


def _same(one: str, other: str) -> bool:
    """Return whether two words may be forms of one; `niño` and `niña` are not."""
    if one == other or any(map(str.isdigit, one + other)):
        return one == other
    least = max(_LEAST, math.ceil(_ALIKE * max(len(one), len(other))))
    return one[:least] == other[:least] and (one[:-1] != other[:-1] or one[-1:] + other[-1:] not in _GENDERS)
