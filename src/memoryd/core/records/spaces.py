"""Which set of vectors a text belongs to, by its language, and with which sets a question is compared.

English texts have a vector of the English embedder, all others one of the multilingual one. A workspace with both also
has multilingual vectors of its English texts, in a set of their own, so that questions cross languages.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoryd.errors import ModelError
from memoryd.languages import is_english, is_foreign
from memoryd.models.embedders import ENGLISH, MULTILINGUAL, MULTILINGUAL_UNRELATED, Embedder
from memoryd.models.helpers import Helpers
from memoryd.store.base import Vector

ACROSS = f"{MULTILINGUAL} of English texts"
"""The name of the set with the multilingual vectors of English texts."""


@dataclass(frozen=True, slots=True)
class Space:
    """A set of comparable vectors by its name, and the embedder that makes them."""

    model: str
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Compared(Space):
    """A set of vectors, and the question's vector to compare them with."""

    vector: Vector


@dataclass(frozen=True, slots=True)
class Need:
    """What each record needs: a vector in one of two sets, by the language of its text."""

    english: str
    """The set of English texts ..."""
    other: str
    """... and that of all others; the same if one embedder embeds every text."""
    by: Embedder | None = None
    """The embedder of English texts; None while it is absent."""
    by_other: Embedder | None = None

    @property
    def sets(self) -> dict[str, str]:
        """The two sets as parameters of a statement."""
        return {"model": self.english, "other": self.other}

    def space(self, text: str) -> Space | None:
        """Return the set of a text, in doubt that of the present embedder; None while its embedder is absent."""
        english = self.english == self.other or is_english(text) or not (self.by_other or is_foreign(text))
        embedder = self.by if english else self.by_other
        return Space(self.english if english else self.other, embedder) if embedder else None


class OtherAbsentError(ModelError):
    """The multilingual embedder is needed, and absent."""


class Spaces:
    """The sets of vectors by which this process searches."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers

    def splits(self, embedder: Embedder) -> bool:
        """Return whether texts that are not English have another embedder than this one."""
        return self._helpers.speaks and embedder.name == ENGLISH

    def need(self, embedder: Embedder) -> Need:
        """Return what every record needs beside this embedder; the other one is not waited for."""
        if not self.splits(embedder):
            return Need(embedder.name, embedder.name, embedder, embedder)
        return Need(ENGLISH, MULTILINGUAL, embedder, self._helpers.multilingual.get())

    def across(self) -> Need | None:
        """Return what every record needs to be found in any language; None while the embedder is absent."""
        other = self._helpers.multilingual.get()
        return Need(ACROSS, MULTILINGUAL, other, other) if other else None

    def counted(self, numbers: Mapping[str, int], present: str) -> dict[str, int]:
        """Return the numbers of records by embedder, given those by set: two sets may belong together."""
        found = {name: number for name, number in numbers.items() if name != ACROSS}
        if self._helpers.speaks and ENGLISH in (present, *found):
            found[ENGLISH] = found.get(ENGLISH, 0) + found.pop(MULTILINGUAL, 0)
        return found

    def of(self, embedder: Embedder, texts: Sequence[str]) -> list[Space | None]:
        """Return the set of each text; have the multilingual embedder fetched or loaded if one of them needs it."""
        spaces = [self.need(embedder).space(text) for text in texts]
        if None in spaces:
            self._helpers.multilingual.start()
        return spaces

    def asked(self, embedder: Embedder, text: str | None, *, mixed: bool) -> tuple[Compared, ...]:
        """Return the sets with which a question is compared, its own language's embedder first.

        `mixed` says that the workspace has texts or had questions that are not English. Raise ModelError.
        """
        if text is None or not self.splits(embedder):
            return (_compared(embedder, embedder.name, text),)
        if is_english(text) or not (mixed or is_foreign(text)):  # in doubt, a question is in the workspace's language
            other = self._helpers.other() if mixed else None
            own = _compared(embedder, ENGLISH, text)
            return (own, _compared(other, MULTILINGUAL, text)) if other else (own,)
        other = self._helpers.other()
        if other is None:
            raise OtherAbsentError(self._helpers.why_not_other())
        own = _compared(other, MULTILINGUAL, text)
        return own, Compared(ACROSS, other, own.vector)


def _compared(embedder: Embedder, model: str, text: str | None) -> Compared:
    vector = embedder.embed_query(text) if text is not None else np.empty(0, np.float32)
    return Compared(model, embedder, vector)


@dataclass(frozen=True, slots=True)
class Route:
    """A set of vectors, and the sets whose vectors they can be compared with, by the same embedder."""

    own: str
    others: tuple[str, ...]
    unrelated: float


def routes(embedder: Embedder) -> Iterator[Route]:
    """Yield how the texts of a workspace are compared with each other: English ones by the English embedder."""
    yield Route(embedder.name, (embedder.name,), embedder.unrelated)
    if embedder.name == ENGLISH:
        yield Route(ACROSS, (MULTILINGUAL,), MULTILINGUAL_UNRELATED)
        yield Route(MULTILINGUAL, (MULTILINGUAL, ACROSS), MULTILINGUAL_UNRELATED)
