"""Checks whether a value is a secret: not a placeholder, path, word, hash or code."""

import base64
import json
import re
from itertools import pairwise

PLACEHOLDER = re.compile(
    r"""<[\w\ .:|-]*>|^<[^<>]{0,60}>$|^\[/?[A-Za-z_]+\d*\]$|[<{]\w*$
    |\{[\w\ .:-]*\}|\{\{|^\$[A-Za-z_]|\$[({]|\$(?:[A-Z_]{3,}|[a-z_]{3,})(?![A-Za-z0-9])
    |^(?:pk[._-](?:eyJ|live_|test_|lf-)|phc_|sb_publishable_|rzp_(?:live|test)_)  # keys that are meant to be public
    |^[A-Z][A-Z0-9]*_[A-Z0-9_]*=  # the next line
    |^(?:required|nullable|sometimes|string|bail)\|  # rules of validation
    |^ENC\[|^\(\?|^%|%\(|%s|\*{3}|\.{3}|…|\[masked:
    |^(?:\$|@\w*$|![a-z]+$|(.)\1*$)|([^\n])\2{5}
    |(?i:your|example|change_?me|placeholder|redacted|hidden|dummy|replace[_-]?(?:me|this|with)|insert[_-]
    |fill[_-]?(?:me|in)|to[_-]?be[_-]|fixme|todo
    |^(?:1password|keepass\w*|bitwarden|lastpass|dashlane|vaultwarden|keychain)\b
    |^(?:pass(?:word|wd|phrase|wort|code)?|pwd|secret|token|api[_-]?key|key|string|none|null|nil|true|false|undefined
    |kennwort|geheimnis|mot\ de\ passe|contrase[nñ]a|senha|wachtwoord)\W*\d?$)""",
    re.VERBOSE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w./-]*$|[A-Za-z][\w+.-]*://|arn:|[\w.-]+/[\w./-]*$|[\w-]+\.(?:txt|pem|key|json|ya?ml|env|gpg)$"
)
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|.*\($|_[A-Za-z_]+$|(?:[\w\\*-]+\|){2}|\(?\[[^\]]{1,60}\][+*]|\(\?"
    r"|[A-Z]\w*(?:Key|Token|Secret|Password|Credentials?|Type)$|(?:V\d)?(?:[A-Z][a-z]{2,}){2,}$|[A-Z]+(?:_[A-Z\d]+)+$"
)
"""A call, an index, a type, a constant, a regular expression."""
_ATTRIBUTE = re.compile(r"[(!&*]{0,3}[A-Za-z_$][\w$]*(?:[?!)\]]{0,2}\.[A-Za-z_]\w*)+[?!]?(\()?")
_OF_CODE = re.compile(
    "self|this|re[qs]|env|conf|settings|option|param|arg|data|ctx|user|form|field|body|attr|model|value|name|file|path"
    "|url|host|db|client|server|app|test|util|pass|key|token|secret|auth|login|rack|lib|api|type|obj|row",
    re.IGNORECASE,
)
"""Parts of the names of attributes, which tell `form.field2` from `blue.heron7`."""
_SWITCH = re.compile("(?:en|dis)abled?|required?|optional|prompt|stdin|always|never|default|login|manual")
_NAME = re.compile(
    r"(?=.*(?i:token|secret|key|passw|credential|auth|bearer))[A-Za-z_]+(?:[._:-][A-Za-z_]+)*(?:[_-]\d{1,3})?"
)
_DIGEST = re.compile(r"(?:sha\d+|md5)[:-]|\d+(?:\.\d+)+(?:[-+]\w+)?$", re.IGNORECASE)
_HASH = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:sha\d+|md5)[:-].*|0x[0-9a-f]{8,16}", re.IGNORECASE)
_TERM = re.compile(
    r"(?:base|utf|sha|md|argon|bcrypt|aes|rsa|[hre]s|oauth|x|ed|pbkdf|nist|rfc|v|http|tls|ipv|win|windows|office|pkcs)"
    r"-?\d{1,5}(?:[-_./].*)?|[a-z]{0,10}[-v]?\d+(?:[.:,-]\d+)+\w{0,8}|\d+-?[a-z]{1,10}",
    re.IGNORECASE,
)
"""What is also made of letters and digits: algorithms, versions, times."""
_SMALL, _CAPITAL, _DIGIT, _SIGN = (re.compile(one) for one in ("[a-zß-ÿа-яё]", "[A-ZÀ-ÞА-ЯЁ]", r"\d", r"[^\w]|_"))
_WORD = re.compile(r"[^\W\d_]+(?:[-_.:|'’][^\W\d_]+)*")
_PHRASE = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,}|[^\W\d_A-Z]{2,14}(?: [^\W\d_]{2,14}){3,7}")
_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?!.*[a-z]{7})[A-Za-z0-9+/]{24,}={0,2}")
_HEXADECIMAL = re.compile(r"(?:0x)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64})")
_LONG = re.compile(r"(?=(?:\D*\d){4})(?:[0-9a-f]{32,}|[A-Z0-9]{18,}|[a-z0-9]{24,})")
_NO_ARGUMENT = re.compile(r"[.:@/\s-]")
_UNSAID = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}|q(?!u)|[jvwx][bcdfgkmnpqtvxz]|[bcdfgkmpqt][jvwxq]")
_OF_APP = re.compile("[a-z]{4}([ -]?)(?:[a-z]{4}\\1){2}[a-z]{4}")
_LETTERS = re.compile(r"[a-z]{12,32}")
_CHANCE, _CHANGES = 16, 7  # minimum characters of a random value, and of changes between their classes


def is_given(value: str) -> bool:
    """Return whether a value is literal, not a placeholder or a variable."""
    return not PLACEHOLDER.search(value)


def classes(value: str) -> int:
    """Return how many of these a value has: lower case, upper case, digits, signs."""
    return sum(bool(one.search(value)) for one in (_SMALL, _CAPITAL, _DIGIT, _SIGN))


def is_long(value: str) -> bool:
    """Return whether a value is too long and mixed for a word: hexadecimal, or letters of one case and digits."""
    return bool(_HEXADECIMAL.fullmatch(value) or _LONG.fullmatch(value)) and is_given(value)


def is_random(value: str) -> bool:
    """Return whether a value looks random: long, with frequent changes between lower case, upper case and digits."""
    if len(value) < _CHANCE or value.islower() or _is_path(value) or classes(value.replace("-", "")) < 2:
        return False
    kinds = [(one.islower(), one.isupper(), one.isdigit()) for one in value]
    changes = sum(before != after for before, after in pairwise(kinds))
    few_words = not re.search("[a-z]{5}", value) or (changes * 3 >= len(value) and not re.search("[a-z]{7}", value))
    long = _DIGIT.search(value) or len(value) > 31
    return changes >= _CHANGES and few_words and bool(long) and is_given(value)


def is_secret_of_any_kind(value: str) -> bool:
    """Return whether a value without a label may be a key: random, or hexadecimal."""
    return is_random(value) or is_long(value)


def is_quoted_password(value: str) -> bool:
    """Return whether a value in quotes after a label is a password: without spaces, or a phrase of words."""
    word = len(value) >= 5 and not re.search(r"\s", value) and not _is_path(value)
    translated = value.isalpha() and not value.isascii()
    return is_given(value) and ((word and not translated) or bool(_PHRASE.fullmatch(value)))


def is_phrase(value: str) -> bool:
    """Return whether a value in quotes after `is` is a passphrase of plain words, or a password."""
    return is_given(value) and (bool(_PHRASE.fullmatch(value)) or is_in_sentence(value))


def is_quoted_key(value: str) -> bool:
    """Return whether a value in quotes after a label is a key, not itself a name such as `client-secret`."""
    plain = len(value) >= 8 and not re.search(r"\s", value) and not _is_path(value) and not value.isdecimal()
    mixed = bool(_DIGIT.search(value)) or classes(value) > 2 or len(value) >= 16
    code = _NAME.fullmatch(value) or _is_code(value)
    return plain and mixed and is_given(value) and classes(value) > 1 and not code


def _is_path(value: str) -> bool:
    """Return whether a value looks like a path or an address, but is not base64."""
    return bool(_PATH.match(value)) and not _BASE64.fullmatch(value)


def _is_code(value: str) -> bool:
    if _CODE.match(value):
        return True
    attribute = _ATTRIBUTE.match(value)
    if not attribute or (attribute[1] is None and attribute.end() < len(value)):
        return False
    return attribute[1] is not None or not _DIGIT.search(value) or bool(_OF_CODE.search(value))


def is_bare(value: str) -> bool:
    """Return whether a value without quotes is literal: letters with digits or signs, not code, a path or a word."""
    return (
        len(value) >= 5
        and classes(value) > 1
        and not _is_path(value)
        and not _is_code(value)
        and (not _WORD.fullmatch(value) or bool(_PHRASE.fullmatch(value)))
        and not _DIGEST.match(value)
        and is_given(value)
    )


def is_password(value: str) -> bool:
    """Return whether an assigned value without quotes is a password."""
    strong = bool(_DIGIT.search(value)) or classes(value) > 2 or bool(_PHRASE.fullmatch(value))
    return (strong and is_bare(value)) or (bool(_LETTERS.fullmatch(value)) and len(_UNSAID.findall(value)) > 1)


def is_of_environment(value: str) -> bool:
    """Return whether a variable of the environment is a password, which may be a plain word."""
    return is_given(value) and not _is_path(value) and not _is_code(value) and not _SWITCH.fullmatch(value)


def is_key(value: str) -> bool:
    """Return whether an assigned value without quotes is a key: long, or of three classes of characters."""
    digit = bool(_DIGIT.search(value))
    return digit and len(value) >= 8 and (len(value) >= 16 or classes(value) > 2) and is_bare(value)


def is_in_sentence(value: str) -> bool:
    """Return whether a value after `is` is a password: letters with digits, not a term, a version or a hash."""
    mixed = bool(_DIGIT.search(value)) and bool(re.search(r"[^\W\d_]", value))
    return mixed and len(value) >= 6 and is_bare(value) and not _HASH.fullmatch(value) and not _TERM.fullmatch(value)


def is_strong(value: str) -> bool:
    """Return whether a value directly after a label is a password: of three classes of characters, or long."""
    return is_in_sentence(value) and len(value) >= 8 and (classes(value) > 2 or is_long(value))


def is_key_in_sentence(value: str) -> bool:
    return not _HASH.fullmatch(value) and is_secret_of_any_kind(value) and is_bare(value)


def is_flagged(value: str) -> bool:
    """Return whether the value of a flag that takes a password is one."""
    return (
        len(value) >= 4
        and is_given(value)
        and not value.startswith("-")
        and not _PATH.match(value)
        and (is_of_app(value) or (classes(value) > 1 and not re.fullmatch(r"[a-z]+(?:[_-][a-z]+)+", value)))
    )


def is_argument(value: str) -> bool:
    """Return whether an argument of a function that logs in is a password, not a name, host or address."""
    strong = len(value) >= 8 and classes(value) > 2 and is_in_sentence(value) and not _NO_ARGUMENT.search(value)
    return strong or is_secret_of_any_kind(value) or is_of_app(value)


def is_of_app(value: str) -> bool:
    """Return whether four groups of four letters are an app password: words do not have such consonants."""
    return bool(_OF_APP.fullmatch(value)) and bool(_UNSAID.search(re.sub("[ -]", "", value)))


def is_in_url(value: str) -> bool:
    """Return whether the parameter of a URL is a secret: letters and digits, but not a UUID or a hash."""
    mixed = bool(_DIGIT.search(value)) and bool(re.search("[A-Za-z]", value))
    return mixed and is_given(value) and not _HASH.fullmatch(value)


def is_mixed(value: str) -> bool:
    """Return whether a value has at least three classes of characters, as few hashes and no words have."""
    return is_given(value) and classes(value) > 2


def always(_value: str) -> bool:
    return True


def has_digit(value: str) -> bool:
    return is_given(value) and bool(_DIGIT.search(value))


def is_base32(value: str) -> bool:
    """Return whether a value in capitals, or in groups, is a seed of one-time passwords: digits are rare in words."""
    digits = sum(map(str.isdigit, value))
    return (digits > 0 and value.isupper()) or (digits > 1 and not value.isalnum())


def is_web_token(value: str) -> bool:
    """Return whether the first part of a value is the header of a JSON web token (RFC 7519)."""
    head = value.split(".", 1)[0]
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))), dict)
    except (ValueError, RecursionError):
        return False


def is_account(value: str) -> bool:
    """Return whether a value is a name and a password in base64."""
    try:
        name, sign, password = base64.urlsafe_b64decode(value.translate(_URLSAFE)).decode().partition(":")
    except ValueError:
        return False
    return bool(name and sign and len(password) > 2) and f"{name}{password}".isprintable() and is_given(password)


_URLSAFE = str.maketrans("+/", "-_")


def is_pem(value: str) -> bool:
    """Return whether the beginning of a base64 value is a private key (RFC 7468)."""
    return b"PRIVATE KEY" in base64.b64decode(value[:64])
