"""Seed e: turns are kept verbatim, read in order, and found by their content."""

import re
import threading

import pytest

from memoryd.settings import SESSION_LENGTH
from tests.clients import Agent
from tests.conftest import Start
from tests.seeds.journal import add, add_many, found, memories, prompts

HUGE = "".join(f"Paragraph {number} of a long text about weather. " for number in range(2_200))
TEXTS = [
    "plain",
    " blanks around \n",
    "line\r\nbreaks\n\n\nin it",
    "Grüße, 世界, \U0001f680, e\u0301",
    '{"a": [1, null]}',
    "-- name: x; DROP TABLE records",
    "\x01\x7f",
    "a\n\nb\n\nc",
    HUGE,
]


@pytest.mark.slow
def test_a_turn_comes_back_verbatim(journal: Agent) -> None:
    for number, text in enumerate(TEXTS):
        add(journal, text, text[::-1], str(number), thought=f"{text}{text}")
        (turn,) = memories(journal, str(number))
        assert (turn["prompt"], turn["thought"], turn["response"]) == (text, text + text, text[::-1])


def test_a_turn_has_the_fields_of_the_data_model(journal: Agent) -> None:
    result = journal.ok("add_memory", prompt="p", thought="t", response="r", sessionId="session_1696800000000")
    (turn,) = memories(journal, "session_1696800000000")
    assert turn == {
        "id": f"mem_{turn['timestamp']}",
        "sessionId": "session_1696800000000",
        "timestamp": result["timestamp"],
        "prompt": "p",
        "thought": "t",
        "response": "r",
        "type": "agent-interaction",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", turn["timestamp"])
    assert (result["id"], result["sessionId"]) == (turn["id"], turn["sessionId"])


def test_without_a_session_id_one_is_generated_and_kept(journal: Agent) -> None:
    added = [journal.ok("add_memory", prompt=text, thought="t", response="r") for text in ("one", "two")]
    first, second = (one["sessionId"] for one in added)
    assert first == second
    assert first.startswith("session_")
    assert prompts(journal, first) == ["one", "two"]


def test_the_session_of_a_client_with_the_longest_id_can_be_used(start: Start) -> None:
    journal = start("--toolsets", "journal", MEMORY_MCP_SESSION_ID="x" * SESSION_LENGTH)
    session = journal.ok("add_memory", prompt="one", thought="t", response="r")["sessionId"]
    assert prompts(journal, session) == ["one"]
    exported = journal.ok("export_database")["file"]
    assert journal.ok("import_database", file=exported, mode="replace")["memories"] == 1


def test_two_clients_have_separate_sessions(start: Start) -> None:
    added = [start("--toolsets", "journal").ok("add_memory", prompt="p", thought="t", response="r") for _ in range(2)]
    assert added[0]["sessionId"] != added[1]["sessionId"]


def test_a_session_is_read_in_chronological_order(journal: Agent) -> None:
    wanted = [f"turn {number}" for number in range(12)]
    for text in wanted:
        add(journal, text)
    assert prompts(journal) == wanted


def test_a_session_is_read_page_by_page(journal: Agent) -> None:
    for number in range(7):
        add(journal, f"turn {number}")
    add(journal, "elsewhere", session="other")
    page = journal.ok("get_session_memories", sessionId="s", limit=3, offset=3)
    assert [one["prompt"] for one in page["memories"]] == ["turn 3", "turn 4", "turn 5"]
    assert (page["count"], page["total"], page["sessionId"]) == (3, 7, "s")
    assert prompts(journal, limit=1000, offset=6) == ["turn 6"]
    assert prompts(journal, offset=10**9) == []


@pytest.mark.slow
def test_a_hundred_turns_are_read_by_default(journal: Agent) -> None:
    add_many(journal, map(str, range(101)))
    assert len(prompts(journal)) == 100
    assert len(prompts(journal, limit=101)) == 101


def test_an_unknown_session_is_empty(journal: Agent) -> None:
    result = journal.ok("get_session_memories", sessionId="unknown")
    assert result == {"sessionId": "unknown", "count": 0, "total": 0, "memories": []}


def test_concurrently_added_turns_are_all_kept(journal: Agent) -> None:
    def several(worker: int) -> None:
        for number in range(5):
            add(journal, f"{worker}/{number}", session="crowd")

    threads = [threading.Thread(target=several, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = memories(journal, "crowd")
    assert {turn["prompt"] for turn in turns} == {f"{worker}/{number}" for worker in range(8) for number in range(5)}
    assert len({turn["id"] for turn in turns}) == 40


# finding -------------------------------------------------------------------------------------------------------------


TURNS = {
    "How do I speed up the nightly backup?": "Use incremental snapshots; a full copy is made on Sundays.",
    "Which colour should the logo have?": "Dark green goes with the rest of the site.",
    "Why does the login page crash in Safari?": "The cookie is set without SameSite; I fixed the header.",
    "Book a table for four on Friday.": "Reserved at the Italian place at eight.",
}


@pytest.fixture
def talked(journal: Agent) -> Agent:
    for number, (prompt, response) in enumerate(TURNS.items()):
        add(journal, prompt, response, session=f"s{number % 2}")
    return journal


QUESTIONS = {"login crash in Safari": 2, "nightly backup snapshots": 0, "logo dark green": 1, "Italian table": 3}


def test_a_query_finds_the_turn(talked: Agent) -> None:
    for query, number in QUESTIONS.items():
        assert found(talked, query)[0] == list(TURNS)[number]


def test_a_turn_is_found_by_its_thought_and_response(journal: Agent) -> None:
    add(journal, "Anything new?", "The marmalade arrived.", thought="He likes quinces.")
    assert found(journal, "marmalade") == ["Anything new?"]
    assert found(journal, "quinces") == ["Anything new?"]


def test_results_have_every_field_and_falling_scores(talked: Agent) -> None:
    result = talked.ok("query_raw_memories", query="the backup and the login page")
    scores = [one["score"] for one in result["results"]]
    assert result["query"] == "the backup and the login page"
    assert result["count"] == len(scores) > 0
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    fields = {"id", "sessionId", "timestamp", "prompt", "thought", "response", "type", "score"}
    assert all(set(one) == fields for one in result["results"])


def test_n_results_bounds_the_results(journal: Agent) -> None:
    for number in range(15):
        add(journal, f"The harbour at noon, day {number}.")
    assert len(found(journal, "harbour noon", nResults=3)) == 3
    assert len(found(journal, "harbour noon")) == 10


def test_a_session_id_scopes_the_search(talked: Agent) -> None:
    assert found(talked, "login crash in Safari", sessionId="s0")[0] == list(TURNS)[2]
    assert list(TURNS)[2] not in found(talked, "login crash in Safari", sessionId="s1")
    assert found(talked, "login crash", sessionId="unknown") == []


@pytest.mark.slow
def test_a_rare_session_is_found_among_many(journal: Agent) -> None:
    """The session filter applies before candidates are cut off."""
    add(journal, "The harbour in winter.", session="rare")
    add_many(journal, (f"The harbour in winter, {number}." for number in range(130)), "common")
    assert found(journal, "harbour winter", sessionId="rare") == ["The harbour in winter."]


def test_a_repeated_turn_is_a_turn_too(journal: Agent) -> None:
    for session in ("one", "two"):
        add(journal, "Run the tests.", "All of them pass.", session=session)
    assert found(journal, "run the tests") == ["Run the tests."] * 2


def test_nothing_is_found_in_an_empty_journal(journal: Agent) -> None:
    assert journal.ok("query_raw_memories", query="anything") == {"query": "anything", "count": 0, "results": []}


@pytest.mark.stores
def test_turns_are_found_by_meaning(remembering: Agent) -> None:
    for prompt, response in TURNS.items():
        add(remembering, prompt, response)
    remembering.settle()
    assert found(remembering, "Where do we eat at the weekend?")[0] == "Book a table for four on Friday."
    assert found(remembering, "authentication fails on Apple's browser")[0] == list(TURNS)[2]


def test_a_long_turn_is_found_by_its_end(remembering: Agent) -> None:
    """Long texts are embedded in chunks and never cut."""
    add(remembering, "Summarize the report.", HUGE[:4_000] + "The zebra had escaped from the zoo at night.")
    for prompt, response in TURNS.items():
        add(remembering, prompt, response)
    remembering.settle()
    assert found(remembering, "zebra escaped from the zoo")[0] == "Summarize the report."


def test_a_turn_is_forgotten_only_by_its_id(remembering: Agent) -> None:
    first, second = add(remembering, "My card ends in 4711."), add(remembering, "Hello.")
    remembering.ok("memory_forget", query="My card ends in 4711.", confirm=True)
    assert len(prompts(remembering)) == 2
    assert remembering.ok("memory_forget", ids=[first])["forgotten"] == 1
    assert [one["id"] for one in memories(remembering)] == [second]
    assert "My card ends in 4711." not in found(remembering, "card 4711")


def test_a_session_that_lost_a_turn_and_gained_one_is_summarized_again(remembering: Agent) -> None:
    first, _ = add(remembering, "My card ends in 4711."), add(remembering, "Hello.")
    assert remembering.ok("summarize_sessions")["processed"] == 1
    remembering.ok("memory_forget", ids=[first])
    assert remembering.ok("summarize_sessions")["processed"] == 0
    add(remembering, "Fix the login.")
    (summary,) = remembering.ok("summarize_sessions")["sessions"]
    assert (summary["title"], "4711" in summary["summary"]) == ("Fix the login", False)


def test_the_last_sessions_are_in_the_briefing(remembering: Agent) -> None:
    add(remembering, "Which port?", "Port 5433.", "sunday")
    add(remembering, "Fix the login.", "It works now.", "monday")
    remembering.ok("summarize_sessions")
    shown = remembering.text("memory_context")
    assert "## Last sessions\n- [summary_monday] Fix the login: At the end: It works now. (" in shown
    assert "\n- [summary_sunday] Which port? At the end: Port 5433. (" in shown
