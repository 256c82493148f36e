"""The decision whether two texts certainly state the same, made without a model: if in doubt, both are kept.

Vectors cannot decide that. Among nearly equal texts, those that state different facts are as close together as those
that state the same: `The train goes from Rome to Milan` and the train back have a cosine of .98, `You mustn't` and
`You must not` one of .93 (docs/benchmarks.md). So the words decide: they must be the same, in the same order.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from memoryd.text import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_EDGES = "\"'`()[]{}“”‘’«».,;:!?…"
_NAMES = STOP_WORDS | {"may"}  # words that mean something else in capitals: US, IT

_OPENING, _CLOSING = "\"'`([{“‘«", ".,;:\"'`)]}”’»。।۔"
_ARTICLES = frozenset({"an", "the"})
_AMOUNTS = frozenset({"few", "little"})  # words to which an `a` adds meaning: few, a few
_TURNS = frozenset(
    """no not never none nobody nothing neither nor without except unless if when while until always sometimes usually
    often rarely seldom hardly ever only all every each any some both many most several few half before after more less
    least up down left right on off in out over under above below first last second third old new true false yes enabled
    disabled enable disable allow deny allowed denied increase decrease increased decreased start stop started stopped
    open closed pass fail passed failed must may might can could should shall would will need had was were did used
    been being still formerly almost nearly probably seems one two three four five six seven eight nine ten eleven
    twelve twenty thirty fifty hundred thousand million billion dozen once twice seconds minutes hours days weeks months
    years hourly daily weekly monthly yearly january february march april june july august september october november
    december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
    mon tue wed thu fri sat sun today yesterday tomorrow morning afternoon evening night am pm""".split()
)
ONE_WORD = 8  # words of a text from which on a single different word hardly moves its vector


def fingerprint(text: str) -> str:
    """Return a hash that is equal for texts with the same meaning in the same words.

    It ignores articles, the capital at the start of a sentence and the marks around words, but not `a` within a
    sentence, which may be a name or another language, nor marks that stand alone. Everything else counts: a number, a
    name, a date, a negation, the order of words. A cosine could not distinguish these: embeddings put `stopped smoking`
    close to `stopped to smoke`.
    """
    return hashlib.sha256(" ".join(_bare(text)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bare(text: str) -> Iterator[str]:
    tokens = unicodedata.normalize("NFC", text).split()
    starts = capital = True
    for number, token in enumerate(tokens, 1):
        last = number == len(tokens)
        capital |= starts
        if last or not _is_article(token, tokens[number], starts=starts):
            word = _stripped(token.rstrip("!！…") if last else token) or token
            yield _uncapped(word) if capital else word
            capital = False
        starts = _ends(token)


def _uncapped(word: str) -> str:
    return word[:1].casefold() + word[1:]


def _is_article(token: str, following: str, *, starts: bool) -> bool:
    """Return whether a token is certainly an article: in lower case and without marks, except to start a sentence."""
    if token.casefold() == "a":
        return starts and following.casefold() not in _AMOUNTS
    return token in _ARTICLES or (starts and token.lstrip(_OPENING).casefold() in _ARTICLES)


def _stripped(token: str) -> str:
    """Return a word without the marks around it; a mark next to a digit or before a word may be part of it."""
    if any(character.isdigit() for character in token):
        return token.lstrip("“‘«").rstrip(".,;:”’»。।۔")
    return token.lstrip(_OPENING).rstrip(_CLOSING)


def _ends(token: str) -> bool:
    return token.rstrip(_CLOSING.replace(".", "")).endswith((".", "!", "?", ":", "…"))


# Other characters for the same text.
_BESIDE = re.compile(r"(?<=\S)[^\x00-\x7f]|[^\x00-\x7f](?=\S)")
_SPELLED = frozenset({"<wide>", "<narrow>", "<compat>", "<noBreak>"})  # but 10² is not 102
_UNSEEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u2060\ufeff"))
_NUMBERS = dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True))
_SUBJECT = r"\b(it|he|she|that|there|here|what|where|who|how)"
# After _BEFORE an `a` is an article, before _NO_NOUN it is not; elsewhere it may be a name, or another language.
_BEFORE = "is was be has have had needs as at in into with for of on by from after before under over through and or not"
_NO_NOUN = "|".join(sorted(STOP_WORDS | _AMOUNTS))
_FORMS = (
    (r"(?<=\w)[’ʼ](?=\w)", "'", 0),
    (r"(?<=\w)[‐‑‒–—](?=\w)|[‒–−](?=\d)", "-", 0),  # one that stands alone may be the subject itself
    (r"(?<=\w)。", ".", 0),
    (r"(?<=\w)、", ",", 0),
    (r"(?<!\S)¡(?=\w)", "", 0),
    (r"^[ \t]*[-*•][ \t]+(?=[^\W\d])", "", re.MULTILINE),
    (r"(?<!\S)\*\*(?=\S)([^*\n]*)(?<=\S)\*\*(?!\w)", r"\1", 0),
    # marks around other words are ignored anyway
    (r"(?<![\w`])`(?! )(?=[^`\n]*\d)([^`\n]*)(?<! )`(?![\w`])", r"\1", 0),
    (r"(?<=\d)(%|[kKMGT]i?B|ms|s|min|h|kg|km|cm|mm|px)(?!\w)", r" \1", 0),
    (r"(?<=\d) (?:percent|per cent)\b", " %", 0),
    (r"\bcan(?:'t|not|t)\b", "can not", re.IGNORECASE),
    (r"\bwon'?t\b", "will not", re.IGNORECASE),
    (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|must|need)n'?t\b", r"\1 not", re.IGNORECASE),
    (r"(?<=\w)'re\b", " are", re.IGNORECASE),
    (r"(?<=\w)'ve\b", " have", re.IGNORECASE),
    (r"(?<=\w)'ll\b", " will", re.IGNORECASE),
    (r"\bI'm\b", "I am", re.IGNORECASE),
    (r"\blet's\b", "let us", re.IGNORECASE),
    (r"(?<=\w)'d(?= (?:rather|like|love|prefer)\b)", " would", re.IGNORECASE),  # otherwise it may be `had`
    (rf"{_SUBJECT}'s(?= (?:got|been)\b)", r"\1 has", re.IGNORECASE),
    (rf"{_SUBJECT}'s\b", r"\1 is", re.IGNORECASE),  # after a name it may be a possessive
    (rf"\b((?i:{'|'.join(_BEFORE.split())})) a (?!(?:{_NO_NOUN})\b)(?=[a-z]{{2}})", r"\1 ", 0),
)
_NUMBER = re.compile(rf"(?<![\w-])(?:{'|'.join(_NUMBERS)})(?![\w-])")
_SHOUTED = re.compile(r"\b(?:NOT|NEVER|ALWAYS|MUST|ONLY|DO(?= NOT)|IMPORTANT|NOTE|WARNING|REMEMBER)\b")
_WORD_ALONE = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Return the compiled forms; they are compiled at first use, so that a server starts quickly."""
    return [(re.compile(pattern, flags), instead) for pattern, instead, flags in _FORMS]


def plain(text: str) -> str:
    """Return the text in the plainest form with the same meaning.

    Contractions with only one reading are written out; characters of other widths, dashes in words, marks of lists,
    code and emphasis, small numbers and the space before a unit are unified; an `a` that is certainly an article is
    removed. Nothing changes that may be another fact.
    """
    text = unicodedata.normalize("NFC", _BESIDE.sub(_spelled, text.translate(_UNSEEN)))
    text = _NUMBER.sub(lambda match: str(_NUMBERS[match[0]]), text)
    for pattern, instead in _forms():
        text = pattern.sub(instead, text)
    return _SHOUTED.sub(lambda match: match[0].lower(), text)


def _spelled(match: re.Match[str]) -> str:
    tag, _, signs = unicodedata.decomposition(match[0]).partition(" ")
    return unicodedata.normalize("NFKC", match[0]) if tag in _SPELLED and not signs.startswith("0020") else match[0]


def may_differ(one: str, other: str) -> bool:
    """Return whether two texts of nearly the same meaning may still state different facts.

    They may if they differ in numbers, names, dates, negations, opposites, modal verbs or marks that stand alone, or
    in the order of the same words: embeddings put such texts as close together as paraphrases. In a long text, any
    different word suffices. A single letter counts as a name, except an `a` that begins a sentence.
    """
    one, other = plain(one), plain(other)
    here, there = list(_bare(one)), list(_bare(other))
    if here == there:
        return False
    long = max(len(here), len(there)) >= ONE_WORD
    return long or _turning_points(one) != _turning_points(other) or Counter(here) == Counter(there)


def _turning_points(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    begins = True
    for token in text.split():
        word = _stripped(token.rstrip("!！…")) or token
        simple = word.casefold()
        named = any(c.isupper() for c in (word[1:] if begins else word))
        named |= len(simple) == 1 and not (begins and simple == "a")
        if simple in _TURNS or named or not _WORD_ALONE.fullmatch(word):
            counts[simple if simple in _TURNS else _uncapped(word) if begins else word] += 1
        begins = _ends(token)
    return counts


def key(text: str) -> str:
    """Return a hash that is equal for all texts that are the `same`, and for some others."""
    return fingerprint(plain(text).lower())


def same(one: str, other: str) -> bool:
    """Return whether two texts certainly have the same meaning: the same words, apart from their form.

    Case is a matter of form if one of the texts makes no use of it.
    """
    if key(one) != key(other):
        return False
    here, there = plain(one), plain(other)
    if fingerprint(here) == fingerprint(there):
        return True
    return (_caseless(here) or _caseless(there)) and not (_needs_case(here) or _needs_case(there))


def _caseless(text: str) -> bool:
    """Return whether the case of a text carries no meaning: all capitals, none, or one per word, as in a title."""
    return text.islower() or text.isupper() or text.istitle()


def _needs_case(text: str) -> bool:
    """Return whether a text has a word that lower case would change: `-F`, `plan B`, `userId`, `US`, `5 MB`."""
    tokens = [token.strip(_EDGES) for token in text.split()]
    return any(
        _is_particular(token, text) or (token != token.lower() and before[-1:].isdigit())
        for before, token in pairwise(["", *tokens])
    )


def _is_particular(word: str, text: str) -> bool:
    if word == word.lower() or word in ("A", "I"):
        return False
    if len(word) == 1 or not _WORD.fullmatch(word):
        return True
    if _caseless(text):
        return False
    if word.isupper():
        return word.lower() in _NAMES
    return word[1:] != word[1:].lower() or word in ("May", "March", "Will")
