"""Tells whether a text is English: by its script, then by its function words, then by frequent English words.

In doubt a text is not English: the multilingual model reads English too.
"""

import re
from functools import cache
from importlib.resources import files

from memoryd.text import STOP_WORDS, is_latin, within_names

READ = 1_000
"""Characters of a text that are looked at, from its beginning."""

FOREIGN = frozenset(
    # German, Dutch, Danish, Swedish, Norwegian
    """der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind wird werden wurde wurden
    hat haben hatte mit von vom zum zur auf aus bei nach seit um für über unter wie wo wer wann warum wieso welche
    welcher welches welchem welchen ich du er sie wir ihr mir mich dir dich uns unser unsere mein meine meinen meiner
    dein sein seine sich nur noch schon auch sehr immer nie jeden jeder jede als wenn weil dass im am kein keine kann
    soll muss darf gibt ab bis ohne gegen heute morgen gestern woher wohin wofür womit habe bin war'n het een niet
    voor naar zijn wordt werd heeft hebben ook maar dat deze waar wat wie hoe wanneer welke ons onze mijn haar hij zij
    uit og jeg ikke det til med på af som hvor hvad hvem hvornår och inte är jag att för till vad när var vilken
    hva når vi min mitt"""
    # Spanish, Portuguese, French, Italian, Catalan, Romanian
    """ el la los las un una unos unas del al que qué y o en con por para su sus se es son está están fue fueron ser
    tiene hay muy más pero como cómo cuando cuándo cuál dónde donde quién quien mi mis nuestro nuestra lo le les ya
    desde hasta sobre cada cuánto yo nos não é uma um dos das no na nos nas com ao à pelo pela seu sua minha meu nosso
    nossa quem onde quando qual quanto como mais mas foi está são tem dia ele ela isso este esta eu você les des du au
    aux et ou où est sont dans sur avec pour par pas ne je tu il elle nous vous ils mon ma mes ton sa ses notre nos
    votre leur qui quel quelle quels quelles quand comment pourquoi combien cette ces ce chez sans sous plus tous
    toutes très été était ont avait fait di il lo gli della delle dei degli nel nella che è sono non per più anche
    come dove chi quale mio mia nostro alla dal i si da în și este sunt cu pe la care unde când amb els les què"""
    # Polish, Czech, Slovak, Croatian, Hungarian, Finnish, Turkish, Indonesian, Vietnamese
    """ jest nie się na z w i do od po za czy jak gdzie kiedy kto co jaki jaka dla przez je není se s v ve že kde kdy
    kdo jak jaký jsou byl byla nije gdje kada tko što koji koja az egy és nem van hogy hol mikor ki mi milyen ja ei on
    ovat oli mikä missä milloin kuka kun että ve bir bu için ile ne nerede zaman kim hangi değil var yok yang di dan
    itu ini untuk dengan tidak adalah ke dari siapa kapan mana là của và không có cho ở đâu gì nào""".split()
) - frozenset("a do i in is on me we an am as at so no to was were will war man one more him her his be e".split())
"""Function words of languages in Latin script, without those that are English words, too."""

_SHARED = frozenset("die du on no me at an so in is was am or as do he i a to we be his her has more hat war".split())
"""Function words of English that are also words elsewhere, which tell nothing alone."""

_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = re.compile("(?:'s|s|es|ed|d|ing|ly|er)$")


def is_english(text: str) -> bool:
    """Return whether a text is English, or has no word at all."""
    read = text[:READ]
    if not is_latin(read):
        return False
    words = _WORD.findall(" ".join([read, *within_names(read)]).lower())
    return not words or sum(map(_evidence, words)) > 0


def _evidence(word: str) -> float:
    """Return how much a word speaks for English, or below 0 against it."""
    if word in FOREIGN:
        return -2.0
    if word in STOP_WORDS:
        return 0.5 if word in _SHARED else 2.0
    if not word.isascii():
        return -2.0
    if word in _frequent() or _ENDINGS.sub("", word) in _frequent() or _ENDINGS.sub("e", word) in _frequent():
        return 1.0
    return -0.4 if len(word) > 3 else 0.0


@cache
def _frequent() -> frozenset[str]:
    return frozenset(files("memoryd").joinpath("english_words.txt").read_text("ascii").split())
