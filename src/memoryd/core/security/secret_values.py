"""Checks whether a value is a secret, for each kind of name: not a placeholder, path, word, hash or code."""

import re

MADE_PUBLIC = r"(?:pk[._-](?:eyJ|live_|test_|lf-)|phc_|sb_publishable_|rzp_(?:live|test)_)"
"""Prefixes of keys that are meant to be public."""
PLACEHOLDER = re.compile(
    r"""<[\w\ .:|-]*>|^<[^<>]{0,60}>$|^\[/?[A-Za-z_]+\d*\]$|[<{]\w*$
    |\{[\w\ .:-]*\}|\{\{|^\$[A-Za-z_]|\$[({]|\$(?:[A-Z_]{3,}|[a-z_]{3,})(?![A-Za-z0-9])
    |^"""
    + MADE_PUBLIC
    + r"""
    |^[A-Z][A-Z0-9]*_[A-Z0-9_]*=  # the next line
    |^(?:required|nullable|sometimes|string|bail)\|  # rules of validation
    |^ENC\[|^\(\?|^%|%\(|%s|\*{3}|\.{3}|…|\[masked:
    |^(?:\$|@\w*$|![a-z]+$|(.)\1*$)|([^\n])\2{5}
    |(?i:your|example|change_?me|placeholder|redacted|hidden|dummy|replace[_-]?(?:me|this|with)|insert[_-]|fill[_-]?(?:me|in)|to[_-]?be[_-]|fixme|todo
    |^(?:1password|keepass\w*|bitwarden|lastpass|dashlane|vaultwarden|keychain)\b
    |^(?:pass(?:word|wd|phrase|wort|code)?|pwd|secret|token|api[_-]?key|key|string|none|null|nil|true|false|undefined
    |kennwort|mot\ de\ passe|contrase[nñ]a|senha)\W*\d?$)""",
    re.VERBOSE,
)
_PUBLIC = re.compile(
    r"(?:(?:publishable|public|site|browser|search-only)[ _-]?key|sitekey|(?:clave|chave) pública"
    r"|clé publique|chiave pubblica"
    r"|öffentliche[rn]? schlüssel|открыт\w{2} ключ\w?|klucz publiczny|openbare sleutel|公開鍵|公钥|공개 ?키)"
    r"(?:(?!secret|privat|passw|token|key|clave|schlüssel)[^\n;]){0,60}\Z"
)
_DIGEST_OF = re.compile(
    r"(?:checksum|digest|fingerprint|(?<![a-z])sha(?:\d{1,3})?)[/._-][\w./-]{1,40}[\"']?\s?[:=]\s?[\"']?\Z"
)
_HEXADECIMAL = re.compile(r"(?:[0-9a-f]{8}){4,16}(?!\w)")
_BEFORE = 90  # characters before a value that are searched for a word that calls it public
PATHLIKE = re.compile(
    r"(?:~|\.{1,2})?/[\w./-]*$|[A-Za-z][\w+.-]*://|arn:|[\w.-]+/[\w./-]*$|[\w-]+\.(?:txt|pem|key|json)$"
)
CODE = re.compile(
    r"[A-Za-z_][\w.]*(?:\(|\[)|.*\($"
    r"|(?![A-Z][a-z]+\.[A-Z]?[a-z]{3,}\d+$)[(!&*]{0,3}[A-Za-z_$][\w$]*(?:[?!)\]]{0,2}\.[A-Za-z_]\w*)+[?!]?(?:$|\()"
    r"|_[A-Za-z_]+$|[A-Z]\w*(?:Key|Token|Secret|Password|Credentials?|Type)$"
    r"|(?:[\w\\*-]+\|){2}|\(?\[[^\]]{1,60}\][+*]|\(\?"
)
"""A call, an index, an attribute, a type, a regular expression; but not `Walnut.Tree19` or `blue.Heron.1987`."""
_NAME = re.compile(
    r"(?=.*(?i:token|secret|key|passw|credential|auth|bearer))[A-Za-z_]+(?:[._:-][A-Za-z_]+)*(?:[_-]\d{1,3})?"
)
_DIGEST = re.compile(r"(?:sha\d+|md5)[:-]", re.IGNORECASE)
HASH = re.compile(
    r"\A(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:sha\d+|md5)[:-].*|0x[0-9a-f]{8,16})\Z", re.IGNORECASE
)
_SMALL, _CAPITAL, _DIGIT, _SIGN = (re.compile(one) for one in ("[a-z]", "[A-Z]", r"\d", r"[^\w]|_"))
_WORD = re.compile(r"[^\W\d_]+(?:[-_.:|'’][^\W\d_]+)*")
_PHRASE = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,}|[a-z]{2,12}(?: [a-z]{2,12}){3,}")
_SPOKEN = re.compile(r"(?![A-ZÀ-Þ])[^\W\d_]{2,14}(?: [^\W\d_]{2,14}){3,7}")
_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?!.*[a-z]{7})[A-Za-z0-9+/]{24,}={0,2}")
_RUN = re.compile(r"[a-z]+|[A-Z]+|\d+")
_LONG = re.compile(r"[0-9a-f]{32,}|[A-Z0-9]{18,}|[a-z0-9]{28,}")
_JOINED = re.compile(
    r"[^\W\d_]{2,30}(?:[._][^\W_]{1,30}){0,3}[._][^\W\d_]{2,30}\d{1,6}[!?]?"
    r"|[^\W\d_A-Z]{2,30}(?:_[^\W\d_A-Z]{1,30}){2,4}"
)
OF_CODE = re.compile(
    r"(?:^|[._-])(?:(?:self|this|cls|os|sys|env|environ|process|conf|config|cfg|settings|opts?"
    r"|options|args?|params?|kwargs"
    r"|req|request|res|response|users?|username|account|data|ctx|context|hash|hashed|hashlib|digest"
    r"|sha|md|base|utf|bcrypt"
    r"|argon|pbkdf|scrypt|yescrypt|crypto|crypt|string|str|int|bool|types?|models?|fields?|columns?"
    r"|values?|default|name|file"
    r"|path|url|host|port|db|database|client|server|service|app|tests?|utils?|libs?|com|org|net|io"
    r"|www|api|version|https?|tls"
    r"|ssl|oauth|pass\w*|pwd|pw|keys?|tokens?|secrets?|auth\w*|credentials?|login|admin|vault|stored"
    r"|kept|required|in|not|is"
    r"|by|from|or|on|at|if|up|out)\d*|(?:bz|h|mp|ps?|s|v|x)\d+)(?=[._-]|$)",
    re.IGNORECASE,
)
"""Parts of names in code, of file names, and of terms in documents."""
_WITH_DIGITS = re.compile(r"[^\W\d_]{5,30}\d{1,6}[!?]?")
_OF_APP = re.compile("[a-z]{4}([ -]?)(?:[a-z]{4}\\1){2}[a-z]{4}")
_LETTERS = re.compile(r"[a-z]{12,32}")
_UNSAID = re.compile(
    r"[bcdfghjklmnpqrstvwxz]{5}|[bcdfghjkmnpqtvwxz]{4}|q(?!u)|[jvwx][bcdfgkmnpqtvxz]|[bcdfgkmpqt][jvwxq]"
)


def is_given(value: str) -> bool:
    """Return whether a value is literal, not a placeholder or a variable."""
    return not PLACEHOLDER.search(value)


def is_public(folded: str, at: int) -> bool:
    """Return whether a lower-case text calls the value at a place a public key or a digest."""
    begin = max(0, at - _BEFORE)
    of_digest = _HEXADECIMAL.match(folded, at) and _DIGEST_OF.search(folded, begin, at)
    return bool(of_digest or _PUBLIC.search(folded, begin, at))


def classes(value: str) -> int:
    """Return how many of these a value has: lower case, upper case, digits, signs."""
    return sum(bool(one.search(value)) for one in (_SMALL, _CAPITAL, _DIGIT, _SIGN))


def has_digit(value: str) -> bool:
    return is_given(value) and bool(_DIGIT.search(value))


def is_quoted(value: str) -> bool:
    """Return whether a value in quotes after the name of a secret is one: not a placeholder, path or sentence."""
    return len(value) >= 5 and is_given(value) and not re.search(r"\s", value) and not _is_path(value)


def is_quoted_key(value: str) -> bool:
    """Return whether a value in quotes after the name of a key is one, not itself a name such as `client-secret`."""
    return is_quoted(value) and not (_NAME.fullmatch(value) and re.search(r"[^A-Za-z]", value))


def _is_path(value: str) -> bool:
    """Return whether a value looks like a path or an address, but is not base64."""
    return bool(PATHLIKE.match(value)) and not (
        _BASE64.fullmatch(value) and len(value) < 2 * len(_RUN.findall(value))  # as in random text, unlike words
    )


def is_bare(value: str) -> bool:
    """Return whether a value without quotes is a secret: letters with digits or signs, not code, a path or a word."""
    return (
        is_quoted(value) and not CODE.match(value) and classes(value) > 1
        and (not _WORD.fullmatch(value) or bool(_PHRASE.fullmatch(value))) and not _DIGEST.match(value)
    )  # fmt: skip


def is_password(value: str) -> bool:
    """Return whether a value is a password, which may consist of digits only."""
    return (((value.isdecimal() and len(value) >= 6) or is_unsaid(value) or is_of_app(value)) and is_given(value)) or (
        is_bare(value) and (bool(_DIGIT.search(value)) or classes(value) > 2 or bool(_PHRASE.fullmatch(value)))
    )


def is_of_app(value: str) -> bool:
    """Return whether a value is an app password from Google or Apple: four groups of four letters."""
    letters = re.sub("[ -]", "", value)
    return bool(_OF_APP.fullmatch(value)) and bool(_UNSAID.search(letters))


def is_unsaid(value: str) -> bool:
    """Return whether lower-case letters are unpronounceable in any language, as random passwords of apps are."""
    return bool(_LETTERS.fullmatch(value)) and len(_UNSAID.findall(value)) > 1


def is_quoted_password(value: str) -> bool:
    """Return whether a value in quotes is a password: like `is_quoted`, but also phrases."""
    return is_quoted(value) or (bool(_PHRASE.fullmatch(value) or _SPOKEN.fullmatch(value)) and is_given(value))


def is_in_sentence(value: str) -> bool:
    """Return whether a value in a sentence is a secret: with a digit and a letter."""
    return (
        has_digit(value) and is_bare(value) and not HASH.match(value) and bool(re.search(r"[^\W\d_]", value))
    )  # fmt: skip


def is_spelled_like_a_name(value: str) -> bool:
    """Return whether a value in prose consists of words joined by dots or underscores, which would be a name in code.

    Examples are `Wal.nut7` and `tea_and_rye`.
    """
    return (
        len(value) >= 8 and is_given(value) and not value.isupper() and not OF_CODE.search(value)
        and bool(_JOINED.fullmatch(value))
    )  # fmt: skip


def is_in_prose(value: str) -> bool:
    """Return whether a value after a phrase in prose is a secret: spelled like a name, or a word with digits."""
    return is_spelled_like_a_name(value) or (
        bool(_WITH_DIGITS.fullmatch(value)) and is_in_sentence(value) and not OF_CODE.search(value)
    )


def is_strong(value: str) -> bool:
    """Return whether a value directly after the name is a secret: at least three classes of characters, or long."""
    return is_in_sentence(value) and ((len(value) >= 8 and classes(value) > 2) or is_long(value))


def is_long(value: str) -> bool:
    """Return whether a value has many letters of one case and many digits, as names do not."""
    return is_in_sentence(value) and bool(_LONG.fullmatch(value)) and len(_DIGIT.findall(value)) > 3


def is_key(value: str) -> bool:
    return (
        not value.isdecimal() and len(value) >= 8 and is_bare(value) and bool(len(value) >= 16 or _DIGIT.search(value))
    )


def is_flagged(value: str) -> bool:
    """Return whether the value of a flag that takes a password is one."""
    return len(value) >= 4 and is_given(value) and not value.startswith("-") and not PATHLIKE.match(value) and (
        is_of_app(value) or (classes(value) > 1 and not re.fullmatch(r"[a-z]+(?:[_-][a-z]+)+", value))
    )  # fmt: skip


def is_spoken(value: str) -> bool:
    """Return whether a value assigned in quotes is a password of several words with a digit."""
    return is_given(value) and value.count(" ") > 1 and has_digit(value)


def always(_value: str) -> bool:
    return True


def is_argument(value: str) -> bool:
    """Return whether an argument of a function that logs in is a password, not a name, host or address."""
    return len(value) >= 8 and classes(value) > 2 and is_in_sentence(value) and not re.search(r"[.:@/\s-]", value)
