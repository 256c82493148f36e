"""Pure functions over text: words, token estimates, extracts."""

import math
import re
import unicodedata
from collections.abc import Collection

CHARACTERS_PER_TOKEN = 4

# Function words of English. Leaving them out of queries gains 5 points R@5 on conversations.
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could did do does doing
    for from had has have having he her here hers him his how i if in into is it its itself just let me more my no nor
    not now of off on once only or other our out over own same she should so some such than that the their them then
    there these they this those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours s t d m re ve ll don doesn didn isn aren wasn weren won wouldn shouldn
    couldn""".split()
)

# Marks on letters that `\w` does not match: accents, vowels of Hebrew, Arabic and Indic scripts, joiners.
SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3\u200c\u200d"
)
_WORD = re.compile(rf"\w+(?:[{SIGNS}]+\w*)*")  # an index that splits words at marks treats one as a phrase
_MARKED = re.compile(r"\w[\u0300-\u036f]+")
# The marks that FTS5 drops. It splits words at all others, and so does this module.
_DROPPED = re.compile(r"[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]")
_SPEAKER = re.compile(r"([^\W\d_]\w*(?: \w+){0,2}): ")
_ASKS = re.compile("[?\u037e\u061f\uff1f]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=\S)|\n+")


def unstorable(text: str) -> re.Match[str] | None:
    """Return the first character that no database or protocol can carry, a NUL or a lone surrogate, or None."""
    return _UNSTORABLE.search(text)


def storable(text: str) -> str:
    """Return `text` with U+FFFD in place of each NUL and lone surrogate."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens, characters / 4 rounded up: the unit of every budget."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, as the index has them (it keeps ß)."""
    return _WORD.findall(composed(text.lower()))


def composed(text: str) -> str:
    """Compose letters and their accents; drop an accent that has no composed form, as the index does.

    Only letters with accents are normalised (NFC): elsewhere that would yield characters the index does not have.
    """
    return _DROPPED.sub("", _MARKED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text))


def content_words(text: str) -> list[str]:
    """Return the words of a text that are not stop words, each once; all of them if it has only stop words."""
    every = dict.fromkeys(words(text))
    return [word for word in every if word not in STOP_WORDS] or list(every)


def speaker(text: str) -> str:
    """Return the name at the beginning of a text (`Anna Lee: ...`), at most three words; '' if there is none."""
    match = _SPEAKER.match(text)
    return match[1] if match else ""


def asks(text: str) -> bool:
    """Return whether a text contains a question mark."""
    return bool(_ASKS.search(text))


# extracts ------------------------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [part for part in (piece.strip() for piece in _SENTENCE.split(text)) if part]


def extract(text: str, about: Collection[str], tokens: int) -> str:
    """Return the sentences that share most words with `about`, in their order, within `tokens`.

    If no sentence fits, return the beginning of the best one. Gaps are marked with `…`.
    """
    if estimate_tokens(text) <= tokens:
        return text
    parts = sentences(text)
    wanted = frozenset(about)
    by_worth = sorted(range(len(parts)), key=lambda i: (-len(wanted.intersection(words(parts[i]))), i))
    kept: set[int] = set()
    room = tokens * CHARACTERS_PER_TOKEN - 4
    for i in by_worth:
        if len(parts[i]) + 3 <= room:
            kept.add(i)
            room -= len(parts[i]) + 3
    if not kept:
        return cut(parts[by_worth[0]], tokens)
    pieces = [("" if i == 0 or i - 1 in kept else "… ") + parts[i] for i in sorted(kept)]
    return " ".join(pieces) + ("" if len(parts) - 1 in kept else " …")


def cut(text: str, tokens: int) -> str:
    """Return the beginning of a text within `tokens`, cut between words and marked with `…`."""
    if estimate_tokens(text) <= tokens:
        return text
    room = max(0, tokens * CHARACTERS_PER_TOKEN - 2)
    head = text[:room]
    return (head.rsplit(None, 1)[0] if " " in head.strip() else head).rstrip() + " …"
