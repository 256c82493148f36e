"""Memories decay: by age, slower if they are important or recalled."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryd.core.base.clock import timestamp
from memoryd.core.maintenance.decay import vitality
from memoryd.model import Kind, Record

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def remembered(days: float, importance: float = 0.5, recalls: int = 0) -> Record:
    then = timestamp(NOW - timedelta(days=days))
    return Record(
        id="1",
        kind=Kind.MEMORY,
        body="",
        updated_at=then,
        importance=importance,
        access_count=recalls,
        accessed_at=timestamp(NOW) if recalls else None,
    )


@pytest.mark.parametrize(("days", "importance", "expected"), [(0, 0.5, 1), (90, 0.5, 0.5), (180, 1, 0.5), (9, 0, 0.5)])
def test_vitality_halves_with_age_and_importance(days: float, importance: float, expected: float) -> None:
    assert vitality(remembered(days, importance), NOW) == pytest.approx(expected)


@pytest.mark.parametrize(("recalls", "more"), [(0, 0), (1, 0.03), (10, 0.3), (100, 0.4)])
def test_recalled_memories_decay_more_slowly(recalls: int, more: float) -> None:
    alive = vitality(remembered(90, recalls=recalls), NOW)
    assert alive == pytest.approx(0.5 + more)
