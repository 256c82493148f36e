"""Secrets in tables: values below a column heading that names a secret, in Markdown, CSV or tab-separated text."""

import re
from collections.abc import Callable, Iterator

from memoryd.core.security import secret_likeness
from memoryd.core.security import secret_values as values

CellCheck = Callable[[str], bool]
HEADINGS = (
    "pass", "pw", "pin", "secret", "token", "key", "kennwort", "mot de passe", "mdp", "contrase", "clave", "senha",
    "wachtwoord", "hasło", "heslo", "парол", "şifre", "lösenord", "salasana", "パスワード", "密码", "密碼", "비밀번호",
)  # fmt: skip
"""Lower-case strings of which the heading of such a column contains one."""
_HEADING = re.compile(
    r"(?:[^\W\d_]{2,12}[ _-]){0,2}(?:pass(?:word|wort|wd|phrase|code)?|pwd?|pin|secret|token"
    r"|(?:api|access|secret)[ _-]?key|kennwort|mot de passe|mdp|contraseña|clave|senha|wachtwoord|hasło"
    r"|heslo|пароль|şifre|lösenord|salasana"
    r"|パスワード|密码|密碼|비밀번호)"
)
_CELL = {sign: re.compile(rf"[^{re.escape(sign)}\n]*+") for sign in "|\t;,"}
LONGEST = 200  # characters of a cell that are checked
CELLS = 20  # cells of a row that are checked
_MARKS = " \t\"'`*\r"


def spans(whole: str, folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of such values in a text, which is also given in lower case."""
    columns: dict[int, tuple[str, CellCheck]] = {}
    at = 0
    for line in folded.split("\n"):
        after = at + len(line)
        named = {
            number: (sign, _check(folded[first:last]))
            for sign in _signs(line)
            for number, (first, last) in enumerate(_cells(folded, at, after, sign))
            if _HEADING.fullmatch(folded, first, last)
        }
        if named or not line.strip() or not any(sign in line for sign, _ in columns.values()):
            columns = named
        else:
            for number, (sign, is_secret) in columns.items():
                for first, last in _cells(folded, at, after, sign)[number : number + 1]:
                    if is_secret(whole[first:last][:LONGEST]):
                        yield first, last
        at = after + 1


def _signs(line: str) -> Iterator[str]:
    """Yield the separator of the cells of a line that may be a row of headings."""
    if any(heading in line for heading in HEADINGS):
        yield from [sign for sign in _CELL if sign in line][:1]


def _cells(text: str, at: int, after: int, sign: str) -> list[tuple[int, int]]:
    """Return the spans of the cells of a row, without the space and the marks around their contents."""
    cells: list[tuple[int, int]] = []
    while at <= after and len(cells) < CELLS:
        match = _CELL[sign].match(text, at, after)
        end = match.end() if match else after
        inner = text[at:end]
        first = at + len(inner) - len(inner.lstrip(_MARKS))
        cells.append((first, max(first, at + len(inner.rstrip(_MARKS)))))
        at = end + 1
    return cells


def _check(heading: str) -> CellCheck:
    """Return the check for values below a heading: a column of tokens may hold counts, one of pins may hold names."""
    if heading.endswith("pin"):
        return lambda value: value.isdecimal() and 4 <= len(value) <= 8
    if heading.endswith(("key", "token", "secret")):
        return lambda value: secret_likeness.strangeness(value) > 1
    return lambda value: values.is_in_sentence(value) or secret_likeness.is_chosen(value)
