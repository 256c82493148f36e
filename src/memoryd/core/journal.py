"""e: the turns of agents, session by session, and what each session was about."""

from collections.abc import Callable

from memoryd.core import digest
from memoryd.core.engine import Engine
from memoryd.core.journal_chroma import JournalChroma
from memoryd.core.journal_rows import JournalRows
from memoryd.core.journal_vectors import JournalVectors
from memoryd.errors import NotFoundError
from memoryd.model import Interaction, SessionSummary, Workspace
from memoryd.store.journal import Database, JournalStore

EVERY = 1 << 40
BATCH = 25  # sessions that are summarized in one transaction

Report = Callable[[int, int], None]
"""Told how many are done, of how many."""


def database(engine: Engine) -> Database:
    """Where journals are kept."""
    found: Database = engine.chroma or engine.store
    return found


class Journal:
    """The turns and summaries of one workspace, which are kept where the settings say."""

    def __init__(self, engine: Engine, workspace: Workspace, session: str) -> None:
        self._clock = engine.clock
        self.kept: JournalStore = (
            JournalChroma(engine.chroma, workspace, JournalVectors(engine.helpers))
            if engine.chroma
            else JournalRows(engine, workspace, session)
        )

    def add(self, prompt: str, thought: str, response: str, session_id: str) -> Interaction:
        """Keep a turn verbatim; durable when this returns."""
        now = self._clock.now()
        return self.kept.add(Interaction(
            id=f"mem_{now}", session_id=session_id, created_at=now, prompt=prompt, thought=thought, response=response
        ))  # fmt: skip

    def summarize(self, session_id: str) -> SessionSummary:
        """Summarize a session by what it says; its summary is replaced. Raises NotFoundError where it has no turns."""
        (made,) = self.kept.summarized([self._summary(session_id)])
        return made

    def summarize_all(self, but: str, report: Report) -> list[SessionSummary]:
        """Summarize the sessions that have no summary or have grown since, without one that goes on."""
        sessions = [session for session in self.kept.ungathered() if session != but]
        made: list[SessionSummary] = []
        for start in range(0, len(sessions), BATCH):
            report(start, len(sessions))
            made += self.kept.summarized([self._summary(session) for session in sessions[start : start + BATCH]])
        report(len(sessions), len(sessions))
        return made

    def _summary(self, session_id: str) -> SessionSummary:
        turns = self.kept.of_session(session_id, EVERY, 0).page
        if not turns:
            raise NotFoundError(f"There are no memories of the session {session_id[:200]!r}.")
        told = digest.of(turns)
        return SessionSummary(
            id=f"summary_{session_id}", session_id=session_id, created_at=self._clock.now(), title=told.title,
            summary=told.summary, category=told.category, memory_count=len(turns), technologies=told.technologies,
        )  # fmt: skip
