"""The concepts of memoryd as frozen values. Every layer speaks in these; none of them knows where it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, Literal, TypeVar

T = TypeVar("T")

GENERAL = "general"
"""The perspective from which everything is embedded."""


CLIENT = "client"
"""The perspective of vectors that callers bring (a)."""

AGENT_INTERACTION: Final = "agent-interaction"
"""The type of a turn (e)."""

WorkspaceStatus = Literal["active", "archived"]

Ending = Literal["merged", "superseded", "compacted"]
"""How a memory ended whose place another one took: said again, contradicted, or told by a summary with others."""

Shelf = Literal["", "session", "vault", "all"]


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of one workspace that can be compared: from one perspective, by one model."""

    perspective: str
    model: str


class Kind(StrEnum):
    """What a Record is."""

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
    """The SQLite file that holds it, relative to the data directory; '' where one file holds everything."""
    status: WorkspaceStatus = "active"
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Anything with text in a workspace. Times are ISO 8601 UTC with milliseconds and Z."""

    id: str
    kind: Kind
    body: str
    name: str | None = None
    """A memory's key, an entity's name, the name of an observation's entity, a summary's title."""
    type: str = ""
    tags: tuple[str, ...] = ()
    scope: str = ""
    """'' is durable; else the session that may see the record and whose end removes it."""
    session_id: str | None = None
    """The session it was written in. Provenance only: nothing is ever deleted by it."""
    client: str = ""
    """The client that wrote it, e.g. `claude-code 2.1`."""
    tool: str = ""
    """The tool or command that did, e.g. `memory_store`."""
    created_at: str = ""
    updated_at: str = ""
    importance: float = 0.5
    """This and the next are memories' own; other kinds have the defaults."""
    access_count: int = 0
    accessed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A fact about an entity. Its ordinal is its own for ever: never renumbered, never used again (c)."""

    id: str
    ordinal: int
    content: str
    created_at: str


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
    """When it, one of its observations or one of its relations last changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed, typed edge between two entities, by their names."""

    id: str
    source: str
    target: str
    type: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One turn of an agent: what was asked, what it thought, what it answered, verbatim (e)."""

    id: str
    session_id: str
    created_at: str
    prompt: str
    thought: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """What a session was about (e). Scores are 0 to 100, or None where nobody judged."""

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
    """Which records a search may see. It is applied before candidates are cut off."""

    kinds: tuple[Kind, ...] = ()
    """Empty: every kind."""
    tags: tuple[str, ...] = ()
    """A record must have ALL of them."""
    session: str = ""
    """Volatile records of this session are visible; of every other session, none."""
    entity: str = ""
    """Only observations of the entity with this id."""
    shelf: Shelf = ""
    """Only memories with a key: of the session, of the vault, or of both."""
    among: tuple[str, ...] | None = None
    """Only the records with these ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A found record, its final score and how that came about."""

    record: Record
    score: float
    why: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Findings(Generic[T]):
    """What a search has found, best first."""

    best: list[T]
    degraded: str = ""
    """What the search could not do, in one sentence; '' where nothing is amiss."""
