"""Markdown notes with properties (YAML frontmatter), as Obsidian, basic-memory and Claude Code write them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from memoryd.features.imports.formats.items import text, texts, when
from memoryd.features.imports.formats.source import SourceFile

PROPERTIES = 64_000  # maximum characters of a frontmatter
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"(?<![\w#/&])#([^\W\d][\w/-]*)")
_DAILY = re.compile(r"\d{4}-\d\d-\d\d")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The loader: it returns all scalars as text, and otherwise only lists and mappings."""


@dataclass(frozen=True, slots=True)
class Note:
    """A file of Markdown."""

    file: SourceFile
    properties: Mapping[str, Any]
    body: str
    raw: str
    """The unchanged text below the properties."""
    fault: str = ""
    """Why the properties could not be read; '' if they could."""

    @property
    def title(self) -> str:
        """The title from the properties, or the name of the file."""
        return text(self.properties.get("title")) or self.file.stem

    @property
    def created_at(self) -> str:
        """When it was written, according to its properties, its name if that is a date, or the file."""
        names = ("created", "created_at", "date")
        stated = (when(self.properties.get(name), local=True) for name in names)
        daily = when(self.file.stem, local=True) if _DAILY.fullmatch(self.file.stem) else ""
        return next(filter(None, stated), "") or daily or self.file.modified

    @property
    def updated_at(self) -> str:
        """When it was last changed, according to its properties; '' if unknown."""
        stated = (when(self.properties.get(name), local=True) for name in ("modified", "updated", "updated_at"))
        return next(filter(None, stated), "")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in its properties and its text."""
        listed = (*texts(self.properties.get("tags")), *texts(self.properties.get("tag")))
        inline = _TAG.findall(_CODE.sub("", self.body))
        return tuple(dict.fromkeys(tag.removeprefix("#") for tag in (*listed, *inline)))


def note(file: SourceFile) -> Note:
    """Read a note; raise InvalidInputError if it is too long."""
    whole = file.whole()
    front = _FRONT.match(whole)
    if not front:
        return Note(file, {}, _plain(whole), whole)
    raw = whole[front.end() :]
    if "\r\n" in front[0]:  # git or an editor has converted the whole file to Windows line endings
        raw = raw.replace("\r\n", "\n")
    body = _plain(raw)
    if len(front[1]) > PROPERTIES:
        return Note(file, {}, body, raw, f"its properties have more than {PROPERTIES:,} characters")
    try:
        properties = yaml.load(front[1], _LOADER)  # noqa: S506 - the loader makes only texts, lists and mappings
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return Note(file, {}, body, raw, f"its properties are not valid YAML ({_why(error)})")
    if properties in (None, ""):
        return Note(file, {}, body, raw)
    if not isinstance(properties, dict):
        return Note(file, {}, _plain(whole), whole)
    return Note(file, {str(name): value for name, value in properties.items()}, body, raw)


def _why(error: Exception) -> str:
    """Return what is wrong with properties, and in which line of the file."""
    mark = getattr(error, "problem_mark", None)
    what = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
    return f"line {mark.line + 2}: {what}" if mark else what  # they begin in line 2, the mark counts from 0


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
