"""Passphrases of several plain words after a word for them in many languages, but not sentences about passphrases."""

import re
from collections.abc import Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_names import FOR, VERB, behind
from memoryd.core.security.secret_search import Names, Rule, found, named

_NAMES = Names(
    ("phrase", "frase", "парольн", "кодов", "секретн", "wachtzin", "woordzin", "fras", "satz", "fraz",
     "パスフレーズ", "短语", "密语", "암호", "master", "passe maître", "maestra", "mestra"),
    rf"{behind('pass code secret unlock encryption decryption backup security')}phrase|(?<=lösen)fras(?:en)?"
    r"|(?<=lösenords)fras(?:en)?|(?<=pass)frase[nr]?"
    r"|phrase(?= for [^\n:]{0,30}?\b(?:key|disk|vault|backup|laptop|drive|safe))|phrase (?:de passe"
    r"|secr[èe]te|de sécurité|d['’]accès)"
    r"|frase (?:de (?:paso|contraseña|acceso|acesso|seguridad|segurança)|secreta|segreta|d['’]accesso|di (?:accesso"
    r"|sicurezza))|frase[ -](?:senha|passe)|(?:парольн|кодов|секретн)\w{2} фраз\w|wachtzin|woordzin"
    rf"|{behind('pass kenn passwort kennwort')}satz|fraz\w (?:hasł\w{{2,5}}|dostępu)|(?<=hasło-)fraza"
    r"|パスフレーズ|(?<=密码)短语|(?<=口令)短语|密语|암호 ?(?:문구|구문)"
    r"|master[ -]?(?:password|passwort|kennwort|wachtwoord|lösenord)|passe maître"
    r"|(?<=contraseña )maestra|(?<=senha )mestra",
)  # fmt: skip
# four to twelve of them
_WORDS = (
    r"[\"'`„“«「]?([^\W_][\w'’]{0,15}+(?:[ -][^\W_][\w'’]{0,15}+){3,11}+)"
    r"(?=[\"'`”“»」]?(?:[.,;!\n]| ?\(| [–—-] |$))"
)
_SIGN = rf"(?: ?\([^()\n]{{1,40}}+\))?{FOR}(?:{VERB})?\s?(?:[:：=]|[-=]>|[—–-] )\s?"
_ABOUT = re.compile(
    r"(?:see|ask|à|pendiente|por|in|inside|at|on|under|with|from|by|same|none|no|not|never|always|unknown|tbd|use|get|found|find|please"
    r"|written|look|lost|stored|kept|set|must|should|needs?|may|can|will|is|was|has|have|required"
    r"|optional|only|what|which"
    r"|when|if|how|who|enter|type|choose|the (?:one|same|passphrase|password|name|value|string|secret|key)|an?"
    r"|siehe|frag|im|bei|liegt|steht|muss|soll|darf|wird|ist|wie|nur|kein|nicht|eingeben|bitte|auf|unter"
    r"|voir|demande[rz]?|dans|chez|doit|est|sur|pas|même|obligatoire|ver|véase|en|está|debe"
    r"|pregunta[rd]?|pedir|no|la misma"
    r"|es|se|vedi|chiedi|nel|nella|deve|è|non|zie|vraag|staat|moet|niet|bij|fråga|ligger|måste|finns"
    r"|em|no|na|deve|não|veja"
    r"|см|смотри|спроси|у|в|на|лежит|хранится|должна|не|zob|patrz|w|zapytaj|musi|nie|jest)\b"
)
"""Beginnings of sentences about a passphrase: where it is, what it must be, what to do with it."""
_STATED = re.compile(
    r"\b(?:pass(?:word|phrase|wort)\w*|keys?|secrets?|tokens?|users?|optional|strings?|bytes|(?:en|de)crypt\w*|protect\w*"
    r"|used?|are|we|you|your|must|which|that|because|vault|keychain|manager|at least|characters?|words?|digits?"
    r"|required|1password|bitwarden"
    r"|keepass\w*|muss|mindestens|zeichen|wörter|tresor|que|qui|pour|para|doit|debe|almeno|caractères|mots|caracteres"
    r"|palabras|palavras|caratteri|parole|tekens|woorden|tecken|ord|должна|символ\w*|слов|znaków)\b"
)
_OF_SENTENCES = re.compile(
    r"\b(?:must|be|is|are|was|of|the|for|and|to|not|can|should|will|has|have|in|on|at|from|with|by"
    r"|may|when|if|as|than|then"
    r"|before|after|into|based|protected|length|requirements?|prompts?|attacks?|file|mode|cache"
    r"|policy|dialog|too|so|also"
    r"|settings?|changed|auf|der|die|das|und|mit|ist|für|von|nicht|zu|très|trop|plus|dans|muy"
    r"|demasiado|más|misma|mesma)\b"
    r"|^\w{3,}(?:ed|ad[ao]|id[ao]|at[ao]|ut[ao]|ée?|iert)\b|^ge\w+(?:t|en)\b"
)


def is_phrase(value: str) -> bool:
    """Return whether words after a colon are a passphrase, not a statement about one."""
    small = value.lower()
    return values.is_given(value) and not _ABOUT.match(small) and not _STATED.search(small)


def is_after_verb(value: str) -> bool:
    """Return whether words after a verb, where mostly the sentence continues, are a passphrase."""
    return is_phrase(value) and not _OF_SENTENCES.search(value.lower())


def rules() -> Iterator[Rule]:
    yield Rule("password", _NAMES.stems, named(_NAMES, _SIGN, _WORDS, is_phrase))
    yield Rule("password", _NAMES.stems, named(_NAMES, FOR + VERB, _WORDS, is_after_verb))
    of_wifi = found(
        r"(?:wpa\d?|ssid|wi-?fi|wlan)[^\n]{0,60}?\bpassphrase ((?:[a-z¡-ɏ]{3,12} ){3,7}[a-z¡-ɏ]{3,12})(?=[.,;\n]|$)",
        is_after_verb, folded=True)  # fmt: skip
    yield Rule("password", ("passphrase",), of_wifi)
