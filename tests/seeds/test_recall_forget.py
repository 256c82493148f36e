"""Seed d: memory_forget and memory_inspect, sentence by sentence."""

import json
from datetime import datetime

import pytest

from memoryd.core.memories import memories
from tests.clients import Agent, Json
from tests.seeds.test_recall import FACTS

# memory_forget -------------------------------------------------------------------------------------------------------


def test_forget_by_ids_needs_no_confirmation(memory: Agent) -> None:
    # "ids (string[], optional) - Specific memory IDs to forget"
    first, second, third = memory.store_all(FACTS[:3])
    gone = memory.ok("memory_forget", ids=[first, third, first, "unknown"])
    assert (gone["forgotten"], sorted(gone["ids"]), gone["dry_run"]) == (2, sorted([first, third]), False)
    assert [found["id"] for found in memory.ok("memory_inspect", view="export")["memories"]] == [second]
    assert memory.found(FACTS[0]) in ([], [FACTS[1]]), "deleted from both indexes at once"
    assert FACTS[0] not in memory.text("memory_context", task="staging database")
    assert memory.ok("memory_forget", ids=[first])["message"] == "No memories match the criteria."


def test_an_unknown_id_is_reported(words: Agent) -> None:
    first, second = words.store_all(FACTS[:2])
    gone = words.ok("memory_forget", ids=[first[:8], "nowhere", "x" * 300])
    assert gone["ids"] == [first]
    assert gone["message"] == f"No living memory has the id nowhere, {'x' * 100}."
    assert "message" not in words.ok("memory_forget", ids=[second, "nowhere"], before="2999-01-01", dry_run=True)


def test_a_query_finds_what_is_older_among_many_that_match_better(words: Agent) -> None:
    old = words.store("The harbour is deep, and there is much more to be written about it than a number.")
    first, *_ = words.store_all([f"harbour {number}" for number in range(120)])
    later = words.whole(first)[0]["created_at"]
    preview = words.ok("memory_forget", query="harbour", before=later, dry_run=True)
    assert preview["ids"] == [old]


def test_a_query_finds_memories_without_a_key_in_a_workspace_with_too_many_to_name(
    words: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "SEARCHED", 3)
    ours = words.store_all([f"harbour {number}" for number in range(5)], tags=["port"])
    words.store("A shop sells harbour maps.")
    for criteria in ({}, {"tags": ["port"]}, {"before": "2999-01-01"}):
        preview = words.ok("memory_forget", query="harbour", **criteria, dry_run=True)
        assert set(preview["ids"]) >= set(ours)
        assert len(preview["ids"]) == (5 if "tags" in criteria else 6)


def test_an_answer_lists_twenty_ids_however_many_match(words: Agent) -> None:
    ids = words.store_all([f"number {number} of them" for number in range(30)], tags=["many"])
    preview = words.ok("memory_forget", tags=["many"], dry_run=True)
    assert (preview["ids"], preview["omitted"], len(preview["preview"])) == (ids[:20], 10, 20)
    assert "omitted" not in words.ok("memory_forget", ids=ids[:5])
    gone = words.ok("memory_forget", tags=["many"], confirm=True)
    assert (gone["forgotten"], gone["ids"], gone["omitted"]) == (25, ids[5:25], 5)
    assert words.stats()["total"] == 0


def test_a_forgotten_text_can_be_stored_again(memory: Agent) -> None:
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
def test_all_criteria_except_ids_need_confirmation(words: Agent, criteria: dict[str, object]) -> None:
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


def test_a_preview_shows_what_would_be_deleted(words: Agent) -> None:
    # "dry_run (boolean, optional) - Preview what would be deleted. Default false."
    kept = words.store(FACTS[0])
    text = words.text("memory_forget", ids=[kept], dry_run=True)
    assert kept in text
    assert FACTS[0] in text
    assert words.found("staging") == [FACTS[0]]


def test_criteria_combine_with_and(words: Agent) -> None:
    ab, only_a, only_b = (words.store(f"Report {tags}", tags=list(tags)) for tags in ("ab", "a", "b"))
    assert words.ok("memory_forget", tags=["a", "b"], confirm=True)["ids"] == [ab]  # "with ALL these tags"
    assert words.ok("memory_forget", ids=[only_a], tags=["b"], confirm=True)["ids"] == []
    assert words.ok("memory_forget", ids=[only_a, only_b], query="report", tags=["b"], confirm=True)["ids"] == [only_b]
    assert [found["id"] for found in words.ok("memory_inspect", view="recent")["memories"]] == [only_a]


def test_forget_by_query_deletes_the_ten_best_matches(memory: Agent) -> None:
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
    assert words.ok("memory_forget", before=shifted, dry_run=True)["ids"] == [first], "compared as a time, not as text"
    assert words.ok("memory_forget", before=times[2], confirm=True)["ids"] == [first, second]
    for wrong in ("yesterday", "2026-13-01", "99999-01-01", "12"):
        assert "ISO 8601" in words.refused("memory_forget", before=wrong, confirm=True)
    assert words.stats()["total"] == 1


def test_no_criteria_forget_nothing(words: Agent) -> None:
    words.store(FACTS[0])
    none: tuple[Json, ...] = ({}, {"confirm": True}, {"tags": [], "confirm": True}, {"dry_run": True})
    for arguments in none:
        assert "ids, tags, query, or before" in words.refused("memory_forget", **arguments)
    empty: tuple[Json, ...] = ({}, {"confirm": True}, {"before": "2999-01-01", "confirm": True})
    for arguments in empty:
        result = words.call("memory_forget", {"ids": []} | arguments)
        assert result.is_error or (result.structured_content or {})["forgotten"] == 0
    blank: tuple[Json, ...] = ({"query": " "}, {"before": ""}, {"tags": [""]})
    for arguments in blank:
        assert next(iter(arguments)) in words.refused("memory_forget", **arguments, confirm=True)
    assert words.stats()["total"] == 1


def test_at_most_a_hundred_ids(words: Agent) -> None:
    assert words.ok("memory_forget", ids=[str(i) for i in range(100)])["forgotten"] == 0
    assert "ids" in words.refused("memory_forget", ids=[str(i) for i in range(101)])


# memory_inspect ------------------------------------------------------------------------------------------------------


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
    assert json.loads(words.text("memory_inspect", ids=[first]))["memories"][0]["content"] == FACTS[0]


def test_inspect_limit(words: Agent) -> None:
    # "limit (integer, optional) - Max items returned. Default 20."
    words.store_all([f"Note {i}" for i in range(25)], tags=["x"])
    for view in ("recent", "important", "export"):
        assert len(words.ok("memory_inspect", view=view)["memories"]) == 20
        assert len(words.ok("memory_inspect", view=view, limit=3)["memories"]) == 3
        assert len(words.ok("memory_inspect", view=view, limit=1_000)["memories"]) == 25
    for limit in (0, 1_001):
        assert "limit" in words.refused("memory_inspect", limit=limit)
