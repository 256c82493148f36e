"""The concepts of memoryd as frozen values, used by every layer and independent of the store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, Literal, TypeVar

T = TypeVar("T")

GENERAL = "general"
"""The default perspective: every kind of record is embedded from it."""


CLIENT = "client"
"""The perspective of vectors that callers provide (a)."""

AGENT_INTERACTION: Final = "agent-interaction"
"""The type of a turn (e)."""

WorkspaceStatus = Literal["active", "archived"]

Ending = Literal["merged", "superseded", "compacted"]
"""Why a memory was replaced by another: it was a duplicate, was contradicted, or became part of a summary."""

Shelf = Literal["", "session", "vault", "all"]


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The comparable vectors of a workspace: those of one perspective and one model."""

    perspective: str
    model: str


class Kind(StrEnum):
    """The kind of a Record."""

    MEMORY = "memory"
    ENTITY = "entity"
    OBSERVATION = "observation"
    INTERACTION = "interaction"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The unit of isolation: every row belongs to exactly one."""

    id: str
    name: str
    description: str = ""
    db_path: str = ""
    """Its SQLite file, relative to the data directory; '' if one database holds all workspaces."""
    status: WorkspaceStatus = "active"
    includes: tuple[str, ...] = field(default=(), compare=False)
    """The ids of the workspaces that are read together with it."""
    created_at: str = ""
    updated_at: str = ""
    found_by: str = field(default="", compare=False)
    """How it was found for a directory, as a part of a sentence; '' if it was chosen explicitly."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation as a part of the text of one of its entities, which is '' in it."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Anything with text in a workspace. Times are ISO 8601 UTC with milliseconds and Z."""

    id: str
    kind: Kind
    body: str
    name: str | None = None
    """The key of a memory, the name of an entity (also on its observations), or the title of a summary."""
    type: str = ""
    tags: tuple[str, ...] = ()
    scope: str = ""
    """'' if the record is durable; otherwise the only session that sees it, with which it is deleted."""
    session_id: str | None = None
    """The session that wrote it. Provenance only: no record is deleted because of it."""
    client: str = ""
    """The client that wrote it, e.g. `claude-code`."""
    tool: str = ""
    """The tool or command that wrote it, e.g. `memory_store`."""
    created_at: str = ""
    updated_at: str = ""
    importance: float = 0.5
    """Set for memories only, like the next two fields; other kinds keep the default."""
    access_count: int = 0
    accessed_at: str | None = None
    related: tuple[Tie, ...] = ()
    """The oldest relations of an entity; empty for other kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A fact about an entity. Its ordinal is permanent: never renumbered, never reused (c)."""

    id: str
    ordinal: int
    content: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node of the graph."""

    id: str
    name: str
    type: str
    summary: str | None
    tags: tuple[str, ...]
    created_at: str
    updated_at: str
    """The time of the last change to it, its observations or its relations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed, typed edge between two entities, given by their names."""

    id: str
    source: str
    target: str
    type: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One turn of an agent: prompt, thought and response, verbatim (e)."""

    id: str
    session_id: str
    created_at: str
    prompt: str
    thought: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """The summary of a session (e). Scores are 0 to 100, or None if not rated."""

    id: str
    session_id: str
    created_at: str
    title: str
    summary: str
    category: str
    memory_count: int
    quality: int | None = None
    productivity: int | None = None
    impact: int | None = None
    complexity: int | None = None
    technologies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The records a search may return. Applied before the number of candidates is limited."""

    kinds: tuple[Kind, ...] = ()
    """Allowed kinds; () for every kind."""
    tags: tuple[str, ...] = ()
    """A record must have all of them."""
    session: str = ""
    """The session whose volatile records are visible; volatile records of other sessions never are."""
    entity: str = ""
    """If given, only observations of the entity with this id."""
    shelf: Shelf = ""
    """If given, only memories with a key: of the session, of the vault, or of both."""
    among: tuple[str, ...] | None = None
    """If given, only the records with these ids."""
    after: str = ""
    """If given, only records created at this time or later."""
    before: str = ""
    """If given, only records created before this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A found record, its final score, and the scores from which that was computed."""

    record: Record
    score: float
    why: Mapping[str, float] = field(default_factory=dict)
    workspace: Workspace | None = None
    """Its workspace, if several are read together."""
    bears: bool = True
    """Whether it bears on the question; False if it is only related to it, or to what bears."""
    timed: bool = False
    """Whether its time of day matters, because it may change what another hit states, or be changed by it."""
    changed_by: str = ""
    """The id of the newer hit that changes what it states; '' if none does."""
    answer: tuple[int, int] | None = None
    """The part of the record's body that answers best, as places of its first and after its last character; None if
    only the text as a whole was rated."""


@dataclass(frozen=True, slots=True)
class Findings(Generic[T]):
    """The results of a search, best first."""

    best: list[T]
    degraded: str = ""
    """What the search could not do, in one sentence; '' if it was complete."""
