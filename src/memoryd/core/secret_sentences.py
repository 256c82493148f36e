"""Passwords and tokens in sentences: a value that looks like one, on the same line as a word that says so.

`The old DB password got rotated. New one is ...`, `use ... as the shared password`: no syntax joins the two.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

CUES = (
    "passw", "passphrase", "passcode", "credential", "creds", "secret", "token", "api key", "access key", " pw",
    "login", "log in", "kennwort", "zugang", "anmeld", "clave ", "mot de passe", "mdp", "contrase", "senha",
    "wachtwoord", "hasło", "парол", "токен", "パスワード", "トークン", "密码", "密碼", "口令", "令牌", "비밀번호",
)  # fmt: skip
"""How the words begin that say so, in small letters."""
BEFORE, AFTER = 60, 100  # characters before and after the word in which the value may stand

_VALUE = re.compile(r"[^\s\"'`<>()\[\]{}|,;“”‘’「」『』，。、；]{8,64}+")
_SPLIT = re.compile(r"[-_./:]")
_STRONG = re.compile(r"[!#$%&*@^~+?]")
_NO_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[a-z.-]+$|:|$)|@|\w+://|[~./\\]|[$%&#?]\w+$|\$|\w+\.\w{2,4}$|[\w.-]+[=?&]|\w+(?:::|->|/)|[\w-]+@\d"
    r"|[*_]{1,2}\w+[*_]{1,2}$|[#!]?\d[\d.,:-]*\w{0,3}$|[A-Z][a-z]+#\d+$"
)
"""Addresses, paths, variables, files, assignments, names of code, versions, what Markdown stresses, numbers."""
_CHANGES = 7  # of the class of character, in a value that chance made of letters and digits
_CHANCE = 12  # characters of such a value at least


def spans(whole: str, folded: str) -> Iterator[tuple[int, int]]:
    """Where such values begin and end in a text, which is also given in small letters."""
    for first, last in _windows(folded):
        for match in _VALUE.finditer(whole, first, last):
            value = match[0].rstrip(".:!?" if match[0][-1:] in ".:" else ".:")
            if is_chosen(value) or is_chance(value):
                yield match.start(), match.start() + len(value)


def _windows(folded: str) -> Iterator[tuple[int, int]]:
    """The parts of lines around the words; what several share is one of them, so that each is looked at once."""
    first = last = -1
    for place in _places(folded, CUES):
        begin = max(folded.rfind("\n", max(0, place - BEFORE), place) + 1, place - BEFORE, 0)
        end = folded.find("\n", place, place + AFTER)
        end = min(place + AFTER, len(folded)) if end < 0 else end
        if begin > last:
            if last >= 0:
                yield first, last
            first = begin
        last = max(last, end)
    if last >= 0:
        yield first, last


def _places(folded: str, words: Sequence[str]) -> list[int]:
    return sorted({match.start() for word in words if word in folded for match in re.finditer(re.escape(word), folded)})


def _classes(value: str) -> list[bool]:
    return [
        any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)),
        not value.isalnum(),
    ]  # fmt: skip


def is_chosen(value: str) -> bool:
    """Whether somebody has thought of it as a password: letters, digits, and signs that no name has."""
    lower, upper, digit, sign = _classes(value)
    if not (digit and sign and (lower or upper)) or _NO_VALUE.match(value) or value.isupper():
        return False
    if _STRONG.search(value[1:]):
        return lower + upper + digit + sign == 4 or len(value) >= 10
    mixed = any(_is_mixed(part) for part in _SPLIT.split(value))
    return len(value) >= 10 and lower and upper and mixed


def _is_mixed(part: str) -> bool:
    """Whether digits stand between letters or before them, as they do in few words: `b1scuit`, `4Klen`."""
    return bool(re.search(r"[A-Za-z]\d+[A-Za-z]{2}|^\d+[A-Za-z]{2}", part)) and not re.fullmatch(
        r"v?\d+[a-z]{1,2}", part
    )


def is_chance(value: str) -> bool:
    """Whether chance made it: long, of small letters, capitals and digits that change often."""
    lower, upper, digit, _ = _classes(value)
    if len(value) < _CHANCE or not (lower and upper and digit) or _NO_VALUE.match(value):
        return False
    kinds = [(one.islower(), one.isupper(), one.isdigit()) for one in value]
    changes = sum(before != after for before, after in pairwise(kinds))
    return changes >= _CHANGES and not re.search(r"[a-z]{5}", value)
