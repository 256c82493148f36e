"""Splits many items into batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], number: int) -> Iterator[list[T]]:
    """Yield the items in lists of `number`; the last one may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, number)):
        yield batch
