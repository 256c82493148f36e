"""Seed d, its tools sentence by sentence, through a real client and a real server. The quotes are the seed's."""

import json
import math
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from memoryd import prompts
from tests.clients import Agent, text_of, until
from tests.conftest import Start

FACTS = (
    "The staging database runs on port 5433.",
    "Maria leads the billing team since March 2026.",
    "Deployments happen on Tuesdays after the stand-up.",
    "The user prefers tabs over spaces in every editor.",
    "Our office cat is called Miso.",
    "Invoices are archived for ten years.",
    "The build cache lives on an NVMe disk in Dublin.",
)


def tokens(text: str) -> int:
    return math.ceil(len(text) / 4)


def ages_ago(path: Path, record_id: str, days: float) -> None:
    """Make a memory older than it is."""
    then = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    connection.execute("UPDATE records SET created_at = ?1, updated_at = ?1 WHERE id = ?2", (then, record_id))
    assert connection.changes() == 1
    connection.close()


# "Single command, single file: one .db file to back up" ----------------------------------------------------------------


def test_one_file_holds_everything(start: Start, home: Path) -> None:
    # "MEMORY_DB_PATH": "~/.local/share/memory-mcp/default.db"
    first = start(MEMORY_DB_PATH="~/.local/share/memory-mcp/default.db")
    first.store(FACTS[0])
    directory = home / ".local/share/memory-mcp"
    assert {path.name.split("-")[0] for path in directory.iterdir()} == {"default.db"}
    assert not list((home / "data").glob("*.db")), "the data directory holds no second database"
    assert start(MEMORY_DB_PATH=str(directory / "default.db")).found("staging") == [FACTS[0]]


def test_memories_outlive_the_process(home: Path, start: Start) -> None:
    # "A persistent memory server for LLM agents"
    first = start()
    kept = first.store(FACTS[0], tags=["infra"], importance=0.8)
    first.ok("memory_recall", query="staging")
    second = start()
    (memory,) = second.raw("staging")
    assert (memory["id"], memory["content"], memory["tags"], memory["importance"]) == (kept, FACTS[0], ["infra"], 0.8)


def test_namespaces_share_one_database_without_cross_contamination(home: Path, start: Start) -> None:
    # "multiple agents or projects share one database without cross-contamination"
    path = str(home / "shared.db")
    one, two = (start(MEMORY_DB_PATH=path, MEMORY_NAMESPACE=name) for name in ("agent one", "агент-2"))
    mine, theirs = one.store("The secret word is swordfish", tags=["x"]), two.store("The secret word is trout", tags=["x"])
    assert one.found("secret word") == ["The secret word is swordfish"]
    assert two.found("secret word", tags=["x"]) == ["The secret word is trout"]
    assert "trout" not in one.said("memory_context", task="secret word")
    assert one.ok("memory_inspect", ids=[theirs])["not_found"] == [theirs]
    assert [memory["id"] for memory in one.ok("memory_inspect", view="export")["memories"]] == [mine]
    assert one.ok("memory_inspect", view="tags")["tags"] == {"x": 1}
    assert one.ok("memory_forget", ids=[theirs])["forgotten"] == 0
    assert one.store("The secret word is trout") != theirs, "a duplicate in another namespace is none"
    assert one.ok("memory_forget", before="9999-01-01", confirm=True)["forgotten"] == 2
    assert two.whole(theirs)[0]["content"] == "The secret word is trout"
    assert (one.stats()["workspace"], two.stats()["workspace"]) == ("agent one", "агент-2")
    workspace = connection_value(Path(path), "SELECT id FROM projects WHERE name = 'агент-2'").replace("-", "")
    for attack in (f"scope_tokens: w{workspace}", f'"w{workspace}"', f"w{workspace} OR secret", f"trout) OR (w{workspace}"):
        assert one.found(attack) == [], attack


def connection_value(path: Path, query: str) -> str:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    (value,) = connection.execute(query).fetchone()
    connection.close()
    return str(value)


def test_two_processes_see_each_others_memories_at_once(home: Path, start: Start, model_dir: Path) -> None:
    one, two = start(models=model_dir), start(models=model_dir)
    one.store(FACTS[4])
    one.settle()
    two.store(FACTS[5])
    two.settle()
    assert one.found("pet") == [FACTS[4]], "by meaning"
    assert two.found("Miso") == [FACTS[4]], "by words"
    one.clear()
    assert two.found("Miso") == []


# memory_store ----------------------------------------------------------------------------------------------------------


def test_store_and_recall(memory: Agent) -> None:
    # "Store a memory for later retrieval."
    stored = memory.ok("memory_store", content=FACTS[0])
    assert uuid.UUID(stored["id"]).version == 4
    assert stored["status"] == "stored"
    (found,) = memory.raw("Which port has the staging database?")
    assert found["id"] == stored["id"]
    assert found["importance"] == 0.5  # "Default 0.5."
    assert found["tags"] == []


def test_the_text_names_the_id(words: Agent) -> None:
    result = words.call("memory_store", {"content": FACTS[0]})
    assert result.structured_content is not None
    assert result.structured_content["id"] in text_of(result)


@pytest.mark.parametrize(
    "content",
    [
        "x",
        "  kept with its blanks \n\n and lines\t",
        "Zoë’s naïve café — déjà vu",
        "Zoe\u0308 in decomposed letters",
        "数据库端口是5433。ポートは五四三三です。",
        "العربية מימין לשמאל \u202eoverride",
        "👩🏽‍💻👨‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿 💥",
        '{"json": ["in", "a", \'text\'], "n": null} \\n \\u0000',
        "'; DROP TABLE records; -- %s ${x} {{y}} <script>alert(1)</script>",
        "a\x01\x1f\x7f\x85\u2028\u2029\ufeffb",
        "\ufffe\uffff\U0010ffff edge of Unicode",
        "\r\nWindows\r\nlines\r\n",
        "word " * 2_000,
        "x" * 10_000,
        "💥" * 10_000,
    ],
    ids=lambda content: ascii(content[:12]),
)
def test_texts_are_kept_verbatim(words: Agent, content: str) -> None:
    assert words.whole(words.store(content))[0]["content"] == content


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n\t"}, "content"),
        ({"content": "x" * 10_001}, "content"),
        ({"content": "x", "importance": 1.01}, "importance"),
        ({"content": "x", "importance": -0.01}, "importance"),
        ({"content": "x", "tags": [""]}, "tags"),
        ({"content": "x", "tags": ["t" * 101]}, "tags"),
        ({"content": "x", "tags": [f"t{i}" for i in range(51)]}, "tags"),
    ],
)
def test_store_refuses_and_names_the_argument(words: Agent, arguments: dict[str, object], named: str) -> None:
    assert named in words.refused("memory_store", **arguments)
    assert words.stats()["total"] == 0


def test_store_takes_its_limits(words: Agent) -> None:
    tags = [f"{i:02}" + "t" * 98 for i in range(50)]
    for importance in (0, 1, 0.0, 1.0):
        kept = words.store(f"importance {importance!r}", tags=tags, importance=importance)
        assert words.whole(kept)[0]["importance"] == importance
        assert sorted(words.whole(kept)[0]["tags"]) == tags


@pytest.mark.parametrize(
    "again",
    [
        "The staging database runs on port 5433.",
        "the staging database runs on port 5433",
        "  The staging  database runs on port 5433!\n",
        "Staging database runs on the port 5433.",
        "“The staging database runs on port 5433”",
    ],
)
def test_near_exact_duplicates_are_merged(memory: Agent, again: str) -> None:
    # "Check for near-exact duplicates - auto-merge, no LLM"
    first = memory.store(FACTS[0], tags=["infra", "db"], importance=0.9)
    merged = memory.ok("memory_store", content=again, tags=["db", "staging"], importance=0.2)
    assert merged == {"id": first, "status": "merged"}
    (only,) = memory.raw("staging database port")
    assert sorted(only["tags"]) == ["db", "infra", "staging"]
    assert only["importance"] == 0.9
    assert memory.stats()["total"] == 1
    assert memory.found("anything", tags=["staging", "infra"]) == [only["content"]]


def test_near_duplicates_by_cosine_are_merged(memory: Agent) -> None:
    # "(cosine distance < 0.05)": another form of a word, every number, name and negation the same
    first = memory.store("The user likes to drink strong coffee with milk for breakfast.")
    merged = memory.ok("memory_store", content="The user likes drinking strong coffee with milk for breakfast.")
    assert merged == {"id": first, "status": "merged"}


# memory_recall ---------------------------------------------------------------------------------------------------------


def test_tags_mean_all_of_them(memory: Agent) -> None:
    # "Filter to memories with ALL these tags"
    for tags in ("a", "b", "c", "ab", "bc", "abc"):
        memory.store(f"The report {tags} is due", tags=list(tags))
    assert set(memory.found("report", tags=["a", "b"])) == {"The report ab is due", "The report abc is due"}
    assert set(memory.found("report", tags=["b", "b"])) >= {"The report b is due", "The report abc is due"}
    assert memory.found("report", tags=["a", "unknown"]) == []
    assert memory.found("report", tags=["A"]) == [], "a tag is itself, not its like"


def test_a_rare_tag_is_found_among_many_better_matches(memory: Agent) -> None:
    for i in range(120):
        memory.store(f"The deployment report number {i} mentions the deployment", tags=["common"])
    rare = memory.store("Something about the deployment that somebody once said in a long meeting", tags=["rare"])
    assert [found["id"] for found in memory.raw("deployment report", tags=["rare"])] == [rare]


def test_summary_is_the_default_and_clusters(memory: Agent) -> None:
    # "summary: ... (falls back to extractive clusters without LLM)"
    for place in ("Lisbon", "Porto", "Faro"):
        memory.store(f"The travel plan has two nights in {place}", tags=["travel"])
    for what in ("flights", "trains"):
        memory.store(f"The travel plan's budget for {what} is 400 euros", tags=["money"])
    answer = memory.ok("memory_recall", query="travel plan")
    assert answer["format"] == "summary"
    lines = answer["text"].splitlines()
    assert {"travel:", "money:"} <= set(lines)
    start = lines.index("travel:")
    assert all("nights" in line for line in lines[start + 1 : start + 4])


def test_list_has_dates_and_importance(memory: Agent) -> None:
    # "list: Bullet list with dates and importance scores"
    memory.store(FACTS[0], importance=0.8)
    today = memory.whole(memory.store(FACTS[1]))[0]["created_at"][:10]
    text = memory.said("memory_recall", query="port of the staging database", format="list")
    assert f"- [{today}, importance 0.8] {FACTS[0]}" in text.splitlines()
    assert all(re.match(r"- \[\d{4}-\d\d-\d\d, importance [\d.]+\] ", line) for line in text.splitlines())


def test_raw_has_all_metadata(memory: Agent) -> None:
    # "raw: Full JSON with all metadata"
    memory.store(FACTS[0], tags=["infra"], importance=0.8)
    (found,) = memory.raw("staging database")
    whole = {"id", "kind", "key", "content", "tags", "importance", "score", "created_at", "accessed_at", "access_count"}
    assert whole <= set(found)
    assert (found["kind"], found["key"], found["content"], found["tags"]) == ("memory", None, FACTS[0], ["infra"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["created_at"])


def test_answer_falls_back_to_list(memory: Agent) -> None:
    # "answer: ... (falls back to list without LLM)"
    memory.store_all(FACTS)
    answer = memory.ok("memory_recall", query="Who leads billing?", format="answer")
    assert answer["text"] == memory.said("memory_recall", query="Who leads billing?", format="list")
    assert answer["format"] == "answer"


@pytest.mark.parametrize("form", ["summary", "list", "raw", "answer"])
def test_structured_content_agrees_with_the_text(memory: Agent, form: str) -> None:
    memory.store_all(FACTS)
    result = memory.call("memory_recall", {"query": "database", "format": form})
    answer = result.structured_content
    assert answer is not None
    assert answer["text"] == text_of(result)
    assert answer["tokens_used"] == tokens(answer["text"]) <= 500
    scores = [found["score"] for found in answer["memories"]]
    assert scores
    assert scores == sorted(scores, reverse=True)
    bodies = [memory.whole(found["id"])[0]["content"] for found in answer["memories"]]
    assert all(body in answer["text"] for body in bodies)


@pytest.mark.parametrize("form", ["summary", "list", "raw", "answer"])
def test_every_budget_is_respected(words: Agent, form: str) -> None:
    # "Returns formatted results within a token budget." tokens = characters / 4, rounded up
    for i in range(12):
        words.store(f"Report {i} of the budget committee: " + "every figure was read aloud and nobody objected. " * i)
    words.store("Budget.")
    for budget in (1, 2, 3, 5, 6, 7, 8, 10, 12, 15, 20, 29, 30, 31, 40, 60, 80, 100, 200, 500, 1_000, 5_000, 50_000):
        answer = words.ok("memory_recall", query="budget report", format=form, token_budget=budget)
        assert tokens(answer["text"]) <= budget, f"{budget}: {answer['text']!r}"
        assert answer["tokens_used"] == tokens(answer["text"])
        assert len(answer["memories"]) + answer["omitted"] == 13


@pytest.mark.parametrize("budget", [1, 5, 7, 10, 20])
def test_what_does_not_fit_is_not_called_missing(words: Agent, budget: int) -> None:
    words.store("Report of the budget committee: " + "nobody objected. " * 50)
    answer = words.ok("memory_recall", query="budget", format="raw", token_budget=budget)
    assert answer["omitted"] == 1
    assert "No relevant memories" not in answer["text"]


def test_a_small_budget_still_gets_the_heart_of_a_long_memory(words: Agent) -> None:
    words.store("Nothing of note happened. " * 40 + "The vault's door code is 7351. " + "Then all went home. " * 40)
    answer = words.ok("memory_recall", query="vault door code", token_budget=40)
    assert "7351" in answer["text"]
    assert tokens(answer["text"]) <= 40


def test_packing_skips_and_does_not_break(words: Agent) -> None:
    # "greedily select memories by score until budget is filled (skip, not break)"
    long = words.store("zebra zebra zebra zebra " * 200)
    short = words.store_all([f"A zebra was seen in field {i} today" for i in range(3)])
    ranked = [found["id"] for found in words.raw("zebra")]
    assert set(ranked) == {long, *short}
    answer = words.ok("memory_recall", query="zebra", format="list", token_budget=80)
    assert {found["id"] for found in answer["memories"]} == set(short)
    assert answer["omitted"] == 1


@pytest.mark.parametrize("budget", [0, -1, 50_001])
def test_budgets_have_bounds(words: Agent, budget: int) -> None:
    assert "token_budget" in words.refused("memory_recall", query="x", token_budget=budget)
    assert "token_budget" in words.refused("memory_context", token_budget=budget)


def test_the_default_budget(words: Agent, start: Start) -> None:
    # "Max tokens in response. Default 500." "MEMORY_DEFAULT_TOKEN_BUDGET | 500"
    contents = [f"Entry {i} of the log: " + f"the pump {i} ran well all day long. " * 4 for i in range(40)]
    words.store_all(contents)
    assert 400 < words.ok("memory_recall", query="pump log", format="list")["tokens_used"] <= 500
    other = start(MEMORY_DEFAULT_TOKEN_BUDGET="120")
    other.store_all(contents[:10])
    assert 60 < other.ok("memory_recall", query="pump log", format="list")["tokens_used"] <= 120


def test_nothing_found(memory: Agent) -> None:
    answer = memory.ok("memory_recall", query="anything at all")
    assert answer["text"] == "No relevant memories found."
    assert (answer["memories"], answer["omitted"]) == ([], 0)


@pytest.mark.parametrize("query", ["", "  ", "x" * 2_001])
def test_queries_have_bounds(words: Agent, query: str) -> None:
    assert "query" in words.refused("memory_recall", query=query)


def test_kinds_narrow(words: Agent) -> None:
    words.store(FACTS[0])
    assert words.found("staging", kinds=["memory"]) == [FACTS[0]]
    assert words.found("staging", kinds=["entity", "summary"]) == []
    assert "kinds" in words.refused("memory_recall", query="x", kinds=["potato"])


# memory_context --------------------------------------------------------------------------------------------------------


def test_context_has_three_sections(memory: Agent) -> None:
    # "Get a session briefing of relevant memories. Call at the start of each conversation."
    vital = memory.store("Never push to the main branch without a review.", importance=0.95)
    for fact in FACTS[1:]:
        memory.store(fact)
    port = memory.store(FACTS[0])
    answer = memory.ok("memory_context", task="connect to the staging database")
    headings = [line for line in answer["text"].splitlines() if line.startswith("#")]
    assert headings == ["## Relevant to the task", "## Important", "## Recent"]
    relevant, important, _recent = answer["text"].split("## ")[1:]
    assert FACTS[0] in relevant
    assert "Never push" in important
    ids = [found["id"] for found in answer["memories"]]
    assert len(ids) == len(set(ids)), "nothing twice"
    assert {vital, port} <= set(ids)
    for fact in FACTS:
        assert answer["text"].count(fact) <= 1


def test_context_without_a_task(words: Agent) -> None:
    # "task (string, optional)"
    words.store("Never push to the main branch without a review.", importance=0.95)
    words.store_all(FACTS)
    text = words.said("memory_context")
    assert "Relevant" not in text
    assert text.index("Never push") < text.index(FACTS[-1]) < text.index(FACTS[0]), "important, then the newest first"


def test_context_budget(words: Agent) -> None:
    # "Max tokens for briefing. Default 800."
    for i in range(60):
        words.store(f"Decision {i}: " + f"service {i} keeps its own queue. " * 3, importance=0.9 if i % 2 else 0.4)
    assert 600 < words.ok("memory_context", task="queue of a service")["tokens_used"] <= 800
    for budget in (1, 5, 10, 13, 20, 30, 50, 100, 400, 2_000):
        for arguments in ({"task": "queue of service 7"}, {}):
            answer = words.ok("memory_context", token_budget=budget, **arguments)
            assert answer["tokens_used"] == tokens(answer["text"]) <= budget


def test_context_of_a_fresh_memory(memory: Agent) -> None:
    assert memory.said("memory_context") == "No memories found. This appears to be a fresh session."
    assert memory.said("memory_context", task="x") == "No memories found. This appears to be a fresh session."


# memory_forget ---------------------------------------------------------------------------------------------------------


def test_forget_by_ids_needs_no_confirmation(memory: Agent) -> None:
    # "ids (string[], optional) - Specific memory IDs to forget"
    first, second, third = memory.store_all(FACTS[:3])
    gone = memory.ok("memory_forget", ids=[first, third, first, "unknown"])
    assert (gone["forgotten"], sorted(gone["ids"]), gone["dry_run"]) == (2, sorted([first, third]), False)
    assert [found["id"] for found in memory.ok("memory_inspect", view="export")["memories"]] == [second]
    assert memory.found(FACTS[0]) in ([], [FACTS[1]]), "out of words and vectors at once"
    assert FACTS[0] not in memory.said("memory_context", task="staging database")
    assert memory.said("memory_forget", ids=[first]) == "No memories match the criteria."


def test_what_was_forgotten_can_be_stored_anew(memory: Agent) -> None:
    first = memory.store(FACTS[0], tags=["old"])
    memory.ok("memory_forget", ids=[first])
    again = memory.ok("memory_store", content=FACTS[0])
    assert again["status"] == "stored"
    assert again["id"] != first
    assert memory.whole(again["id"])[0]["tags"] == []


@pytest.mark.parametrize(
    "criteria",
    [
        {"tags": ["x"]},
        {"query": "staging"},
        {"before": "2999-01-01T00:00:00Z"},
        {"ids": ["some"], "tags": ["x"]},
        {"ids": ["some"], "query": "staging"},
        {"ids": ["some"], "before": "2999-01-01"},
    ],
)
def test_anything_but_ids_alone_needs_confirmation(words: Agent, criteria: dict[str, object]) -> None:
    # "confirm (boolean, optional) - Required for query-based or bulk deletion"
    kept = words.store(FACTS[0], tags=["x"])
    if "ids" in criteria:
        criteria = criteria | {"ids": [kept]}
    assert "confirm=true" in words.refused("memory_forget", **criteria)
    assert "confirm=true" in words.refused("memory_forget", **criteria, confirm=False)
    assert words.stats()["total"] == 1
    preview = words.ok("memory_forget", **criteria, dry_run=True)
    assert (preview["forgotten"], preview["ids"], preview["dry_run"]) == (0, [kept], True)
    assert words.ok("memory_forget", **criteria, dry_run=True, confirm=True)["forgotten"] == 0
    assert words.stats()["total"] == 1, "a preview deletes nothing"
    assert words.ok("memory_forget", **criteria, confirm=True) == {"forgotten": 1, "ids": [kept], "dry_run": False}
    assert words.stats()["total"] == 0


def test_a_preview_shows_what_would_go(words: Agent) -> None:
    # "dry_run (boolean, optional) - Preview what would be deleted. Default false."
    kept = words.store(FACTS[0])
    text = words.said("memory_forget", ids=[kept], dry_run=True)
    assert kept in text
    assert FACTS[0] in text
    assert words.found("staging") == [FACTS[0]]


def test_criteria_combine_with_and(words: Agent) -> None:
    ab, only_a, only_b = (words.store(f"Report {tags}", tags=list(tags)) for tags in ("ab", "a", "b"))
    assert words.ok("memory_forget", tags=["a", "b"], confirm=True)["ids"] == [ab]  # "with ALL these tags"
    assert words.ok("memory_forget", ids=[only_a], tags=["b"], confirm=True)["ids"] == []
    assert words.ok("memory_forget", ids=[only_a, only_b], query="report", tags=["b"], confirm=True)["ids"] == [only_b]
    assert [found["id"] for found in words.ok("memory_inspect", view="recent")["memories"]] == [only_a]


def test_forget_by_query_takes_the_ten_best_matches(memory: Agent) -> None:
    # "query (string, optional) - Forget top-10 matches"
    for i in range(14):
        memory.store(f"The zeppelin {i} has landed in field {i}")
    other = memory.store(FACTS[1])
    gone = memory.ok("memory_forget", query="zeppelin landed", confirm=True)
    assert gone["forgotten"] == len(set(gone["ids"])) == 10
    assert memory.stats()["total"] == 5
    assert memory.whole(other)


def test_forget_before_a_time(words: Agent) -> None:
    # "before (string, optional) - ISO 8601 timestamp cutoff"
    first, second, third = words.store_all(FACTS[:3])
    times = [words.whole(kept)[0]["created_at"] for kept in (first, second, third)]
    assert times == sorted(set(times))
    shifted = datetime.fromisoformat(times[1]).astimezone(datetime.strptime("+0530", "%z").tzinfo).isoformat()
    assert words.ok("memory_forget", before=shifted, dry_run=True)["ids"] == [first], "with its offset, not as a text"
    assert words.ok("memory_forget", before=times[2], confirm=True)["ids"] == [first, second]
    for wrong in ("yesterday", "2026-13-01", "99999-01-01", "12"):
        assert "ISO 8601" in words.refused("memory_forget", before=wrong, confirm=True)
    assert words.stats()["total"] == 1


def test_no_criteria_forget_nothing(words: Agent) -> None:
    words.store(FACTS[0])
    for arguments in ({}, {"confirm": True}, {"tags": [], "confirm": True}, {"dry_run": True}):
        assert "ids, tags, query, or before" in words.refused("memory_forget", **arguments)
    for arguments in ({"ids": []}, {"ids": [], "confirm": True}, {"ids": [], "before": "2999-01-01", "confirm": True}):
        result = words.call("memory_forget", arguments)
        assert result.is_error or (result.structured_content or {})["forgotten"] == 0
    for arguments in ({"query": " ", "confirm": True}, {"before": "", "confirm": True}, {"tags": [""], "confirm": True}):
        assert next(iter(arguments)) in words.refused("memory_forget", **arguments)
    assert words.stats()["total"] == 1


def test_at_most_a_hundred_ids(words: Agent) -> None:
    assert words.ok("memory_forget", ids=[str(i) for i in range(100)])["forgotten"] == 0
    assert "ids" in words.refused("memory_forget", ids=[str(i) for i in range(101)])


# memory_inspect --------------------------------------------------------------------------------------------------------


def test_inspect_views(words: Agent) -> None:
    # "View memory statistics or inspect specific memories." "stats (default), recent, important, tags, export"
    ids = [words.store(fact, tags=["all", f"t{i % 2}"], importance=i / 10) for i, fact in enumerate(FACTS)]
    stats = words.ok("memory_inspect")
    assert stats["view"] == "stats"
    assert (stats["stats"]["total"], stats["stats"]["kinds"]) == (7, {"memory": 7})
    assert stats["stats"]["oldest"] < stats["stats"]["newest"]
    for view in ("recent", "important", "export"):
        shown = [found["id"] for found in words.ok("memory_inspect", view=view)["memories"]]
        assert sorted(shown) == sorted(ids)
        assert view == "export" or shown == ids[::-1]
    assert words.ok("memory_inspect", view="tags")["tags"] == {"all": 7, "t0": 4, "t1": 3}
    assert "view" in words.refused("memory_inspect", view="everything")


def test_inspect_by_ids(words: Agent) -> None:
    # "ids (string[], optional) - Inspect specific memories by ID"
    first, second = words.store_all(FACTS[:2])
    shown = words.ok("memory_inspect", ids=[second, "unknown", first])
    assert [found["content"] for found in shown["memories"]] == [FACTS[1], FACTS[0]]
    assert (shown["view"], shown["not_found"]) == ("ids", ["unknown"])
    assert json.loads(words.said("memory_inspect", ids=[first]))["memories"][0]["content"] == FACTS[0]


def test_inspect_limit(words: Agent) -> None:
    # "limit (integer, optional) - Max items returned. Default 20."
    words.store_all([f"Note {i}" for i in range(25)], tags=["x"])
    for view in ("recent", "important", "export"):
        assert len(words.ok("memory_inspect", view=view)["memories"]) == 20
        assert len(words.ok("memory_inspect", view=view, limit=3)["memories"]) == 3
        assert len(words.ok("memory_inspect", view=view, limit=1_000)["memories"]) == 25
    for limit in (0, 1_001):
        assert "limit" in words.refused("memory_inspect", limit=limit)


# "blended with recency, importance, and access pattern signals" --------------------------------------------------------


def test_importance_recency_and_access_influence_the_order(home: Path, start: Start) -> None:
    agent = start(MEMORY_DB_PATH=str(home / "one.db"))

    def order() -> list[str]:
        return [found["id"] for found in agent.raw("walrus")]

    first, second = agent.store("The walrus sleeps alpha", importance=0.5), agent.store("The walrus sleeps omega")
    ages_ago(home / "one.db", first, 60)
    assert order() == [second, first], "recency"
    ages_ago(home / "one.db", second, 60)
    third = agent.store("The walrus sleeps delta", importance=1.0)
    ages_ago(home / "one.db", third, 60)
    assert order()[0] == third, "importance"
    agent.ok("memory_forget", ids=[third])
    before = {found["id"]: found["access_count"] for found in agent.whole(first, second)}
    for _ in range(8):
        agent.ok("memory_recall", query="alpha")
    after = {found["id"]: found["access_count"] for found in agent.whole(first, second)}
    assert after == {first: before[first] + 8, second: before[second]}
    assert order() == [first, second], "access"


def test_accesses_are_kept(home: Path, start: Start) -> None:
    first = start()
    kept = first.store(FACTS[0])
    first.ok("memory_recall", query="staging")
    first.ok("memory_context", task="staging")
    first.store(FACTS[1])  # counts ride with the next write
    (seen,) = until(lambda: [m for m in start().whole(kept) if m["access_count"] >= 2], "access count in the file")
    assert seen["accessed_at"] is not None


# "Configuration: all settings are controlled via environment variables" ------------------------------------------------


def test_every_setting_of_the_seed_is_taken(start: Start) -> None:
    agent = start(
        MEMORY_NAMESPACE="default", MEMORY_EMBEDDING_DTYPE="q8", MEMORY_RERANKER_ENABLED="true",
        MEMORY_LLM_API_KEY="", MEMORY_LLM_BASE_URL="", MEMORY_LLM_MODEL="claude-haiku-4-5-20251001",
        MEMORY_DEFAULT_TOKEN_BUDGET="500", MEMORY_MAINTENANCE_INTERVAL="50", MEMORY_DECAY_THRESHOLD="0.05",
        MEMORY_COMPACTION_MIN_GROUP="10", MEMORY_CONSOLIDATION_BATCH_SIZE="50",
    )  # fmt: skip
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]


def test_blank_settings_count_as_unset(start: Start) -> None:
    agent = start(MEMORY_NAMESPACE="", MEMORY_DEFAULT_TOKEN_BUDGET="", MEMORY_DB_PATH="", MEMORY_RERANKER_MODEL="")
    assert agent.stats()["workspace"] == "default"


def test_the_reranker_can_be_switched_off(start: Start, model_dir: Path) -> None:
    # "MEMORY_RERANKER_ENABLED | true"
    agent = start(models=model_dir, MEMORY_RERANKER_ENABLED="false")
    agent.store_all(FACTS)
    agent.settle()
    assert agent.found("What is the name of the pet?")[0] == FACTS[4]
    assert agent.stats()["reranker"].startswith("none")


def test_a_model_that_is_not_to_be_had_leaves_words(start: Start, home: Path) -> None:
    # "Works without ..."; a failing helper is told by stats and breaks nothing
    agent = start(MEMORY_EMBEDDER="nosuch:model")
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]
    assert "nosuch" in until(lambda: s if "loading" not in (s := agent.stats()["embedder"]) else "", "failure")


def test_without_model_files_words_are_served_at_once(start: Start, home: Path) -> None:
    agent = start(models=home / "none", PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0", PIP_NO_INDEX="")
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]


# "The package exports system prompts and tool descriptions" ------------------------------------------------------------


def test_system_prompt() -> None:
    # "Append to your agent's system prompt"
    named = set(re.findall(r"memory_\w+", prompts.MEMORY_SYSTEM_PROMPT))
    assert {"memory_store", "memory_recall", "memory_context", "memory_forget"} <= named <= set(prompts.TOOL_DESCRIPTIONS)


def test_system_prompt_builder() -> None:
    # buildMemorySystemPrompt({persona, additionalInstructions})
    built = prompts.build_memory_system_prompt(
        persona="Research Assistant", additional_instructions='Always tag paper references with "paper:<title>".'
    )
    assert "Research Assistant" in built
    assert 'Always tag paper references with "paper:<title>".' in built
    assert prompts.MEMORY_SYSTEM_PROMPT in built
    assert prompts.build_memory_system_prompt() == prompts.MEMORY_SYSTEM_PROMPT


def test_tool_descriptions_are_those_of_the_tools(words: Agent) -> None:
    # "TOOL_DESCRIPTIONS export provides enhanced descriptions used in tool registration"
    assert {tool.name: tool.description for tool in words.tools()} == prompts.TOOL_DESCRIPTIONS
    assert len(prompts.TOOL_DESCRIPTIONS) == 5
