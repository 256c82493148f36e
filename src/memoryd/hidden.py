"""Invisible characters, which can split words, change the direction of a text, or hide one text in another.

Unicode calls them default-ignorable (Unicode Standard, 5.21). Legitimate uses are kept: joiners between emoji and
within Persian and Indic words, direction marks next to Arabic or Hebrew, variation selectors, flags of regions.
"""

import re
from typing import Final

_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROLS = {code: f"<U+{code:04X}>" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t\r"}
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_ALIKE: Final = str.maketrans(
    "аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅαοιρνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijsdhlqwABEKMHOPCTXIJSaoipvABEZHIKMNOPTYX"
)
_OTHER = "[а-яёіјѕԁһӏԛԝα-ω]"
_OTHERS = re.compile(_OTHER, re.IGNORECASE)  # rules out mixed scripts in a tenth of the time
_MIXED = re.compile(rf"[A-Za-z]{_OTHER}|{_OTHER}[A-Za-z]", re.IGNORECASE)

_LETTER = r"[^\W\d_]"
_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINED = "\u0600-\u08ff\u0900-\u0dff\u0e00-\u109f\u1780-\u18af"  # Arabic, Indic and other scripts that join letters
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"  # Hebrew, Arabic
_HONEST = re.compile(
    f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"  # e.g. family emoji are joined from several
    f"|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    "|(?<=[\u0900-\u0dff])[\u200c\u200d]"
    f"|(?<=[{_LEFTWARD}])[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=[{_LEFTWARD}])"
    f"|(?<=[#*0-9{_EMOJI}])[\ufe0e\ufe0f]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"  # ideographs
    "|(?<=[\u1820-\u18aa])[\u180b-\u180f]"  # Mongolian
    "|(?<=[\u1100-\u11ff])[\u115f\u1160]|[\u115f\u1160](?=[\u1100-\u11ff])"  # Korean
    "|\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f"  # the flag of a region
)
"""An invisible character with a legitimate use; for the flag of a region, the whole flag."""


def seen(text: str) -> tuple[str, list[int] | None]:
    """Return a text as a reader sees it: without invisible characters, with narrow letters, Latin for its look-alikes.

    The second value is the original index of each character, or None if the indexes are unchanged.
    """
    if text.isascii():
        return text, None
    plain = text.translate(_WIDE)
    if _OTHERS.search(plain) and _MIXED.search(plain):
        plain = re.sub(
            rf"{_LETTER}+", lambda word: word[0].translate(_ALIKE) if _MIXED.search(word[0]) else word[0], plain
        )
    if not _HIDDEN.search(plain):
        return plain, None
    places = [place for place, letter in enumerate(plain) if not _HIDDEN.match(letter)]
    return "".join(plain[place] for place in places), places


def shown(text: str) -> str:
    """Return a text for display: invisible characters without a legitimate use are spelled out, as `<U+2066>`."""
    if text.isascii() or not _HIDDEN.search(text):
        return text
    parts, after = [], 0
    for honest in _HONEST.finditer(text):
        parts += [_spelled(text[after : honest.start()]), honest[0]]
        after = honest.end()
    return "".join([*parts, _spelled(text[after:])])


def spelled_out(text: str) -> str:
    """Return a text for a page: control characters are spelled out too, except line breaks and tabs."""
    return shown(text).translate(_CONTROLS)


def _spelled(text: str) -> str:
    return _HIDDEN.sub(lambda hidden: f"<U+{ord(hidden[0]):04X}>", text)
