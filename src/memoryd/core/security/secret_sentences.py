"""Passwords and tokens in sentences: a value that looks like one, on the same line as a word that says so.

`The old DB password got rotated. New one is ...`, `use ... as the shared password`: no syntax joins the two.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import ascii_letters, digits, punctuation

from memoryd.core.security import secret_values as values

CUES = (
    "passw", "passphrase", "passcode", "credential", "creds", "secret", "token", "api key", "access key", " pw",
    "login", "log in", "kennwort", "zugang", "anmeld", "clave ", "mot de passe", "mdp", "contrase", "senha",
    "wachtwoord", "hasło", "парол", "токен", "パスワード", "トークン", "密码", "密碼", "口令", "令牌", "비밀번호",
    "logged in", "logs in", "logging in", "vpn pass", "wifi pass", "identifiant", "heslo", "jelszó", "parola", "şifre",
    "lösenord", "adgangskode", "passord", "salasana", "κωδικ", "كلمة", "סיסמ", "पासवर्ड", "รหัสผ่าน", "mật khẩu",
    "kata sandi", "contrasenya", "パスコード", "パスフレーズ", "암호", "패스워드", "logins for", "opens with", "unlock",
    "lozink", "slaptažod", "parool", "nenosiri", "geslo", "lykilorð",
    "비번", "合言葉", "暗証", "رمز عبور", "jelsz", "unseal",
    "api-key", "apikey", "clé api", "ключ", "chiave", "klucz", "x_auth", "_auth", "auth_",
    "cookie", "private", "decrypt", "open with", "opened with", "öffne", "entsperr", "entschlüssel",
    "s'ouvre avec", "se abre con",
    "si apre con", "abre com", "открывается",
)  # fmt: skip
"""How the words begin that say so, in small letters."""
BEFORE, AFTER = 60, 100  # characters before and after the word in which the value may stand

LONGEST = 200  # characters of a value
_PRINTED = ascii_letters + digits + punctuation
_VALUE = re.compile(
    r"(?<![\w+/=-])[^\s\"'`<>()\[\]{}"
    r"|,;“”‘’「」『』，。、；][^\s\"'`<>|,;“”‘’「」『』，。、；]{7,199}+"
)
_DIGIT = re.compile(r"\d")
_SPLIT = re.compile(r"[-_./:]")
_STRONG = re.compile(r"[!#$%&*@^~+?]")
_NO_VALUE = re.compile(
    rf"{values.MADE_PUBLIC}"
    r"|.{0,64}?(?:\*{3}|…)|(?![a-z]*[A-Z][a-zA-Z]*@\w+\d$)[\w.+-]+@[\w-]+(?:\.[a-z.-]+$|:|$)|@"
    r"|\w+://|[~./\\]|AAAA[BCE]3|(?:data|iv|tag|mac|type|arn|urn|(?:tool:)?pkg):|[$%&#?]\w+$"
    r"|[\w+]+://|#/|(?:projects|secrets?|kv|ssm|vault|op|sm):?/|(?:RFC|CVE|PEP)-?\d|.{0,64}(?:\(.*\)"
    r"|\[.*\]|\{.*\}|[(\[{][?*^]|\\[a-zA-Z])|(?i:x?chacha|aes|sha|argon|pbkdf|hmac|rsa|ed25519"
    r"|x25519|curve|bcrypt)\d*|\$|\w+\.\w{2,4}$|[\w.%-]+(?:[=?]|&[\w.-]*=)|[\w.]*[(\[]|\w+(?:::|->|/)|[\w-]+@\d"
    r"|(?=\S*(?i:token|key|passw|secret|auth|credential))[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|[a-z_]+\+1$"
    r"|[A-Za-z][\w.-]*-\d+(?:\.\d+)?[bBM](?:-|$)"
    r"|[*_]{1,2}\w+[*_]{1,2}$|[#!]?\d[\d.,:-]*\w{0,3}$|[A-Z][a-z]+#\d+$"
)
"""Addresses, paths, variables, files, assignments, names of code, versions, what Markdown stresses, numbers."""
_INTRODUCED = re.compile(
    r"(?:\bit['’]?s|\b(?:it|one|es|das|ça|that|this) (?:is|was|ist|war|est|es)(?: now| jetzt)?"
    r"|\b(?:lautet|c['’]est|was|(?:is )?now|jetzt|maintenant|ahora|agora|ora)"
    r"|\b(?:open|opened|opens|unlock|decrypt)\w{0,2}(?: [\w'’]{1,12}){0,3} (?:with|using)"
    r"|(?:new|current|neue|neues|aktuelle|nouveau|nueva|nova|nuova|nieuwe|nytt?|nowe|новый)(?: one)?"
    r"(?: (?:is|ist|est|es|é|è|är|er|to))?:?"
    r"|\b(?:with|as|using|mit|als|avec|con|com) [\w.@-]{2,30} ?(?:and|with|und|mit|et|y|e|/|:)"
    r"|[:,] ?[\w.@-]{2,30} (?:with|and|mit|und|avec|con|com|/))"
    r"[ :]{1,2}[*_]{0,2}\Z",
    re.IGNORECASE,
)
"""What stands before a value where a sentence refers to what was named before, or after the name of an account."""
_INTRODUCTION = 60  # characters of it at most
_ID = re.compile(r"(?i:client|app|tenant|project|object)[ _-]?(?i:id)[\"'`]?(?: is|\s?[:=])?\s?[\"'`]?\Z")
_CHANGES = 7  # of the class of character, in a value that chance made of letters and digits
_PICKED = 8  # characters of what is introduced at least
_WORDS = re.compile(r"[a-z]{4,}+[-_.!][a-z]{4,}+.{0,20}\d|[a-z]{4,}+\d+[!#*?+]")
_CHANCE = 12  # characters of such a value at least


def spans(whole: str, folded: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where such values begin and end in a text, also given in small letters; CUES stand at these places of it."""
    for first, last in _windows(folded, places):
        for match in _VALUE.finditer(whole, first, last):
            if not _DIGIT.search(match[0]):  # as most words: each kind of value has one
                continue
            value = _ended(match[0])
            if _ID.search(whole, max(0, match.start() - _INTRODUCTION), match.start()) or values.is_public(
                folded, match.start()
            ):
                continue
            if is_chosen(value) or is_chance(value) or (
                is_picked(value) and _INTRODUCED.search(whole[max(0, match.start() - _INTRODUCTION) : match.start()])
            ):  # fmt: skip
                yield match.start(), match.start() + len(value)


def _ended(value: str) -> str:
    """A value without the marks of the sentence that it ends, and brackets that close what began before it."""
    value = _without_marks(value)
    while value[-1:] in {")", "]", "}"} and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = _without_marks(value[:-1])
    return value


def _without_marks(value: str) -> str:
    return value.rstrip(".:!?" if value[-1:] in {".", ":"} else ".:")


def _windows(folded: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The parts of lines around the words; what several share is one of them, so that each is looked at once."""
    first = last = -1
    for place in places:
        begin = max(folded.rfind("\n", max(0, place - BEFORE), place) + 1, place - BEFORE, 0)
        cut = folded[max(0, begin - LONGEST) : begin]  # of what the window would begin in the middle of
        begin -= len(cut) - len(cut.rstrip(_PRINTED))
        end = folded.find("\n", place, place + AFTER)
        if end > 0 and folded[end - 1] in "?？":  # the answer stands on the next line
            end = folded.find("\n", end + 1, place + AFTER)
        end = min(place + AFTER, len(folded)) if end < 0 else end
        if begin > last:
            if last >= 0:
                yield first, last
            first = begin
        last = max(last, end)
    if last >= 0:
        yield first, last


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


def is_picked(value: str) -> bool:
    """Whether it may be a password where a sentence says that one follows: letters and digits, and no plain name."""
    lower, upper, digit, sign = _classes(value)
    if len(value) < _PICKED or not (lower and digit) or _NO_VALUE.match(value):
        return False
    if upper:
        return sign or _is_mixed(value)
    return sign and bool(_WORDS.search(value))


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
    return changes >= _CHANGES and not re.search(r"[a-z]{7}" if changes * 2 >= len(value) else "[a-z]{5}", value)
