"""What core asks of a place that keeps turns of agents and summaries of their sessions (e), and of its database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from memoryd.model import Findings, Interaction, SessionSummary

COLLECTIONS = {"memories": "neo-agent-memory", "summaries": "neo-agent-sessions"}
"""e's names for the two kinds, and for where ChromaDB keeps each."""

State = Literal["embedded", "running", "stopped", "external"]
"""Of a database: within this process, a server of ours that runs or does not, or a server of somebody else."""


class Database(Protocol):
    """The database behind a journal, as far as it can be started and stopped."""

    product: str
    """What it is."""

    place: str
    """Where it is, for people; never a password."""

    def state(self) -> State:
        """What can be said without asking it for rows."""

    def start(self) -> bool:
        """Start a server of ours; whether it did not run before. Of another database nothing is to be started."""

    def stop(self) -> bool:
        """Stop a server of ours; whether it ran before. Until it is started again all else raises StoreAwayError.

        Raises StoreError where others use it. A database that is not ours goes on.
        """


class ForeignServer:
    """What is the same for every server of somebody else: it goes on, whatever we do."""

    def state(self) -> State:
        """It is not ours."""
        return "external"

    def start(self) -> bool:
        """Its owner does."""
        return False

    def stop(self) -> bool:
        """Its owner does."""
        return False

    def close(self) -> None:
        """It is not ours."""


class Turns(NamedTuple):
    """A page of turns, and how many there are in all."""

    page: list[Interaction]
    total: int


class Summaries(NamedTuple):
    """A page of summaries, and how many there are in all."""

    page: list[SessionSummary]
    total: int


class JournalStore(Protocol):
    """Where the turns and summaries of one workspace are. Every method raises StoreError with cause and next step."""

    def add(self, turn: Interaction) -> Interaction:
        """Keep a turn, under another id where another has its own already; durable when this returns."""

    def put(self, turns: Sequence[Interaction]) -> int:
        """Keep the turns whose ids are not there yet; how many those were."""

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids under which a turn is kept."""

    def of_session(self, session_id: str, limit: int, offset: int) -> Turns:
        """The turns of a session in the order of time."""

    def find(self, query: str, number: int, session_id: str) -> Findings[tuple[Interaction, float]]:
        """The turns that bear on a query, of one session or ('') any, each with a score up to 1."""

    def unsummarized(self) -> list[str]:
        """The sessions that have no summary, or more turns than their summary counted."""

    def summarized(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Keep the summaries of sessions, each in place of the one that its session may have, and under its id."""

    def put_summaries(self, summaries: Sequence[SessionSummary]) -> int:
        """Keep the summaries whose ids are not there yet; how many those were."""

    def summaries(self, limit: int, offset: int, category: str) -> Summaries:
        """The summaries of one category or ('') all, the newest first."""

    def find_summaries(self, query: str, number: int, category: str) -> Findings[tuple[SessionSummary, float]]:
        """The summaries that bear on a query, of one category or ('') any, each with a score up to 1."""

    def delete_summaries(self) -> int:
        """Delete all summaries; how many there were. Turns stay."""

    def every_turn(self) -> Iterator[Interaction]:
        """All turns in the order of their ids."""

    def every_summary(self) -> Iterator[SessionSummary]:
        """All summaries in the order of their ids."""

    def replace(self, turns: Iterable[Interaction] | None, summaries: Iterable[SessionSummary] | None) -> None:
        """Keep these, each of them once, and no others; None leaves a kind as it is. If one fails, nothing changes."""

    def numbers(self) -> dict[str, int]:
        """How many there are of each collection."""

    def try_out(self) -> None:
        """Write something, read it, remove it. Raises StoreError unless all of that works."""


STOPPED = "The database is stopped. Nothing was stored by this call; start_database starts it."
