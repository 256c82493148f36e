"""Times: one format, strictly increasing, with any offset understood."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memoryd.core.base.clock import FOREVER, Clock, bound, day, hours_since, minute, moment, timestamp
from memoryd.errors import InvalidInputError
from tests.store.kit import together

FORMAT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")


def test_each_time_is_later_than_the_previous_one_in_all_threads() -> None:
    clock, given = Clock(), list[list[str]]()

    def work(_number: int) -> None:
        given.append([clock.now() for _ in range(200)])

    assert together(work, 8) == []
    assert all(times == sorted(set(times)) for times in given)
    every = [time for times in given for time in times]
    assert len(set(every)) == len(every) == 1600
    assert all(FORMAT.fullmatch(time) for time in every)


def test_the_clock_follows_real_time() -> None:
    before = timestamp(datetime.now(UTC))
    now = Clock().now()
    assert before <= now <= timestamp(datetime.now(UTC) + timedelta(seconds=1))
    assert now < FOREVER


@pytest.mark.parametrize(("ahead", "follows"), [(timedelta(days=5000), True), (timedelta(hours=12), False)])
def test_a_clock_that_was_far_ahead_is_right_again(ahead: timedelta, *, follows: bool) -> None:
    clock = Clock()
    clock._last = datetime.now(UTC) + ahead  # the machine's clock was wrong, and was set back
    first, second = clock.now(), clock.now()
    assert first < second
    assert (first <= timestamp(datetime.now(UTC) + timedelta(seconds=1))) is follows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-04T05:06:07.089Z", "2026-03-04T05:06:07.089Z"),
        ("2026-03-04T05:06:07Z", "2026-03-04T05:06:07.000Z"),
        ("2026-03-04T05:06:07+02:00", "2026-03-04T03:06:07.000Z"),
        ("2026-03-04T00:30:00-09:30", "2026-03-04T10:00:00.000Z"),
        ("2026-03-04", "2026-03-04T00:00:00.000Z"),
        ("2026-03-04 05:06", "2026-03-04T05:06:00.000Z"),
        (" 2026-03-04T05:06:07.123456Z ", "2026-03-04T05:06:07.123Z"),
        ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"),
    ],
)
def test_times_are_read_with_their_offset(text: str, expected: str) -> None:
    assert timestamp(moment(text)) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "0001-01-01T00:00+14:00", "12", "٢٠٢٦-٠٣"]
)
def test_a_malformed_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not an ISO 8601 time"):
        moment(text)


@pytest.mark.parametrize("text", ["0999-01-01", "0001-01-02"])
def test_stored_times_sort_as_text_whatever_the_year(text: str) -> None:
    assert FORMAT.fullmatch(timestamp(moment(text)))


def test_hours_are_never_negative() -> None:
    assert hours_since("2026-03-04T00:00:00.000Z", moment("2026-03-05T12:00:00.000Z")) == 36
    assert hours_since("2026-03-05T00:00:00.000Z", moment("2026-03-04T00:00:00.000Z")) == 0


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that moves this process into a zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
def test_a_date_is_that_of_this_machine(in_zone: Callable[[str], None]) -> None:
    for zone, shown in (("UTC", "2026-03-04"), ("Asia/Tokyo", "2026-03-05"), ("America/Sao_Paulo", "2026-03-04")):
        in_zone(zone)
        assert day("2026-03-04T23:30:00.000Z") == shown, zone
        for date in ("2026-03-04", "2026-07-14"):
            assert day(bound(date)) == date, "a note of this day is shown with it"
    for zone, shown in (("UTC", "2026-03-04 23:30Z"), ("Asia/Tokyo", "2026-03-05 08:30+09:00")):
        in_zone(zone)
        assert minute("2026-03-04T23:30:59.999Z") == shown, "its date is that of the day"
        assert timestamp(moment(shown)) == "2026-03-04T23:30:00.000Z"
    in_zone("America/Sao_Paulo")
    assert minute("0001-01-01T00:00:00.000Z") == "0001-01-01 00:00Z"
    assert day("0001-01-01T00:00:00.000Z") == "0001-01-01", "there is no day before"
