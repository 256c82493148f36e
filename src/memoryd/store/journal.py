"""The interface of a store for turns and summaries of sessions (e), and of its database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from typing_extensions import TypedDict

from memoryd.model import Findings, Interaction, SessionSummary, Workspace

T = TypeVar("T")

COLLECTIONS = {"memories": "neo-agent-memory", "summaries": "neo-agent-sessions"}
"""e's names for the two kinds, and ChromaDB's collection for each."""

State = Literal["embedded", "running", "stopped", "external"]
"""The state of a database: in this process, memoryd's own server, running or stopped, or an external server."""


class Database(Protocol):
    """The database behind a journal, which can be started and stopped."""

    product: str
    """The name of the product, such as `SQLite`."""

    place: str
    """The path or address, for people; never a password."""

    def state(self) -> State:
        """Return the state, without a query."""

    def start(self) -> bool:
        """Start memoryd's own server, but no other; return whether it was not running."""

    def stop(self) -> bool:
        """Stop memoryd's own server, but no other; return whether it was running.

        Raise StoreError if other processes use it. Until it is started, every other call raises StoreAwayError.
        """


class Unmanaged:
    """A database that memoryd neither starts nor stops: the server of others, or one in this process."""

    where: State = "external"

    def state(self) -> State:
        """Return where the database runs."""
        return self.where

    def start(self) -> bool:
        """Do nothing: there is no server to start, or its owner starts it."""
        return False

    def stop(self) -> bool:
        """Do nothing, as in `start`."""
        return False

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Turns(NamedTuple):
    """A page of turns, and their total number."""

    page: list[Interaction]
    total: int


class Summaries(NamedTuple):
    """A page of summaries, and their total number."""

    page: list[SessionSummary]
    total: int


class JournalCounts(TypedDict):
    """The numbers of turns and summaries."""

    memories: int
    summaries: int


class JournalHit(NamedTuple, Generic[T]):
    """A turn or summary that was found, and its score, at most 1."""

    item: T
    score: float
    workspace: Workspace | None = None
    """The workspace, if several are read together."""


class JournalStore(Protocol):
    """The turns and summaries of one workspace; searches also read those that it includes.

    Every method raises StoreError with cause and next step.
    """

    def add(self, turn: Interaction) -> Interaction:
        """Store a turn durably, with a new id if its own is taken, and return it."""

    def put(self, turns: Sequence[Interaction]) -> int:
        """Store the turns whose ids do not exist yet; return how many."""

    def known(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that belong to a turn, or to one that was deleted if that is known."""

    def of_session(self, session_id: str, limit: int, offset: int) -> Turns:
        """Return the turns of a session in the order of time."""

    def find(self, query: str, number: int, session_id: str) -> Findings[JournalHit[Interaction]]:
        """Return the turns that bear on a query, of one session or ('') of any, best first."""

    def unsummarized(self) -> list[str]:
        """Return the sessions without a summary, or with more or later turns than it counted."""

    def summarized(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Store summaries, each replacing its session's previous one under the same id; return them."""

    def put_summaries(self, summaries: Sequence[SessionSummary]) -> int:
        """Store the summaries whose ids do not exist yet; return how many."""

    def summaries(self, limit: int, offset: int, category: str) -> Summaries:
        """Return the summaries of one category or ('') of all, the newest first."""

    def find_summaries(self, query: str, number: int, category: str) -> Findings[JournalHit[SessionSummary]]:
        """Return the summaries that bear on a query, of one category or ('') of any, best first."""

    def delete_summaries(self) -> int:
        """Delete all summaries; return how many. Turns stay."""

    def every_turn(self) -> Iterator[Interaction]:
        """Yield all turns in the order of their ids."""

    def every_summary(self) -> Iterator[SessionSummary]:
        """Yield all summaries in the order of their ids."""

    def replace(self, turns: Iterable[Interaction] | None, summaries: Iterable[SessionSummary] | None) -> None:
        """Replace all turns and summaries by these, without duplicates; None keeps a kind. An error changes nothing."""

    def numbers(self) -> JournalCounts:
        """Return how many items each collection has."""

    def try_out(self) -> None:
        """Write, read and remove a test row; raise StoreError if that fails."""


STOPPED = "The database is stopped. Nothing was stored by this call; start_database starts it."
