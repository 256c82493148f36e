"""HTML: the templates, and the layout of memories' texts: always as text, whatever they contain."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from memoryd import features
from memoryd.core.base import limits
from memoryd.core.base.clock import hours_since
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.core.security.secrets import find
from memoryd.core.transfer.export import NOUNS
from memoryd.hidden import spelled_out
from memoryd.model import Kind, Record
from memoryd.server.differences import differences

ROOT = "/ui"
"""The path of the page, and of the style that every HTML answer has."""
SAFE = frozenset({"GET", "HEAD"})
"""The methods that change nothing."""
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without it, forms would have the origin `null`
    "Cache-Control": "no-store",
}
"""What every page is sent with; each adds its own Content-Security-Policy."""
TEMPLATES = Path(__file__).parent / "templates"
"""The templates that all slices may use; each has its own besides."""

Mark = Literal["text", "hidden", "link"]
Piece = tuple[Mark, str]
"""A part of a text, and how it is marked."""

_HIDDEN = re.compile(r"(<U\+[0-9A-F]{4,6}>)")
_GAP = re.compile(r"\n{3,}")
_LINK = re.compile(r"""(https?://[^\s<>"'`{}|\\^\[\]]+[^\s<>"'`{}|\\^\[\].,;:!?)])""")


def pieces(text: str) -> Iterator[Piece]:
    """Yield a text in parts: plain text, invisible characters spelled out, and web addresses."""
    for number, part in enumerate(_HIDDEN.split(spelled_out(text))):
        if number % 2:
            yield "hidden", part[1:-1]
            continue
        for place, piece in enumerate(_LINK.split(part)):
            if piece:
                yield "link" if place % 2 else "text", piece


def shown(record: Record) -> str:
    """Return the text of a record; a turn without a thought has one blank line in its place."""
    return _GAP.sub("\n\n", record.body) if record.kind is Kind.INTERACTION else record.body


def ago(time: str) -> str:
    """Return briefly how long ago a stored time was; the page also shows the time itself."""
    hours = hours_since(time, datetime.now(UTC))
    for size, unit in ((24 * 365, "y"), (24 * 30, "mo"), (24, "d"), (1, "h"), (1 / 60, "min")):
        if hours >= size:
            return f"{int(hours / size)} {unit} ago"
    return "just now"


def day(time: str) -> str:
    """Return the day of a stored time, written out."""
    date = datetime.fromisoformat(time)
    return f"{date:%A}, {date.day} {date:%B %Y}"


def next_day(day: str) -> str:
    """Return the day after a day; '' after the last of the calendar."""
    date = datetime.fromisoformat(day).date()
    return (date + timedelta(days=1)).isoformat() if date < date.max else ""


def plural(kind: str, number: int = 2) -> str:
    """Return the noun for a number of records of a kind."""
    return kind if number == 1 and kind != "interaction" else "turn" if number == 1 else NOUNS[kind]


def warnings(text: str) -> list[str]:
    """Return warnings about a text: secrets, instructions to agents."""
    kinds = dict.fromkeys(secret.kind for secret in find(text))
    like = reads_like_instructions(text)
    return [f"Contains what looks like a secret: {kind}" for kind in kinds] + (
        [f"Reads like instructions to an agent: {like}"] if like else []
    )


# pages ----------------------------------------------------------------------------------------------------------------


class _Exact(str):
    """A text that goes back as it is: the value of a field, or a name by which something is found."""

    __slots__ = ()


def _legible(value: object) -> object:
    """Return a value as it is put into a page: invisible characters are spelled out, also in titles and labels."""
    return spelled_out(value) if type(value) is str and not (value.isascii() and value.isprintable()) else value


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *map(str, features.folders("templates"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_legible,
    )
    made.filters |= {"pieces": pieces, "plural": plural, "ago": ago, "day": day, "warnings": warnings}
    made.filters |= {"exact": _Exact, "shown": shown}
    made.globals |= {"differences": differences, "next_day": next_day, "limits": limits}
    return made


_ENVIRONMENT = _environment()


def render(template: str, **values: Any) -> str:
    """Return a page or a part of one as HTML."""
    return _ENVIRONMENT.get_template(template).render(**values)
