"""How little a token resembles words, names and code: 0 for ordinary text, 5 for what only secrets look like."""

import re
from itertools import pairwise

from memoryd.core.security import secret_tokens
from memoryd.core.security import secret_values as values

_DIGIT = re.compile(r"\d")
_SPLIT = re.compile(r"[-_./:]")
_STRONG = re.compile(r"[!#$%&*@^~+?]")
_NO_VALUE = re.compile(
    rf"{values.MADE_PUBLIC}|(?:{'|'.join(secret_tokens.NO_SECRETS)})_"
    r"|.{0,64}?(?:\*{3}|…)|(?![a-z]*[A-Z][a-zA-Z]*@\w+\d$)[\w.+-]+@[\w-]+(?:\.[a-z.-]+$|:|$)|@"
    r"|\w+://|[~./\\]|AAAA[BCE]3|(?:data|iv|tag|mac|type|arn|urn|(?:tool:)?pkg):|[$%&#?]\w+$"
    r"|[\w+]+://|#/|(?:projects|secrets?|kv|ssm|vault|op|sm):?/|(?:RFC|CVE|PEP)-?\d|.{0,64}(?:\(.*\)"
    r"|\[.*\]|\{.*\}|[(\[{][?*^]|\\[a-zA-Z])|(?i:x?chacha|aes|sha|argon|pbkdf|hmac|rsa|ed25519|pkcs|oauth"
    r"|x25519|x448|curve|bcrypt)\d*|\$|[\w.%-]+(?:[=?]|&[\w.-]*=)|[\w.]*[(\[]|\w+(?:::|->|/)|[\w-]+@\d"
    r"|(?=\S*(?i:token|key|passw|secret|auth|credential))[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|[a-z_]+\+1$"
    r"|[A-Za-z][\w.-]*-\d+(?:\.\d+)?[bBM](?:-|$)|[\w-]+(?:\.[\w-]+)*:\d{2,5}(?:/|$)|0x[0-9a-fA-F]+$"
    r"|\w+\.(?:[a-z]{2,4}|mp\d|7z)$|[\w-]+(?:\.[\w-]+)+\.[a-z]{2,4}$|.{1,60}\)[.)]"
    r"|.{1,100}\.(?:json|enc|gpg|age|pem|key|txt|ya?ml|csv|kdbx|zip|tar|gz|db|sql|log|toml|md|pdf|docx?|xlsx?|png|jpe?g)$"
    r"|[*_]{1,2}\w+[*_]{1,2}$|[#!]?\d[\d.,:-]*\w{0,3}$|[A-Z][a-z]+#\d+$|.{0,40}\d{4}-\d\d-\d\d"
    r"|[A-Z]{1,4}\d{1,4}(?:[A-Z][a-z]+)+$|[A-Z][a-z]+-\d+[a-z]{1,3}$|[A-Za-z]+-?\d+(?:\.\d+)+$"
    r"|[A-Z]\w*(?:Key|Type|Error|Format|Session|Client|Config|Info|Request|Response)$"
)
"""Addresses, paths, variables, files, assignments, names in code, versions, dates, emphasis in Markdown, numbers."""
_WORDS = re.compile(r"[a-z]{4,}+[-_.!][a-z]{4,}+.{0,20}\d|[a-z]{4,}+\d+[!#*?+]")
_LEET = re.compile(r"[a-z]{2,}[013457][a-z]{2,}")
_BOLD = re.compile(r"[A-Za-z0-9][!$%^*][A-Za-z0-9]")
_OF_CODE = re.compile(r"[=()\[\]{}/\\]")
_ODD = re.compile(
    r"[^\W\d_]{5,}\d{2,4}|[^\W\d_]{3,}[&!@$*%+][^\W\d_]{3,}|[^\W\d_]{3,}(?:[-_.][^\W\d_]{1,}){0,5}[-_.]?\d{1,4}"
)
_DATED = re.compile(r"[a-zß-ӿ]{5,}\d{3,4}")
_CALLED = re.compile(r"[\w-]*(?i:secret|credential|passw|token)[\w-]*")
_BASE64 = re.compile(r"(?=.{0,12}[0-9A-Z])(?![a-z]+/)[A-Za-z0-9+/]{32,}={0,2}")
_HEXADECIMAL = re.compile("(?:[0-9a-f]{32}){1,2}|[0-9a-f]{8,64}(?:-[0-9a-f]{8,64}){1,3}")
_PREFIX = re.compile("^[a-z]{2,10}[_-]")
_SHORT = re.compile(r"(?=.*[a-z].*[A-Z]|.*[A-Z].*[a-z])(?=.*[A-Za-z]\d+[A-Za-z])\w{6,7}", re.ASCII)
_SERIAL = re.compile(r"(?=(?:[a-z]*\d){5})[a-z0-9]{24,64}")
_CHANGES = 7  # minimum changes of the character class in a random value of letters and digits
_PICKED = 8  # minimum characters of an introduced value
_CHANCE = 12  # minimum characters of a random value
_CERTAIN = re.compile(r"(?:[a-z]{2,10}[_-])?[A-Za-z0-9]{18,}")  # unlike other random values


def strangeness(value: str) -> int:
    """Return the points for the look of a token."""
    if " " in value or not values.is_given(value) or values.HASH.match(value) or _CALLED.fullmatch(value):
        return 0
    if _BASE64.fullmatch(value):
        value = value.replace("/", "")
    chosen = is_chosen(value)
    if chosen or is_chance(_PREFIX.sub("", value)):
        return 3 + (2 * _is_bold(value) if chosen else bool(_CERTAIN.fullmatch(value)))
    if is_picked(value) or _DATED.fullmatch(value) or _HEXADECIMAL.fullmatch(value) or _SERIAL.fullmatch(value):
        return 2
    return int(_is_odd(value))


def _is_odd(value: str) -> bool:
    """Return whether a value may be a password if a word says so: a word and digits, or signs between words."""
    return bool(_ODD.fullmatch(value) or _SHORT.fullmatch(value)) and not (
        value.isupper() or _NO_VALUE.match(value) or values.OF_CODE.search(value)
    )


def _is_bold(value: str) -> bool:
    """Return whether a value mixes all classes of characters, as `Zx9!halibut` does, and is not code."""
    return sum(_classes(value)) == 4 and bool(_BOLD.search(value)) and not _OF_CODE.search(value)


def _classes(value: str) -> list[bool]:
    return [
        any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)),
        not value.isalnum(),
    ]  # fmt: skip


def is_chosen(value: str) -> bool:
    """Return whether a value was chosen as a password: letters, digits, and signs that names do not have."""
    lower, upper, digit, sign = _classes(value)
    if not (digit and sign and (lower or upper)) or _NO_VALUE.match(value) or value.isupper():
        return False
    if _STRONG.search(value[1:]):
        return lower + upper + digit + sign == 4 or len(value) >= 10
    mixed = any(_is_mixed(part) for part in _SPLIT.split(value))
    return len(value) >= 10 and lower and upper and mixed


def is_picked(value: str) -> bool:
    """Return whether a value may be a password if a sentence introduces it: letters and digits, not a plain name."""
    lower, upper, digit, sign = _classes(value)
    if len(value) < _PICKED or not (lower and digit) or _NO_VALUE.match(value):
        return False
    if values.CODE.match(value) and values.OF_CODE.search(value):
        return False
    if upper:
        return sign or _is_mixed(value)
    return bool((sign and _WORDS.search(value)) or _LEET.search(value))


def _is_mixed(part: str) -> bool:
    """Return whether a part has digits between or before letters, as few words do: `b1scuit`, `4Klen`."""
    return bool(re.search(r"[A-Za-z]\d+[A-Za-z]{2}|^\d+[A-Za-z]{2}", part)) and not re.fullmatch(
        r"v?\d+[a-z]{1,2}", part
    )


def is_chance(value: str) -> bool:
    """Return whether a value looks random: long, with frequent changes between lower case, upper case and digits."""
    lower, upper, digit, _ = _classes(value)
    if len(value) < _CHANCE or not (lower and upper and digit) or _NO_VALUE.match(value):
        return False
    kinds = [(one.islower(), one.isupper(), one.isdigit()) for one in value]
    changes = sum(before != after for before, after in pairwise(kinds))
    return changes >= _CHANGES and not re.search(r"[a-z]{7}" if changes * 2 >= len(value) else "[a-z]{5}", value)
