"""Leases for work that only one process should do at a time, on either store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from memoryd.core.base import leases
from memoryd.core.engine import Engine
from tests.clients import database
from tests.core.kit import engine
from tests.store.kit import together

Open = Callable[[], Engine]


@pytest.fixture(params=["sqlite", "postgres"])
def open_one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens another engine on the same store, as another process would."""
    url = database(request.getfixturevalue("postgres"), tmp_path) if request.param == "postgres" else ""
    with ExitStack() as ends:

        def begin() -> Engine:
            opened = ends.enter_context(engine(tmp_path, **({"MEMORY_DATABASE_URL": url} if url else {})))
            opened.workspaces.ensure("default")
            return opened

        yield begin


@pytest.mark.slow
def test_one_process_has_a_lease_until_it_releases_it(open_one: Open) -> None:
    one, two = open_one().leases, open_one().leases
    assert one.take("work")
    assert one.take("work"), "taking it again renews it"
    assert not two.take("work")
    assert two.take("other work")
    two.release("work")  # it does not hold this lease
    assert not two.take("work")
    one.release("work")
    assert two.take("work")
    assert not one.take("work")


@pytest.mark.slow
def test_a_lease_runs_out_unless_it_is_renewed(
    open_one: Open, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    one, two = open_one().leases, open_one().leases
    assert one.take("work", 60)
    for _ in range(3):
        later(40)
        with two.alone("work", wait=0.1) as mine:
            assert not mine
        assert one.take("work", 60)
    later(61)
    assert two.take("work")
    assert not one.take("work")


def test_a_dead_process_with_a_wrong_clock_keeps_no_lease(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    died, ahead, two = open_one(), open_one(), open_one().leases
    for one, days in ((died, 5000), (ahead, 0.5)):
        wrong = one.clock.ago(timedelta(days=-days))
        monkeypatch.setattr(one.clock, "now", lambda time=wrong: time)
    assert died.leases.take("work")
    assert two.take("work")
    assert ahead.leases.take("other work")
    assert not two.take("other work"), "the holder may be alive, with a different clock"


def test_one_process_gets_the_time_that_was_noted_long_enough_ago(
    open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, age = open_one(), open_one(), timedelta(days=2)
    present = one.clock.ago(timedelta())
    ahead = {days: one.clock.ago(timedelta(days=-days)) for days in (1, 3, 5000)}

    def seen(of: Engine, time: str) -> str | None:
        monkeypatch.setattr(of.clock, "now", lambda: time)
        return of.leases.seen_before("work", age)

    assert seen(one, present) is None, "none was noted"
    assert seen(two, ahead[1]) is None
    assert seen(two, ahead[3]) == present
    assert seen(one, ahead[3]) is None, "the other process noted it"
    assert seen(one, ahead[5000]) == ahead[3]
    assert seen(two, ahead[3]) is None, "a clock was wrong"
    assert seen(two, ahead[5000]) == ahead[3], "and its time was replaced"


def test_only_one_of_many_gets_a_lease(open_one: Open) -> None:
    every = [open_one().leases for _ in range(4)]
    took: list[bool] = []
    assert together(lambda n: took.append(every[n % 4].take(f"work {n // 4}")), 16) == []
    assert sorted(took) == [False] * 12 + [True] * 4
