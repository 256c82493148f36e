"""The sentences of a text. Abbreviations, initials and ordinals end none."""

import re
from collections.abc import Sequence

from memoryd.text import STOP_WORDS

# A search for one set of characters skips all others at once, one for alternatives tries each at every place.
_END = re.compile(
    r"""[.!?…।॥؟۔。！？｡\n](?:(?<=[.!?…।॥؟۔])["'”’»)\]*_]*+\s++(?=\S)|(?<=[。！？｡])\s*+(?=[^\s。！？｡」』）”’])|(?<=\n)\n*+)"""
)
_OPENING = "\"'“‘„«([*_"
_NEXT_WORD = re.compile(rf"[{re.escape(_OPENING)}]*+([^\W_]*+\.?)")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)*+[^\W\d_]")
_LOOKED_AT = 24  # characters before a full stop: longer than every abbreviation

# Abbreviations of European languages and Hindi. Those in lower case may begin with a capital.
_LEADING = frozenset(  # a name or an example follows: they never end a sentence
    """mr mrs dr prof Ms Mx Hr Hrn Fr Frl Mme Mlle Mgr Sra Srta Dott Dhr Mevr e.g i.e cf viz vs approx ca incl excl
    z.B z.b d.h bspw vgl bzw sog ggf evtl inkl exkl zzgl p.ex p.ej bijv resp т.е т.к напр им ул просп डॉ प्रो""".split()
)
_NAMING = frozenset("St Ste Mt Sr Sig sig Sgt Capt Lt".split())  # a name follows, but `on Main St. Then` ends
_NUMBERED = frozenset(  # if a number follows: `No. 5`, `Jan. 5`
    """no nr nos num núm art abs kap fig figs abb tab vol bd sec pos pp pag pág str tel ext min max al
    jan feb mar apr jun jul aug sep sept oct okt nov dec dez д кв стр рис табл नं सं""".split()
)
_TRAILING = frozenset(
    "etc usw usf ff ecc enz al inc ltd co corp jr bros dept min max tel руб тыс г гг т.д т.п".split()
)  # `etc. and`
_EXAMPLE = {"p. ex", "p. ej", "p. es"}
_MONTHS = frozenset(  # after a German ordinal: `am 5. Mai`
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember".split()
)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [text[start:end] for start, end in sentence_spans(text, 0, len(text))]


def sentence_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the sentences within a part of a text begin and end, without the blanks around them."""
    found = []
    begin = start
    for match in _END.finditer(text, start, end):
        if _ends(text, begin, match):
            found.append((begin, match.start() + len(match[0].rstrip())))
            begin = match.end()
    return [stripped for part in (*found, (begin, end)) if (stripped := _stripped(text, *part))]


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    if start < end and not (text[start].isspace() or text[end - 1].isspace()):
        return start, end
    part = text[start:end].rstrip()
    inner = part.lstrip()
    return (start + len(part) - len(inner), start + len(part)) if inner else None


def _ends(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return whether a mark that blanks follow ends the sentence that starts at `begin`.

    Where both readings are possible, as in `The answer is no. 5 people left`, it does not: two sentences in one are a
    smaller loss than a number without its noun.
    """
    place, mark = match.start(), match[0].rstrip()
    if "\n" in match[0] or mark[:1] not in {".", "!", "?", "…"}:
        return True
    following = _NEXT_WORD.match(text, match.end())
    after = following[1] if following else ""
    if mark[0] == "…" or len(mark) > 1 or text.endswith("..", begin, place):  # `well... then`, `"Really?" he asks`
        return not after[:1].islower()
    return mark != "." or _full_stop(text[max(begin, place - _LOOKED_AT) : place], after)


def _full_stop(before: str, after: str) -> bool:
    """Return whether a full stop between the end of a sentence's text and a word ends the sentence."""
    *earlier, word = before.split()[-2:] if before[-1:].strip() else [""]
    word = word.lstrip(_OPENING)
    known = word[:1].lower() + word[1:]
    pairs = {f"{word}. {after}".rstrip("."), " ".join([*earlier, word])}
    if {word, known} & _LEADING or pairs & _EXAMPLE:
        return False
    if word in _NAMING:
        return after.rstrip(".").lower() in STOP_WORDS
    numbered = (known in _NUMBERED or word.endswith("str")) and after[:1].isdigit()
    if numbered or (known in _TRAILING and after[:1].islower()):
        return False
    if word.isdigit():
        ordinal = len(word) <= 2 and (after[:1].islower() or after.rstrip(".") in _MONTHS)
        return bool(earlier) and not ordinal  # `1. Stop it`
    return not _DOTTED.fullmatch(word) or _after_letters(earlier, word, after)


def _after_letters(earlier: Sequence[str], word: str, after: str) -> bool:
    """Return whether a sentence ends after a letter or letters with full stops between: `J.`, `U.S.`, `p.m.`."""
    if len(word) > 1:
        upper = word.isupper() and after.lower() not in STOP_WORDS
        return not (after[:1].islower() or after[:1].isdigit() or upper)
    chain = bool(earlier) and len(earlier[-1].lstrip(_OPENING)) == 2 and earlier[-1].endswith(".")
    if not earlier or chain or (len(after) == 2 and after.endswith(".")):
        return False
    if word.islower():
        return not after[:1].isdigit()  # `p. 5`, but `plan b. then`
    return word == "I" or after.lower() in STOP_WORDS  # `John F. Kennedy`, but `Plan B. Then`
