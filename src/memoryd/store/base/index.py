"""The second role of a store: searches by words and by vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base.rows import Queries

Vector = NDArray[np.float32]
UNIT = 0.01  # maximum difference of a stored vector's length from 1; float16 keeps it within .001
Scored = list[tuple[str, float]]
"""(record id, score), best first."""


class Index(Protocol):
    """Searches inside an open transaction: they see the snapshot of `queries` and nothing later."""

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 (higher is better)."""

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return the ids that match by words."""

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        """Return how many of the terms each record has."""

    def kept(self) -> dict[str, int]:
        """Return the bytes of the caches for searches in this process, by kind."""

    def number(self, queries: Queries, allowed: Filter) -> int:
        """Return how many memories with a key are on the shelf of a filter."""

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        """Return for each set the records whose vectors are nearest to the unit `vector`, scored by cosine."""

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return for each set the cosine of `vector` with each of the given records that has a vector in it."""

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of some records: (chunks, dim), unit length, in the order of the record's text."""

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        """Return the entities with vectors of observations in a set, and their means: (entities, dim), unit length."""
