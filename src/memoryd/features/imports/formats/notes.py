"""Markdown notes with properties (YAML frontmatter), as Obsidian, basic-memory and Claude Code write them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.fields import Fields, text, texts, when
from memoryd.features.imports.formats.items import Fault
from memoryd.features.imports.formats.source import SourceFile

PROPERTIES = 64_000  # maximum characters of a frontmatter
FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"(?<![\w#/&])#([^\W\d][\w/-]*)")
_LINE = re.compile(r"([\w][\w ./-]*?):(?:[ \t]+(.*)|[ \t]*)")
_PAGE = re.compile(r"(?:[-*][ \t]+)?([\w][\w./-]*):: ?(.*)")
_OF_LOGSEQ = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:id|collapsed|heading|logseq[\w./-]*|[\w-]+-color):: ?.*\n?", re.MULTILINE
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_CREATED = ("created", "createdat", "datecreated", "creationdate", "createdon", "createdtime", "ctime", "date")
_UPDATED = ("modified", "modifiedat", "datemodified", "updated", "updatedat", "dateupdated", "lastmodified", "mtime")
"""The names of times, without blanks and marks."""
_KNOWN = frozenset({"title", "tags", "tag", "cssclass", "cssclasses", *_CREATED, *_UPDATED})
LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The loader: it returns all scalars as text, and otherwise only lists and mappings."""


@dataclass(frozen=True, slots=True)
class Note:
    """A file of Markdown."""

    file: SourceFile
    properties: Fields
    body: str
    fault: str = ""
    """Why the properties could not be read; '' if they could."""

    @property
    def title(self) -> str:
        """The title from the properties, or the name of the file."""
        return text(self.properties, "title") or self.file.stem

    @property
    def created_at(self) -> str:
        """When it was written, according to the note itself, or the file."""
        return self.stated_at or self.file.modified

    @property
    def stated_at(self) -> str:
        """When it was written, according to its properties, or its name if that begins with a date; '' if unknown."""
        return self._time(_CREATED) or date_of_name(self.file.stem)

    @property
    def updated_at(self) -> str:
        """When it was last changed, according to its properties; '' if unknown."""
        return self._time(_UPDATED)

    def _time(self, names: tuple[str, ...]) -> str:
        given = {_bare(name): value for name, value in self.properties.items()}
        return next(filter(None, (dated(given.get(name)) for name in names)), "")

    @property
    def others(self) -> str:
        """The properties that have no meaning here, as lines of text."""
        known = ((name, _plain_text(value)) for name, value in self.properties.items() if _bare(name) not in _KNOWN)
        return "\n".join(f"{name}: {words}" for name, words in known if words)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in its properties and its text."""
        given = {_bare(name): value for name, value in self.properties.items()}
        listed = (_LINK.sub(r"\1", tag).strip() for tag in (*texts(given.get("tags")), *texts(given.get("tag"))))
        inline = _TAG.findall(_CODE.sub("", self.body))
        return tuple(dict.fromkeys(tag.removeprefix("#") for tag in (*listed, *inline)))


def note(file: SourceFile) -> Note | Fault:
    """Return the note in a file, or why it cannot be read."""
    try:
        whole = file.whole().replace("\r\n", "\n")
    except InvalidInputError as error:
        return Fault(str(error).rstrip("."))
    front = FRONT.match(whole)
    if not front:
        return Note(file, *_of_page(whole.strip()))
    body = whole[front.end() :].strip()
    if len(front[1]) > PROPERTIES:
        return Note(file, {}, body, f"its properties have more than {PROPERTIES:,} characters")
    try:
        properties = yaml.load(front[1], LOADER)  # noqa: S506 - the loader makes only texts, lists and mappings
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return Note(file, _by_lines(front[1]), body, f"its properties are not valid YAML ({_why(error)})")
    if not isinstance(properties or {}, dict):
        return Note(file, {}, whole.strip())
    return Note(file, {str(name): value for name, value in (properties or {}).items()}, body)


def _by_lines(front: str) -> Fields:
    """Return properties that are not valid YAML, each as the text or the list that follows its name."""
    found: Fields = {}
    name = ""
    for line in front.split("\n"):
        if given := _LINE.fullmatch(line):
            name, words = given[1], text(given[2])
            found[name] = texts(words[1:-1]) if words.startswith("[") and words[1:2] != "[" else words.strip("\"'")
        elif name and line.lstrip().startswith("- "):
            found[name] = (*texts(found[name]), line.strip()[2:].strip("\"' "))
    return found


def _of_page(body: str) -> tuple[Fields, str]:
    """Return the properties of a page of Logseq, `name:: value`, and the rest without what only Logseq reads."""
    found: Fields = {}
    lines = body.split("\n")
    while lines and (given := _PAGE.fullmatch(lines[0].strip())):
        found[given[1]] = given[2]
        lines.pop(0)
    return found, _OF_LOGSEQ.sub("", "\n".join(lines)).strip()


def _bare(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.casefold())


def _plain_text(value: Any) -> str:
    """Return a property as text: links as their titles, lists and mappings as what they contain."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {words}" for name, one in value.items() if (words := _plain_text(one)))
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_plain_text, value)))
    return _LINK.sub(r"\1", text(value))


def _why(error: Exception) -> str:
    """Return what is wrong with properties, and in which line of the file."""
    mark = getattr(error, "problem_mark", None)
    what = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
    return f"line {mark.line + 2}: {what}" if mark else what  # they begin in line 2, the mark counts from 0


# dates, as people and their notebooks write them: in properties and in the names of files -----------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_CLOCK = r"(?:\D{0,3}\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\s*(?P<half>[ap]m)?)?"
_DIGITS = r"(?:[T ]?(?P<hours>\d\d)(?P<minutes>\d\d)(?:\d\d)?)?"
_SPELLINGS = tuple(
    re.compile(rf"(?i)\W*(?:{_DAY}\.?,?\s+)?{spelling}(?!\d)(?:,?\s+{_DAY})?{_CLOCK}")
    for spelling in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/._]?)(?P<month>\d\d)(?P=mark)(?P<day>\d\d){_DIGITS}",
        r"(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4})",
        rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?,?\s+(?P<year>\d{{4}})",
    )
)
_AMBIGUOUS = re.compile(r"\W*(0?[1-9]|1[0-2])/(0?[1-9]|1[0-2])/\d{4}")
_NAMED = re.compile(r"\d{4}([-_.]?)\d\d\1\d\d(?:[T _-]?\d{4}(?:\d\d)?)?(?!\w)")


def dated(value: object) -> str:
    """Return a date, perhaps with a time, in the format of the database; '' for anything else, or if it is ambiguous.

    It is a local time, unless it states an offset.
    """
    if known := when(value, local=True):
        return known
    given = value if isinstance(value, str) else ""
    for spelling in () if _AMBIGUOUS.match(given) else _SPELLINGS:
        if found := spelling.match(given):
            parts = found.groupdict()
            month = int(parts.get("month") or _MONTHS.index(parts["name"].casefold()) + 1)
            if "mark" not in parts and "name" not in parts and month > 12:  # month first, as in 03/14/2024
                parts["day"], month = str(month), int(parts["day"])
            hour = int(parts["hour"] or parts.get("hours") or 0) % (12 if parts["half"] else 24)
            hour += 12 * ((parts["half"] or "").casefold() == "pm")
            minute = int(parts["minute"] or parts.get("minutes") or 0)
            day = f"{parts['year']}-{month:02}-{int(parts['day']):02}"
            if known := when(f"{day}T{hour:02}:{minute:02}", local=True):
                return known
    return ""


def date_of_name(stem: str) -> str:
    """Return the date with which the name of a file begins; '' if it begins otherwise."""
    found = _NAMED.match(stem)
    return dated(found[0].replace("_", "-")) if found else ""


# long texts, split at headings, then at paragraphs, lines and words --------------------------------------------------


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
