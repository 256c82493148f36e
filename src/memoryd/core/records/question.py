"""A question to the records of a workspace: a snapshot, and a vector to compare with theirs."""

from collections.abc import Callable
from dataclasses import dataclass

from memoryd.core.records.spaces import Compared
from memoryd.model import Filter
from memoryd.models.embedders import Embedder
from memoryd.store.base import Queries
from memoryd.text import shortened

BY_WORDS = "searched by words alone"


@dataclass(frozen=True, slots=True)
class Question:
    """A question inside an open snapshot, with its vector, which was made before the snapshot opened."""

    queries: Queries
    text: str = ""
    embedder: Embedder | None = None
    """The embedder whose vectors are searched in the workspace; None: search by words alone."""
    compared: tuple[Compared, ...] = ()
    """The sets of vectors that are searched, with the question's vector for each; the embedder is the first one's."""
    gist: tuple[str, ...] = ()
    """What the cross-encoder reads of a query: one line, or two of which either may be answered."""
    cut: str = ""
    """What part of a long query the text is, in one sentence; '' if it is all of it."""
    why_not: str = ""
    """Why there is no embedder, as the end of a sentence; '' if the settings want none."""
    lacking: Callable[[Filter], int] = lambda _: 0
    """Counts the records that a filter lets through and that have no vector yet."""

    def degraded(self, allowed: Filter, instead: str = BY_WORDS) -> str:
        """Return a sentence that says what was done `instead` of comparing all by meaning, or '' if all were compared.

        Call this first: if the missing vectors can soon be made, the work starts again on a later snapshot.
        """
        if self.why_not:
            return f"{instead.capitalize()}: {self.why_not}."
        if lacking := self.lacking(allowed):
            return f"Not embedded yet, so {instead}: {lacking:,} {'record' if lacking == 1 else 'records'}."
        return ""


def by_words(queries: Queries, text: str) -> Question:
    """Return a question that is searched by words alone, at once."""
    searched, cut = shortened(text)
    return Question(queries, searched, cut=cut)
