"""Pure functions over text: queries, token estimates, what two texts have in common, extracts."""

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

CHARACTERS_PER_TOKEN = 4
SHOUTED = 3  # words in capitals; more of them, two side by side, are a sentence rather than operators and operands

# What a question is built of rather than about. Left out of queries by words: +5 points R@5 on conversations.
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could did do does doing
    for from had has have having he her here hers him his how i if in into is it its itself just let me more my no nor
    not now of off on once only or other our out over own same she should so some such than that the their them then
    there these they this those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours s t d m re ve ll don doesn didn isn aren wasn weren won wouldn shouldn
    couldn""".split()
)

# Signs of letters that `re` takes for no letters: accents, vowels of Hebrew, Arabic and the scripts of India, joiners.
SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3\u200c\u200d"
)
_WORD = re.compile(rf"\w+(?:[{SIGNS}]+\w*)*")  # an index that parts words there takes one for a phrase
_MARKED = re.compile(r"\w[\u0300-\u036f]+")
# Those that FTS5 drops. The others part words there, and so they do here.
_DROPPED = re.compile(r"[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]")
_TOKEN = re.compile(  # a quote after a digit opens nothing: it is inches
    r'(?<!\d)"(?P<phrase>[^"]*)"(?P<begins>\*?)|(?P<bracket>[()])'
    rf'|(?P<word>\w+(?:[^\s()"*\w]+\w+)*[{SIGNS}]*)(?P<star>\*?)'
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=\S)|\n+")


def unstorable(text: str) -> re.Match[str] | None:
    """The first character that no database and no protocol could carry: a NUL or a lone surrogate."""
    return _UNSTORABLE.search(text)


def storable(text: str) -> str:
    """`text` with a sign of replacement for each character that nothing could carry."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def estimate_tokens(text: str) -> int:
    """The tokens of a text, estimated as characters / 4 and rounded up: the one measure of every budget."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def words(text: str) -> list[str]:
    """The words of a text in lower case, as the index has them: it keeps ß."""
    return _WORD.findall(_composed(text.lower()))


def _composed(text: str) -> str:
    """Letters and the accents after them as one character each; what has none loses the accent, as in the index.

    Only there is it NFC: that would turn other characters into ones that the index does not know them by.
    """
    return _DROPPED.sub("", _MARKED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text))


def content_words(text: str) -> list[str]:
    """The words that a text is about, each once; all of its words where it has no others."""
    every = dict.fromkeys(words(text))
    return [word for word in every if word not in STOP_WORDS] or list(every)


# queries by words ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in this order; the last one may be the beginning of a word."""

    words: str
    prefix: bool = False

    def matches(self, text: Sequence[str]) -> bool:
        """Whether it stands among these words."""
        *first, last = self.words.split() or [""]
        ends = (place for place, word in enumerate(text) if word == last or (self.prefix and word.startswith(last)))
        return any(place >= len(first) and list(text[place - len(first) : place]) == first for place in ends)

    def tsquery(self, label: str = "") -> str:
        """The phrase for Postgres; with a `label` only where it is in text of that weight."""
        found = filter(None, re.split(rf"(?:[^\w{SIGNS}]|_)+", self.words))
        parts = [f"'{word}'" for word in found] or ["'_'"]  # which matches nothing
        ends = f":{'*' if self.prefix else ''}{label}"
        parts[-1:] = [part + ends.removesuffix(":") for part in parts[-1:]]
        return " <-> ".join(parts)


@dataclass(frozen=True, slots=True)
class Both:
    """`operator` is AND, OR, or NOT (the left without the right)."""

    operator: Literal["AND", "OR", "NOT"]
    left: "Expression"
    right: "Expression"


Expression = Phrase | Both


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A parsed query by words, to be emitted for a text index."""

    expression: Expression
    syntax: bool = False
    """Whether it was written in query syntax."""
    binding: bool = False
    """Whether that syntax is all there is, so that what it does not match is not wanted: not so where a question
    merely quotes something."""

    def fts5(self) -> str:
        """The query for SQLite's FTS5; every word is quoted, so that nothing a user types is syntax by accident."""
        return _fts5(self.expression)

    def tsquery(self) -> str:
        """The query for Postgres' to_tsquery."""
        return _tsquery(self.expression)

    def matches(self, text: Sequence[str]) -> bool:
        """Whether a text of these words is found, where no index is there to ask: words count as they stand."""
        return _matches(self.expression, text)

    def terms(self) -> list[Phrase]:
        """What may be found of it: every phrase that is not behind a NOT, each once."""
        return list(dict.fromkeys(_wanted(self.expression)))


def parse_query(text: str) -> WordQuery | None:
    """Read a query: AND, OR, NOT in capitals, "phrases" and prefix* make it syntax, brackets then group.

    Else any word may match, also where everything stands in capitals like a sentence. What does not parse is searched
    literally: a query never fails. None where there is no word in it.
    """
    tokens = _tokens(text)
    operators = any(token["bracket"] or token["word"] in _OPERATORS for token in tokens)
    if any(not token["bracket"] and not _is_bare(token) for token in tokens):
        without = [token for token in tokens if not _is_bare(token) or token["word"].casefold() not in STOP_WORDS]
        expression = _Parser(without).parse() or _Parser(tokens).parse()
        if expression is not None:
            return WordQuery(expression, syntax=True, binding=operators or not any(map(_is_bare, tokens)))
    return literal_query(text)


def literal_query(text: str) -> WordQuery | None:
    """Any of the words that a text is about. None where there is no word in it."""
    terms = content_words(text)
    return WordQuery(_any([Phrase(term) for term in terms])) if terms else None


def _any(parts: Sequence[Expression]) -> Expression:
    expression = parts[0]
    for part in parts[1:]:
        expression = Both("OR", expression, part)
    return expression


def _fts5(expression: Expression) -> str:
    # A chain of ORs is long but flat: walk down its left side instead of recursing into it.
    tail: list[str] = []
    while isinstance(expression, Both):
        right = _fts5(expression.right)
        tail.append(f" {expression.operator} " + (f"({right})" if isinstance(expression.right, Both) else right))
        if isinstance(expression.left, Both) and expression.left.operator != expression.operator:
            return f"({_fts5(expression.left)})" + "".join(reversed(tail))
        expression = expression.left
    return f'"{expression.words}"' + ("*" if expression.prefix else "") + "".join(reversed(tail))


_SIGNS = {"AND": "&", "OR": "|", "NOT": "& !"}


def _tsquery(expression: Expression) -> str:
    tail: list[str] = []
    while isinstance(expression, Both):
        tail.append(f" {_SIGNS[expression.operator]} ({_tsquery(expression.right)})")
        if isinstance(expression.left, Both) and expression.left.operator != expression.operator:
            return f"({_tsquery(expression.left)})" + "".join(reversed(tail))
        expression = expression.left
    return f"({expression.tsquery()})" + "".join(reversed(tail))


def _matches(expression: Expression, text: Sequence[str]) -> bool:
    tail: list[Both] = []
    while isinstance(expression, Both):
        tail.append(expression)
        expression = expression.left
    found = expression.matches(text)
    for both in reversed(tail):
        if found != (both.operator == "OR"):  # else it is decided
            found = _matches(both.right, text) != (both.operator == "NOT")
    return found


def _wanted(expression: Expression) -> Iterator[Phrase]:
    rest = [expression]
    while rest:
        match rest.pop():
            case Phrase() as phrase:
                yield phrase
            case Both(operator="NOT", left=left):
                rest.append(left)
            case Both(left=left, right=right):
                rest += [left, right]


def _tokens(text: str) -> list[re.Match[str]]:
    """What query syntax is made of; without operators and brackets where they are those of a sentence in capitals."""
    found = [match for match in _TOKEN.finditer(_composed(text)) if match["phrase"] is None or words(match["phrase"])]
    bare = [match["word"] for match in found if _is_bare(match)]
    beside = any(_is_bare(one) and _is_bare(other) for one, other in pairwise(found))
    if len(bare) > SHOUTED and beside and "".join(bare).isupper():
        return [match for match in found if not match["bracket"] and match["word"] not in _OPERATORS]
    return found


def _is_bare(token: re.Match[str]) -> bool:
    return bool(token["word"] and not token["star"] and token["word"] not in _OPERATORS)


class _Parser:
    """Recursive descent over FTS5's grammar without columns and NEAR: OR < AND and adjacency < NOT < brackets."""

    DEPTH = 50

    def __init__(self, tokens: Sequence[re.Match[str]]) -> None:
        self._tokens = tokens
        self._place = self._depth = 0

    def parse(self) -> Expression | None:
        try:
            expression = self._or()
        except _NotParsedError:
            return None
        return expression if self._peek() is None else None

    def _peek(self) -> str | None:
        return self._tokens[self._place].group() if self._place < len(self._tokens) else None

    def _take(self, *expected: str) -> bool:
        if self._peek() in expected:
            self._place += 1
            return True
        return False

    def _or(self) -> Expression:
        left = self._and()
        while self._take("OR"):
            left = Both("OR", left, self._and())
        return left

    def _and(self) -> Expression:
        left = self._not()
        while self._take("AND") or self._peek() not in (None, "OR", ")", "NOT"):
            left = Both("AND", left, self._not())
        return left

    def _not(self) -> Expression:
        left = self._atom()
        unwanted = []
        while self._take("NOT"):
            unwanted.append(self._atom())
        return Both("NOT", left, _any(unwanted)) if unwanted else left  # a chain of NOTs would nest too deep

    def _atom(self) -> Expression:
        if self._take("("):
            self._depth += 1
            if self._depth > self.DEPTH:
                raise _NotParsedError
            inside = self._or()
            if not self._take(")"):
                raise _NotParsedError
            self._depth -= 1
            return inside
        if self._peek() in (None, ")", "AND", "OR", "NOT"):
            raise _NotParsedError
        match = self._tokens[self._place]
        self._place += 1
        inner = " ".join(words(match["phrase"] if match["phrase"] is not None else match["word"]))
        return Phrase(inner, prefix=bool(match["begins"] or match["star"]))


class _NotParsedError(Exception):
    """It is no query syntax."""


# what texts say ------------------------------------------------------------------------------------------------------

_OPENING, _CLOSING = "\"'`([{“‘«", ".,;:\"'`)]}”’»"
_ARTICLES = frozenset({"an", "the"})
_AMOUNTS = frozenset({"few", "little"})  # which an `a` before them makes more
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
ONE_WORD = 8  # words of a text from which on one other word hardly moves its vector


def fingerprint(text: str) -> str:
    """Equal for texts that say the same in the same words.

    Articles, the capital that begins a sentence and the marks around words do not count: not `a` within a sentence,
    which may be a name or another language, nor marks that stand alone. Everything else does, so texts that differ in
    a number, a name, a date, a negation or the order of words differ. A cosine could not tell: embeddings put
    `stopped smoking` beside `stopped to smoke`.
    """
    return hashlib.sha256(" ".join(_bare(text)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bare(text: str) -> Iterator[str]:
    tokens = unicodedata.normalize("NFC", text).split()
    starts = capital = True
    for place, token in enumerate(tokens):
        last = place + 1 == len(tokens)
        capital |= starts
        if last or not _is_article(token, tokens[place + 1], starts=starts):
            word = _stripped(token.rstrip("!…") if last else token) or token
            yield _uncapped(word) if capital else word
            capital = False
        starts = _ends(token)


def _uncapped(word: str) -> str:
    return word[:1].casefold() + word[1:]


def _is_article(token: str, following: str, *, starts: bool) -> bool:
    """Whether a token is an article for certain: in lower case and without marks, except where a sentence starts."""
    if token.casefold() == "a":
        return starts and following.casefold() not in _AMOUNTS
    return token in _ARTICLES or (starts and token.lstrip(_OPENING).casefold() in _ARTICLES)


def _stripped(token: str) -> str:
    """A word without the marks around it; what stands beside a digit or before a word may be part of it."""
    if any(character.isdigit() for character in token):
        return token.lstrip("“‘«").rstrip(".,;:”’»")
    return token.lstrip(_OPENING).rstrip(_CLOSING)


def _ends(token: str) -> bool:
    return token.rstrip(_CLOSING.replace(".", "")).endswith((".", "!", "?", ":", "…"))


# The same in other signs.
_BESIDE = re.compile(r"(?<=\S)[^\x00-\x7f]|[^\x00-\x7f](?=\S)")
_SPELLED = frozenset({"<wide>", "<narrow>", "<compat>", "<noBreak>"})  # but 10² is not 102
_UNSEEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u2060\ufeff"))
_NUMBERS = dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True))
_SUBJECT = r"\b(it|he|she|that|there|here|what|where|who|how)"
# After these an `a` is an article, before these it is none; elsewhere it may be a name, or another language.
_BEFORE = "is was be has have had needs as at in into with for of on by from after before under over through and or not"
_NO_NOUN = "|".join(sorted(STOP_WORDS | _AMOUNTS))
_FORMS = (
    (r"(?<=\w)[’ʼ](?=\w)", "'", 0),
    (r"(?<=\w)[‐‑‒–—](?=\w)|[‒–−](?=\d)", "-", 0),  # one that stands alone may be what is spoken of
    (r"(?<=\w)。", ".", 0),
    (r"(?<=\w)、", ",", 0),
    (r"(?<!\S)¡(?=\w)", "", 0),
    (r"^[ \t]*[-*•][ \t]+(?=[^\W\d])", "", re.MULTILINE),
    (r"(?<!\S)\*\*(?=\S)([^*\n]*)(?<=\S)\*\*(?!\w)", r"\1", 0),
    (r"(?<![\w`])`(?=[^`\n]*\d)([^`\n]*)`(?![\w`])", r"\1", 0),  # the marks around other words do not count anyway
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
    (r"(?<=\w)'d(?= (?:rather|like|love|prefer)\b)", " would", re.IGNORECASE),  # else it may be `had`
    (rf"{_SUBJECT}'s(?= (?:got|been)\b)", r"\1 has", re.IGNORECASE),
    (rf"{_SUBJECT}'s\b", r"\1 is", re.IGNORECASE),  # after a name it may be an owner's
    (rf"\b((?i:{'|'.join(_BEFORE.split())})) a (?!(?:{_NO_NOUN})\b)(?=[a-z]{{2}})", r"\1 ", 0),
)
_NUMBER = re.compile(rf"(?<![\w-])(?:{'|'.join(_NUMBERS)})(?![\w-])")
_SHOUTED = re.compile(r"\b(?:NOT|NEVER|ALWAYS|MUST|ONLY|DO(?= NOT)|IMPORTANT|NOTE|WARNING|REMEMBER)\b")
_WORD_ALONE = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Compiled when they are first needed: a server starts without."""
    return [(re.compile(pattern, flags), instead) for pattern, instead, flags in _FORMS]


def plain(text: str) -> str:
    """The text in the plainest of the forms that say the same.

    Contractions in full where they have but one reading, signs of other widths, dashes in words, marks of lists, of
    code and of stress, small numbers, the blank before a unit, no `a` where it is an article for certain. Never what
    may be another fact.
    """
    found = unicodedata.normalize("NFC", _BESIDE.sub(_spelled, text.translate(_UNSEEN)))
    found = _NUMBER.sub(lambda match: str(_NUMBERS[match[0]]), found)
    for pattern, instead in _forms():
        found = pattern.sub(instead, found)
    return _SHOUTED.sub(lambda match: match[0].lower(), found)


def _spelled(match: re.Match[str]) -> str:
    tag, _, signs = unicodedata.decomposition(match[0]).partition(" ")
    return unicodedata.normalize("NFKC", match[0]) if tag in _SPELLED and not signs.startswith("0020") else match[0]


def may_differ(one: str, other: str) -> bool:
    """Whether two texts of nearly the same meaning may still state different facts.

    They do if they differ in numbers, names, dates, negations, opposites, what must, may or used to be, or marks that
    stand alone, or use the same words in another order: embeddings put such texts as close together as paraphrases.
    So they do with any other word in a long text. A single letter is a name, but for an `a` that begins a sentence.
    """
    one, other = plain(one), plain(other)
    here, there = list(_bare(one)), list(_bare(other))
    if here == there:
        return False
    long = max(len(here), len(there)) >= ONE_WORD
    return long or _turning_points(one) != _turning_points(other) or Counter(here) == Counter(there)


def _turning_points(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    begins = True
    for token in text.split():
        word = _stripped(token.rstrip("!…")) or token
        simple = word.casefold()
        named = any(c.isupper() for c in (word[1:] if begins else word))
        named |= len(simple) == 1 and not (begins and simple == "a")
        if simple in _TURNS or named or not _WORD_ALONE.fullmatch(word):
            found[simple if simple in _TURNS else _uncapped(word) if begins else word] += 1
        begins = _ends(token)
    return found


# extracts ------------------------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [part for part in (piece.strip() for piece in _SENTENCE.split(text)) if part]


def extract(text: str, about: Collection[str], tokens: int) -> str:
    """What fits of a text: its sentences that share most words with `about`, in their order, then its beginning.

    `tokens` bounds the estimate of what is returned; gaps are marked with `…`.
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
    """The beginning of a text, ended between words and marked with `…`, within `tokens`."""
    if estimate_tokens(text) <= tokens:
        return text
    room = max(0, tokens * CHARACTERS_PER_TOKEN - 2)
    head = text[:room]
    return (head.rsplit(None, 1)[0] if " " in head.strip() else head).rstrip() + " …"
