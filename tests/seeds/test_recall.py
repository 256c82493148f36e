"""Seed d, its tools sentence by sentence, through a real client and a real server. Quotes are from the seed."""

import math
import re
import uuid
from itertools import product

import pytest

from memoryd.core.search import ranking
from tests.clients import Agent, Json, figures, text_of
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


# memory_store --------------------------------------------------------------------------------------------------------


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


TEXTS = (
    "x",
    "  kept with its blanks \n\n and lines\t",
    "Zoë\u2019s naïve café — déjà vu",
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
)


def test_texts_are_kept_verbatim(words: Agent) -> None:
    for content in TEXTS:
        assert words.whole(words.store(content))[0]["content"] == content


REFUSED: tuple[tuple[Json, str], ...] = (
    ({"content": ""}, "content"),
    ({"content": " \n\t"}, "content"),
    ({"content": "x" * 10_001}, "content"),
    ({"content": "x", "importance": 1.01}, "importance"),
    ({"content": "x", "importance": -0.01}, "importance"),
    ({"content": "x", "tags": [""]}, "tags"),
    ({"content": "x", "tags": ["t" * 101]}, "tags"),
    ({"content": "x", "tags": [f"t{i}" for i in range(51)]}, "tags"),
)


def test_store_names_an_invalid_argument(words: Agent) -> None:
    for arguments, named in REFUSED:
        assert named in words.refused("memory_store", **arguments)
    assert words.stats()["total"] == 0


def test_store_accepts_its_limits(words: Agent) -> None:
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


# memory_recall -------------------------------------------------------------------------------------------------------


def test_tags_mean_all_of_them(memory: Agent) -> None:
    # "Filter to memories with ALL these tags"
    for tags in ("a", "b", "c", "ab", "bc", "abc"):
        memory.store(f"The report {tags} is due", tags=list(tags))
    assert set(memory.found("report", tags=["a", "b"])) == {"The report ab is due", "The report abc is due"}
    assert set(memory.found("report", tags=["b", "b"])) >= {"The report b is due", "The report abc is due"}
    assert memory.found("report", tags=["a", "unknown"]) == []
    assert memory.found("report", tags=["A"]) == [], "tags are case-sensitive"


def test_summary_is_the_default_and_clusters(memory: Agent) -> None:
    # "summary: ... (falls back to extractive clusters without LLM)"
    for place in ("Lisbon", "Porto", "Faro"):
        memory.store(f"The travel plan has two nights in {place}", tags=["travel"])
    for what in ("flights", "trains"):
        memory.store(f"The travel plan's budget for {what} is 400 euros", tags=["money"])
    answer = memory.ok("memory_recall", query="travel plan")
    lines = answer["text"].splitlines()
    assert {"travel:", "money:"} <= set(lines)
    start = lines.index("travel:")
    assert all("nights" in line for line in lines[start + 1 : start + 4])


def test_list_has_dates_and_importance(memory: Agent) -> None:
    # "list: Bullet list with dates and importance scores"
    memory.store(FACTS[0], importance=0.8)
    today = memory.whole(memory.store(FACTS[1]))[0]["created_at"][:10]
    text = memory.text("memory_recall", query="port of the staging database", format="list")
    assert re.search(rf"^- \[[0-9a-f]{{8}}, {today}, importance 0.8\] {FACTS[0]}$", text, re.MULTILINE)
    bullet = r"- \[[0-9a-f]{8}, \d{4}-\d\d-\d\d, importance [\d.]+\] "
    assert all(re.match(bullet, line) for line in text.splitlines()[1:])


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
    assert answer["text"] == memory.text("memory_recall", query="Who leads billing?", format="list")


@pytest.mark.parametrize("form", ["summary", "list", "answer"])
def test_a_text_is_shown_alone_and_its_figures_are_in_meta(memory: Agent, form: str) -> None:
    memory.store_all(FACTS)
    result = memory.call("memory_recall", {"query": "database", "format": form})
    assert result.structured_content is None
    assert set(result.meta or {}) >= {"memoryd/workspace", "memoryd/tokens_used", "memoryd/omitted", "memoryd/ids"}
    answer = memory.ok("memory_recall", query="database", format=form)
    assert answer["tokens_used"] == tokens(answer["text"]) <= 500
    assert answer["ids"]
    assert all(found["content"] in answer["text"] for found in memory.whole(*answer["ids"]))


def accesses(found: Json) -> Json:
    """Return the fields that the recall itself changed."""
    return {name: found[name] for name in ("accessed_at", "access_count")}


def test_raw_is_data(memory: Agent) -> None:
    memory.store_all(FACTS)
    result = memory.call("memory_recall", {"query": "database", "format": "raw"})
    answer = result.structured_content or {}
    scores = [found["score"] for found in answer["memories"]]
    assert scores
    assert scores == sorted(scores, reverse=True)
    for found, whole in zip(answer["memories"], memory.whole(*[one["id"] for one in answer["memories"]]), strict=True):
        assert {name: value for name, value in found.items() if name in whole} == whole | accesses(found)


@pytest.mark.slow
def test_every_budget_is_respected(words: Agent) -> None:
    # "Returns formatted results within a token budget." tokens = characters / 4, rounded up
    for i in range(12):
        words.store(f"Report {i} of the budget committee: " + "every figure was read aloud and no one objected. " * i)
    words.store("Budget.")
    budgets = 1, 2, 3, 5, 6, 7, 8, 10, 12, 15, 20, 29, 30, 31, 40, 60, 80, 100, 200, 500, 1_000, 5_000, 50_000
    for form, budget in product(("summary", "list", "raw", "answer"), budgets):
        result = words.call("memory_recall", {"query": "budget report", "format": form, "token_budget": budget})
        text, answer = text_of(result), figures(result)
        assert tokens(text) <= budget, f"{form} {budget}: {text!r}"
        assert answer["tokens_used"] == tokens(text)
        found = len(answer["memories"] if "memories" in answer else answer["ids"]) + answer["omitted"]
        assert found == (ranking.RECALL.keep if budget <= 500 else 13), "a larger budget also gets what is only related"


def test_omitted_memories_are_not_reported_as_missing(words: Agent) -> None:
    words.store("Report of the budget committee: " + "no one objected. " * 50)
    for budget in (1, 5, 7, 10, 20):
        answer = words.ok("memory_recall", query="budget", format="raw", token_budget=budget)
        assert answer["omitted"] == 1, budget
        assert "No memory" not in str(answer), budget


def test_a_small_budget_still_shows_the_relevant_part_of_a_long_memory(words: Agent) -> None:
    words.store("Nothing of note happened. " * 40 + "The vault's shelf is number 7351. " + "Then all went home. " * 40)
    answer = words.ok("memory_recall", query="vault shelf number", token_budget=40)
    assert "7351" in answer["text"]
    assert tokens(answer["text"]) <= 40


def test_packing_skips_what_does_not_fit(words: Agent) -> None:
    # "greedily select memories by score until budget is filled (skip, not break)"
    long = words.store("zebra zebra zebra zebra " * 200)
    short = words.store_all([f"A zebra was seen in field {i} today" for i in range(3)])
    ranked = [found["id"] for found in words.raw("zebra field")]
    assert set(ranked) == {long, *short}
    answer = words.ok("memory_recall", query="zebra field", format="list", token_budget=80)
    assert set(answer["ids"]) == set(short)
    assert answer["omitted"] == 1


@pytest.mark.storeless
def test_budgets_have_bounds(words: Agent) -> None:
    for budget in (0, -1, 50_001):
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
    assert answer["text"] == "Workspace default is empty."
    assert (answer["ids"], answer["omitted"]) == ([], 0)


@pytest.mark.storeless
def test_queries_have_bounds(words: Agent) -> None:
    for query in ("", "  ", "x" * 100_001):
        assert "query" in words.refused("memory_recall", query=query)


def test_kinds_filter(words: Agent) -> None:
    words.store(FACTS[0])
    assert words.found("staging", kinds=["memory"]) == [FACTS[0]]
    assert words.found("staging", kinds=["entity", "summary"]) == []
    assert "kinds" in words.refused("memory_recall", query="x", kinds=["potato"])


# memory_context ------------------------------------------------------------------------------------------------------


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
    ids = answer["ids"]
    assert len(ids) == len(set(ids)), "nothing twice"
    assert {vital, port} <= set(ids)
    for fact in FACTS:
        assert answer["text"].count(fact) <= 1


def test_context_without_a_task(words: Agent) -> None:
    # "task (string, optional)"
    words.store("Never push to the main branch without a review.", importance=0.95)
    words.store_all(FACTS)
    text = words.text("memory_context")
    assert "Relevant" not in text
    assert text.index("Never push") < text.index(FACTS[-1]) < text.index(FACTS[0]), "important, then the newest first"


@pytest.mark.slow
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
    assert memory.text("memory_context") == "No memories found. This appears to be a fresh session."
    assert memory.text("memory_context", task="x") == "No memories found. This appears to be a fresh session."
