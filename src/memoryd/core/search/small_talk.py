"""Messages that ask for nothing: greetings, thanks, approvals, laughter, emoji. No memory bears on them.

A list of words (small_talk.txt) tells this surely in any language, where a model cannot: to an embedder every text is
near some other one.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LONGEST = 80  # characters: longer messages say more than that

_LAUGHTER = re.compile(
    r"(?:a?(?:ha|he|hi|ja|je|ah|eh|xa){2,}h?|(?:\u0445[\u0430\u0435]|\u0430\u0445){2,}\u0445?|\u0647{2,}|k{3,}|w{2,}|x+d+|5{3,})"
)
"""Laughter in Latin, Cyrillic and Arabic letters, and the Thai 555."""
_GLYPHS = "[\u314b\u314e\u3160\u315c\u8349]+"  # Korean and Japanese laughter
_STRETCHED = re.compile(r"(.)\1{2,}")
_WORD = re.compile(r"[^\W_]+(?:['\u0300-\u036f\u064b-\u0652\u0900-\u0963-][^\W_]*)*")


_PHRASE = re.compile(
    r"\b(?:how are (?:you|things)(?: doing)?(?: today)?|how(?:'s| is) it going|what(?:'s| is) up"
    r"|(?:sounds?|looks?|seems|all) (?:good|right|fine|great)(?: (?:to me|here))?|that(?:'s| is)? works|that'll do"
    r"|(?:go for|forget) it|will do|roger that|ever so (?:much|kind)|my bad|one (?:sec|moment)|let me think|why not"
    r"|happy birthday|you(?:'re| are) a (?:star|legend|hero)|for (?:all )?(?:your|the) help"
    r"|no (?:worries|problem)|(?:that )?makes sense|fair enough|nice one|ship it"
    r"|(?:i )?(?:like|love) it|(?:see|talk to) you(?: later| soon| tomorrow)?|you(?:'re| are) the best|you rock"
    r"|(?:glad|happy) to help|you(?:'re| are) welcome|approved|let's go|go on|works for me"
    r"|(?:everything|all) (?:ok|okay|well)|wie geht(?:'s| es)(?: dir| euch| ihnen)?|bei (?:dir|euch)"
    r"|qué tal(?: estás)?|cómo (?:estás?|va(?: todo)?)|todo bien|comment (?:vas[- ]tu|allez[- ]vous|ça va)|tout va bien"
    r"|tudo (?:bem|certo|bom)|mand(?:ar|a) ver|come (?:stai|va)|как (?:ты|вы|(?:у (?:тебя|вас) )?дела)"
    r"|كيف (?:حالك|الحال)|كل شيء (?:تمام|بخير|على ما يرام)"
    r"|(?:dale|sigue|hazlo) así|adelante|pode (?:seguir|continuar)(?: assim)?|faz assim"
    r"|(?:vas-y|fais|continue) comme ça|(?:mach|machen wir) (?:das|es) so"
    r"|(?:так и )?(?:сделай|делай|давай)(?: так)?|افعل ذلك|استمر)\b"
    r"|(?<!\w)(?:कैस[ेी] (?:हो|हैं)|सब ठीक(?: है)?|ऐसा ही कर(?:ो|ें)|आगे बढ़(?:ो|ें)|जारी रख(?:ो|ें))(?![\w\u0900-\u0963])"
    r"|(?<!\w)(?:<3+|[:;=]['-]?[dpo3()])(?!\w)"
)
"""What asks for nothing although its words may; any other message with `what` or `how` may ask what is remembered."""


@dataclass(frozen=True, slots=True)
class _List:
    """The words of small_talk.txt."""

    words: frozenset[str]
    empty: frozenset[str]
    praise: frozenset[str]
    with_others: frozenset[str]
    phrases: re.Pattern[str]


@cache
def _list() -> _List:
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    *lists, phrases = (part.partition("\n")[2].split() for part in text.split("# ")[1:])
    words, empty, praise, with_others = map(frozenset, lists)
    longest_first = sorted(map(re.escape, phrases), key=len, reverse=True)
    return _List(words, empty, praise, with_others, re.compile("|".join([*longest_first, _GLYPHS])))


def is_small_talk(text: str) -> bool:
    """Return whether a message asks for nothing, as far as a list of words can tell."""
    if len(text) > LONGEST:
        return False
    known = _list()
    composed = unicodedata.normalize("NFC", text)  # NFKC would take letters apart of which Korean abbreviations consist
    plain = unicodedata.normalize("NFKC", known.phrases.sub(" ", composed)).lower().replace("\u2019", "'")
    found = _WORD.findall(_PHRASE.sub(" ", plain))
    words = set(found)
    others, praise = words & known.with_others, words & known.praise
    rest = words - others - praise
    if not all(_says_nothing(word, known.words | known.empty) for word in rest):
        return False
    if others:
        return bool(praise or rest - known.empty)
    return len(found) > 1 or not praise


def _says_nothing(word: str, known: frozenset[str]) -> bool:
    """Return whether a word is known, also with letters repeated as in `thanksss` or `okkk`, or is laughter."""
    once, twice = _STRETCHED.sub(r"\1", word), _STRETCHED.sub(r"\1\1", word)
    return bool(_LAUGHTER.fullmatch(word)) or not known.isdisjoint({word, once, twice})
