"""A text as the evidence of changes compares it: its words, the values in it, and its signs of a change."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache

from memoryd.text import STOP_WORDS

CHANGE = re.compile(
    r"""\b(?:no\ longer|any\ ?more|any\ longer|after\ all|not\ [\w%.]+[,;]|instead|rather\ than|in\ place\ of
    |moved|moves|moving|migrat(?:ed|es|ing)|switch(?:ed|es|ing)|chang(?:ed|es)|replac(?:ed|es|ing)|swapped|renamed
    |raised|lowered|increased|decreased|reduced|doubled|halved|extended|shortened|bumped|grown?\ to|grew
    |(?:went|goes|gone|rose|risen|fell|fallen|cut|dropped)\ (?:up|down|back|from|to|by)
    |(?:was|were|has|have|had|we|they|he|she|i)\ cut|archived|decommissioned|slipped
    |out\ of\ use|from\ here\ on
    |(?:rolled|took|taken|takes|turned|switched|put)\ [\w.-]+(?:\ [\w.-]+)?\ (?:back|off)|left\ (?=(?-i:[A-Z]))
    |stopped|dropped(?!\ out\b)|ended|quit|gave\ up|given\ up|resigned|retired|abandoned|scrapped
    |discontinued|deprecated
    |(?:is|are|was|were)\ leaving|ran\ out(?!\ of\b)|lapsed
    |(?:contract|licen[cs]e|lease|tenancy|subscription|membership|agreement)\ (?:ends|runs\ out|lapses|expires)
    |(?:has|have|had|he|she|they|who)\ left|left\ (?:us|the|for)|gone|removed|deleted|closed|shut\ down|expired
    |sold(?!\ (?:by|at|in|as|with|only|out|per|separately)\b)|died|outgr(?:ew|own)|abolished|lifted|waived
    |divorced?|broke\ up|split\ up|passed\ away|(?:fell|fallen)\ through|on\ hold|ported|part[ -]exchange|traded\ in
    |cancel(?:l?ed)|called\ off|postponed|adjourned|rescheduled|delayed|slips|pushed\ (?:[\w-]+\ ){0,3}back|put\ off
    |brought\ forward
    |took\ over|takes\ over|taken\ over|has\ taken|handed|passed\ to|succeed(?:s|ed)|appointed|promoted
    |elected|became
    |turned\ (?:out|into)|upgraded|downgraded|updated|reverted|back\ (?:to|on|in)|fixed|repaired|resolved
    |correct(?:ion|ed)|(?:had|got|was)\ (?:[\w-]+\ ){0,4}wrong|actually|as\ of
    |from\ (?:now|tomorrow|(?:this|next)\ \w+|[a-z]+day|(?:jan|febr)uary
    |march|april|may|june|july|august|(?:septem|octo|novem|decem)ber|spring|summer|autumn|winter)\ on
    |since\ (?:yesterday|(?:last|this)\ \w+)|finally|over\ to|away\ from
    |(?:is|are)\ done(?!\ by)|(?:is|are|was)\ (?:over|gone|history
    |off(?!\ (?:the|by|to|limits)\b))|finished|started\ (?:on|with)|until\ now)\b|→|⇒""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that say that something is otherwise than before."""

_BEGINS = re.compile(r"(?:^|[^\w\s&,'’/]\s*|\n)$")
_TITLE = re.compile(r"\w+ (?:&|(?:By|Of|And)\b)|[A-Z][\w'’-]*(?: (?:&|[A-Z][\w'’-]*)){2,}:")
"""A name with which a sentence begins: `Moved By Music`, `Left Bank Hackney:`."""

_HABIT = re.compile(
    r"\b(?:is|are|be|gets?) (?:\w+ )?\w+ed (?:over |back |off |up |in )?(?=(?:every|each|daily|weekly|monthly|yearly"
    r"|once|twice|after|on|at|when|whenever|if|automatically|regularly)\b)"
    r"|\b(?:is|are) (?:never|always|usually|normally) \w+ed\b",
    re.IGNORECASE,
)
"""What is done again and again, which changes nothing: `is handed over on Mondays`, `are deleted after 60 days`."""

_HINT = re.compile(
    r"\b(?:now|nowadays|currently|today|again|since|new|newer|latest|already|by now|these days|used to"
    r"|has been|have been|meanwhile|starting|effective|can(?:no|['’])t)\b",
    re.IGNORECASE,
)
"""Words that often come with a change, and often without one."""

COUNTERPARTS = tuple(
    frozenset(line.split())
    for line in """front back rear side
left right
upper lower top bottom middle ground
first second third fourth fifth last final
staging production prod dev development test testing qa live preview sandbox demo
internal external public private
primary secondary backup main spare guest
read write readonly
frontend backend client server mobile desktop web ios iphone android windows linux macos mac
morning afternoon evening night noon lunch breakfast dinner
weekday weekdays weekend weekends
spring summer autumn winter
north south east west northern southern eastern western
home office work school
indoor outdoor indoors outdoors inside outside
mother father mum dad mom sister brother son daughter wife husband aunt uncle grandma grandpa grandmother grandfather
gran granny nan grandad granddad
his her
kitchen bathroom bedroom nursery hall hallway cellar basement attic loft garage garden balcony upstairs downstairs
paperback hardback hardcover ebook audiobook
red blue green yellow black white grey gray
hot cold warm
small large big medium
old young
car bike van caravan lorry truck bus train tram
dog cat rabbit
football handball volleyball basketball hockey rugby tennis swimming judo ballet piano violin guitar
adult adults child children""".splitlines()
)
"""Words of which one says that another is not meant."""

_JOINED = re.compile(rf"\b({'|'.join(sorted(frozenset[str]().union(*COUNTERPARTS)))})-(?=[a-z]{{3}})", re.IGNORECASE)
"""A counterpart within a compound: `ground-floor tenant`."""

CALENDAR = (
    frozenset("monday tuesday wednesday thursday friday saturday sunday".split()),
    frozenset("mondays tuesdays wednesdays thursdays fridays saturdays sundays".split()),
    frozenset("january february march april may june july august september october november december".split()),
)
"""The same if a question has one; without a question they are values that change."""
DAYS = frozenset[str]().union(*CALENDAR)

_REACH = 3  # words from a negation to what it denies
_BESIDE = 30  # characters from a word of change to what changed
_NEGATIONS = frozenset({"no", "not", "never", "without", "cannot", "nothing"})

SENTENCE = re.compile(r"(?<=[.;!?])\s+")
"""Where a sentence ends."""
YEAR = re.compile(r"(?:19|20)\d\d")
TOKEN = re.compile(r"#?\w+(?:[.:/'’-]\w+)*%?")
"""A word, a name with points, a time, a number with its percent sign, a colour."""
_KINDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "time": r"\b\d{1,2}[:.]\d{2}\b(?!\.\d)|\b\d{1,2} ?(?:am|pm|o'clock)\b",
        "date": r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b"
        r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]* \d+|\b\d{1,2}\.? ?(?:of )?"
        r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b20\d\d\b",
        "weekday": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
        "percent": r"\d[\d.,]* ?(?:%|percent|per cent)",
        "amount": r"[€$£]\s?\d+(?:[.,]\d+)*|\d[\d.,]*\s?(?:€|\$|£|euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?)\b",
        "duration": r"\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[- ]"
        r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|s|min|h)\b",
        "version": r"\bv?\d+(?:\.\d+)+\b",
        "code": r"#[0-9a-f]{6}\b|\b(?=[a-z-]*\d)(?=\d*[a-z])[a-z0-9-]{4,}\b",
        "number": r"(?<![\w.:/-])\d[\d,.]*(?![\w:/-])"
        r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b",
    }.items()
}


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A text with what is compared of it."""

    text: str
    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    content: frozenset[str]
    """The stems of its words that are not stop words."""
    telling: frozenset[str]
    """The same without small numbers, which two texts have in common by chance."""
    kinds: Mapping[str, frozenset[str]]
    """The values in it, by kind."""
    beside_change: frozenset[str]
    """The stems of the words that stand near a word of change, or shortly after a negation."""
    changes: bool
    hints: bool


@lru_cache(maxsize=4_096)
def compared(text: str) -> ComparedText:
    """Return a text as it is compared. A question compares many pairs of the same few texts."""
    text = _JOINED.sub(r"\1 ", text)
    tokens = tuple(TOKEN.findall(text))
    stems = tuple(stem_of(token) for token in tokens)
    content = frozenset(s for s, token in zip(stems, tokens, strict=True) if token.lower() not in STOP_WORDS)
    kinds = {kind: frozenset(m.lower() for m in pattern.findall(text)) for kind, pattern in _KINDS.items()}
    habits = [match.span() for match in _HABIT.finditer(text)]
    spans = [
        (start, end)
        for start, end in map(re.Match[str].span, CHANGE.finditer(text))
        if not any(first <= start < last for first, last in habits) and not _in_name(text, start, end)
    ]
    return ComparedText(
        text,
        tokens,
        stems,
        content,
        telling=frozenset(stem for stem in content if not (stem.isdigit() and len(stem) < 3)),  # 3 is anywhere
        kinds={kind: found for kind, found in kinds.items() if found},
        beside_change=frozenset(stems[place] for place in _beside(text, spans) if stems[place] in content),
        changes=bool(spans),
        hints=any(not _in_name(text, *match.span()) for match in _HINT.finditer(text)),
    )


def _in_name(text: str, start: int, end: int) -> bool:
    """Return whether words are a part of a name: `Bean & Gone`, `New York`, but not `Moved to York`, `CANCELLED`.

    In a heading (`Board Meeting Postponed to Friday`) all words begin so.
    """
    if not text[start].isupper() or text[start:end].isupper():
        return False
    if not any(match[0].islower() and match[0] not in STOP_WORDS for match in TOKEN.finditer(text)):
        return False
    return not _BEGINS.search(text, max(0, start - 9), start) or bool(_TITLE.match(text, start))


def _beside(text: str, changes: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the places of the words near the spans of words of change, or shortly after a negation."""
    denied = -_REACH - 1
    before = ""
    for place, match in enumerate(TOKEN.finditer(text)):
        if negates(match[0]):
            denied = place
        beside = any(
            match.start() - end < _BESIDE
            and start - match.end() < _BESIDE
            and not SENTENCE.search(text, min(end, match.end()), max(start, match.start()))
            for start, end in changes
        )
        if match[0].endswith(("'s", "’s")):
            pass  # `Ann's lease ended` says what became of the lease
        elif beside or (changes and before == "from") or place - denied <= _REACH:
            yield place
        before = match[0].lower()


def negates(token: str) -> bool:
    """Return whether a word is a negation."""
    return token.lower() in _NEGATIONS or token.lower().endswith(("n't", "n’t"))


def stem_of(token: str) -> str:
    """Return a word without its commonest endings, so that `logs`, `log` and `logged` agree."""
    word = token.lower().removesuffix("'s").removesuffix("’s")
    if word.isalpha() and len(word) > 3:
        for ending in ("ing", "ies", "ied", "ed", "es", "s", "e", "y"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words that are not stop words."""
    return compared(text).content


@cache
def choosing() -> frozenset[str]:
    """Return the stems of the counterparts: they say which one is meant, not what both are about."""
    return frozenset(stem_of(word) for words in COUNTERPARTS for word in words)


def alignment(one: ComparedText, other: ComparedText) -> SequenceMatcher[str]:
    """Return where two texts have the same words in the same order, and where others."""
    return SequenceMatcher(None, one.stems, other.stems, autojunk=False)


def alike(one: ComparedText, other: ComparedText, ratio: float) -> bool:
    """Return whether two texts are alike by this ratio; bounds that cost less decide most."""
    found = alignment(one, other)
    return found.real_quick_ratio() >= ratio and found.quick_ratio() >= ratio and found.ratio() >= ratio


def same_kind(old: ComparedText, new: ComparedText, kinds: Iterable[str] = tuple(_KINDS)) -> bool:
    """Return whether both texts have a value of one of these kinds, and the newer another one."""
    return any(new.kinds[kind] - old.kinds[kind] for kind in kinds if kind in old.kinds and kind in new.kinds)
