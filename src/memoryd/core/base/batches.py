"""Splits many items into batches."""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


def _one(_item: object) -> int:
    return 1


def batches(items: Iterable[T], most: int, weigh: Callable[[T], int] = _one) -> Generator[list[T]]:
    """Yield the items in lists that weigh `most`, or more by their last item only; the last list may weigh less."""
    batch: list[T] = []
    weight = 0
    for item in items:
        batch.append(item)
        weight += weigh(item)
        if weight >= most:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch
