"""Pure functions over text: words, token estimates."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

CHARACTERS_PER_TOKEN = 4
# The first bytes of U+3000 to U+DFFF in UTF-8: counting these takes 0.1 ms for 10,000. In plain sentences OpenAI's
# tokenizers take .55 to .73 of a token (o200k) or .81 to 1.05 (cl100k) for such a character, .2 to .27 for a Latin one.
_EAST_ASIAN = bytes(range(0xE3, 0xEE))

SEARCHED = 2_000  # maximum characters of a query that are searched: about what an embedder reads of it, 512 tokens
LAST = 500  # ... of which the models read these first: a traceback ends with its error
TYPED = 400  # characters: hardly a question is longer, so a longer query is pasted, or a whole document; ...
ENDS = 200  # ... at most so many of its first and of its last line say what it is about

# English function words. Leaving them out of queries gains 5 points R@5 on conversations.
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
# The marks that FTS5 drops. It splits words at all other marks, and so does this module.
_DROPPED = re.compile(r"[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]")
_SPEAKER = re.compile(r"([^\W\d_]\w*(?: \w+){0,2}): ")
_ASKS = re.compile("[?\u037e\u061f\uff1f]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_ASCII_BUT_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

# Scripts without blanks between words, and Korean, whose words carry their particles. Both stores index by this (their
# schemas have the same functions), so a change requires a new index.
LETTERS = (
    "\u1100-\u115e\u1161-\u11ff\u3131-\u3163\u3165-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Korean
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # Japanese
    "\u3005-\u3007\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"  # Chinese
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Myanmar
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
)
# Characters between such letters that are left out: vowel signs, tones, variants, and blanks without width.
MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u200b-\u200d\u2060"
    "\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f\U000e0100-\U000e01ef"
)
CODES = 3  # codes of a query that are also searched in parts
_CODE = re.compile("(?=[a-z]*[0-9])(?=[0-9]*[a-z])[a-z0-9]{5,10}", re.IGNORECASE)  # longer ones are hashes
_GROUP = re.compile("[a-z]+|[0-9]+", re.IGNORECASE)
# Where the words of an identifier meet: `get|User`, `HTTP|Server`, `OAuth2|Client`; not `URLs`, nor `BS14RH`.
_JOINT = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z0-9])(?=[A-Z][a-z]{2})")
_IDENTIFIER = re.compile("(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{2,63}(?![A-Za-z0-9])")  # a longer one is hardly a name
# Letters for which people also write others: `Müller` and `Mueller`, `ёлка` and `елка`, `أحمد` and `احمد`. What they
# leave out in Arabic and Hindi are vowel signs and dots. Both stores index by this, too.
RESPELLED = dict(
    zip(
        "äöüßæœøłđёÄÖÜÆŒØŁĐЁأإآٱىةάέήίόύώς",
        "ae oe ue ss ae oe o l d е ae oe ue ae oe o l d е ا ا ا ا ي ه α ε η ι ο υ ω σ".split(),
        strict=True,
    )
)
LEFT_OUT = "\u0640\u064b-\u0652\u0670\u093c"
_LETTERS = re.compile(
    "[0-9A-Za-z\u00c0-\u024f\u0300-\u052f\u0620-\u06d3\u0900-\u097f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb00-\ufb06]+"
)
_RESPELLED = re.compile(  # the rest are letters that NFKC changes: half of an ё, ligatures, letters of full width
    f"[{''.join(RESPELLED)}{LEFT_OUT}\u0308\u0958-\u095f\uff10-\uff5a\ufb00-\ufb06]"
)
_TO_RESPELL = str.maketrans(RESPELLED)
_SIGNS_LEFT_OUT = re.compile(f"[{LEFT_OUT}]")
_RUN = re.compile(f"[{LETTERS}][{LETTERS}{MARKS}]*")
_BETWEEN = re.compile(f"[{MARKS}]+")


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun; the plural is `nouns`, or the noun with an s."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def unstorable(text: str) -> re.Match[str] | None:
    """Return the first character that no database or protocol can carry, a NUL or a lone surrogate, or None."""
    return _UNSTORABLE.search(text)


def storable(text: str) -> str:
    """Return `text` with U+FFFD in place of each NUL and lone surrogate."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def size(text: str) -> int:
    """Return the size of a text in quarters of a token: 4 for a Chinese, Japanese or Korean character, 1 for others."""
    if text.isascii():
        return len(text)
    data = text.encode("utf-8", "surrogatepass")
    return len(text) + (CHARACTERS_PER_TOKEN - 1) * (len(data) - len(data.translate(None, _EAST_ASIAN)))


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens, `size` / 4 rounded up: the unit of every budget."""
    return math.ceil(size(text) / CHARACTERS_PER_TOKEN)


def segmented(text: str) -> str:
    """Return a text as it is indexed: runs of LETTERS are cut into overlapping pairs, the rest is unchanged.

    A run's last letter follows its last pair, so that every letter begins a word: `東京都` yields `東京 京都 都`.
    """
    return text if text.isascii() else _RUN.sub(_pairs, text)


def indexed(text: str) -> str:
    """Return a text with all words by which the index finds it: segmented, then the words within its identifiers.

    So `getUserProfile` is followed by `get User Profile`, and `Müller` by `Mueller`, at the end, where phrases of the
    text stay phrases.
    """
    parts = within_names(text) + respelled(text)
    return " ".join([segmented(text), *parts]) if parts else segmented(text)


def within_names(text: str) -> list[str]:
    """Return the words within each identifier of a text that has several, such as `get User Profile`."""
    if not _JOINT.search(text):
        return []
    found = ((name, _JOINT.sub(" ", name)) for name in _IDENTIFIER.findall(text))
    return [parts for name, parts in found if parts != name]


def within_codes(found: Sequence[str]) -> list[str]:
    """Return how the codes among words may be written in parts: `NE650AP` as `NE65 0AP`, `LY4482B` as `LY 4482 B`.

    None if there are more than CODES, as in a pasted log.
    """
    codes = [word for word in found if _CODE.fullmatch(word)]
    return [parts for code in codes for parts in _split(code)] if len(codes) <= CODES else []


def _split(code: str) -> Iterator[str]:
    yield from (f"{code[:place]} {code[place:]}" for place in range(1, len(code)))
    groups = _GROUP.findall(code)
    if len(groups) > 2:
        yield " ".join(groups)


def respelled(text: str) -> list[str]:
    """Return the words of a text that are also spelt in another way, in that way."""
    if text.isascii() or not _RESPELLED.search(text):
        return []
    found = filter(_RESPELLED.search, _LETTERS.findall(text))
    return [_SIGNS_LEFT_OUT.sub("", unicodedata.normalize("NFKC", word).translate(_TO_RESPELL)) for word in found]


def _pairs(run: re.Match[str]) -> str:
    letters = _BETWEEN.sub("", unicodedata.normalize("NFKC", run[0]))
    return f" {' '.join(letters[place : place + 2] for place in range(len(letters)))} "


def spaced(name: str) -> str:
    """Return an identifier as words: `works_at` and `worksAt` become `works at` and `works At`."""
    return _JOINT.sub(" ", name.replace("_", " "))


def is_latin(text: str) -> bool:
    """Return whether at least half of the letters of a text are Latin; True if it has none."""
    others = [letter for letter in _BEYOND_ASCII.findall(text) if letter.isalpha()]
    foreign = sum(not unicodedata.name(letter, "").startswith("LATIN") for letter in others)
    letters = len(others) + len(text.encode("ascii", "ignore").translate(None, _ASCII_BUT_LETTERS))
    return 2 * foreign <= letters


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, as in the index (which keeps ß); identifiers are one word."""
    return _WORD.findall(composed(segmented(text).lower()))


def indexed_words(text: str) -> list[str]:
    """Return the words in lower case by which the index finds a text."""
    return _WORD.findall(composed(indexed(text).lower()))


def is_letter(word: str) -> bool:
    """Return whether a word is a single letter of LETTERS, with which words of the index begin."""
    return len(word) == 1 and bool(_RUN.match(word))


def ends_run(before: str, word: str) -> bool:
    """Return whether a word is the last letter of a run, which the pair `before` already contains."""
    return len(before) == 2 and before.endswith(word) and is_letter(word)


def composed(text: str) -> str:
    """Compose letters and their accents; drop an accent that has no composed form, as the index does.

    Only letters with accents are normalised (NFC): elsewhere that would yield characters the index does not have.
    """
    return _DROPPED.sub("", _MARKED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text))


def content_words(text: str) -> list[str]:
    """Return the words of a text that are not stop words, each once; all of them if it has only stop words."""
    found = words(text)
    every = dict.fromkeys(word for before, word in zip(["", *found], found, strict=False) if not ends_run(before, word))
    return [word for word in every if word not in STOP_WORDS] or list(every)


def speaker(text: str) -> str:
    """Return the name at the beginning of a text (`Anna Lee: ...`), at most three words; '' if there is none."""
    match = _SPEAKER.match(text)
    return match[1] if match else ""


def asks(text: str) -> bool:
    """Return whether a text contains a question mark."""
    return bool(_ASKS.search(text))


def in_common(wanted: Collection[str], text: str) -> int:
    """Return how many of `wanted`, the content words of a question, a text has."""
    present, terms = set(indexed_words(text)), set(wanted)
    letters = filter(is_letter, terms - present)
    return len(terms & present) + sum(any(word.startswith(letter) for word in present) for letter in letters)


def shortened(query: str) -> tuple[str, str]:
    """Return the part of a query that is searched, and a sentence that says so; '' if that is all of it.

    Of a long one these are its last part and its first part. The end comes first, since models read the beginning.
    """
    if len(query) <= SEARCHED:
        return query, ""
    half = SEARCHED // 2
    first, last = query[: half - 2], query[-half:]  # the parts are joined by up to two line ends
    if " " in first.strip() and not query[half - 2].isspace():
        first = first.rsplit(None, 1)[0]
    if " " in last.strip() and not (query[-half - 1].isspace() or last[0].isspace()):
        last = last.split(None, 1)[1]
    before, end = last[:-LAST], last[-LAST:]
    joint = max(before.rfind(" "), before.rfind("\n")) + 1  # a word that the joint would cut goes to the end
    searched = "\n".join(filter(None, (before[joint:] + end, before[:joint].rstrip(), first)))
    return searched, f"The query has {len(query):,} characters, of which the first and the last {half:,} were searched."


def gist(query: str) -> tuple[str, ...]:
    """Return the first and the last line with words of a long query; a short one as it is.

    To the cross-encoder, any text answers a traceback or a log: its logits are 3 to 7, whatever it reads.
    """
    if len(query) <= TYPED:
        return (query,)
    lines = [line for line in query.splitlines() if words(line[:SEARCHED])] or [query]
    return lines[0][:ENDS], lines[-1][-ENDS:]


_ESCAPED = str.maketrans({mark: f"~{mark}" for mark in "%_~"})


def containing(part: str) -> str:
    """Return the pattern by which SQL's `LIKE ... ESCAPE '~'` finds a part of a text; '' for an empty part."""
    return f"%{part.translate(_ESCAPED)}%" if part else ""
