"""Numbers that open something: PINs, and the codes of doors, alarms and safes."""

import re
from collections.abc import Callable, Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_names import FOR, VERB
from memoryd.core.security.secret_search import Names, Rule, Spans, Text, named

_OF_LOCK = (
    r"alarm(?! clock)|(?:haus)?tür|tor\b|garag|tresor|safe\b|schließfach|schlüssel|schloss|deur"
    r"|poort|kluis|larm|dörr|dør|bram"
    r"|domofon|dveř|sejf|cancello|porta\b|portone|port[ãó][on]|puerta|allarme|porte\b|portail|coffre|accès"
    r"|entrée|acceso|entrada"
    r"|door|gate\b|(?:pad)?lock(?:er|box)?\b|keypad|digi[ck]od|tastenfeld|teclado|clavier|interphone"
    r"|entrance|entry\b|cofre"
    r"|caja fuerte|cassaforte|zutritt|zugang|vault|voicemail|двер|подъезд|сейф|домофон|калитк|сигнализац|ворот"
)
_PIN = (
    r"(?<![a-zà-ɏа-я])(?:pin|puk|пин)2?(?:[ _-]?(?:code|kod[eui]?|kód|koodi|number|nummer|nr|код)|码|碼|コード)?"
    r"(?:en|et|u|ul|а|у|ом)?(?![a-zà-ɏа-я])|暗証(?:番号|コード)|密[码碼]|비밀번호|비번|핀 ?번호|geheimzahl|passcode"
)
_PINS = Names(tuple("pin puk пин 暗証 密码 密碼 비밀번호 비번 핀 geheimzahl passcode".split()), _PIN)
_ENTERED = "|".join(f"(?<={word} pin)" for word in "with using enter mit con avec".split())
_OPENED = re.compile(  # things that a PIN opens: doors, cards, telephones
    rf"(?<![^\W\d_])(?:{_OF_LOCK}"
    r"|(?:card|sim|visa|mastercard|atm|handy|ipad|carte|carta|kaart|kort|tablet|laptop|printer)(?![^\W\d_]))"
    r"|phone|puk(?![a-z])|karte|tarjeta|cartão|karta|карт|カード|卡|카드"
    r"|telefon|téléphone|teléfono|móvil|celular|telemóvel|cellulare|mobil|телефон|スマホ|携帯|手机|휴대폰"
    r"|fuerte|cofre|cassaforte|kassaskåp|pengeskab|金庫|保险箱|금고|drzwi|ドア|门"
)
_FOR_IT = re.compile(r" (?:for|für|pour|para|per|voor|för|til|для|dla) [^\n.:;]{0,30}")
_LOCK = re.compile(
    rf"(?<![^\W\d_])(?:{_OF_LOCK})|(?:tresor|schloss)\b|(?:alarm|anlagen|tür|tor|port|dörr|dør|deur|kluis|tresor|garagen|keller)-?(?:code|kod)"
)
_BOARD = re.compile(r"gpio|board|connect|header|solder|chip(?! card)|sensor|\bwire[sd]?\b|löt|soud")
_POSTAL = re.compile(
    r"\b(?:office|city|area|address|post|town|village|ship)\b|deliver|courier|postal|district|locality|shipping"
)
_BESIDE = 80  # characters before and after a number that are searched for words that say what it is
_IS = (
    rf"(?:{VERB}|\s?[:：=＝]\s?| [—–-] | c['’]est |(?:{_ENTERED}) "
    r"|(?:(?<=code)|(?<=kod[eu])|(?<=код)|(?<=番号)|(?<=번호)|(?<=密码)) (?=(?!19|20)\d{4,5}(?!\d)))"
    r"(?:le |il |el )?[\"'`「“«*#]{0,2}"
)  # fmt: skip
_NUMBER = (
    r"(\d{4,10}|\d{2,4}(?:[ -]\d{2,4}){1,2})(?![.,-]?[a-z_\d]|\s?[桁位字文자]|\s?(?:lines|zeilen|times|bits?|bytes)\b)"
)
_STEMS = tuple(
    "code kod kód cód codice код omb pin puk segredo digi tastenfeld keypad open unlock disarm "
    "öffne entsperr ouvre abre "
    "apre открыва arm lock safe vault voicemail schloss tresor cofre coffre fuerte forte kluis "
    "enter press dial punch key tippe tape composez marca digite type".split()
)
_IT_IS = r"\b(?:is|was|ist|war|lautet|heißt|are|est|es|é|è|är|er|jest|to|now|still|since|seit|depuis|desde|c['’]est)\b"
_SAYING = re.compile(  # words after which a number follows that opens something
    r"(?:(?:code|kod[eu]?|kód|código|codice|код|[ck]ombina[tczç]\w{1,8}|combo|pin|puk|segredo"
    r"|digi[ck]ode|tastenfeld|keypad)"
    rf"(?:[^\n\d.;?!]{{0,45}}(?:{_IT_IS}[^\n\d.;?!,]{{0,16}}|[:=：,–—] ?)|[^\n\d.:;?!,]{{0,16}} )"
    r"|(?:open|unlock|\b(?:dis)?arm|öffne|entsperr|ouvre|abre|apre"
    r"|открыва)[^\n\d.;?!,]{0,12} (?:with|using|by|mit|avec|con|com|с) "
    r"|(?:padlock|\bsafe|vault|voicemail|locker|schloss|tresor|cofre|coffre|caja fuerte|cassaforte"
    r"|kluis)\b[^\n\d.;?!]{0,40}"
    r"(?: (?:set (?:it )?to|steht auf|wants|is|ist|est|es|é|è) | ?: )"
    r"|(?<!\w)(?:enter|press|dial|punch|key|tippe|tapez|composez|marca|digite|(?:then|to|and|just"
    r"|please|you|they) type)s?(?: in)? )"
    r"[\"'`„“«*#]{0,2}\Z"
)
"""A word for a code and what joins it to its value, a verb of opening and its preposition, or a verb of typing."""
_OTHERS = re.compile(
    r"(?:error|status|exit|https?|product|area|country|post(?:al|leit)?|zip|promo|discount|coupon|booking|dress|source"
    r"|building|qr|bar|colou?r|fehler|rabatt|gutschein|article|artikel|produit|vat|tax|sort|swift|morse|model)[ -]?code"
    r"|\bcap\b"
)
_OPENER = re.compile(
    r"(?<![\w.,:/+-])(?<!\d )(?:\d{4,8}[#*]?|\d{1,2}(?:-\d{1,2}){2,3}"
    r"|[a-zа-я]?\d{2,5}[a-zа-я]\d{0,4}|[a-z]\d{3,5}[a-z]?|\d(?:-\d){3,5})"
    r"(?![\w#*-]|[.,:/]\w| \d|\s?(?:lines|zeilen|times|bits?|bytes|rows|users|euros?|€|kg|mm?|cm|s|sec|seconds|minutes"
    r"|min|people|items|steps)\b)"
)
_YEAR = re.compile(r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|h)\d*")
_SENTENCE = re.compile(r"[.;!?\n。]")


def _where(spans: Callable[[Text], Spans], is_pin: Callable[[Text, int, int], bool]) -> Callable[[Text], Spans]:
    return lambda text: (span for span in spans(text) if is_pin(text, *span))


def _is_postal(text: Text, start: int, end: int) -> bool:
    """Return whether a number is an Indian postal code, which is also called a PIN code."""
    around = text.folded[max(0, start - _BESIDE) : end + _BESIDE]
    clause = re.split(r"[,.:;\n]", text.folded[max(0, start - _BESIDE) : start].rstrip(" :=–-"))[-1]
    is_one = re.fullmatch(r"[1-9]\d\d ?\d{3}", text.whole[start:end]) and _POSTAL.search(around)
    return bool(is_one) and not _OPENED.search(clause)


def _is_called(text: Text, start: int, end: int) -> bool:
    """Return whether a number that is called a PIN is one."""
    is_code = re.search("pin ?code", text.folded[max(0, start - _BESIDE) : start])
    return not (is_code and _is_postal(text, start, end))


def _opens(text: Text, start: int, end: int) -> bool:
    """Return whether the sentence says what a PIN opens, before or after it, and it is not a pin of a board."""
    before = re.split(r"[.;!?\n。]", text.folded[max(0, start - _BESIDE) : start])[-1]
    after = _FOR_IT.match(text.folded, end)
    sentence = before + (after[0] if after else "")
    opens = end - start > 4 or _OPENED.search(sentence)  # pins of boards have fewer digits
    return bool(opens) and not _BOARD.search(sentence) and not _is_postal(text, start, end)


def rules() -> Iterator[Rule]:
    yield Rule("PIN", _PINS.stems, _where(named(_PINS, FOR + _IS, _NUMBER, values.always), _is_called))
    without_sign = named(_PINS, r" (?!(?:19|20)\d\d(?!\d))", r"(\d{4,8})(?![.,-]?[a-z_\d])", values.always)
    yield Rule("PIN", _PINS.stems, _where(without_sign, _opens))
    yield Rule("PIN", _STEMS, _openers)


def _openers(text: Text) -> Spans:
    """Yield the spans of numbers that, according to their sentence, open something."""
    for match in _OPENER.finditer(text.folded):
        start, end = match.span()
        before = _SENTENCE.split(text.folded[max(0, start - _BESIDE) : start])[-1]
        after = _SENTENCE.split(text.folded[end : end + _BESIDE // 2])[0]
        if (
            _SAYING.search(before) and _LOCK.search(f"{before} {after}") and not _OTHERS.search(before)
            and not _YEAR.fullmatch(match[0]) and not _is_postal(text, start, end)
        ):  # fmt: skip
            yield start, end
