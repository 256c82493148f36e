"""Seed e: summaries of sessions are made by fixed rules, listed, found, deleted and made again."""

from typing import Any

import anyio
import pytest
from mcp import Client

from tests.clients import Agent, Json
from tests.seeds.journal import add, add_many, of, prompts, summaries, summarize

SCORES = ("quality", "productivity", "impact", "complexity")


def found(journal: Agent, query: str, **arguments: Any) -> list[str]:
    """Return the sessions whose summaries a query finds, best first."""
    return of(journal.ok("query_summaries", query=query, **arguments)["results"])


def processed(journal: Agent) -> list[str]:
    """Run summarize_sessions without naming a session, and return the summarized sessions."""
    result = journal.ok("summarize_sessions")
    assert result["processed"] == len(result["sessions"])
    return of(result["sessions"])


@pytest.fixture
def three(journal: Agent) -> Agent:
    """Return a journal with three summarized sessions."""
    add(journal, "Fix the crash in the Postgres pool.", "The pool waits for a free connection now.", "bug")
    add(journal, "Add a dark theme to the settings page in React.", "There is a switch for it.", "theme")
    add(journal, "Write the README.", "It explains the installation.", "readme")
    assert processed(journal) == ["bug", "theme", "readme"]
    return journal


# what a summary says -------------------------------------------------------------------------------------------------


def test_a_summary_has_the_fields_of_the_data_model(journal: Agent) -> None:
    add(journal, "Implement the MCP server configuration in Python. It reads TOML.", "Done with pytest.", "session_1")
    summary = summarize(journal, "session_1")
    assert summary == {
        "id": "summary_session_1",
        "sessionId": "session_1",
        "timestamp": summary["timestamp"],
        "title": "Implement the MCP server configuration in Python",
        "summary": summary["summary"],
        "category": "feature",
        "memoryCount": 1,
        **dict.fromkeys(SCORES),
        "technologies": ["mcp", "pytest", "python"],
    }
    assert summaries(journal) == [summary]


def test_a_summary_quotes_the_prompts_and_the_last_response(journal: Agent) -> None:
    add(journal, "Why is the build slow? It was fast on Monday.", "The cache is cold.", "s")
    add(journal, "Warm it every night.", "A job at two does that. It takes a minute.", "s")
    summary = summarize(journal)
    assert summary["title"] == "Why is the build slow?"
    assert summary["summary"] == "Also asked: Warm it every night. At the end: A job at two does that."


def test_a_summary_leaves_out_thanks_but_not_what_was_done_on_approval(journal: Agent) -> None:
    add(journal, "How deep is the trench?", "40 cm deep.")
    add(journal, "ok, go ahead", "The trench is marked.")
    add(journal, "thanks!", "You're welcome.")
    summary = summarize(journal)
    assert summary["summary"] == "At the end: The trench is marked."


def test_a_session_that_begins_with_a_greeting_is_called_after_what_was_asked(journal: Agent) -> None:
    add(journal, "hello", "Good morning.", "s")
    add(journal, "Why is the build slow?", "The cache is cold.", "s")
    add(journal, "Traceback (most recent call last):\nOSError: no space", "The disk was full.", "s")
    summary = summarize(journal)
    assert summary["title"] == "Why is the build slow?"
    assert summary["summary"] == "Also asked: Traceback (most recent call last): At the end: The disk was full."


def test_a_session_of_nothing_but_small_talk_is_called_after_its_beginning(journal: Agent) -> None:
    add(journal, "hello", "Good morning.", "s")
    add(journal, "thanks", "You're welcome.", "s")
    assert summarize(journal)["title"] == "hello"


def test_a_summary_of_one_prompt_does_not_repeat_its_title(journal: Agent) -> None:
    add(journal, "Why is the build slow? It was fast on Monday.", "The cache is cold.", "answered")
    add(journal, "Warm it every night. Each one.", "...", "unanswered")
    found = {one["sessionId"]: one["summary"] for one in journal.ok("summarize_sessions")["sessions"]}
    assert found["answered"] == "At the end: The cache is cold."
    assert "Warm it" not in found["unanswered"]


@pytest.mark.slow
def test_a_long_session_is_summarized_within_bounds(journal: Agent) -> None:
    longer = "about the harbour, with some more words to make it longer. "
    add_many(journal, (f"Question {number} {longer}" * 3 for number in range(120)))
    summary = summarize(journal)
    assert summary["memoryCount"] == 120
    assert "Question 0 " in summary["title"]
    assert "Question 1 " in summary["summary"]
    assert "Question 119 " in summary["summary"]
    assert len(summary["summary"]) < 2_500


CATEGORIES = {
    "bugfix": "Fix the login.",
    "refactoring": "Rename the module.",
    "testing": "Raise the coverage.",
    "documentation": "Improve the tutorial.",
    "performance": "The page is slow.",
    "deployment": "Deploy it on Friday.",
    "analysis": "Compare both libraries.",
    "feature": "Implement a dark theme.",
    "other": "Hello there.",
}


def test_the_category_comes_from_words(journal: Agent) -> None:
    for category, prompt in CATEGORIES.items():
        add(journal, prompt, session=category)
        assert summarize(journal, category)["category"] == category


def test_the_most_frequent_category_wins(journal: Agent) -> None:
    for text in ("Fix the login.", "Add a dark theme.", "Create a page for it."):
        add(journal, text)
    assert summarize(journal)["category"] == "feature"


def test_scores_are_null_without_a_model(three: Agent) -> None:
    """Scores need a model's judgement and are never guessed."""
    assert all(one[score] is None for one in summaries(three) for score in SCORES)


def test_the_turns_of_a_session_in_another_language_are_summarized(journal: Agent) -> None:
    add(journal, "\u4fee\u590d\u767b\u5f55\u9875\u9762。\u5b83\u5d29\u6e83\u4e86。", "\u597d\u7684。")
    assert "\u4fee\u590d" in summarize(journal)["title"]


# which sessions ------------------------------------------------------------------------------------------------------


def test_a_batch_takes_sessions_without_a_summary(three: Agent) -> None:
    assert processed(three) == []
    add(three, "Something new.", session="fourth")
    assert processed(three) == ["fourth"]


def test_a_batch_takes_sessions_with_new_turns(three: Agent) -> None:
    add(three, "And the pool of readers.", session="bug")
    assert processed(three) == ["bug"]
    (summary,) = (one for one in summaries(three) if one["sessionId"] == "bug")
    assert (summary["id"], summary["memoryCount"]) == ("summary_bug", 2)


def test_the_session_in_progress_is_left_alone_unless_named(journal: Agent) -> None:
    own = journal.ok("add_memory", prompt="Fix it.", thought="t", response="r")["sessionId"]
    assert processed(journal) == []
    assert summarize(journal, own)["sessionId"] == own


def test_summarizing_again_replaces_the_summary(journal: Agent) -> None:
    add(journal, "Fix it.")
    first, second = summarize(journal), summarize(journal)
    assert second["timestamp"] > first["timestamp"]
    assert summaries(journal) == [second]
    assert {**first, "timestamp": ""} == {**second, "timestamp": ""}


def test_an_unknown_session_cannot_be_summarized(journal: Agent) -> None:
    assert "no memories of the session 'unknown'" in journal.refused("summarize_sessions", sessionId="unknown")


def test_progress_is_reported(journal: Agent) -> None:
    """A client that asks for it gets notifications/progress."""
    for number in range(5):
        add(journal, "Something.", session=str(number))
    steps: list[tuple[float, float | None]] = []

    async def work(client: Client) -> None:
        finished = anyio.Event()

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, total))
            if progress == total:
                finished.set()

        await client.call_tool("summarize_sessions", {}, progress_callback=heard)
        await finished.wait()

    journal.ask(work)
    assert steps == sorted(steps)
    assert steps[0] == (0.0, 5.0)


# listing, finding, deleting ------------------------------------------------------------------------------------------


def test_summaries_are_listed_newest_first(three: Agent) -> None:
    assert of(summaries(three)) == ["readme", "theme", "bug"]
    summarize(three, "bug")
    assert of(summaries(three)) == ["bug", "readme", "theme"]


def test_summaries_are_listed_page_by_page(three: Agent) -> None:
    page = three.ok("get_all_summaries", limit=1, offset=1)
    assert (of(page["summaries"]), page["count"], page["total"]) == (["theme"], 1, 3)
    assert summaries(three, offset=3) == []


def test_summaries_are_filtered_by_category(three: Agent) -> None:
    page = three.ok("get_all_summaries", category="feature")
    assert (of(page["summaries"]), page["total"]) == (["theme"], 1)
    assert summaries(three, category="never heard of") == []


def test_a_query_finds_summaries(three: Agent) -> None:
    assert found(three, "crash of the Postgres pool")[0] == "bug"
    assert found(three, "installation README")[0] == "readme"


def test_a_query_accepts_a_category_and_a_number(three: Agent) -> None:
    assert "bug" not in found(three, "the Postgres pool or a dark theme", category="feature")
    assert len(found(three, "pool theme README", nResults=2)) == 2


def test_a_found_summary_has_every_field_and_a_score(three: Agent) -> None:
    result: Json = three.ok("query_summaries", query="dark theme")["results"][0]
    assert result["sessionId"] == "theme"
    assert 0 < result.pop("score") <= 1
    assert result in summaries(three)


def test_deleting_all_keeps_the_raw_memories(three: Agent) -> None:
    assert three.ok("delete_all_summaries")["deleted"] == 3
    assert summaries(three) == []
    assert found(three, "pool") == []
    assert prompts(three, "bug") == ["Fix the crash in the Postgres pool."]
    assert three.ok("delete_all_summaries")["deleted"] == 0


def test_deleted_summaries_are_made_again_with_the_same_ids(three: Agent) -> None:
    before = {one["id"] for one in summaries(three)}
    three.ok("delete_all_summaries")
    assert len(processed(three)) == 3
    assert {one["id"] for one in summaries(three)} == before


def test_searches_of_summaries_and_of_turns_are_separate(three: Agent) -> None:
    assert all(one["id"].startswith("summary_") for one in three.ok("query_summaries", query="pool")["results"])
    assert all(one["id"].startswith("mem_") for one in three.ok("query_raw_memories", query="pool")["results"])


def test_summaries_are_found_by_meaning(remembering: Agent) -> None:
    add(remembering, "Book a table for four on Friday.", "Reserved at the Italian place.", "dinner")
    add(remembering, "Which colour should the logo have?", "Dark green.", "logo")
    remembering.ok("summarize_sessions")
    remembering.settle()
    assert found(remembering, "restaurant reservation for the weekend")[0] == "dinner"


@pytest.mark.stores
def test_memory_recall_finds_turns_and_summaries_too(remembering: Agent) -> None:
    add(remembering, "Book a table for four on Friday.", "Reserved at the Italian place.", "dinner")
    remembering.ok("summarize_sessions")
    remembering.settle()
    asked = "table at the Italian place"
    for kind in ("interaction", "summary"):
        assert [one["kind"] for one in remembering.raw(asked, kinds=[kind])] == [kind]
    assert [one["kind"] for one in remembering.raw(asked)] == ["interaction"], "a summary only quotes its turns"
