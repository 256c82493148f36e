"""The journal (e): the turns of agents by session, and a summary of each session."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from memoryd import features
from memoryd.core.base.progress import CountProgress
from memoryd.core.engine import Engine
from memoryd.core.journal import summarizer
from memoryd.core.journal.in_records import JournalRows
from memoryd.core.llm import generation
from memoryd.core.scope import Scope
from memoryd.errors import ModelError, NotFoundError, StoreError
from memoryd.model import Interaction, SessionSummary
from memoryd.models.llm import Writer
from memoryd.store.journal import Database, JournalStore

log = logging.getLogger(__name__)

EVERY = 1 << 40
BATCH = 25  # summaries that are stored in one transaction


class JournalHome(Database, Protocol):
    """A database for the journal alone."""

    def of(self, scope: Scope) -> JournalStore:
        """Return the journal of a workspace."""

    def check(self) -> None:
        """Raise StoreError if a server that others run does not answer."""

    def close(self) -> None:
        """Stop using it."""


def own_home(engine: Engine) -> JournalHome | None:
    """Return the journal's own database, or None if the store has the journal. Raise MemorydError without one."""
    return engine.part(_opened)


def _opened(engine: Engine) -> JournalHome | None:
    for opened in features.hooked("journal"):
        home: JournalHome | None = opened(engine)
        if home:
            return home
    if engine.settings.journal_store != "records":
        raise StoreError(f"Nothing here stores a journal in {engine.settings.journal_store!r} (MEMORY_JOURNAL_STORE).")
    return None


def database(engine: Engine) -> Database:
    """Return the database in which journals are stored."""
    return own_home(engine) or engine.store


class Journal:
    """The turns and summaries of one workspace, in the store that the settings name."""

    def __init__(self, scope: Scope) -> None:
        engine = scope.engine
        self.secrets = scope.secrets
        self._engine = engine
        home = own_home(engine)
        self.kept: JournalStore = home.of(scope) if home else JournalRows(scope)

    def add(self, prompt: str, thought: str, response: str, session_id: str) -> Interaction:
        """Store a turn verbatim and durably; return it."""
        now = self._engine.clock.now()
        return self.kept.add(
            Interaction(
                id=f"mem_{now}",
                session_id=session_id,
                created_at=now,
                prompt=prompt,
                thought=thought,
                response=response,
            )
        )

    def summarize(self, session_id: str) -> SessionSummary:
        """Summarize a session, replacing any earlier summary; return it. Raise NotFoundError without turns."""
        (made,) = self.kept.summarized([self._summary(session_id, self._engine.helpers.writer())])
        return made

    def summarize_all(self, but: str, report: CountProgress) -> list[SessionSummary]:
        """Summarize the sessions, except `but`, that have no summary or have grown since; return the summaries.

        A language model has one time limit for all of them; the rest is summarized by rules.
        """
        sessions = [session for session in self.kept.unsummarized() if session != but]
        writer = self._engine.helpers.writer() if sessions else None
        made: list[SessionSummary] = []
        for start in range(0, len(sessions), BATCH):
            summaries = []
            for number, session in enumerate(sessions[start : start + BATCH], start):
                report(number, len(sessions))
                with suppress(NotFoundError):  # an import may have replaced its turns
                    summaries.append(self._summary(session, writer))
            made += self.kept.summarized(summaries)
        report(len(sessions), len(sessions))
        return made

    def _summary(self, session_id: str, writer: Writer | None) -> SessionSummary:
        turns = self.kept.of_session(session_id, EVERY, 0).page
        if not turns:
            raise NotFoundError(f"There are no memories of the session {session_id[:200]!r}.")
        own: dict[str, Any] = {"id": f"summary_{session_id}", "session_id": session_id, "memory_count": len(turns)}
        written = self.secrets.masked(_written(turns, writer) or summarizer.of(turns))
        return SessionSummary(**own, created_at=self._engine.clock.now(), **written)


def _written(turns: Sequence[Interaction], writer: Writer | None) -> dict[str, Any] | None:
    """Return a language model's summary of a session; None without a model, or if it fails."""
    if writer is None:
        return None
    try:
        note = generation.note(writer, turns).model_dump()
    except ModelError as error:
        log.info("session %s was summarized by rules: %s", turns[0].session_id, error)
        return None
    return note | {"technologies": tuple(note["technologies"])}
