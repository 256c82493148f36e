"""The items that readers of foreign formats yield, the same for all formats, before limits, masking and ids."""

from dataclasses import dataclass
from typing import TypeAlias

from memoryd.features.imports.formats.fields import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """The fields of all items."""

    id: str = ""
    """Its id in the source; if it has none, its name or a hash of its text.

    The id of the record is derived from it, so that an import can be repeated.
    """
    created_at: str = ""
    """In the format of the database; '' if the source has no time."""
    updated_at: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    session_id: str = ""
    is_verbatim: bool = False
    """Whether its names and texts are those of a graph like ours: they are kept as they are."""

    def __post_init__(self) -> None:
        if not self.id:
            name = digest(self.text) if isinstance(self, SourceMemory) else getattr(self, "name", "")
            object.__setattr__(self, "id", name or getattr(self, "source", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMemory(SourceItem):
    """A memory, of any length."""

    text: str
    key: str = ""
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntity(SourceItem):
    """An entity, or an addition to it: items with the same name are one entity."""

    name: str
    type: str = ""
    summary: str = ""
    observations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRelation(SourceItem):
    """A relation between two entities, given by their names."""

    source: str
    target: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTurn(SourceItem):
    """A turn of a conversation."""

    prompt: str
    thought: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSummary(SourceItem):
    """The summary of a session; several summaries of a session become one."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is deliberately not imported, described in the plural, such as `deleted memories`.

    A number of 0 says nothing.
    """

    what: str
    number: int = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a line, or another part of a source, cannot be imported."""

    reason: str
    is_torn: bool = False
    """Whether it is an incomplete last line, as in a file that is still being written."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A remark about something that was imported."""

    text: str


Yielded: TypeAlias = SourceItem | LeftOut | Fault | Hint
