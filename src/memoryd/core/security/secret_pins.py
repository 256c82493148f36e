"""Numbers that open something: PINs, and the codes of doors, alarms and safes."""

import re
from collections.abc import Callable, Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_names import FOR, VERB, behind
from memoryd.core.security.secret_search import Names, Rule, Spans, Text, inside, named

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
_OPENED = re.compile(  # by a PIN: doors, cards, telephones
    rf"(?<![^\W\d_])(?:{_OF_LOCK}"
    r"|(?:card|sim|visa|mastercard|atm|handy|ipad|carte|carta|kaart|kort|tablet|laptop|printer)(?![^\W\d_]))"
    r"|phone|karte|tarjeta|cartão|karta|карт|カード|卡|카드"
    r"|telefon|téléphone|teléfono|móvil|celular|telemóvel|cellulare|mobil|телефон|スマホ|携帯|手机|휴대폰"
    r"|fuerte|cofre|cassaforte|kassaskåp|pengeskab|金庫|保险箱|금고|drzwi|ドア|门"
)
_FOR_IT = re.compile(r" (?:for|für|pour|para|per|voor|för|til|для|dla) [^\n.:;]{0,30}")
_BOARD = re.compile(r"gpio|board|connect|header|solder|chip(?! card)|sensor|\bwire[sd]?\b|löt|soud")
_POSTAL = re.compile(
    r"\b(?:office|city|area|address|post|town|village|ship)\b|deliver|courier|postal|district|locality|shipping"
)
_BESIDE = 80  # characters before and after a number in which words may stand that say what it is
_IS = (
    rf"(?:{VERB}|\s?[:：=＝]\s?| [—–-] | c['’]est |(?:{_ENTERED}) "
    r"|(?:(?<=code)|(?<=kod[eu])|(?<=код)|(?<=番号)|(?<=번호)|(?<=密码)) (?=(?!19|20)\d{4,5}(?!\d)))"
    r"(?:le |il |el )?[\"'`「“«*#]{0,2}"
)  # fmt: skip
_NUMBER = (
    r"(\d{4,10}|\d{2,4}(?:[ -]\d{2,4}){1,2})(?![.,-]?[a-z_\d]|\s?[桁位字文자]|\s?(?:lines|zeilen|times|bits?|bytes)\b)"
)
_LOCKS = "keypad door gate alarm lock safe garage entrance tastenfeld tür tresor digicode clavier portail teclado"


def _where(spans: Callable[[Text], Spans], is_pin: Callable[[Text, int, int], bool]) -> Callable[[Text], Spans]:
    return lambda text: (span for span in spans(text) if is_pin(text, *span))


def _is_postal(text: Text, start: int, end: int) -> bool:
    """Whether it is a postal code of India, which is called a PIN code, too."""
    around = text.folded[max(0, start - _BESIDE) : end + _BESIDE]
    clause = re.split(r"[,.:;\n]", text.folded[max(0, start - _BESIDE) : start].rstrip(" :=–-"))[-1]
    is_one = re.fullmatch(r"[1-9]\d\d ?\d{3}", text.whole[start:end]) and _POSTAL.search(around)
    return bool(is_one) and not _OPENED.search(clause)


def _is_called(text: Text, start: int, end: int) -> bool:
    """Whether what is called a PIN is one."""
    is_code = re.search("pin ?code", text.folded[max(0, start - _BESIDE) : start])
    return not (is_code and _is_postal(text, start, end))


def _opens(text: Text, start: int, end: int) -> bool:
    """Whether the sentence says what a PIN opens, before it or after it, and it is none of a board's."""
    before = re.split(r"[.;!?\n。]", text.folded[max(0, start - _BESIDE) : start])[-1]
    after = _FOR_IT.match(text.folded, end)
    sentence = before + (after[0] if after else "")
    return bool(_OPENED.search(sentence)) and not _BOARD.search(sentence) and not _is_postal(text, start, end)


def rules() -> Iterator[Rule]:
    yield Rule("PIN", _PINS.stems, _where(named(_PINS, FOR + _IS, _NUMBER, values.always), _is_called))
    without_sign = named(_PINS, r" (?!(?:19|20)\d\d(?!\d))", r"(\d{4,8})(?![.,-]?[a-z_\d])", values.always)
    yield Rule("PIN", _PINS.stems, _where(without_sign, _opens))
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
