"""Notes of basic-memory: entities with observations, `- [category] text`, and relations, `- type [[Note]]`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from memoryd.features.imports.formats.fields import Fields, text, texts
from memoryd.features.imports.formats.items import SourceEntity, SourceMemory, SourceRelation, Yielded
from memoryd.features.imports.formats.notes import Note

SUMMARY = 2_000  # maximum characters of prose for the summary of an entity; longer prose becomes a memory
LINK = "links_to"
_ITEM = re.compile(r"^\s*[-*+]\s+(.*)$")
_OBSERVED = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_CLOCK = re.compile(r"\d{1,2}(?::\d\d){1,2}(?:\.\d+)?(?:\s.*)?")
_TASK = re.compile(r"\[[ xX-]\]\s")
_LINKS = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_TYPED = re.compile(r"""(?:"([^"]+)"|'([^']+)'|([^\s"'\[\]]+))\s*\[\[""")
_HASHED = re.compile(r"(?<!\S)#[^\W\d][\w/-]*")
_SECTION = re.compile(r"^#{1,3} (?:Observations\s+[-*] \[[^\[\]x ]|Relations\s+[-*] \S[^\n]*\[\[)", re.MULTILINE)
"""A section that only its notes have, if they have no permalink."""
_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")


def is_note(note: Note) -> bool:
    """Return whether a note was written by, or for, basic-memory."""
    return bool(text(note.properties, "permalink") or _SECTION.search(note.body))


class NameIndex:
    """The names of the entities that notes become: titles, or permalinks if two notes have the same title."""

    def __init__(self, notes: Iterable[Note]) -> None:
        every = [(note.title, text(note.properties, "permalink")) for note in notes]
        self._titles = Counter(title for title, _ in every)
        self._names = {link: self.name(title, link) for title, link in every if link}
        self._names |= {title: title for title, number in self._titles.items() if number == 1}

    def name(self, title: str, permalink: str) -> str:
        """Return the name of the entity of a note."""
        return permalink if self._titles[title] > 1 and permalink else title

    def target(self, link: str) -> str:
        """Return the name of the entity that a link refers to, which need not exist."""
        plain = link.partition("|")[0].partition("#")[0].strip()
        return self._names.get(plain) or plain


def items(note: Note, names: NameIndex) -> Iterator[Yielded]:
    """Yield the entity of a note, its relations, and its prose if it is long."""
    permalink = text(note.properties, "permalink")
    name = names.name(note.title, permalink)
    observations, relations, lines = _content(note.body)
    prose = "\n".join(lines).strip().removeprefix(f"# {note.title}").strip()
    at: Fields = {"created_at": note.created_at, "updated_at": note.updated_at}
    long = len(prose) > SUMMARY
    yield SourceEntity(
        name=name,
        type=text(note.properties, "type") or "note",
        summary="" if long else prose,
        observations=tuple(observations),
        tags=texts(note.properties.get("tags")),
        **at,
    )
    if long:
        yield SourceMemory(id=permalink or note.file.name, text=prose, key=permalink, tags=note.tags, **at)
    for kind, link in relations:
        if target := names.target(link):
            yield SourceRelation(source=name, target=target, type=kind, **at)


def _content(body: str) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return the observations of a note, its relations by type and target, and its prose.

    Headings of sections without prose are omitted.
    """
    observations, relations, prose = list[str](), list[tuple[str, str]](), list[str]()
    bare, in_code = list[str](), False  # the current headings without prose yet, outermost first
    for line in body.split("\n"):
        in_code ^= bool(_FENCE.match(line))
        item = None if in_code else _ITEM.match(line)
        words = item[1].strip() if item else ""
        if words and (typed := _typed(words)):
            relations.append(typed)
            continue
        relations += [(LINK, link) for link in ([] if in_code else _LINKS.findall(line))]
        if words and _is_observation(words):
            observations.append(words.removesuffix(" ()").rstrip())
        elif (heading := _HEADING.match(line)) and not in_code:
            bare = [*(one for one in bare if len(one) - len(one.lstrip("#")) < len(heading[0]) - 1), line]
        else:
            prose += [*bare, line] if line.strip() else [line]
            bare = [] if line.strip() else bare
    return observations, relations, prose


def _typed(item: str) -> tuple[str, str] | None:
    """Return the type and target of a list item that is a relation; other links have the type LINK."""
    typed, link = _TYPED.match(item), _LINKS.search(item)
    return (next(filter(None, typed.groups())), link[1]) if typed and link else None


def _is_observation(item: str) -> bool:
    if _TASK.match(item) or item.startswith("[["):
        return False
    observed = _OBSERVED.match(item)
    if not observed:
        return bool(_HASHED.search(item))
    category = observed[1].strip()
    is_sign = len(category) == 1 and (not category.isalnum() or category in "xX")
    return not is_sign and not _CLOCK.fullmatch(category)
