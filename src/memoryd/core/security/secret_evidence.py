"""Secrets by evidence: from the look of a token and the words around it.

`The old DB password got rotated. New one is ...`, `I put ... as a temporary password`, `root is still ...`: here no
syntax of the other rules joins the words and the token. A token gets points for how little it resembles words, names
and code, and for the text before and after it. With ENOUGH points it is a secret.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from memoryd.core.security import secret_phrases
from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_likeness import strangeness
from memoryd.core.security.secret_names import KEYS, NOT_OF, PASSWORDS
from memoryd.core.security.secret_search import Text

ENOUGH = 5
CALLED, NEAR = 3, 2  # points for a word for a password before a token, and for another cue near it
INTRODUCED, PLACED = 1, -2  # points for the text directly before a token: `is`, `with`, a colon; `for`, `on`
PHRASE = 2  # points for plain words in quotes
CERTAIN = 3  # points for its look with which a token's cue may also follow it or be separated from it by names
BEFORE, AFTER = 60, 100  # characters after and before a token that are searched for cues
LONGEST = 60  # characters before a token that are searched for an introduction

_CALLED = (
    "passw", "passphrase", "passcode", "kennwort", "mot de passe", "mdp", "contrase", "wachtwoord", "hasł", "haseł",
    "парол", "salasan", "jelsz", "hesl", "şifre", "lösenord", "adgangskod", "passord", "сид-фраз", "lozink", "סיסמ",
    "パスワード", "パスコード", "暗証", "合言葉", "密码", "密碼", "口令", "비밀번호", "비번", "패스워드", "mật khẩu",
    "kata sandi", "slaptažod", "parool", "nenosiri", "lykilorð", "รหัสผ่าน", "पासवर्ड", "كلمة المرور", "رمز عبور",
)  # fmt: skip
"""Beginnings of the words for a password, in lower case."""
_WIFI = ("wifi", "wi-fi", "wlan")
_OF_NETWORK = re.compile(
    r"(?:name|ssid|called|heißt|netz\w*|network|red|réseau|channel|kanal)\W{1,3}(?:is |ist |est |es )?[\"'“„«]?\Z"
)
_NETWORK = re.compile(r"(?i)guest|gast|invit|[25]g|home|office|box|net|link|wifi|wlan")
"""Words after which the name of a wireless network follows, and parts of such names."""
_NEAR = (
    "creds", " pw", "login", "log in", "logged in", "logs in", "logging in", "zugang", "anmeld", "identifiant", "вход",
    "logins for", "로그인", "ログイン", "登录", "access", "vpn", *_WIFI, "root ", "sudo", "ssh ", "-auth", "cookie",
    "private", "pre-shared", "webhook", "signing", "x_auth", "_auth", "auth_", "encrypt", "decrypt", "verschlüssel",
    "entschlüssel", "chiffr", "cifrad", "unlock", "unseal", "opens with", "open with", "opened with", "get in", "öffne",
    "entsperr", "s'ouvre", "se abre", "si apre", "abre com", "открывается", "entra con", "accede con", "connecte avec",
    "api-key", "apikey", "api key", "senha", "ключ", "klucz", "κωδικ", "암호", "パスフレーズ",
)  # fmt: skip
"""Beginnings of other cues for a secret nearby."""
_SIGNS = r"!#$%&*+./:=?@\\^_~-"
_VALUE = re.compile(
    r"(?<![\w+/=-])(?:-{0,2}[A-Za-z_][\w.-]{1,60}+=[\"']?){0,2}"  # names to which it is assigned
    rf"([\wÀ-ӿ{_SIGNS}][\wÀ-ӿ(){{}}\[\]{_SIGNS}]{{5,199}}+)",
    re.ASCII,
)
_SPECIAL = re.compile(r"[\d!#$%&*@^~+?]")
_PHRASE = re.compile(
    r"(?<![\"'][:=] )(?<![\"'][:=])(?<![=(])[\"“„«「]([^\W\d_A-Z]{2,14}(?: [^\W\d_]{2,14}){3,7})[\"”“»」]"
)
_NO_PASSWORD = re.compile(rf"\w{{0,8}}?[ _-]?(?:{NOT_OF}|rotation|less|protect)")
_AS = re.compile(  # ... as a temporary password
    r"[\"'`”“»」*.]{0,3} (?:as|als|como|come|comme|jako|som|olarak|в качестве) (?:[^\W\d_]{1,12} ){0,2}"
    rf"(?:{'|'.join(map(re.escape, _CALLED))}|pw|pass|senha|clave|parol)"
)
_INTRODUCING = re.compile(
    r"(?:(?<!\w)(?:is|was|are|it['’]?s|be|ist|war|lautet|heißt|est|es|é|è|är|er|je|jest|este|to|with"
    r"|using|uses?|used|mit"
    r"|avec|con|com|med|met|с|на|por|enter|type|wants?|needs?|typed|gave me|try|new|neues?|nuev[ao]|nouveau|nuov[ao]"
    r"|nieuwe?|now|still|jetzt|ahora|maintenant|ora|agora|noch|then|c['’]est|key|code|psk|pwd?|pass\w*|pin|token|clé"
    r"|clave|schlüssel|chiave|chave)|['’]s|[:=：＝→–—]|->|=>|[是为為はを은는를이了成がに])[\s\"'`“„«「『(*_]{0,4}\Z"
    r"|(?:\b(?:with|as|using|mit|als|avec|con|com)|[:,]) ?[\w.@-]{2,30},? (?:and(?: then)?|und|et|y|e|with|/)"
    r" [\"'`“„«]?\Z",  # with admin and ...
    re.IGNORECASE,
)
_NEXT = re.compile(r"\w{0,8}[ :=\"'`“„«「]{0,3}")  # no more between the word and the token
_ACCOUNT = re.compile(r"(?<![\w.+-])[\w.+-]{1,40}@[\w-]+(?:\.[\w-]+){1,3} ?(?://?|\||:|–|—) ?[\"'`]?\Z")
_PLACING = re.compile(
    r"(?<!\w)(?:for|of|on|in|at|from|by|via|an?|the|für|von|auf|im|unter|de|du|del|sur|dans|en|da|do|na|od|от|для|в"
    r"|к) [\"'`“„«]?\Z",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"(?<![^\W_])(?:(?:x|y|id|kid|cid|ipfs|uuid|user(?:name)?|usuario|utilisateur|utente|benutzer(?:name)?|nutzer"
    r"|gebruiker|account|konto|host(?:name)?|server|ssid|network|netz(?:werk)?|red|réseau|port|e-?mail|url|domain"
    r"|version|release|branch|commit|ticket|issue|model|file|datei|fichier|archivo|path|folder|db|database|schema|table"
    r"|hash|sha\d*|md5|checksum|digest|fingerprint|etag|trace|request|order|invoice|sheet|doc|document|device|serial"
    r"|customer|group|project|client|tenant|name|repo|image|tag|role|cluster|bucket|region|room|seat|booking|step|page"
    r"|section|chapter|method|type|algorithm|cipher|format|class|package|contract|address|playlist|video|verification"
    r"|integrity|sum|map|title|owner|product|price|event|номер|логин|пользователь|uživatel|użytkownik|kullanıcı)s?"
    r"|named|called)(?![^\W_])",
    re.IGNORECASE,
)
"""Words after which something else follows: a name, a number, a sum."""
_ASSIGNING = re.compile("=[\"']?\\Z")
_DIRECTLY = re.compile(r"(?:[ :=#\"'`(“„«]|\b(?:is|ist|est|es|é|è)\b){1,6}\Z")


def spans(text: Text) -> Iterator[tuple[int, int]]:
    """Yield the spans of tokens whose look and surroundings give ENOUGH points."""
    words = _Words(text)
    for match in _PHRASE.finditer(text.whole):
        start, end = match.span(1)
        if secret_phrases.is_phrase(match[1]) and PHRASE + words.points(start, end, PHRASE) >= ENOUGH:
            yield start, end
    for match in _VALUE.finditer(text.whole):
        if not _SPECIAL.search(match[1]):  # like most words
            continue
        value = _ended(match[1])
        start, end = match.start(1), match.start(1) + len(value)
        like = strangeness(value)
        if like and like + words.points(start, end, like) >= ENOUGH:
            yield start, end


class _Words:
    """The cues in a text."""

    def __init__(self, text: Text) -> None:
        self.text = text

    @cached_property
    def called(self) -> list[int]:
        """The ends of words for a password, except before the name of a field or a hash."""
        ends = {at + len(word) for word in _CALLED for at in self.text.places((word,))}
        ends |= {end for _, end in self.text.named(PASSWORDS)}
        return sorted(end for end in ends if not _NO_PASSWORD.match(self.text.folded, end))

    @cached_property
    def near(self) -> list[int]:
        """The places of the other cues."""
        return sorted([*self.text.places(_NEAR), *(end for _, end in self.text.named(KEYS))])

    @cached_property
    def wifi(self) -> list[int]:
        """The places of the words for a wireless network."""
        return self.text.places(_WIFI)

    def points(self, start: int, end: int, like: int) -> int:
        """Return the points for the text around a token, whose look has `like` points."""
        folded, whole = self.text.folded, self.text.whole
        before = whole[max(0, start - LONGEST) : start].rpartition("\n")[2]
        names = list(_NAMING.finditer(before))
        if values.is_public(folded, start) or (names and _DIRECTLY.fullmatch(before, names[-1].end())):
            return -ENOUGH
        if _AS.match(folded, end):
            return CALLED + INTRODUCED
        begin = _line_begin(folded, start)
        called = _last(self.called, begin, start)
        direct = INTRODUCED if _INTRODUCING.search(before) else PLACED if _PLACING.search(before) else 0
        if called is not None and _NEXT.fullmatch(folded, called, start):
            direct = INTRODUCED
        if called is not None or _ACCOUNT.search(before) or (direct > 0 and self._is_of_wifi(begin, start, end)):
            return CALLED + direct
        near = _last(self.near, begin, start)
        if near is not None and (like >= CERTAIN or not _NAMING.search(whole, near, start)):
            return NEAR + direct
        if like < CERTAIN or names or _ASSIGNING.search(before):
            return 0
        return direct + NEAR * (_last(self.near, end, _line_end(folded, end)) is not None)

    def _is_of_wifi(self, begin: int, start: int, end: int) -> bool:
        """Return whether a token follows the word for a wireless network and is not the network's name."""
        wifi = _last(self.wifi, begin, start)
        return wifi is not None and not (
            _OF_NETWORK.search(self.text.folded[wifi:start]) or _NETWORK.search(self.text.whole, start, end)
        )


def _last(places: Sequence[int], begin: int, end: int) -> int | None:
    """Return the last of sorted places from `begin` to `end`, or None."""
    at = bisect_right(places, end)
    return places[at - 1] if at and places[at - 1] >= begin else None


def _line_begin(folded: str, at: int) -> int:
    """Return the start of a line, or of the previous one if it ends with `?` or `:`, at most AFTER before a place."""
    least = max(0, at - AFTER)
    begin = folded.rfind("\n", least, at) + 1
    if begin > 1 and folded[begin - 2] in "?？:":
        begin = folded.rfind("\n", least, begin - 1) + 1
    return max(begin, least)


def _line_end(folded: str, at: int) -> int:
    end = folded.find("\n", at, at + BEFORE)
    return min(at + BEFORE, len(folded)) if end < 0 else end


def _ended(value: str) -> str:
    """Return a value without the punctuation of its sentence, and without closing brackets that were opened earlier."""
    value = value.rstrip(".:")
    while value[-1:] in {")", "]", "}"} and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = value[:-1].rstrip(".:")
    return value
