"""Vectors of two embedders side by side, in one row: those of different embedders then have the cosine 0."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from memoryd.core.records.spaces import Compared
from memoryd.store.base import Vector


def joint(compared: Sequence[Compared]) -> Vector:
    """Return the vector of a question for `joined` vectors: those of all its embedders, one after the other."""
    by_embedder = {one.embedder.name: one.vector for one in compared}
    return np.concatenate(list(by_embedder.values()))


def joined(compared: Sequence[Compared], found: Sequence[Mapping[str, Vector]]) -> dict[str, Vector]:
    """Return the vectors of records as rows with a place for each embedder, of which all but its own are 0."""
    names = list(dict.fromkeys(one.embedder.name for one in compared))
    if len(names) == 1:
        return {key: vectors for part in reversed(found) for key, vectors in part.items()}
    width = len(compared[0].vector)
    rows: dict[str, Vector] = {}
    for one, part in reversed(list(zip(compared, found, strict=True))):
        before = width * names.index(one.embedder.name)
        for key, vectors in part.items():
            rows[key] = np.zeros((len(vectors), width * len(names)), np.float32)
            rows[key][:, before : before + width] = vectors
    return rows


def widened(found: Mapping[str, Vector], width: int) -> dict[str, Vector]:
    """Return vectors of the first embedder as rows of this width, with places for those of others."""
    return {key: np.pad(vectors, ((0, 0), (0, width - vectors.shape[1]))) for key, vectors in found.items()}


def parts(compared: Sequence[Compared], vectors: Vector) -> Iterator[tuple[str, Vector]]:
    """Yield the sets in which the nearest to `joined` vectors are looked for, and these vectors without the zeros."""
    names = list(dict.fromkeys(one.embedder.name for one in compared))
    width = vectors.shape[1] // len(names)
    for one in compared:
        place = width * names.index(one.embedder.name)
        own = vectors[:, place : place + width]
        if own.any():
            yield one.model, own
