"""ChromaDB as the home of the journal."""

from memoryd.core.scope import Scope
from memoryd.features.chroma.client import Chroma
from memoryd.features.chroma.journal import JournalChroma
from memoryd.features.chroma.vectors import JournalVectors


class ChromaHome(Chroma):
    """A ChromaDB with the journals of all workspaces; see `core.journal.home.JournalHome`."""

    def check(self) -> None:
        """Raise StoreError if an external server does not answer; neither start nor stop memoryd's own."""
        if self.state() == "external":
            self.ask("GET", "/api/v2/heartbeat")

    def of(self, scope: Scope) -> JournalChroma:
        """Return the journal of a workspace."""
        return JournalChroma(self, scope, JournalVectors(scope.engine.helpers))
