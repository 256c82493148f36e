"""The home of the journal: the store, or a database of its own that a slice opens."""

from typing import Protocol

from memoryd import features
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.errors import StoreError
from memoryd.store.journal import Database, JournalStore


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
