"""The journal across languages: multilingual vectors in a collection beside each of those that other programs read.

It is made for the first turn, summary or question that is not English. It has no texts, and a row for each of the
journal: what others wrote meanwhile is added before a search.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memoryd.core.base.batches import batches
from memoryd.core.records.spaces import Compared, OtherAbsentError, Spaces
from memoryd.core.search import ranking
from memoryd.core.search.candidates import farther
from memoryd.errors import ModelError, StoreError
from memoryd.features.chroma.database import ChromaDatabase, ChromaRow, Collection, Where
from memoryd.languages import is_english
from memoryd.models.embedders import MULTILINGUAL, Embedder
from memoryd.models.helpers import Helpers

EMBEDDER = "embedder"  # the metadata field of a collection that names the model of its vectors
WAIT = 2.0  # seconds for which a search adds what is missing
BATCH = 16  # rows that are embedded and written together
CROWDED = 3  # so many times as many rows are read, of which those that are not English are left out


class Across:
    """The collections with multilingual vectors in a database."""

    def __init__(self, database: ChromaDatabase, vectors: "JournalVectors") -> None:
        self._database = database
        self._vectors = vectors

    def collection(self, name: str) -> Collection | None:
        """Return the collection beside another, or None."""
        return self._database.collection(_beside(name))

    def note(self, name: str, texts: Sequence[str]) -> None:
        """Create the collection beside another if one of some texts for it is not English."""
        if self._vectors.across(texts):
            self._database.made(_beside(name), {EMBEDDER: MULTILINGUAL})

    def forget(self, name: str, ids: Sequence[str] = ()) -> None:
        """Remove the rows of some texts that change, or of all."""
        if beside := self.collection(name):
            self._database.delete(beside, ids or self._database.ids(beside))

    def fill(self, collection: Collection, seconds: float = math.inf) -> int:
        """Add the rows that are missing beside a collection, if it has one, and the model is there; return their rest.

        Remove those that the collection has no more. A batch that has begun within `seconds` is completed.
        """
        beside, until = self.collection(collection.name), time.monotonic() + seconds
        if beside is None or self._database.count(beside) == self._database.count(collection):
            return 0
        stored, wanted = set(self._database.ids(beside)), self._database.ids(collection)
        self._database.delete(beside, sorted(stored.difference(wanted)))
        missing = [key for key in wanted if key not in stored]
        embedder, left = self._vectors.other(), len(missing)
        for some in batches(missing, BATCH):
            if embedder is None or time.monotonic() > until:
                break
            rows = list(self._database.rows(collection, some))
            try:
                self._database.add(beside, [_row(row, passage(embedder, _text(row))) for row in rows])
            except ModelError:
                break
            left -= len(some)
        return left

    def nearest(
        self, collection: Collection, compared: Sequence[Compared], number: int, where: Where | None
    ) -> list[ChromaRow]:
        """Return the rows nearest to a question, best first; all scores are on the scale of the first model."""
        beside, first = self.collection(collection.name), compared[0]
        if len(compared) == 1 or (beside is None and first.model != MULTILINGUAL):
            return self._database.nearest(collection, first.vector.tolist(), number, where)
        if beside is None:  # nothing may be written
            return []
        other = next(one for one in compared if one.model == MULTILINGUAL)

        def asked(*, english: bool) -> list[ChromaRow]:
            only = {"english": english}
            near = self._database.nearest(
                beside, other.vector.tolist(), number, {"$and": [where, only]} if where else only
            )
            scores = ranking.on_scale(_scores(near), other.embedder.unrelated, first.embedder.unrelated)
            return [replace(row, score=scores[row.id]) for row in self._database.rows(collection, list(scores))]

        if first.model == MULTILINGUAL:
            own, others = asked(english=False), asked(english=True)
        else:
            own = self._database.nearest(collection, first.vector.tolist(), CROWDED * number, where)
            own, others = [row for row in own if is_english(_text(row))], asked(english=False)
        raised = farther(_scores(own), _scores(others), first.embedder)
        others = [replace(row, score=min(max(0.0, row.score + raised), 1.0)) for row in others]
        return sorted([*own, *others], key=lambda row: -row.score)[:number]


def _scores(rows: Sequence[ChromaRow]) -> dict[str, float]:
    return {row.id: row.score for row in rows}


def _beside(name: str) -> str:
    return f"{name}-multilingual"


def _text(row: ChromaRow) -> str:
    """Return what is embedded of a turn or a summary, which has a title."""
    title = row.metadata.get("title")
    return f"{title}: {row.document}" if title else row.document


def _row(row: ChromaRow, vector: Sequence[float]) -> ChromaRow:
    """Return the row beside another: with what searches are limited to, without its text."""
    kept = {name: row.metadata[name] for name in ("sessionId", "category") if name in row.metadata}
    return ChromaRow(row.id, {**kept, "english": is_english(_text(row))}, "", vector)


# the vectors of the journal ------------------------------------------------------------------------------------------


PIECES, PIECE = 16, 2_000  # excerpts of a long text that are embedded, and characters of each


class JournalVectors:
    """Unit vectors of texts and questions from the configured model. Each method raises StoreError without it."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers

    @property
    def model(self) -> str:
        """The name of the embedding model."""
        return self._embedder().name

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return for each text the mean vector of its chunks, of unit length."""
        embedder = self._embedder()
        try:
            return [passage(embedder, text) for text in texts]
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def asked(self, text: str, *, mixed: bool) -> tuple[Sequence[Compared], str]:
        """Return the sets with which a question is compared, and why it is not compared across languages, or ''.

        `mixed` says that the journal has texts that are not English.
        """
        embedder = self._embedder()
        try:
            try:
                return Spaces(self._helpers).asked(embedder, text, mixed=mixed), ""
            except OtherAbsentError as error:
                why = f"Compared by the English model alone: {error}."
                return [Compared(embedder.name, embedder, embedder.embed_query(text))], why
        except ModelError as error:
            raise self._failed(embedder, error) from error

    def across(self, texts: Sequence[str]) -> bool:
        """Return whether one of some texts has a multilingual vector, since it is not English."""
        return Spaces(self._helpers).splits(self._embedder()) and not all(map(is_english, texts))

    def other(self) -> Embedder | None:
        """Return the multilingual embedder, or None while it is absent."""
        return self._helpers.other()

    def _embedder(self) -> Embedder:
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            state = self._helpers.states()["embedder"]
            raise StoreError(
                f"The embedding model is not available ({state}), and ChromaDB can neither store nor search without "
                "vectors. Nothing was stored by this call. Try again when it is loaded, or check MEMORY_EMBEDDER."
            )
        return embedder

    def _failed(self, embedder: Embedder, error: ModelError) -> StoreError:
        self._helpers.failed(embedder, error)
        return StoreError(
            f"{error} ChromaDB can neither store nor search without vectors; nothing was stored by this call."
        )


def passage(embedder: Embedder, text: str) -> list[float]:
    """Return the mean vector of the chunks of a text, of unit length. Raise ModelError."""
    return _mean(embedder.embed_passage(_excerpt(text), hurry=True))


def _excerpt(text: str) -> str:
    """Return evenly spaced pieces of a very long text: all of it would take minutes and hardly change the mean."""
    if len(text) <= PIECES * PIECE:
        return text
    step = (len(text) - PIECE) / (PIECES - 1)
    return "\n".join(text[round(step * number) :][:PIECE] for number in range(PIECES))


def _mean(chunks: np.typing.NDArray[np.float32]) -> list[float]:
    mean = chunks.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return [float(number) for number in (mean / length if length else chunks[0])]
