"""Values with a label: in an assignment, a field, a flag, or right beside the label in a sentence."""

from collections.abc import Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_search import Check, Rule


def _behind(words: str, end: str) -> str:
    """Return a look-behind for one of some words, with or without a separator, and an end."""
    return "(?:" + "|".join(f"(?<={word}{end})|(?<={word}[ _-]{end})" for word in words.split()) + ")"


_PASS = _behind("db key root store user sudo bind require ssh sql smtp", "pass")
_PW = _behind("db bind root user sudo", "pw")
_PASSWORD = {
    # English and what code uses
    "pass": r"pass(?:word|wd|[ -]?phrase|wort|code)"
    rf"|pass(?![a-z])(?:(?<![a-z]pass)(?<!(?:ing|bus|ski) pass)(?<!day pass)|{_PASS})",
    "pw": rf"pwd?(?![a-z])(?:(?<![a-z]pw)(?<![a-z]pwd)|{_PW})",
    "psk": r"psk(?![a-z])(?<![a-z]psk)",
    **{word: rf"{word}\d?[ _-]?(?:key|schlüssel)" for word in ("wlan", "wi-fi", "wifi", "wpa")},
    # German, French, Spanish, Portuguese, Italian, Dutch
    "kennwort": "kennwort",
    "geheimzahl": "geheimzahl",
    "mot": r"mots?[ _-]de[ _-]passe",
    "mdp": r"mdp(?![a-z])(?<![a-z]mdp)",
    "contrase": "contrase[nñ]a",
    "clave": r"clave(?![ _][pf])(?<!palabra clave)(?:[ _]de[ _]acceso)?(?![^\W\d_])",
    "senha": r"senha(?![^\W_])",
    "palavra": "palavra[-_]passe",
    "parol": r"parol(?:a(?![ _]chiave)|[ăe]|asa|ası)(?![^\W\d_])",
    "wachtwoord": "wachtwoord",
    # other languages of Europe and Asia
    "has": r"has[lł]o(?![^\W\d_])",
    "парол": r"парол[ьяею]",
    "heslo": r"heslo(?![^\W\d_])",
    "lozink": "lozink[aeu]",
    "lösenord": "lösenord(?:et)?",
    "adgangskode": "adgangskoden?",
    "passord": "passord(?:et)?",
    "salasana": "salasana",
    "jelsz": "jelsz(?:ó|ava)",
    "κωδικ": "κωδικός(?: πρόσβασης)?",
    "şifre": r"şifre(?<!\wşifre)(?:si)?(?![^\W\d_])",
    "パス": "パスワード|パスコード|パスフレーズ",
    "暗証": "暗証番号",
    "密": "密[码碼]",
    "口令": "口令",
    "비밀번호": "비밀번호",
    "비번": "비번",
    "mật": "mật khẩu",
    "kata": "kata (?:sandi|laluan)",
    "كلمة": "كلمة (?:المرور|السر)",
    "סיסמ": "סיסמ[הת]",
    "पासवर्ड": "पासवर्ड",
    "รหัสผ่าน": "รหัสผ่าน",
}
"""The patterns of the labels of passwords, in lower case, by what a text must contain for each."""
_USES = (
    "api auth service account access private preshared client signing encryption master deploy hmac aes session webhook"
    " secret jwt app crypt storage consumer admin license licence shared recovery unseal fernet bearer subscription ssh"
    " product activation rest"
)
_OF_KEYS = (
    "(?:api|acceso|acc[èe]s|acesso|accesso|secr[eè]t[ae]?|segreta|privad[ao]|priv[ée]e|privata|доступа|шифрования)"
)
_GERMAN = _behind("api geheim geheimer zugriffs zugangs privater", "schlüssel")
_KEY = {
    "key": rf"keys?(?! ?id)(?<!checksum/secret-key)(?:{_behind(_USES, 'key')}|{_behind(_USES, 'keys')})",
    "x-": r"x-[a-z]{2,20}-key",
    "secret": "secret(?<!checksum/secret)",
    "token": "token(?!iz|s?[ _](?:limit|count|budget|type|url|endpoint|id)|type)(?<!publickeytoken)",
    "credential": "credentials?",
    "schl": rf"schl(?:ü|ue)ssel(?![a-z])(?:{_GERMAN}|(?<=geheimer_schluessel))",
    "jeton": "jeton",
    "cl": rf"cl(?:[ée]|ave)[ _-](?:d['’]|de )?{_OF_KEYS}",
    "chiave": rf"chiave[ _](?:di |d['’])?{_OF_KEYS}",
    "chave": rf"chave[ _](?:de |da |do )?{_OF_KEYS}",
    "api": "api[ -](?:nyckel|nøgle|nøkkel|sleutel|klíč|klucz)",
    "ключ": rf"ключ[ _]{_OF_KEYS}",
    "トークン": "トークン",
    "秘密": "秘密鍵",
    "キー": r"キー(?:(?<=apiキー)|(?<=api キー)|(?<=アクセスキー)|(?<=暗号化キー))",
    "令牌": "令牌",
    "密": "密[钥鑰]",
    "토큰": "토큰",
    "키": "키(?:(?<=api키)|(?<=api 키)|(?<=비밀 키)|(?<=비밀키))",
}
"""The same for keys."""
_MORE = r"(?:[ _-]?(?:access|key|base|value|token|pass|phrase)){0,3}\d?"
_JOINED = r"(?:_(?!hash|typ|tip|field|file|expir|reset|min|max|len|polic)[^\W_]{1,20}+){0,2}"
_ASSIGNED = (
    r"(?:\s?:\s?&?[\w<>']{1,20}+[?!]?\s?=\s?"  # a type: let key: &str = ...
    r"|\\?[\"'\]`*)]{0,3}\s{0,3}(?::=|=>|={1,3}|[:：＝→]|->|[?]=|:-)[*]{0,2}\s{0,3}"
    r"(?:!!?\w{2,9}\s|[|>]-?\s{1,9})?"  # a tag or a block of YAML
    r"|[\"']?\s?(?:,|\n)?\s{0,40}+[\"']?(?<![a-z])(?:value|text|default)[\"']?\s?[=:]\s?"  # name: PASSWORD, value: ...
    r"|(?: --[\w-]{1,20}+ \w{1,20}+)? --(?:value|body|secret-string|data)[ =]"
    r"|[\w.-]{0,20}+[\"']?>\s?(?:<!\[cdata\[)?)"
)
_FOR = (
    r"(?:(?: (?:for|of|to|on|at|in|from|für|von|vom|zum|zur|der|des|im|am|pour|de|du|del|della|do|da|dos|para|per|di"
    r"|voor|van|för|till|do|na|k|для|от|к|на) | (?:d|(?:de)?ll)['’])[^\n:=\"'.,;]{1,40}?)?"
)
_IS = (
    r"(?: (?:is|was|are|ist|war|lautet|heißt|est|es|é|è|är|er|je|jest|là|adalah)"
    r"(?: (?:now|still|currently|jetzt|set to|changed to|reset to))?:?"
    r"|(?: was| is| has been)? (?:set|changed|reset|updated) to| to|\s?[は是为為]|[은는]|\s?[:：]| [—–-])\s?"
)
_QUOTED = (
    r"[bru]{0,2}(?:\\?\"(?:\"\")?([^\"\n\\]{4,400}+)\\?\"|\\?'([^'\n\\]{4,400}+)\\?'|`([^`\n\\]{4,400}+)`"
    r"|[“「『«„]([^”」』»“\n\\]{4,400}+)[”」』»“])"
)
_BARE = r"[\"'`“「『«„*_]{0,2}([!#-&(-;=?-_a-~¡-ɏа-яё]{4,400}+)"
_UNITS = (
    "bits?|bytes|kb|mb|char|digits|letters|lines|rounds|iterations|times|tries|attempts|users|entries|ms|sec|min|hours"
    "|days|years|zeichen|stellen|sekunden|tage|caract|桁|位|字|文字|자리"
)
_NUMBER = rf"[\"'`*「]{{0,2}}(\d{{4,16}})(?![\w%]|[.,:/-]\w| ?(?:{_UNITS})| -)"
"""A number, which only the label of a PIN or of a password makes a secret; boards have pins of three digits."""
_PIN = (  # PIN code: 560001 is an Indian postal code
    r"(?:pin|puk|пин)(?<![^\W\d]\w\w\w)(?:[ _-]?(?:code|nummer|number|код)(?!\W{1,5}[1-9]\d{5}(?!\d)))?(?![^\W\d])"
    r"|手机pin码"
)
_PASSWORDS = "password|passwd|passphrase|pass|(?:bind|root|user)-?pwd?"
_KEYS = "token|secret|api-?key|authkey|(?:access|secret|auth|shared|account|license|recovery)-?key"
_OF_APP = (
    r"app(?:lication)?s?[ -]?(?:specific )?pass[a-z]{2,5}[^\n\w]{1,4}(?:is )?"
    r"([a-z]{4}([ -]?)(?:[a-z]{4}\2){2}[a-z]{4})(?![a-z-])"
)
_NO_KEYS = (
    "CACHE SITE PRIMARY FOREIGN SORT PARTITION IDEMPOTENCY OBJECT ROUTING ROW INDEX LOCK DEDUP BUILD HASH HOST GPG"
)
_CAPITAL = (
    r"(?<![A-Za-z0-9_])(?!\w{0,60}PUBLI)[A-Z][A-Z0-9_]{1,60}_KEY"
    + "".join(f"(?<!{word}_KEY)" for word in _NO_KEYS.split())
    + r"[\"']?\s?[:=]\s?[\"']?([\w+/=-]{20,400}+)"
)
"""Names of keys in capitals, without names that only end alike."""
_ENVIRONMENT = r"(?<![A-Za-z0-9])(?:[A-Z][A-Z0-9_]{0,40}_)?PASS(?:WORD|WD)?=([^\s\"'$<>;,()]{5,200}+)"


def _flag(words: str) -> str:
    return rf"(?<![\w-])--?[a-z-]{{0,30}}(?:{words})[ =][\"']?([^\s\"'|;&<>]{{4,400}}+)"


def _rule(kind: str, names: dict[str, str], following: str, value: str, is_secret: Check) -> Rule:
    pattern = rf"(?:{'|'.join(names.values())})(?:{following}){value}"
    return Rule(kind, tuple(names), pattern, is_secret, folded=True)


def rules() -> Iterator[Rule]:
    """Yield the rules for labelled values, the most specific kinds first."""
    digits = {one: word for one, word in _PASSWORD.items() if one not in {"pw", "psk", "clave"}}
    yield Rule("PIN", ("pin", "puk", "пин"), rf"(?:{_PIN})(?:\s?[:：=]\s?|{_IS}){_NUMBER}", str.isdecimal, folded=True)
    yield _rule("password", digits | {"pass": "pass(?:word|wd|wort|code)"}, rf"{_IS}|\s?=\s?", _NUMBER, str.isdecimal)
    yield Rule("password", ("app",), _OF_APP, values.is_of_app, folded=True)
    yield Rule("password", ("pass", "pw"), _flag(_PASSWORDS), values.is_flagged, folded=True)
    yield Rule("secret", ("token", "secret", "key"), _flag(_KEYS), values.is_flagged, folded=True)
    yield _rule("password", _PASSWORD, _MORE + _JOINED + _ASSIGNED, _QUOTED, values.is_quoted_password)
    yield _rule("password", _PASSWORD, _MORE + _JOINED + _ASSIGNED, _BARE, values.is_password)
    yield _rule("password", _PASSWORD, _FOR + _IS, _BARE, values.is_in_sentence)
    yield _rule("password", _PASSWORD, _FOR + _IS, _QUOTED, values.is_phrase)
    yield _rule("password", _PASSWORD, r"[^\S\n]", _BARE, values.is_strong)
    yield _rule("secret", _KEY, _MORE + _JOINED + _ASSIGNED, _QUOTED, values.is_quoted_key)
    yield _rule("secret", _KEY, _MORE + _JOINED + _ASSIGNED, _BARE, values.is_key)
    yield _rule("secret", _KEY, _MORE + rf"(?:{_FOR}{_IS}|[^\S\n])", _BARE, values.is_key_in_sentence)
    yield Rule("password", ("pass",), _ENVIRONMENT, values.is_of_environment)
    yield Rule("secret", ("_key",), _CAPITAL, values.is_secret_of_any_kind)
