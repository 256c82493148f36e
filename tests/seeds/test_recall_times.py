"""Recall in time, through a client: bounds of what is searched, and questions that name a time."""

from datetime import datetime, timedelta

import pytest

from memoryd.core.base.clock import Clock, timestamp
from memoryd.core.search.briefing import UNSURE
from tests.clients import Agent
from tests.conftest import Start

NOON = datetime(2026, 11, 19, 12).astimezone()  # a Thursday, in the zone of this machine as questions are


class Hands:
    """Moves the clock of the servers in this process."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> str:
        self.time += timedelta(milliseconds=1)
        return timestamp(self.time)

    def back(self, days: float) -> None:
        """Go so many days back from noon."""
        self.time = NOON - timedelta(days=days)


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    moved = Hands()
    monkeypatch.setattr(Clock, "now", moved.now)
    return moved


OTHER = "Anna takes care of the licences, Tom of the backups and of the people who have to learn it. " * 3
STORED = {
    200: "The billing service runs on MySQL.",
    100: "The billing service has a read replica.",
    9: "Anna wants the billing service on Postgres.",
    1: "The billing service times out for large invoices.",
    0.1: "Tom restarted the billing service.",
}


@pytest.fixture
def filled(words: Agent, hands: Hands) -> Agent:
    """Return a memory without models, filled over the last 200 days."""
    for days, text in STORED.items():
        hands.back(days)
        words.store(text, tags=["even"] if days in (200, 9) else [])
    hands.back(0)
    return words


def dated(*days: float) -> list[str]:
    return [STORED[day] for day in days]


def day(back: float) -> str:
    return (NOON - timedelta(days=back)).strftime("%Y-%m-%d")


# after and before ----------------------------------------------------------------------------------------------------


BOUNDED: list[tuple[dict[str, str], list[float]]] = [
    ({"after": day(9)}, [9, 1, 0.1]),
    ({"after": day(8)}, [1, 0.1]),
    ({"before": day(9)}, [200, 100]),
    ({"before": day(8)}, [200, 100, 9]),
    ({"after": day(100), "before": day(0)}, [100, 9, 1]),
    ({"after": "2020-01-01", "before": "2020-02-01"}, []),
    ({"after": "2099-01-01"}, []),
    ({"after": timestamp(NOON - timedelta(days=9))}, [9, 1, 0.1]),
]


@pytest.mark.parametrize("query", ["billing service", "billing AND service", "What happened?"])
def test_only_what_was_stored_between_the_bounds_is_found(filled: Agent, query: str) -> None:
    for bounds, days in BOUNDED:
        assert sorted(filled.found(query, **bounds)) == sorted(dated(*days)), bounds


def test_bounds_combine_with_the_other_filters(filled: Agent) -> None:
    assert filled.found("billing", after=day(100), tags=["even"]) == dated(9)
    assert filled.found("billing", after=day(100), kinds=["entity"]) == []
    assert filled.found("anything", after=day(100), tags=["even"]) == dated(9)


def test_bounds_apply_to_a_past_time(start: Start, hands: Hands) -> None:
    server = start()
    for days in (200, 100, 9):
        hands.back(days)
        server.store(STORED[days])
    hands.back(0)
    server.ok("memory_forget", ids=[server.raw("billing", before=day(150))[0]["id"]])
    assert server.found("billing", before=day(150)) == []
    assert server.found("billing", before=day(150), as_of=day(50)) == dated(200), "deleted since"
    assert server.found("billing", after=day(150), as_of=day(50)) == dated(100)


@pytest.mark.long
def test_a_narrow_span_is_not_crowded_out(memory: Agent, hands: Hands) -> None:
    """The candidates of a search are the best hundred of all that the filter lets through, by words and by meaning."""
    hands.back(30)
    memory.store("The harbour needs a lamp and new ropes for the old boat by the mill.")
    hands.back(0)
    memory.store_all([f"The harbour lamp number {number}: the harbour lamp is lit." for number in range(105)])
    memory.settle()
    assert len(memory.found("harbour lamp", after=day(31), before=day(29))) == 1
    assert len(memory.found('"harbour" AND lamp', after=day(31), before=day(29))) == 1


def test_bounds_that_exclude_everything_are_refused(filled: Agent) -> None:
    refused = filled.refused("memory_recall", query="billing", after=day(1), before=day(2))
    assert day(1) in refused
    assert "not earlier than before" in refused
    assert "not earlier" in filled.refused("memory_recall", query="billing", after=day(1), before=day(1))
    assert "ISO 8601" in filled.refused("memory_recall", query="billing", after="last week")


def test_a_date_alone_is_its_midnight_here(filled: Agent, monkeypatch: pytest.MonkeyPatch, hands: Hands) -> None:
    midnight = datetime(2026, 11, 18).astimezone()
    hands.time = midnight
    first = filled.store("Stored at midnight.")
    hands.time = midnight - timedelta(minutes=1)
    last = filled.store("Stored before midnight.")
    hands.back(0)
    assert [memory["id"] for memory in filled.raw("stored at midnight", after="2026-11-18")] == [first]
    assert [memory["id"] for memory in filled.raw("stored at midnight", before="2026-11-18")] == [last]
    preview = filled.ok("memory_forget", before="2026-11-18", query="stored at midnight", dry_run=True)
    assert last in preview["ids"], "as for the tool that forgets"
    assert first not in preview["ids"]


# questions that name a time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What happened yesterday?", [1]),
        ("memories from last week", [9]),
        ("What changed in the last three days?", [0.1, 1]),
        ("What is new since the day before yesterday?", [0.1, 1]),
        ("What did we talk about before this month?", [100, 200]),
        ("What happened two years ago?", []),
    ],
)
def test_a_question_for_a_time_alone_gets_all_of_that_time(filled: Agent, question: str, days: list[float]) -> None:
    found = filled.raw(question)
    assert [memory["content"] for memory in found] == dated(*days), "the newest first"
    scores = [memory["score"] for memory in found]
    assert scores == sorted(scores, reverse=True)


def test_a_question_for_a_time_alone_keeps_to_its_filters(filled: Agent) -> None:
    assert filled.found("What happened before today?", tags=["even"]) == dated(9, 200)
    assert filled.found("What happened before today?", kinds=["entity"]) == []
    assert filled.found("What happened before today?", after=day(50)) == dated(0.1, 1, 9), "given bounds count"


def test_a_named_time_lifts_what_is_of_it(filled: Agent) -> None:
    for question, day_ in (("yesterday", 1), ("last week", 9), ("this morning", 0.1)):
        found = filled.raw(f"What about the billing service {question}?")
        assert found[0]["content"] == STORED[day_], question
        assert len(found) == len(STORED), "it excludes nothing"
        assert [memory["why"]["time"] == 1 for memory in found] == [True] + [False] * (len(STORED) - 1)
    assert "time" not in filled.raw("What about the billing service?")[0]["why"]


def test_a_time_that_is_asked_for_does_not_push_the_answer_down(memory: Agent, hands: Hands) -> None:
    facts = {
        60: "The planning meeting is on Mondays at 10:00 in room 4.",
        80: "Flight LH 1234 to Lisbon on 3 October at 09:40.",
        90: "Mother's birthday is on 19 November.",
        100: "The launch of version 5 is planned for July 2027.",
    }
    for days, text in facts.items():
        hands.back(days)
        memory.store(text)
    for other in (3, 0.1, 47, 130):  # Monday, today, 3 October, July
        for number in range(3):
            hands.back(other)
            memory.store(f"Moved crate {number + other} to the shelf after the planning round.")
    hands.back(0)
    memory.settle()
    for question, days in (
        ("When is the meeting on Monday?", 60),
        ("Which flight do I have on 3 October?", 80),
        ("Whose birthday is on 19 November?", 90),
        ("What is planned for July?", 100),
    ):
        assert memory.found(question)[0] == facts[days], question


def test_a_named_time_brings_what_others_crowded_out(words: Agent, hands: Hands) -> None:
    hands.back(40)
    kept = words.store(f"After long talks we decided on Postgres as the database of the ledger. {OTHER}")
    hands.back(0)
    words.store_all([f"We decided about database number {number}." for number in range(105)])
    asked = "What did we decide about the database"
    assert kept not in [memory["id"] for memory in words.raw(f"{asked}?")]
    assert kept in [memory["id"] for memory in words.raw(f"{asked} in October?")]


def test_what_was_noted_the_day_after_is_no_sure_answer(memory: Agent, hands: Hands) -> None:
    call = "Our dentist is Dr. Weber, phone 0341 55512."
    hands.back(1)
    memory.store("The plumber called about the boiler.")
    hands.back(0)
    memory.store_all([call, "I drink coffee without sugar.", "The cat only eats dry food."])
    answer = memory.text("memory_recall", query="Who called yesterday?")
    assert "The plumber called" in answer
    assert UNSURE not in answer
    eaten = memory.text("memory_recall", query="What did I eat yesterday?")
    assert "coffee" not in eaten or UNSURE in eaten


def test_operators_and_phrases_name_no_time(filled: Agent) -> None:
    assert filled.found('"yesterday"') == []
    assert len(filled.found("billing NOT yesterday")) == len(STORED)


def test_what_was_stored_at_a_time_is_newest_first_whatever_its_tags(filled: Agent, hands: Hands) -> None:
    for days, tags in ((3, ["garden"]), (2, []), (1.5, ["garden"])):
        hands.back(days)
        filled.store(f"Noted {days} days ago.", tags=tags)
    hands.back(0)
    for form in ("summary", "list"):
        text = filled.text("memory_recall", query="What happened in the last three days?", format=form)
        assert [text.index(f"Noted {days} days") for days in (1.5, 2, 3)] == sorted(
            text.index(f"Noted {days} days") for days in (1.5, 2, 3)
        )
        assert "garden" not in text
