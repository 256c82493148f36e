"""The rules by which secrets are found: tokens, values that are called a secret, keys."""

import base64
import json
import re
from collections.abc import Callable
from functools import cache

from memoryd.core.security import (
    key_phrases,
    secret_commands,
    secret_evidence,
    secret_likeness,
    secret_phrases,
    secret_pins,
    secret_tables,
    secret_tokens,
)
from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_names import (
    AFTER_FLAG,
    BARE,
    FLAGS,
    FOR,
    IN_PROSE,
    IS,
    KEY,
    KEYS,
    MORE,
    OF_OTHERS,
    PASSWORDS,
    QUOTED,
    SPOKEN,
    VERB,
)
from memoryd.core.security.secret_search import Names, Rule, Spans, Text, between, found, inside, named, token, trim

# PEM (RFC 7468), OpenPGP (RFC 9580)
_PEM = (
    r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?=(?:\s|\\[nr]){0,8}+(?:[A-Za-z0-9+/=]{16}|Version:|Comment:|Proc-Type:))"
)
_PEM_END = r"-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"


def _is_web_token(value: str) -> bool:
    """Return whether the first part of a value is the header of a JSON web token (RFC 7519)."""
    head = value.split(".", 1)[0]
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))), dict)
    except (ValueError, RecursionError):
        return False


def _is_account(value: str) -> bool:
    """Return whether a value is a name and a password in base64."""
    try:
        name, sign, password = base64.urlsafe_b64decode(value.translate(_URLSAFE)).decode().partition(":")
    except ValueError:
        return False
    return bool(name and sign and len(password) > 2) and f"{name}{password}".isprintable() and values.is_given(password)


_URLSAFE = str.maketrans("+/", "-_")
_IN_URL = (
    r"access_token|id_token|refresh_token|auth_token|token|api_?key|key|client_secret|secret|password|passwd|pass|pwd"
    r"|sig|signature|code|auth|session|sid|jwt|appid|app_key|access_key|subscription-key|x-amz-signature"
    r"|x-goog-signature"
)


def _is_in_url(value: str) -> bool:
    return values.has_digit(value) and not values.HASH.match(value) and bool(re.search(r"[A-Za-z]", value))


def _is_hexadecimal(value: str) -> bool:
    return len(value.removeprefix("0x")) in {64, 128}


_TERM = re.compile(  # in a translation
    rf"(?<![^\W\d_])(?:{PASSWORDS.pattern}|{KEYS.pattern}|geheimnis|секрет)[^\W\d_]{{0,2}}(?![^\W\d_])"
    r"|[぀-ヿ㐀-鿿가-힣\s！？、。]+\Z"
)


def _is_term(value: str) -> bool:
    """Return whether a value is a word for a password or a key, as in a translation, or plain East Asian words."""
    return not re.search(r"[\d_]", value) and bool(_TERM.search(value.lower()))


def _is_signing_key(value: str) -> bool:
    """Return whether a literal is a signing key of a web token, not the name of an algorithm or a key."""
    return values.is_quoted_key(value) and values.classes(value) > 1 and not re.match(r"[HREP]S\d{3}$", value)


def _is_credential(value: str) -> bool:
    """Return whether an argument of a client is a password or a key."""
    return values.is_argument(value) or secret_likeness.is_chosen(value) or _is_random(value) or values.is_of_app(value)


def _is_random(value: str) -> bool:
    """Return whether an argument looks random, not like a name."""
    return values.is_given(value) and (secret_likeness.is_chance(value) or bool(_HEX.fullmatch(value)))


_HYPHENED = re.compile(r"[a-z]{5,}(?:-[a-z]{2,}){1,4}[.;)]?")
_HEX = re.compile("(?:[0-9a-f]{8}){4,8}")


def _is_strange(value: str) -> bool:
    return secret_likeness.strangeness(value) > 1


def _unlike(words: str) -> str:
    """Return a look-behind that excludes some words."""
    return "".join(f"(?<!{word})" for word in words.split())


_DIGESTS = (
    "hash",
    "sha",
    "sha256",
    "s256",
    "sha512",
    "digest",
    "blickey",
    "blic_key",
    "blic-key",
    "blic key",
    "rity",
    "sum",
    "print",
    "etag",
    "cert",
    "peer",
    "md5",
    "mac",
    "tag",
    "data",
    "signature",
    r"\biv",
    r"\bbh",
    r"\bh1",
    "nonce",
    "wrapped",
)
"""Endings of the names of values that are also 32 bytes long, but not secret."""
_PASS = rf"(?<![A-Za-z])[A-Z]{{2,12}}{_unlike('BY COM TRES SUR OVER UNDER LOW HIGH BAND ALL')}PASS"
_KEY = (
    r"(?<![A-Za-z0-9_])(?!\w{0,60}PUBLI)[A-Z][A-Z0-9_]{1,60}"
    + _unlike(
        "CACHE SITE PRIMARY FOREIGN SORT PARTITION IDEMPOTENCY OBJECT S3 ROUTING ROW INDEX LOCK DEDUP MERGE BUILD "
        "COMMIT VERSION HASH HOST GPG"
    )
    + "_KEY"
)
"""Names of secrets in capitals, without names that only have the same ending."""
Make = Callable[[], Callable[[Text], Spans]]
_SEEDS = tuple(
    "phrase frase words wörter mnemo сид 助记词 助記詞 ニーモニック シード 복구 니모닉 bip seed semilla "
    "semente graine".split()
)
_LOGIN = Names(
    tuple(
        "credential creds basic login log sign zugang anmeld accès identifiant connexion acces aces sesión logowanie "
        "konto inlogg giriş вход логин доступ учет учёт 로그인 계정 登录 登錄 登陆 "
        "账号 账户 帳號 ログイン アカウント パスワード 密码 비밀번호".split()
    ),
    r"credentials?|creds|basic[ -]auth|log ?in(?: as| with)?|sign in as|zugang(?:sdaten)?|anmeldung|accès|identifiants?"
    r"|connexion|acces?so|acesso|sesión|logowanie|konto|inlogg(?:ning|en)?|giriş|вход|логин|доступ"
    r"|уч[её]тка|로그인|계정"
    r"|登录|登錄|登陆|账号|账户|帳號|ログイン|アカウント|パスワード|密码|비밀번호",
)
"""Words before the name of an account and its password."""
_WIFI = r"wi-?fi|wlan|wpa\d?"
_WIFI_KEY = (
    "key(?![a-z])|passw|schlüssel|kennwort|clé|mot de passe|clave|contraseña|chiave|chave|senha|ключ|парол|sleutel"
    "|wachtwoord"
)
_AS = r"(?:[^\n:：/|,]{0,40}+[:：]\s?|[^\n:：/|,]{0,40}? (?:is|ist|est|es|è) |[ =(\"']{1,4})"
_WITH = r"(?!page|screen|form)[\w.@+-]{2,60}+[\"']?\s?"
_THEN = r"\s?[\"']?(?!//)"
_WITH_ALL = "open( getconnection( jwt. createhmac( hmac. set_password( auth=( convertto-securestring basicauth"
_WITH_SECOND = (
    "client( connect( connection( pdo( mysqli( login( auth( credential( credentials( api( sdk( "
    "gateway( handler( session( authenticate( authenticator( signin( sign_in( logon( "
    "service( bot( account( exchange( provider( storage("
)
OWN: tuple[tuple[str, str | tuple[str, ...], Make], ...] = (
    ("private key", "private", lambda: between(_PEM, _PEM_END)),
    ("private key", "putty", lambda: between(r"PuTTY-User-Key-File-\d:", r"Private-MAC: \w+")),
    ("JSON web token", "eyj", lambda: found(
        r"(?<![\w-])(?<!pk\.)eyJ[\w-]{8,}+(?:\.[\w-]{16,}+(?:\.[\w-]*+){0,3}"
        r"|\.\.[\w-]{16,}+\.[\w-]++\.[\w-]++)", _is_web_token, 0)),
    # RFC 3986: the user's part of an authority; the user may be missing
    ("URL password", "://", lambda: found(
        r"://(?<=[a-zA-Z0-9]://)[^\s:/?#@\[\]\"'<>]{0,200}+:([^\s/?#@\[\]\"'<>]{1,400}+)@")),
    # RFC 6750, RFC 7617
    ("Authorization header", "authorization", lambda: found(
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[\w-]{2,20}\s{1,3})?([\w.~+/=-]{16,}+)",
        values.has_digit, folded=True)),
    ("Authorization header", "basic ", lambda: found(
        r"basic\s{1,3}([\w+/-]{8,}+={0,2})(?![\w=])", _is_account, folded=True)),
    ("Authorization header", "bearer", lambda: found(
        r"bearer\s{1,3}([\w.~+/=-]{20,}+)", values.has_digit, folded=True)),
    ("session cookie", "cookie -b", lambda: inside(
        "cookie -b",
        r"(?:cookie[\"']?\s?[:=]|(?:cookie|(?<!\S)-b)[ =]?[\"']?(?=[\w.-]{1,60}=)|cookie\b[^\n:=]{1,40}: ?"
        r"[\"'`]?(?=[\w.-]{1,60}=))[^\n]{1,1000}+",
        r"(?<![\w.%-])(?=([\w.-]{1,60}+)=)(?i:[\w.-]*?(?:sess|sid|auth|jwt|token|cookies))[\w.-]*+=([^;\s\"'<>]{16,}+)",
        values.has_digit)),
    ("session cookie", "li_at sess sid= remember_", lambda: found(
        r"(?:li_at|sess(?:ion|data)?(?:[_-]?(?:id|token|key))?|(?<![a-z])sid|remember_\w{1,30}+)=([^;\s\"'<>&]{20,}+)",
        secret_likeness.is_chance, folded=True)),
    ("URL secret", "? &", lambda: found(
        rf"[?&](?:{_IN_URL})=([^&\s\"'<>#]{{12,}}+)", _is_in_url, folded=True)),
    ("webhook", "hook", lambda: inside(
        "http", r"https?://[^\s\"'<>]{0,200}?hook[^\s\"'<>]{1,300}+", r"(?<=/)([A-Za-z0-9_-]{20,}+)(?![^/?\"'`>\s,;)])",
        values.has_digit)),
    ("URL secret", "/invit /reset /magic /private /verif /conf /join /share mcp /key/ /token/ /secret/", lambda: found(
        r"https?://[^\s\"'<>]{1,200}?(?:/(?:invit\w{1,8}|reset[\w-]{0,20}|magic[\w-]{0,20}|verify"
        r"|confirm|join|shared?|key|token|secret)/"
        r"|/private-|/mcp/\w{1,8}/)([\w+/-]{20,}+)", _is_in_url)),
    ("URL secret", "://", lambda: found(r"://([\w-]{16,200}+)@", secret_likeness.is_chance)),
    ("URL password", "thin: oci:", lambda: found(r"(?:thin|oci):[\w$]{1,30}+/([^\s@/]{4,100}+)@", values.is_flagged)),
    ("URL password", "@", lambda: found(  # DSN of Go, an address without scheme
        r"(?<![\w/:.-])(?!mailto|acct|sip|xmpp)[\w-]{1,40}+:([^\s@:/]{4,100}+)@(?:(?:tcp|unix)\(|[\w-]{1,60}\.[\w.-])",
        values.is_flagged)),
    ("AWS secret key", "aws access", lambda: inside(
        "aws secret", r"(?:(?<!\w)aws|secret_?access_?key)[^\n]{0,100}+", r"(?<![\w+/])([A-Za-z0-9+/]{40})(?![\w+/=])",
        lambda value: values.is_given(value) and (values.classes(value) > 2 or "+" in value or "/" in value))),
    # hexadecimal and base32 keys after a word for a key
    ("secret key", "key seed accounts", lambda: inside(
        "private priv wallet eth aes hmac master encryption signing secret symmetric ed25519 deployer accounts",
        r"(?:(?<!checksum/)(?:private|priv|wallet|eth|aes|hmac|master|encryption|signing|secret|symmetric|ed25519"
        r"|deployer)[ _-]?(?:key|seed|pair)"
        r"|accounts[\"']?\s?[:=]\s?\[)[^\n]{0,100}+",
        r"(?<![\w-])((?:0x)?[0-9a-fA-F]{64,128}+)(?!\w)", _is_hexadecimal)),
    ("secret key", "otp 2fa mfa", lambda: inside(
        "otp 2fa mfa", r"(?:otp|2fa|mfa)[ _-]?(?:secret|seed|key|auth)[^\n]{0,100}+",
        r"(?<![A-Za-z0-9])([A-Z2-7]{16,64})(?![A-Za-z0-9])", values.has_digit)),
    ("secret key", "otp 2fa mfa authenticator", lambda: inside(
        "otp 2fa mfa authenticator", r"(?:otp|2fa|mfa|authenticator)[^\n]{1,140}+",
        r"(?<![a-z0-9])((?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})(?![a-z0-9])",
        lambda value: sum(map(str.isdigit, value)) > 1, re.IGNORECASE)),
    ("secret key", '"kty"', lambda: found(r"\"(?:d|k|p|q|dp|dq|qi)\"\s?:\s?\"([\w-]{22,}+)\"")),  # RFC 7517
    ("secret key", "lo0tls1crudjti ls0tls1crudjti", lambda: found(  # PEM in base64
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}+={0,2}", lambda value: b"PRIVATE KEY" in base64.b64decode(value[:64]), 0)),
    ("secret key", "=", lambda: found(  # 32 or 64 bytes assigned in a file
        r"(?<![\w.-])[\w.-]{2,40}+(?=[\"']?\s?[:=]\s?[\"']?[a-z0-9+/]{43})"
        + "".join(f"(?<!{name})" for name in _DIGESTS)
        + r"[\"']?\s?[:=]\s?[\"']?([a-z0-9+/]{43}=|[a-z0-9+/]{86}==)(?![a-z0-9+/=])", folded=True)),
    ("access token", "/1", lambda: found(r"/1\d{14,15}:([0-9a-f]{32})(?![0-9a-zA-Z])")),  # Asana
    ("secret key", "keypair solana wallet private secret", lambda: inside(
        "keypair solana wallet private secret", r"(?:keypair|solana|wallet|private"
        r"|secret)[^\[\n]{0,60}\[[\d, ]{60,400}+",
        r"\[((?:\d{1,3}, ?){31,63}\d{1,3})", values.always)),
    ("license key", "licen product activation recovery emergency", lambda: found(
        r"(?:licen[cs]e(?: key)?|(?:product|activation|registration|recovery|emergency|secret)[ _-]key)\b[^\n]{0,30}?"
        r"(?<![a-z0-9])((?:[a-z0-9]{4,6}-){3,9}[a-z0-9]{4,6})(?![a-z0-9-])", values.has_digit, folded=True)),
    ("key phrase", _SEEDS, lambda: found(  # in any language
        r"(?:(?:seed|recovery|wiederherstellungs|mnemo\w{2,6})[ -]?(?:phrase|words|wörter|frase)|mnemonic"
        r"|frase (?:semilla|seme"
        r"|de recupera|di recupero)|phrase (?:de récup|secrète|mnémo|graine)|сид[- ]?фраз|助记词|助記詞|ニーモニック"
        r"|シードフレーズ|복구 구문"
        r"|니모닉|bip-?39|\b(?:seed(?! list)|semilla|semente|graine)\b(?=[^\n,]{0,300}+(?:\n|$))"
        r")[^\n:：]{0,80}(?:[:：=]|->| is| ist| est| es"
        r"| è)\s?((?:[^\s\d,.;:]{1,14}[ ,　]{1,2}){11,23}[^\s\d,.;:]{1,14})(?=[.\n]|$)",
        secret_phrases.is_after_verb, folded=True)),
    ("recovery code", "code", lambda: inside(
        "recovery backup rescue", r"(?:recovery|backup|rescue)[ -]codes?[^.]{1,300}+"
        r"(?:\.\s[^.:\n]{0,40}(?:(?:next|unused|remaining|last|first|new|current) (?:one|code)"
        r"|(?:left|remaining|still)\b)[^.:\n]{0,40}:[^.]{1,80}+)?",
        r"(?<![\w-])([a-zA-Z0-9]{4,8}(?:-[a-zA-Z0-9]{4,8}){1,3}|\d{4,10}(?: \d{4,10}){0,15}+)(?![\w-])",
        values.has_digit)),
    ("password", "wifi:", lambda: found(r"wifi:[^\n]{0,200}?;p:([^;\n]{8,63}+);", folded=True)),  # a QR code
    ("password", "wi-fi wifi wlan ssid hotspot", lambda: inside(
        "wi-fi wifi wlan ssid hotspot", r"(?:wi-?fi|wlan|ssid|hotspot)[^\n]{1,120}+",
        r"(?i)(?:(?<![\w-])(?:key|schlüssel|cl[ée]|clave|chiave|chave|ключ|code|psk|passphrase"
        r"|password)(?: is| ist| est| es|\s?[:=])?\s?"
        r"|\s[/–—|]\s(?!\d[.\d]{0,2}\s?ghz))[\"']?([^\s\"',;]{8,63}+)",
        lambda value: _is_strange(trim(value)) or bool(_HYPHENED.fullmatch(value)))),
    ("password", "wi-fi wifi wlan wpa", lambda: found(
        rf"(?:(?:{_WIFI})[^\n:=]{{0,40}}?(?:{_WIFI_KEY})|(?:{_WIFI_KEY})[^\n:=]{{1,20}}?(?:{_WIFI}))"
        r"(?:(?:(?!number|nummer|phone|telef|ticket|support|desk)[^\n:=.,;]){0,60}?"
        r"(?:[:=]| is| ist| est| es| è| é) ?| )(\d{3,10}(?:[ -]\d{3,10}){0,7}+)(?![\w.-])",
        lambda value: sum(map(str.isdigit, value)) >= 8, folded=True)),
    ("password", "account login user konten zugänge comptes cuentas", lambda: inside(
        "account login user konten zugänge comptes cuentas",
        r"(?:accounts|logins|users|konten|zugänge|comptes|cuentas)(?![a-z])[^\n:]{0,60}:(?:\n[^\n]{1,100}+){1,10}+",
        r"^[ *•+-]{0,6}[\w.@+-]{2,40}+\s?[–—:/|,=-]\s?(\S{8,60}+)",
        lambda value: values.is_given(value) and secret_likeness.is_picked(trim(value)), re.MULTILINE)),
    ("password", "app", lambda: found(
        r"app(?:lication)?s?[ -]?(?:specific )?pass\w{2,5}[^\n]{0,60}?"
        r"(?<![a-z])([a-z]{4}([ -]?)(?:[a-z]{4}\2){2}[a-z]{4})(?![a-z-])",
        values.is_of_app, folded=True)),
    # command lines
    ("password", "echo printf", lambda: found(
        r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s)?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|$:]{4,100}+)[\"']?\s{0,3}(?:\||>{1,2})"
        r"[^\n;|]{0,80}?(?:sudo\s{1,3}-S|env add|stdin|passwd|cryptsetup|luks|passphrase|secrets?\b(?!\.\w)"
        r"|[\W_]pw\b|[\W_]pass(?:word)?\b"
        r"|token|\.key\b|credentials)", values.is_flagged)),
    ("password", "<<<", lambda: found(
        r"(?:stdin|sudo\s{1,3}-S|passwd|passphrase-fd|cryptsetup|login)\b[^\n|;<]{0,80}<<<\s?[\"']?([^\s\"'$]{4,100}+)",
        values.is_flagged)),
    ("secret", " login unseal authtoken activate", lambda: found(
        r"(?<=\w )(?:login|unseal|(?:add-)?authtoken"
        r"|activate)\s{1,3}([\w+/=-]{16,200}+)(?![\w./:@])", _is_strange)),
    ("password", " -u  -l ", lambda: found(
        r"\s-[uUl][ =]?[^\s-]\S{0,60}\s-[pP][ =]?[\"']?([^\s\"'|;&<>]{5,200}+)", values.is_in_sentence)),
    ("password", '"auth" _auth', lambda: found(
        r"(?:\"auth\"\s?:|_auth\s?=)\s?\"?([A-Za-z0-9+/_-]{12,}+={0,2})", values.has_digit)),
    ("password", "auth", lambda: found(
        r"(?<![\w.-])auth\s?=\s?[\"']([\w+/=-]{16,}+)[\"']", _is_strange, folded=True)),
    ("password", "auth", lambda: found(  # HTTP in Python
        r"auth(?:\s?=\s?)?\(\s?[\"'][^\"'\n]{1,60}+[\"'],\s?[\"']([^\"'\n]{4,100}+)[\"']\s?\)",
        values.is_quoted_password, folded=True)),
    ("secret key", ".key", lambda: found(
        r"\w\.key[\"'`]?(?=[\s:])(?:(?!md5|sha|sum\b|print|hash|commit)[^\n]){0,80}?[:—–] [\"'`]?"
        r"([0-9a-f]{32}|[0-9a-f]{64})(?!\w)", folded=True)),
    ("secret", ".key", lambda: found(
        r"\w\.key[\"'`]?(?=\s)[^\n]{0,30}?\b(?:contains?|holds?|has|is|was) [\"'`]?([\w+/=-]{20,}+)", _is_strange,
        folded=True)),
    ("password", "creds credentials login account", lambda: inside(
        "creds credentials login account", r"(?:creds|credentials|login|account)[^\n]{1,120}+",
        r"[\w.+-]{1,40}@[\w.-]{3,60}+ ?(?://?|\|) ?([^\s\"',;/|]{8,60}+)",
        lambda value: values.is_in_sentence(trim(value)))),
    ("password", "--auth", lambda: found(
        r"(?<![\w-])--auth[ =][\"']?([^\s\"':]{8,100}+)",
        lambda value: secret_likeness.is_picked(value) or secret_likeness.is_chosen(value), folded=True)),
    ("password", "--pass -pass --http-pass", lambda: named(FLAGS, "", AFTER_FLAG, values.is_flagged)),
    # files and statements
    ("password", "machine", lambda: found(
        r"machine\s{1,3}\S{1,100}+\s{1,3}login\s{1,3}\S{1,100}+\s{1,3}password\s{1,3}(\S{4,100}+)", folded=True)),
    ("password", ":", lambda: found(  # a line of .pgpass
        r"(?<!\S)(?:[\w.-]{1,200}+|\*):(?:\d{2,5}|\*):[\w*-]{1,63}+:[\w*-]{1,63}+:([^\s:]{4,100}+)(?!\S)",
        values.is_flagged, 1, re.MULTILINE)),
    ("password", _WITH_ALL, lambda: inside(
        _WITH_ALL,
        r"(?:open\(|getconnection\(|jwt\.|createhmac\(|hmac\.|set_password\(|auth=\(|basicauth|convertto-securestring)"
        r"[^\n]{1,300}+", r"[,( ]\s?b?[\"']([^\"'\n]{6,100}+)[\"']", _is_credential)),
    ("password", _WITH_SECOND, lambda: inside(
        _WITH_SECOND, r"\w{1,14}\([^\n]{1,300}+", r",\s?[\"']([^\"'\n]{6,100}+)[\"']", _is_credential)),
    ("secret", "new require( ::new(", lambda: inside(  # constructors of clients, whatever their names
        "new require( ::new(",
        r"(?:new (?![\w.\\]*(?:hash|digest|commit|sum|blob|file|md5|sha|etag|object|id\b|asset|version"
        r"|image|font|script))"
        r"[\w.\\]{1,60}|require\([\"'][^\"'\n]{1,60}[\"']\)|::new)\([^\n]{1,300}+",
        r",\s?[\"']([^\"'\n]{16,100}+)[\"']", _is_random)),
    ("password", "username enable snmp-server", lambda: found(  # IOS
        r"^[ \t]*(?:username|enable|snmp-server)\s(?:[^\n]{1,60}?\s)?(?:password|secret|community)\s(?:\d\s)?"
        r"(\S{6,100}+)",
        values.is_in_sentence, 1, re.MULTILINE)),
    ("secret", KEYS.stems, lambda: named(KEYS, MORE + r"[\"']\s?,\s?", QUOTED, values.is_strong)),
    ("password", _LOGIN.stems, lambda: named(_LOGIN, _AS + _WITH + "[/,|:]" + _THEN, BARE, _is_strange, trimmed=True)),
    ("password", "pass", lambda: found(rf"{_PASS}{IS}[\"']?([^\s\"'`]{{4,200}}+)", values.is_password)),  # SSHPASS
    ("secret", "_key", lambda: found(
        rf"{_KEY}[\"']?\s?[:=]\s?[\"']?([\w+/=-]{{24,200}}+)",
        lambda value: _is_random(value) or values.is_long(value))),
    ("secret", "jwt", lambda: found(  # the second argument of jsonwebtoken and PyJWT
        r"jwt\.(?:sign|verify|encode|decode)\(\s{0,9}(?:\{[^{}]{0,200}+\}|[\w.$]{1,60}+(?:\(\))?)\s{0,3},\s{0,9}"
        r"[\"']([^\"'\n]{8,200}+)[\"']", _is_signing_key, folded=True)),
    ("password", "identified password", lambda: found(
        r"(?:identified\s{1,3}by|password)\s{1,3}[\"']([^\"'\n]{4,100}+)[\"']", values.is_quoted, folded=True)),
    ("password", "</", lambda: found(
        r"(?:password|passwd|pwd|psk|secret|token|passphrase"
        r"|[a-z]_?key)[a-z_-]{0,10}[\"']?>\s?(?:<!\[cdata\[)?([^<>\s\]]{5,200}+)(?:\]\]>)?\s?</",
        values.is_bare, folded=True)),
    ("password", PASSWORDS.stems, lambda: named(PASSWORDS, MORE + IS, QUOTED,
        lambda value: values.is_quoted_password(value) and not _is_term(value))),
    ("password", PASSWORDS.stems, lambda: named(
        PASSWORDS, MORE + IS, BARE, values.is_password, trimmed=True)),
    ("password", PASSWORDS.stems, lambda: named(
        PASSWORDS, r"(?: (?:от|для|to|for) \w{1,20}+)?[^\S\n]", BARE, values.is_strong, trimmed=True)),
    ("password", PASSWORDS.stems, lambda: named(PASSWORDS, IN_PROSE, SPOKEN, values.is_in_prose, trimmed=True)),
    ("password", PASSWORDS.stems, lambda: named(PASSWORDS, r"=(?=[\"'])", QUOTED, values.is_spoken)),
    ("secret", "--", lambda: named(FLAGS, "", AFTER_FLAG, values.is_flagged)),
    ("secret", KEYS.stems, lambda: named(
        KEYS, OF_OTHERS + MORE + IS, QUOTED, lambda value: values.is_quoted_key(value) and not _is_term(value))),
    ("secret", KEYS.stems, lambda: named(KEYS, MORE + IS, BARE, values.is_key, trimmed=True)),
    ("secret", "key", lambda: named(KEY, FOR + VERB, BARE, _is_strange, trimmed=True)),
    ("secret", KEYS.stems, lambda: named(KEYS, MORE + r"\s", BARE, _is_strange, trimmed=True)),
)  # fmt: skip


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, the most specific kinds first."""
    tokens = (Rule(kind, tuple(needs.split()), token(form)) for kind, needs, form in secret_tokens.BY_PREFIX)
    own = (Rule(kind, tuple(needs.split()) if isinstance(needs, str) else needs, make()) for kind, needs, make in OWN)
    near = Rule("password", (), secret_evidence.spans)
    table = Rule("password", secret_tables.HEADINGS, lambda text: secret_tables.spans(text.whole, text.folded))
    phrase = Rule("key phrase", (), lambda text: key_phrases.spans(text.folded))
    vendor = Rule("access token", (), lambda text: secret_tokens.of_any_vendor(text.whole))
    return (
        *tokens,
        *own,
        *secret_pins.rules(),
        *secret_phrases.rules(),
        *secret_commands.rules(),
        near,
        table,
        phrase,
        vendor,
    )


def kinds() -> frozenset[str]:
    """Return the kinds of secrets."""
    return frozenset(rule.kind for rule in rules())
