"""Split long texts at headings, then at paragraphs, lines and words."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_HEADING = re.compile(r"^#{1,6} ")
_BREAKS = ("\n\n", "\n", ". ", " ")


def sections(text: str) -> list[str]:
    """Return a Markdown text split before its headings; those in code do not count."""
    found: list[list[str]] = [[]]
    fence = ""
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        if not fence and _HEADING.match(line) and any(map(str.strip, found[-1])):
            found.append([])
        found[-1].append(line)
    return [section for lines in found if (section := "\n".join(lines).strip())]


def parts(text: str, most: int) -> list[str]:
    """Return a text in parts of at most `most` characters; sections that fit into one part stay together."""
    if len(text) <= most:
        return [text]
    found: list[str] = []
    for piece in (piece for section in sections(text) for piece in _pieces(section, most)):
        if found and len(found[-1]) + 2 + len(piece) <= most:
            found[-1] += f"\n\n{piece}"
        else:
            found.append(piece)
    return found


def _pieces(section: str, most: int) -> Iterator[str]:
    """Yield a section in pieces of at most `most` characters, each cut at the best place before the limit."""
    rest = section
    while len(rest) > most:
        at = next((at for mark in _BREAKS if (at := rest.rfind(mark, most // 2, most)) > 0), most)
        yield rest[:at].strip()
        rest = rest[at:].strip()
    if rest:
        yield rest
