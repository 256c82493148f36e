"""Folders and files of Markdown: Claude Code's memory, instructions, basic-memory, Obsidian, plain notes, lists."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from memoryd.features.imports.formats import basic_memory
from memoryd.features.imports.formats.fields import digest, mapping, tagged, text, when
from memoryd.features.imports.formats.items import Hint, LeftOut, SourceMemory, Yielded
from memoryd.features.imports.formats.notes import Note, note, sections
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

IDEA = 1_500  # maximum characters of a note that stays one memory; a longer note is split at its headings
SUFFIXES = (".md", ".markdown", ".mdc")
LISTS = (".txt",)
PLAIN = (".xml", ".yaml", ".yml")
"""Files that are read as texts in a folder of nothing but texts, as agents write them with the memory tool."""
INSTRUCTIONS = frozenset({"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "copilot-instructions.md"})
"""Files of instructions for agents; imported only if they are named themselves."""
CODEX = frozenset({"raw_memories.md", "memory_summary.md"})
"""The files from which Codex makes its MEMORY.md."""
_ASIDE = frozenset({"templates", "node_modules", "rollout_summaries"})
_OLD = frozenset({"logseq/bak", "logseq/version-files"})
"""Folders of earlier texts of the notes."""
_MEMORIES = frozenset({"memory", "memories"})
"""Folders whose notes are read even in a hidden folder, as in .serena."""
_CLAUDE_TYPES = frozenset({"user", "feedback", "project", "reference"})
_LINE = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_DATED = re.compile(r"^\[(\d{4}-\d\d-\d\d)\]\s*[-:–]?\s*")
_INDEX = re.compile(r"\[[^\]]*\]\((?:[^)\s]*/)?([^)\s/]+\.md)\)")
_ADDED = "Gemini Added Memories"
_HEADING = re.compile(r"(?:#{1,2} [^\n]*\s*)+")
_BLOCK = re.compile(r"^# ([^\n]*)\n(.*?)(?=^# |\Z)", re.DOTALL | re.MULTILINE)
"""A memory of goose: its tags, and its text."""
_WRAPPED = re.compile(r"\n[A-Z\u00c0-\u00de][^\n]*[^.!?:;\s][ \t]*\r?\n[a-z\u00df-\u00ff]")
"""A line that begins like a sentence, and goes on in the next one."""
_EMBEDS = re.compile(r"!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def _files(source: Source) -> list[SourceFile]:
    """Return the notes and lists; none if all of them are hidden."""
    texts_only = all(one.ends(*SUFFIXES, *LISTS, *PLAIN) for one in source.files)
    found = [one for one in source.files if one.ends(*SUFFIXES, *LISTS, *(PLAIN if texts_only else ()))]
    return [] if all(map(_is_aside, found)) else found


def _is_aside(file: SourceFile) -> bool:
    """Return whether a file is in a hidden folder, or one of templates or earlier versions."""
    folders = PurePosixPath(file.name.casefold()).parts[:-1]
    hidden = [at for at, folder in enumerate(folders) if folder.startswith(".")]
    is_hidden = bool(hidden) and _MEMORIES.isdisjoint(folders[hidden[0] :])
    return is_hidden or not _OLD.isdisjoint(map("/".join, pairwise(folders))) or not _ASIDE.isdisjoint(folders)


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    visible = [one for one in source.files if not _is_aside(one)]
    candidates = [] if source.only else source.candidates("*.md", "*.mdc")
    instructions = [one for one in candidates if _is_instruction(one)]
    left = len(source.files) - len({one.name for one in (*visible, *instructions)})
    yield LeftOut("notes in hidden folders, templates and earlier versions", left)
    for file in instructions:
        yield LeftOut("files of instructions, such as AGENTS.md")
        yield Hint(f"{file.name} has instructions, not facts: {source.command(file)} imports it")
    lists = [one for one in visible if one.ends(*LISTS, *PLAIN)]
    files = [one for one in visible if not one.ends(*LISTS, *PLAIN) and (source.only or not _is_instruction(one))]
    names = basic_memory.NameIndex(one for one in map(note, files) if isinstance(one, Note))
    timeless = 0
    for one in map(note, files):
        timeless += isinstance(one, Note) and not one.stated_at
        yield from _items(source, one, names) if isinstance(one, Note) else [one]
    if timeless:
        yield Hint(f"{timeless} notes state no time: they get that at which their files last changed")
    for one in map(note, lists):
        yield from _listed(one) if isinstance(one, Note) else [one]


def _items(source: Source, one: Note, names: basic_memory.NameIndex) -> Iterator[Yielded]:
    if one.fault:
        yield Hint(f"{one.file.name}: {one.fault}; they are read line by line")
    if basic_memory.is_note(one):
        yield from basic_memory.items(one, names)
    elif _is_instruction(one.file):
        yield from _instructions(one)
    elif one.file.base == "MEMORY.md":
        yield from _index(source, one)
    elif one.file.base in CODEX and "MEMORY.md" in source.names:
        yield LeftOut("files from which Codex makes its MEMORY.md")
    elif _claude_type(one):
        yield _claude(source, one)
    elif "\n---\n" in f"\n{one.body}" and "id" in one.properties and "confidence" in one.properties:
        yield from _mem0(one)
    else:
        yield from _sections(one)


def _sections(one: Note) -> Iterator[Yielded]:
    """Yield a note as one memory, or one for each section if it is long."""
    body = f"{one.others}\n\n{one.body}".strip()
    if not _EMBEDS.sub("", body).strip():
        yield LeftOut("notes that only embed other files" if body else "empty notes")
        return
    for piece in [body] if len(body) <= IDEA else _top_sections(body):
        headed = piece if piece.startswith(f"# {one.title}") else f"{one.title}\n\n{piece}"
        yield _memory(one, headed, (*one.tags, f"note:{one.title}"))


def _top_sections(body: str) -> list[str]:
    """Return the sections of a text under headings of the first two levels, each with its subsections.

    A heading with nothing below it is put before the next section.
    """
    found: list[str] = []
    for section in sections(body):
        if found and (section.startswith("###") or _HEADING.fullmatch(found[-1])):
            found[-1] += f"\n\n{section}"
        else:
            found.append(section)
    return found


def _memory(one: Note, content: str, tags: tuple[str, ...], **more: Any) -> SourceMemory:
    own = {"id": digest(one.file.name, content), "created_at": one.created_at, "updated_at": one.updated_at}
    return SourceMemory(text=content, tags=tags, **own | more)


def _is_instruction(file: SourceFile) -> bool:
    return file.base in INSTRUCTIONS or file.base.endswith(".mdc")


def _instructions(one: Note) -> Iterator[Yielded]:
    """Yield a memory for each section, or for each line of the facts that Gemini added."""
    body = _COMMENT.sub("", one.body)
    yield LeftOut("files that the instructions import with @", len(re.findall(r"^@\S+$", body, re.MULTILINE)))
    for section in _top_sections(body):
        heading, _, rest = section.partition("\n")
        if heading.lstrip("# ").strip() == _ADDED:
            for line in filter(None, map(str.strip, rest.split("\n"))):
                yield _memory(one, _LINE.sub("", line), ("file:GEMINI.md",))
        else:
            yield _memory(one, section, ("instructions", f"file:{one.file.base}"))


def _claude_type(one: Note) -> str:
    stated = one.properties.get("type") or mapping(one.properties.get("metadata")).get("type")
    is_memory = text(one.properties, "description") and text(one.properties, "name")
    return text(stated) if is_memory and text(stated) in _CLAUDE_TYPES else ""


def _claude(source: Source, one: Note) -> SourceMemory:
    """Return a memory of Claude Code: its description and text, with the file's name as its key."""
    project = _project(source, one.file)
    described = " ".join(text(one.properties, "description").split())
    content = one.body if described in one.body else f"{described}\n\n{one.body}".strip()
    key = f"{project}/{one.file.stem}" if project else one.file.stem
    return _memory(one, content, (*tagged("type", _claude_type(one)), *one.tags), id=key, key=key, project=project)


def _project(source: Source, file: SourceFile) -> str:
    """Return the project of a memory: the folder that contains Claude Code's folder `memory`."""
    folder = (file.path or source.path / file.name).absolute().parent
    return folder.parent.name.strip("-") if folder.name == "memory" else ""


def _index(source: Source, one: Note) -> Iterator[Yielded]:
    """Yield the own content of an index of memories: its sections, without lines that link to existing files."""
    lines = one.body.split("\n")
    kept = [line for line in lines if not (link := _INDEX.search(line)) or link[1] not in source.names]
    yield LeftOut("lines of an index that link to imported memories", len(lines) - len(kept))
    for section in sections("\n".join(kept)):
        _, _, rest = section.partition("\n")
        if rest.strip() or not section.startswith("#"):
            yield _memory(one, section, ("file:MEMORY.md",), project=_project(source, one.file))


def _mem0(one: Note) -> Iterator[Yielded]:
    """Yield the blocks of mem0's export: properties between lines of dashes, then a text."""
    whole = one.file.whole().replace("\r\n", "\n")
    for properties, content in re.findall(r"^---\n(.*?)\n---\n(.*?)(?=^---\n|\Z)", whole, re.DOTALL | re.MULTILINE):
        given = dict(re.findall(r"^(\w+):[ \t]*(.*)$", properties, re.MULTILINE))
        categories = tuple(filter(None, map(str.strip, given.get("categories", "").strip("[]").split(","))))
        yield SourceMemory(
            id=given.get("id", "") or digest(content),
            text=content.strip(),
            created_at=when(given.get("created_at")),
            tags=(*tagged("type", given.get("type")), *categories),
        )


def _listed(one: Note) -> Iterator[Yielded]:
    """Yield a memory for each line, for each block under `# tags`, or for the whole text if its lines are wrapped.

    A date in brackets before a line is its time.
    """
    file = one.file
    if one.body.startswith("# "):
        for tags, content in _BLOCK.findall(one.body):
            yield _memory(one, content.strip(), (f"file:{file.base}", *tags.split()))
        return
    if not file.ends(*LISTS) or _WRAPPED.search(f"\n{one.body}"):
        yield from _sections(one)
        return
    for line in filter(None, map(str.strip, one.body.split("\n"))):
        plain = _LINE.sub("", line)
        dated = _DATED.match(plain)
        content = plain[dated.end() :] if dated else plain
        at = when(dated[1], local=True) if dated else file.modified
        yield SourceMemory(text=content, created_at=at, tags=(f"file:{file.base}",))


FORMAT = ForeignFormat("markdown", "Markdown or a list of texts", _files, _read)
