"""The interface of a store for turns of agents and summaries of their sessions (e), and of its database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from memoryd.model import Findings, Interaction, SessionSummary, Workspace

T = TypeVar("T")

COLLECTIONS = {"memories": "neo-agent-memory", "summaries": "neo-agent-sessions"}
"""e's names for the two kinds, and ChromaDB's collection for each."""

State = Literal["embedded", "running", "stopped", "external"]
"""Of a database: within this process, memoryd's own server that runs or does not, or another server."""


class Database(Protocol):
    """The database behind a journal: how it is started and stopped."""

    product: str
    """Its name, such as `SQLite`."""

    place: str
    """Where it is, for people; never a password."""

    def state(self) -> State:
        """Return the state, which is known without a query."""

    def start(self) -> bool:
        """Start memoryd's own server; return whether it was not running. Any other database is left alone."""

    def stop(self) -> bool:
        """Stop memoryd's own server; return whether it was running. Until it is started, all else is a StoreAwayError.

        Raise StoreError if other processes use it. Any other database is left alone.
        """


class ForeignServer:
    """A server that memoryd neither starts nor stops."""

    def state(self) -> State:
        """Return that the server is external."""
        return "external"

    def start(self) -> bool:
        """Do nothing: its owner starts it."""
        return False

    def stop(self) -> bool:
        """Do nothing: its owner stops it."""
        return False

    def close(self) -> None:
        """Do nothing: nothing is held open."""


class Turns(NamedTuple):
    """A page of turns, and their total number."""

    page: list[Interaction]
    total: int


class Summaries(NamedTuple):
    """A page of summaries, and their total number."""

    page: list[SessionSummary]
    total: int


class JournalHit(NamedTuple, Generic[T]):
    """A turn or summary that was found, and its score, 1 at most."""

    item: T
    score: float
    workspace: Workspace | None = None
    """Where it lies, if several workspaces are read together."""


class JournalStore(Protocol):
    """The turns and summaries of one workspace; searches also read those that it includes.

    Every method raises StoreError with cause and next step.
    """

    def add(self, turn: Interaction) -> Interaction:
        """Store a turn, under a new id if its own is taken, and return it; durable when this returns."""

    def put(self, turns: Sequence[Interaction]) -> int:
        """Store the turns whose ids do not exist yet; return how many."""

    def known(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that a turn has, or had until somebody removed it where that is known."""

    def of_session(self, session_id: str, limit: int, offset: int) -> Turns:
        """Return the turns of a session in the order of time."""

    def find(self, query: str, number: int, session_id: str) -> Findings[JournalHit[Interaction]]:
        """Return the turns that bear on a query, of one session or ('') any, best first."""

    def unsummarized(self) -> list[str]:
        """Return the sessions that have no summary, or more turns than their summary counted."""

    def summarized(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Store summaries, each under the id of its session's previous one, which it replaces; return them."""

    def put_summaries(self, summaries: Sequence[SessionSummary]) -> int:
        """Store the summaries whose ids do not exist yet; return how many."""

    def summaries(self, limit: int, offset: int, category: str) -> Summaries:
        """Return the summaries of one category or ('') all, the newest first."""

    def find_summaries(self, query: str, number: int, category: str) -> Findings[JournalHit[SessionSummary]]:
        """Return the summaries that bear on a query, of one category or ('') any, best first."""

    def delete_summaries(self) -> int:
        """Delete all summaries; return how many. Turns stay."""

    def every_turn(self) -> Iterator[Interaction]:
        """Yield all turns in the order of their ids."""

    def every_summary(self) -> Iterator[SessionSummary]:
        """Yield all summaries in the order of their ids."""

    def replace(self, turns: Iterable[Interaction] | None, summaries: Iterable[SessionSummary] | None) -> None:
        """Replace all turns and summaries by these, each once; None keeps a kind as it is. An error changes nothing."""

    def numbers(self) -> dict[str, int]:
        """Return how many items each collection has."""

    def try_out(self) -> None:
        """Write something, read it, remove it; raise StoreError unless all of that works."""


STOPPED = "The database is stopped. Nothing was stored by this call; start_database starts it."
