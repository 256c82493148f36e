"""What a secret looks like: a token, a value that is called a secret, a key.

A text is looked at as it is and in small letters; both have equal lengths. Every pattern takes linear time, whatever
the text: it begins with what is rare or where a word begins, its quantifiers are bounded or possessive, and a value
that was looked at in vain is not looked at again for each name within it.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from memoryd.core.security import key_phrases, secret_sentences, secret_tables, secret_tokens
from memoryd.core.security import secret_values as values

Spans = Iterator[tuple[int, int]]
Check = Callable[[str], bool]
"""Whether what a pattern has found is a secret."""

TRIES = 2  # names within a value that is none, each of which is looked at
VALUE = 128  # characters of a value that are looked at


@dataclass(frozen=True)
class Text:
    """A text, and the same in small letters, as long."""

    whole: str
    folded: str
    _places: dict[str, list[int]] = field(default_factory=dict)

    def places(self, stems: Sequence[str]) -> list[int]:
        """Where one of some words stands in small letters: a search for a word is faster than one for a pattern."""
        for stem in stems:
            if stem not in self._places:
                found = re.finditer(re.escape(stem), self.folded) if stem in self.folded else ()
                self._places[stem] = [match.start() for match in found]
        if len(stems) == 1:
            return self._places[stems[0]]
        return sorted({place for stem in stems for place in self._places[stem]})


@dataclass(frozen=True, slots=True)
class Rule:
    """How a kind of secret is found."""

    kind: str
    needs: tuple[str, ...]
    """What a text must hold for this, one of them, in small letters; nothing where `spans` looks for words itself."""
    spans: Callable[[Text], Spans]


@dataclass(frozen=True, slots=True)
class Names:
    """What secrets are called: the words that these names hold, and what is looked for where one of them begins."""

    stems: tuple[str, ...]
    pattern: str

    def before(self, following: str) -> "Names":
        """The same names with something after them."""
        return Names(self.stems, f"(?:{self.pattern}){following}")


# ways to look --------------------------------------------------------------------------------------------------------


def _found(
    pattern: str, is_secret: Check = values.is_given, group: int = 1, flags: int = 0, *, folded: bool = False
) -> Callable[[Text], Spans]:
    """Each match of a pattern, of which a group is the secret."""
    compiled = re.compile(pattern, flags | re.ASCII)

    def spans(text: Text) -> Spans:
        for match in compiled.finditer(text.folded if folded else text.whole):
            start, end = match.span(group)
            if start >= 0 and is_secret(text.whole[start:end][:VALUE]):
                yield start, end

    return spans


def _token(pattern: str) -> Callable[[Text], Spans]:
    """Each match of the pattern of a token that begins where a token may begin."""
    compiled = re.compile(pattern, re.ASCII)

    def spans(text: Text) -> Spans:
        after = 0
        for match in compiled.finditer(text.whole):
            start, end = match.span()
            begins = start == after or secret_tokens.BEFORE.search(text.whole[max(0, start - 4) : start])
            if begins and not secret_tokens.PLACEHOLDER.search(match[0]):
                yield start, end
                after = end

    return spans


def _inside(
    stems: str, cue: str, inner: str, is_secret: Check = values.is_given, flags: int = 0
) -> Callable[[Text], Spans]:
    """After each cue, which begins with a stem, the matches of another pattern, whose last group is the secret."""
    words, outside, within = stems.split(), re.compile(cue, re.ASCII), re.compile(inner, re.ASCII | flags)

    def spans(text: Text) -> Spans:
        after = 0
        for place in text.places(words):
            if place >= after and (around := outside.match(text.folded, place)):
                after = around.end()
                for match in within.finditer(text.whole, around.start(), after):
                    start, end = match.span(match.lastindex or 0)
                    if is_secret(text.whole[start:end]):
                        yield start, end

    return spans


_NEXT = re.compile(r"&[\w-]+=")
_REST = re.compile(r"[^\s\"'`<>]*")


def _trimmed(value: str) -> str:
    """A value without the marks of the sentence that it ends, or the next parameter of its URL."""
    return _NEXT.split(value, maxsplit=1)[0].rstrip(".,;:([{)]}」』”’")


def _named(names: Names, value: str, is_secret: Check, *, trimmed: bool = False) -> Callable[[Text], Spans]:
    """The values after some names, in small letters.

    A value that is none may hold a name and a value; but only some of these are looked at, so that a text of names
    alone takes no longer than another.
    """
    name, following = re.compile(names.pattern), re.compile(value)

    def spans(text: Text) -> Spans:
        after = until = tries = 0
        for place in text.places(names.stems):
            if place < after or not (there := name.match(text.folded, place)):
                continue
            if not (match := following.match(text.folded, there.end())):
                continue
            start, end = match.span(match.lastindex or 0)
            if start >= until:
                until, tries = end, 0
            given = _trimmed(text.whole[start:end]) if trimmed else text.whole[start:end]
            if is_secret(given):
                after = _rest(text.whole, end) if trimmed and end - start >= VALUE else start + len(given)
                yield start, after
            elif (tries := tries + 1) >= TRIES or not values.is_given(given):
                after = max(until, end)

    return spans


def _rest(text: str, at: int) -> int:
    match = _REST.match(text, at)
    return match.end() if match else at


# names and values ----------------------------------------------------------------------------------------------------


def _behind(words: str) -> str:
    """Behind one of some words, with or without a sign between."""
    return "(?:" + "|".join(f"(?<={word})|(?<={word}[ _-])" for word in words.split()) + ")"


_HOLDERS = (*(word + sign for word in "db key root store sudo bind require".split() for sign in ("", "_")), "[a-z]_")
_USES = (
    "api auth service account access private preshared client signing encryption master deploy hmac aes session "
    "webhook secret jwt app crypt storage consumer write admin nonce logged_in license"
)


_PASSWORDS = Names(
    ("mot de passe", *("pass pw mdp kennwort contrase clave senha wachtwoord hasło haslo парол "
                       "パスワード 暗証番号 密码 密碼 "
                       "口令 비밀번호 psk heslo jelszó parol şifre lösenord adgangskode salasana κωδικ كلمة סיסמ "
                       "पासवर्ड รหัสผ่าน sandi パスコード パスフレーズ 암호 패스워드").split(), "mật khẩu"),
    rf"pass(?:word|wd|phrase|wort|code)|pass(?:(?<![a-z]pass)|(?<={'pass)|(?<='.join(_HOLDERS)}pass))(?![a-z])"
    r"|(?<![a-z])(?:pwd?|mdp|psk)(?![a-z])|kennwort|mot de passe|contrase[nñ]a|clave(?: de acceso)?\b|senha\b"
    r"|wachtwoord|has[lł]o\b|парол[ьяюеі]\b|パスワード|暗証番号|密码|密碼|口令|비밀번호|heslo\b|jelszó|parol[aă](?:sı)?\b"
    r"|(?<!\w)şifre(?:si|niz)?\b|lösenord(?:et)?\b|adgangskoden?\b|passord(?:et)?\b|salasana(?: on)?\b"
    r"|κωδικός(?: πρόσβασης)?|كلمة (?:المرور|السر)|סיסמ[הת]|पासवर्ड|รหัสผ่าน|mật khẩu|(?:kata )?sandi\b"
    r"|contrasenya\b|パスコード|パスフレーズ|암호|패스워드",
)  # fmt: skip
_KEYS = Names(
    tuple("key salt secret token credential jeton schlüssel トークン 秘密鍵 令牌 密钥 密鑰".split()),
    rf"{_behind(_USES)}(?:keys?|salt)(?! ?id)"
    r"|secret|token|credentials?|jeton\b|schlüssel|トークン|秘密鍵|令牌|密钥|密鑰",
)
_KEY = Names(("key",), r"(?<![\w-])(?<!public )(?<!public-)key")
_MORE = r"(?:[ _-]?(?:access|key|base|value|token|pass|phrase)){0,3}\d?"  # secret_access_key, SECRET_KEY_BASE
_FOR = (
    r"(?: (?:for|of|to|on|at|in|from|für|von|vom|zum|zur|der|des|im|am|pour|de|du|del|della|do|da|para|per|dla"
    r"|till|för|til|voor|van|untuk|của|pro|do|k|od|pre|ke|auf|sur|sul|от|для|к|на|до|від)"
    r" (?:[^\n:=\"'.,]|(?<=\w)'(?=\w)){1,60}?)?"
)
_VERB = (
    r"(?: (?:is|was|are|ist|war|lautet|heißt|est|es|é|è|era|être|será|är|er|je|este|jest|είναι|là|adalah|هي|היא|คือ|है)\b"
    r"(?: (?:now|still|currently|jetzt|set to|changed to|reset to))?:?"
    r"|(?: was| is| has been)? (?:set|changed|reset|updated) to\b| to\b|\s?[はは是为為]|은|는)\s?"
)
_IS = (
    r"(?:\\?[\"'\]`]{0,2}\s{0,3}(?::=|=>|={1,3}|[:：＝→]|->)\s{0,3}"  # JSON, YAML, TOML, environment
    # <add key="Password" value="...">, - name: PASSWORD, value: ...
    r"|[\"']?\s?(?:,|\n)?\s{0,40}[\"']?(?<![a-z])(?:value|text)[\"']?\s?[=:]\s?"
    rf"|{_FOR}(?:{_VERB}|\s?[:：]\s?))"
)
_BARE = rf"([!#-&(-;=?-_a-~¡-ɏ]{{4,{VALUE}}}+)"
_QUOTED = (
    r"[bru]{0,2}(?:\\?\"([^\"\n\\]{4,400}+)\\?\"|\\?'([^'\n\\]{4,400}+)\\?'|`([^`\n\\]{4,400}+)`"
    r"|[“「『«]([^”」』»\n\\]{4,400}+)[”」』»])"
)
_AFTER_FLAG = r"[\"']?([^\s\"'|;&<>]{4,200}+)"
_FLAG = (
    r"(?<![\w-])--?[a-z-]{0,30}(?:password|passwd|passphrase|pass|token|secret|api-?key|access-key|secret-key)(?: |=)"
)

# command lines -------------------------------------------------------------------------------------------------------

_ARGUMENT = r"(?:\"([^\"\n]{3,200}+)\"|'([^'\n]{3,200}+)'|([^\s\"'|;&<>]{3,200}+))"
COMMANDS = (
    ("mysql mariadb", "", r"\s-p"),
    ("sshpass", "", r"\s-p\s?"),
    ("docker podman helm nerdctl oras skopeo buildah", r"[^\n|;]{0,40}\blogin\b", r"\s-p[ =]"),
    (
        "mongo twine snmpwalk vncdo psexec cqlsh couchbase-cli cypher-shell crackmapexec netexec evil-winrm ncftp",
        "",
        r"\s-p[ =]",
    ),
    ("az", r"\s{1,3}login\b", r"\s-p[ =]"),
    ("curl lftp", "", r"\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$,]{1,100}[:,]"),
    ("redis-cli", "", r"\s-a\s"),
    ("openssl", "", r"\s(?:-k\s|-pass(?:in|out)?\spass:)"),
    ("snmp", "", r"\s-[AX]\s"),
    ("smbclient rpcclient", "", r"\s-U\s?[\"']?[^\s%\"']{1,100}%"),
    ("xfreerdp wfreerdp", "", r"\s/p:"),
    ("ldap", "", r"\s-w\s?"),
    ("htpasswd", "", r"\s-[a-zA-Z]{0,3}b[a-zA-Z]{0,3}\s\S{1,200}\s\S{1,100}\s"),
    ("zip unzip sqlcmd mosquitto_ ipmitool bcp", "", r"\s-P\s?"),
    ("7z unrar rar", "", r"\s-(?:h)?p"),
    ("http https xh ab", "", r"\s(?:-a|-A|--auth)[ =]?[\"']?[^\s:\"'$,]{1,100}:"),
    ("plink pscp psftp winscp kitty", "", r"\s-pw\s"),
    ("sqlplus rman expdp impdp", "", r"\s[\"']?[a-z]\w{1,30}/(?=[^\s@/]{4,100}@|[^\s@/]{4,100}\s*$)"),
    ("wpa_passphrase", "", r"\s[^\s]{1,40}\s"),
    ("rabbitmqctl", r"\s{1,3}(?:add_user|change_password|authenticate_user)\b", r"\s\w{1,20}\s[\w.@-]{1,60}\s"),
    ("mc", r"\s{1,3}(?:alias\s{1,3}set|config\s{1,3}host\s{1,3}add)\b", r"\shttps?://\S{1,200}\s\S{1,60}\s"),
    ("ssh-keygen", "", r"\s-[NP]\s?"),
    ("qpdf", "", r"\s--encrypt\s"),
    ("cmdkey", "", r"\s/pass:"),
    ("schtasks", "", r"\s/rp\s"),
    ("wmic psexec net", "", r"\s/(?:password|pass):"),
    (
        "security",
        r"\s{1,3}(?:add-(?:generic|internet)-password|unlock-keychain|set-keychain-password)\b",
        r"\s-[wp]\s?",
    ),
    ("bw", r"\s{1,3}(?:login|unlock)\b", r"\s(?:login\s[^\s@]{1,60}@\S{1,60}|unlock)\s"),
    ("grafana", "", r"\sreset-admin-password\s"),
    ("vault", r"\s{1,3}login\b", r"\slogin\s(?!-|\w{1,20}=)"),
    ("useradd usermod", "", r"\s(?:-p|--password)[ =]"),
    ("dotnet", r"\s{1,3}user-secrets\b", r"\sset\s\S{1,100}\s"),
    ("winrm secedit", "", r"\s-(?:p|password)[:= ]"),
    ("gh", r"\s{1,3}secret\b", r"\s(?:--body|-b)[ =]"),
    ("rclone", "", r"\sobscure\s"),
    ("keytool jarsigner", "", r"\s-(?:store|key)pass\s"),
    ("influx", "", r"\s-password\s"),
    ("aws", "", r"\saws_secret_access_key\s"),
    ("npm pnpm yarn", "", r":_(?:authToken|password)[ =]"),
    ("net", r"\s{1,3}(?:use|user)\b", r"\s(?:use\s\S{1,10}\s\\\\\S{1,200}\s|user\s\S{1,60}\s)(?!/)"),
)
"""How the names of commands begin, what follows in those that take a password, and what stands before it."""


def _commands() -> Iterator[Rule]:
    for names, also, before in COMMANDS:
        cue = rf"(?<![\w.-])(?:{names.replace(' ', '|')})[\w-]{{0,12}}(?:\.exe)?(?=\s){also}"
        cue += r"(?:[^\n|;\"']|\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\"']){1,400}+"
        yield Rule("password", tuple(names.split()), _inside(names, cue, before + _ARGUMENT, values.is_flagged))


# keys ----------------------------------------------------------------------------------------------------------------


def _between(begin: str, end: str) -> Callable[[Text], Spans]:
    """From a beginning to its end, or to that of the text where it is missing."""
    begins, ends = re.compile(begin), re.compile(end)

    def spans(text: Text) -> Spans:
        at = 0
        while there := begins.search(text.whole, at):
            over = ends.search(text.whole, there.end())
            at = over.end() if over else len(text.whole)
            yield there.start(), at

    return spans


# PEM (RFC 7468), OpenPGP (RFC 9580)
_PEM = (
    r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?=(?:\s|\\[nr]){0,8}+(?:[A-Za-z0-9+/=]{16}|Version:|Comment:|Proc-Type:))"
)
_PEM_END = r"-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"


def _is_web_token(value: str) -> bool:
    """Whether the first part of a JSON web token says what it is (RFC 7519)."""
    head = value.split(".", 1)[0]
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))), dict)
    except (ValueError, RecursionError):
        return False


_IN_URL = (
    r"access_token|id_token|refresh_token|auth_token|token|api_?key|key|client_secret|secret|password|passwd|pass|pwd"
    r"|sig|signature|code|auth|session|sid|jwt|appid|app_key|access_key|subscription-key|x-amz-signature"
    r"|x-goog-signature"
)


def _is_in_url(value: str) -> bool:
    return values.has_digit(value) and not values.HASH.match(value) and bool(re.search(r"[A-Za-z]", value))


def _is_hexadecimal(value: str) -> bool:
    return len(value.removeprefix("0x")) in {64, 128}


Make = Callable[[], Callable[[Text], Spans]]
_LOCKS = "keypad door gate alarm lock safe garage entrance tastenfeld tür tresor digicode clavier portail teclado"
_CALLS = "open( getconnection( jwt. createhmac( hmac. set_password( auth=( convertto-securestring basicauth"
OWN: tuple[tuple[str, str | tuple[str, ...], Make], ...] = (
    ("private key", "private", lambda: _between(_PEM, _PEM_END)),
    ("private key", "putty", lambda: _between(r"PuTTY-User-Key-File-\d:", r"Private-MAC: \w+")),
    ("JSON web token", "eyj", lambda: _found(
        r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]++)?", _is_web_token, 0)),
    # RFC 3986: the user's part of an authority; the user may be missing
    ("URL password", "://", lambda: _found(
        r"://(?<=[a-zA-Z0-9]://)[^\s:/?#@\[\]\"'<>]{0,200}+:([^\s/?#@\[\]\"'<>]{1,400}+)@")),
    # RFC 6750, RFC 7617
    ("Authorization header", "authorization", lambda: _found(
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|apikey|digest|bot)\s{1,3}([\w.~+/=-]{16,}+)",
        folded=True)),
    ("Authorization header", "bearer", lambda: _found(
        r"bearer\s{1,3}([\w.~+/=-]{20,}+)", values.has_digit, folded=True)),
    ("session cookie", "cookie", lambda: _inside(
        "cookie", r"cookie[\"']?\s?[:=][^\n]{1,1000}+",
        r"(?<![\w.%-])(?=([\w.-]{1,60}+)=)(?i:[\w.-]*?(?:sess|sid|auth|jwt))[\w.-]*+=([^;\s\"'<>]{16,}+)",
        values.has_digit)),
    ("URL secret", "? &", lambda: _found(
        rf"[?&](?:{_IN_URL})=([^&\s\"'<>#]{{12,}}+)", _is_in_url, folded=True)),
    ("webhook", "hook", lambda: _inside(
        "http", r"https?://[^\s\"'<>]{0,200}?hook[^\s\"'<>]{1,300}+", r"(?<=/)([A-Za-z0-9_-]{20,}+)(?![^/?\"'\s,;)])",
        _is_in_url)),
    ("AWS secret key", "aws access", lambda: _inside(
        "aws secret", r"(?:(?<!\w)aws|secret_?access_?key)[^\n]{0,100}+", r"(?<![\w+/])([A-Za-z0-9+/]{40})(?![\w+/=])",
        lambda value: values.is_given(value) and (values.classes(value) > 2 or "+" in value or "/" in value))),
    # hexadecimal and base32 keys after a word that says so
    ("secret key", "key seed", lambda: _inside(
        "private priv wallet eth aes hmac master encryption signing secret symmetric",
        r"(?:private|priv|wallet|eth|aes|hmac|master|encryption|signing|secret|symmetric)[ _-]?(?:key|seed)"
        r"[^\n]{0,100}+", r"(?<![\w-])((?:0x)?[0-9a-fA-F]{64,128}+)(?!\w)", _is_hexadecimal)),
    ("secret key", "otp 2fa mfa", lambda: _inside(
        "otp 2fa mfa", r"(?:otp|2fa|mfa)[ _-]?(?:secret|seed|key|auth)[^\n]{0,100}+",
        r"(?<![A-Za-z0-9])([A-Z2-7]{16,64})(?![A-Za-z0-9])", values.has_digit)),
    ("recovery code", "code", lambda: _inside(
        "recovery backup rescue", r"(?:recovery|backup|rescue)[ -]codes?[^.]{1,300}+",
        r"(?<![\w-])([a-zA-Z0-9]{4,8}(?:-[a-zA-Z0-9]{4,8}){1,3}|\d{4,10}(?: \d{4,10}){0,15}+)(?![\w-])",
        values.has_digit)),
    ("PIN", "pin", lambda: _found(
        r"pin(?<![a-z]pin)(?:[ -]?(?:code|number|nummer))?(?: (?:for|of|to|für) [^\n:=.]{1,40}?)?"
        r"(?:\s?[:=]| is| ist| lautet)\s?(\d{4,8})(?![\w.])", folded=True)),
    ("PIN", "code", lambda: _found(
        r"code(?:(?<=(?:door|gate|larm|cess|lock|safe|ntry|rity|rage)[ -]code))"
        r"(?: (?:of|for|to|at|für) [^\n:=.]{1,40}?)?(?: (?:is|ist)|\s?[:=])\s?#?(\d{4,10})(?!\w)", folded=True)),
    ("PIN", "code geheim código", lambda: _found(
        r"(?:code (?:secret|pin|d'accès|d'entrée|de (?:la )?porte|de l'alarme|du coffre)|geheimzahl|türcode|zugangscode"
        r"|código (?:pin|de (?:la )?(?:puerta|alarma|acceso|entrada)))[^\n:=.]{0,40}?"
        r"(?: est| is| ist| es| é|c'est|\s?[:=])\s?#?(\d{4,8})(?!\w)", folded=True)),
    ("PIN", _LOCKS, lambda: _inside(
        _LOCKS,
        r"(?<![a-z])(?:keypad|door|gate|alarm(?! clock)|lock(?:box)?|safe|garage|entrance|tastenfeld|tür|tresor"
        r"|digicode|clavier|portail|teclado)(?![a-rt-z])[^\n]{1,120}+",
        r"(?i)(?<![a-z])(?:type|enter|press|dial|punch in|key in|combination|combo|tippe|tapez|composez|marca|digite"
        r"|(?:door|gate|alarm|access|entry|the|its) code)(?: in)?(?: is| ist| est| es|:|=)? ?[*#]?"
        r"((?!(?:19|20)\d\d(?!\d))\d{4,8}|\d{1,2}(?:-\d{1,2}){2,3})(?![\w.,-]?\w)", values.always)),
    ("password", "wifi:", lambda: _found(r"wifi:[^\n]{0,200}?;p:([^;\n]{8,63}+);", folded=True)),  # a QR code
    ("password", "wi-fi wifi wlan ssid hotspot", lambda: _inside(
        "wi-fi wifi wlan ssid hotspot", r"(?:wi-?fi|wlan|ssid|hotspot)[^\n]{1,120}+",
        r"(?i)(?:(?<![\w-])(?:key|schlüssel|cl[ée]|clave|chiave|chave|ключ|code|psk)(?: is| ist| est| es|\s?[:=])?\s?"
        r"|\s[/–—|]\s(?!\d[.\d]{0,2}\s?ghz))[\"']?([^\s\"',;]{8,63}+)",
        lambda value: values.is_given(value) and secret_sentences.is_picked(_trimmed(value)))),
    ("password", "account login user konten zugänge comptes cuentas", lambda: _inside(
        "account login user konten zugänge comptes cuentas",
        r"(?:accounts|logins|users|konten|zugänge|comptes|cuentas)(?![a-z])[^\n:]{0,60}:(?:\n[^\n]{1,100}+){1,10}+",
        r"^[ *•+-]{0,6}[\w.@+-]{2,40}+\s?[–—:/|,=-]\s?(\S{8,60}+)",
        lambda value: values.is_given(value) and secret_sentences.is_picked(_trimmed(value)), re.MULTILINE)),
    ("password", "app", lambda: _found(
        r"app(?:lication)?s?[ -]?(?:specific )?pass\w{2,5}[^\n]{0,60}?(?<![a-z])((?:[a-z]{4} ){3}[a-z]{4})(?![a-z])",
        lambda value: values.is_unsaid(value.replace(" ", "")), folded=True)),
    # command lines
    ("password", "echo printf", lambda: _found(
        r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s)?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|$:]{4,100}+)[\"']?\s{0,3}(?:\||>{1,2})"
        r"[^\n;|]{0,80}?(?:sudo\s{1,3}-S|stdin|passwd|cryptsetup|luks|passphrase|secrets?\b(?!\.\w)|[\W_]pw\b|[\W_]pass(?:word)?\b"
        r"|token|\.key\b|credentials)", values.is_flagged)),
    ("password", "<<<", lambda: _found(
        r"(?:stdin|sudo\s{1,3}-S|passwd|passphrase-fd|cryptsetup|login)\b[^\n|;<]{0,80}<<<\s?[\"']?([^\s\"'$]{4,100}+)",
        values.is_flagged)),
    ("password", "creds", lambda: _found(
        r"(?<![\w-])--?[a-z-]{0,30}creds?[ =][\"']?[^\s:\"']{1,60}+:([^\s\"']{4,200}+)", values.is_flagged,
        folded=True)),
    ("password", "--pass -pass --http-pass", lambda: _named(Names(("-",), _FLAG), _AFTER_FLAG, values.is_flagged)),
    # files and statements
    ("password", "machine", lambda: _found(
        r"machine\s{1,3}\S{1,100}+\s{1,3}login\s{1,3}\S{1,100}+\s{1,3}password\s{1,3}(\S{4,100}+)", folded=True)),
    ("password", ":", lambda: _found(  # a line of .pgpass
        r"^(?:[\w.-]{1,200}+|\*):(?:\d{2,5}|\*):[\w*-]{1,63}+:[\w*-]{1,63}+:([^\s:]{4,100}+)(?!\S)",
        values.is_flagged, 1, re.MULTILINE)),
    ("password", "connect( connection( pdo( mysqli( login( auth( credential( credentials(", lambda: _inside(
        "connect( connection( pdo( mysqli( login( auth( credential( credentials(", r"\w{1,14}\([^\n]{1,300}+",
        r",\s?[\"']([^\"'\n]{6,100}+)[\"']", values.is_argument)),
    ("password", _CALLS, lambda: _inside(
        _CALLS,
        r"(?:open\(|getconnection\(|jwt\.|createhmac\(|hmac\.|set_password\(|auth=\(|basicauth|convertto-securestring)"
        r"[^\n]{1,300}+", r"[,( ]\s?b?[\"']([^\"'\n]{6,100}+)[\"']", values.is_argument)),
    ("password", "username enable snmp-server", lambda: _found(  # IOS
        r"^[ \t]*(?:username|enable|snmp-server)\s(?:[^\n]{1,60}?\s)?(?:password|secret|community)\s(?:\d\s)?"
        r"(\S{6,100}+)",
        values.is_in_sentence, 1, re.MULTILINE)),
    ("password", "variable", lambda: _found(
        r"variable\s{1,3}\"[\w-]{0,40}?(?:password|secret|token|key)[\w-]{0,20}\"\s{0,3}\{[^}]{0,300}?"
        r"default\s{1,9}=\s{1,3}\"([^\"\n]{4,200}+)\"", values.is_quoted, folded=True)),
    ("password", _PASSWORDS.stems, lambda: _named(
        _PASSWORDS.before(_MORE + r"[\"']\s?,\s?"), _QUOTED, values.is_quoted_in_sentence)),
    ("secret", _KEYS.stems, lambda: _named(_KEYS.before(_MORE + r"[\"']\s?,\s?"), _QUOTED, values.is_strong)),
    ("secret", _KEYS.stems, lambda: _named(
        _KEYS.before(_MORE + r"\s?[:=][^\"'\n]{1,80}"), _QUOTED,
        lambda value: secret_sentences.is_chance(value.replace("/", "")))),
    ("password", "use user login account", lambda: _found(
        r"(?:use|user(?:name)?|using|log ?in|account|with)[ :=]{1,2}[\w.@+-]{2,40}+ ?/ ?([^\s/\"',;]{6,60}+)",
        lambda value: secret_sentences.is_chosen(_trimmed(value)), folded=True)),
    ("password", "passphrase", lambda: _found(
        r"passphrase(?: is|\s?[:=])\s?([a-z0-9]{2,12}(?:[ -][a-z0-9]{2,12}){3,9}+)(?=[.,;\n]|$)", folded=True)),
    ("password", "identified password", lambda: _found(
        r"(?:identified\s{1,3}by|password)\s{1,3}[\"']([^\"'\n]{4,100}+)[\"']", values.is_quoted, folded=True)),
    ("password", "log credential zugang anmeld sign", lambda: _found(
        r"(?:credentials?|log ?in(?: as| with|:)?|zugangsdaten|anmeldung|sign in as)[ :=(\"']{1,4}[\w.@+-]{2,60}+"
        r"[\"']?\s?[/,|]\s?[\"']?([!#-&(-;=?-_a-~]{5,100}+)",
        lambda value: values.is_in_sentence(_trimmed(value)), folded=True)),
    ("password", "</", lambda: _found(
        r"(?:password|passwd|pwd|secret|token|api_?key|private_?key)[a-z_-]{0,10}[\"']?>\s?([^<>\s]{5,200}+)\s?</",
        values.is_bare, folded=True)),
    ("password", _PASSWORDS.stems, lambda: _named(_PASSWORDS.before(_MORE + _IS), _QUOTED, values.is_quoted_password)),
    ("password", _PASSWORDS.stems, lambda: _named(
        _PASSWORDS.before(_MORE + _IS), _BARE, values.is_password, trimmed=True)),
    ("password", _PASSWORDS.stems, lambda: _named(
        _PASSWORDS.before(r"[\"']?\)?\s?(?:\.(?:type|fill|send_?keys|value)\s?)?\(|[\"']\)\.\w{2,12}\("), _QUOTED,
        values.is_quoted_in_sentence)),
    ("password", _PASSWORDS.stems, lambda: _named(_PASSWORDS.before(r"\s"), _QUOTED, values.is_quoted_in_sentence)),
    ("password", _PASSWORDS.stems, lambda: _named(
        _PASSWORDS.before(r"(?: (?:от|для|to|for) \w{1,20}+)?\s"), _BARE, values.is_strong, trimmed=True)),
    ("secret", "--", lambda: _named(Names(("-",), _FLAG), _AFTER_FLAG, values.is_flagged)),
    ("secret", _KEYS.stems, lambda: _named(_KEYS.before(_MORE + _IS), _QUOTED, values.is_quoted)),
    ("secret", _KEYS.stems, lambda: _named(_KEYS.before(_MORE + _IS), _BARE, values.is_key, trimmed=True)),
    ("secret", "key", lambda: _named(_KEY.before(_FOR + _VERB), _BARE, values.is_chance, trimmed=True)),
    ("secret", _KEYS.stems, lambda: _named(_KEYS.before(_MORE + r"\s"), _BARE, values.is_chance, trimmed=True)),
)  # fmt: skip


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, those first whose kind tells most."""
    tokens = (Rule(kind, tuple(needs.split()), _token(form)) for kind, needs, form in secret_tokens.BY_PREFIX)
    own = (Rule(kind, tuple(needs.split()) if isinstance(needs, str) else needs, make()) for kind, needs, make in OWN)
    cues = secret_sentences.CUES
    near = Rule("password", cues, lambda text: secret_sentences.spans(text.whole, text.folded, text.places(cues)))
    table = Rule("password", secret_tables.HEADINGS, lambda text: secret_tables.spans(text.whole, text.folded))
    phrase = Rule("key phrase", (), lambda text: key_phrases.spans(text.folded))
    vendor = Rule("access token", (), lambda text: secret_tokens.of_any_vendor(text.whole))
    return (*tokens, *own, *_commands(), near, table, phrase, vendor)


def kinds() -> frozenset[str]:
    """What secrets are called."""
    return frozenset(rule.kind for rule in rules())
