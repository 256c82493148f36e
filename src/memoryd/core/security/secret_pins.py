"""Numbers that open something: PINs, and the codes of doors, alarms and safes."""

from collections.abc import Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_names import FOR, VERB, behind
from memoryd.core.security.secret_search import Names, Rule, inside, named

_OF_LOCK = (
    r"alarm|(?:haus)?tür|tor\b|garag|tresor|safe\b|schließfach|schlüssel|schloss|deur|poort|kluis|larm|dörr|dør|bram"
    r"|domofon|dveř|sejf|cancello|porta\b|portone|portão|puerta|allarme|porte\b|portail|coffre|accès"
    r"|entrée|acceso|entrada"
    r"|door|gate\b|lock(?:er|box)?\b|двер|сейф|домофон|калитк|сигнализац|ворот"
)
_OTHERS = "".join(f"(?<!{word} )" for word in "country product area error".split())
_CODE = (  # door code, Alarmanlagen-Code, larmkod; Code für die Haustür, codice del cancello, code d'entrée
    behind("door gate alarm access lock safe entry security garage anlagen tür tor garagen tresor schließfach kasten "
           "schloss zugangs zutritts keller deur poort kluis dør larm port dörr")
    + r"(?:code|kode?)(?:en|et)?\b"
    rf"|{_OTHERS}(?<!\w)(?:code|kode?|kód|codice|código|код)(?: (?:der|des|für|vom|zum|zur|von|am|an|del|della"
    r"|do|da|para|k|ke|od|du|de"
    r"|till?|voor|van|for|of|от|для|к)\b)?(?: (?:die|der|das|den|dem|o|a|el|la|il|de|het|the|my"
    r"|our)\b| d?el?l['’]| d['’])? ?"
    rf"(?:{_OF_LOCK})|(?<!\w)code secret"
)  # fmt: skip
_PIN = (
    r"(?<![a-zà-ɏа-я])(?:pin|пин)(?:[ -]?(?:code|kod[eui]?|kód|koodi|number|nummer|nr|код)|码|碼|コード)?"
    r"(?:en|et|u|ul|а|у|ом)?(?![a-zà-ɏа-я])|暗証(?:番号|コード)|密[码碼]|비밀번호|비번|핀 ?번호|geheimzahl"
)
_PINS = Names(tuple("pin пин 暗証 密码 密碼 비밀번호 비번 핀 geheimzahl".split()), _PIN)
_CODES = Names(tuple("code kod kód codice código код".split()), _CODE)
_ENTERED = "|".join(f"(?<={word} pin)" for word in "with using enter mit con avec".split())
_IS = (
    rf"(?:{VERB}|\s?[:：=＝]\s?| [—–-] | c['’]est |(?:{_ENTERED}) "
    r"|(?:(?<=code)|(?<=kod[eu])|(?<=код)|(?<=番号)|(?<=번호)|(?<=密码)) (?=(?!19|20)\d{4,5}(?!\d)))"
    r"(?:le |il |el )?[\"'`「“«*#]{0,2}"
)  # fmt: skip
_NUMBER = (
    r"(\d{4,10}|\d{2,4}(?:[ -]\d{2,4}){1,2})(?![.,-]?[a-z_\d]|\s?[桁位字文자]|\s?(?:lines|zeilen|times|bits?|bytes)\b)"
)
_LOCKS = "keypad door gate alarm lock safe garage entrance tastenfeld tür tresor digicode clavier portail teclado"


def rules() -> Iterator[Rule]:
    yield Rule("PIN", _PINS.stems, named(_PINS, FOR + _IS, _NUMBER, values.always))
    yield Rule("PIN", _CODES.stems, named(_CODES, r"[^\n:=.,\d]{0,40}?" + _IS, _NUMBER, values.always))
    pressed = inside(
        _LOCKS,
        r"(?<![a-z])(?:keypad|door|gate|alarm(?! clock)|lock(?:box)?|safe|garage|entrance|tastenfeld|tür|tresor"
        r"|digicode|clavier|portail|teclado)(?![a-rt-z])[^\n]{1,120}+",
        r"(?i)(?<![a-z])(?:type|enter|press|dial|punch in|key in|combination|combo|tippe|tapez|composez|marca|digite"
        r"|(?:door|gate|alarm|access|entry|the|its) code|(?:keypad|tastenfeld"
        r"|digicode)\b[^\n\d:]{0,40}(?=:))(?: in)?(?: is| ist| est| es|:|=)? ?[*#]?"
        r"((?!(?:19|20)\d\d(?!\d))\d{4,8}|\d{1,2}(?:-\d{1,2}){2,3})(?![\w.,-]?\w)",
        values.always,
    )
    yield Rule("PIN", tuple(_LOCKS.split()), pressed)
