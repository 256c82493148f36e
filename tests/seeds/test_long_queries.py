"""A query that is too long to be searched whole, such as a pasted traceback, is searched by its two ends."""

from collections.abc import Iterator

import pytest

from tests.clients import Agent, Json, agent, environment

MIDDLE = '  File "/srv/app/jobs.py", line 33, in run\n    return self.step(state)\n' * 60
TRACEBACK = f"Please repair the nightly import\nTraceback (most recent call last):\n{MIDDLE}ZeroDivisionError: no rows"
FACTS = {
    "begin": "The nightly import runs at two.", "end": "A ZeroDivisionError means that a batch has no rows.",
    "neither": "The ferry leaves at seven.",
}  # fmt: skip
SENTENCE = f"The query has {len(TRACEBACK):,} characters, of which the first and the last 1,000 were searched."
WORD = "x" * 99_900


@pytest.fixture(scope="module")
def server(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    environ = environment(tmp_path_factory.mktemp("long"))
    with agent(environ, "--toolsets", "recall,vault,graph,journal,projects") as made:
        made.ok("create_project", name="long")
        made.ok("switch_project", name="long")
        made.node("importer", *FACTS.values())
        for name, fact in FACTS.items():
            made.store(fact)
            made.ok("commit_memory", scope="vault", key=name, content=fact)
            made.ok("add_memory", prompt=fact, thought="-", response="-", sessionId=name)
            made.ok("summarize_sessions", sessionId=name)
        yield made


CALLS: dict[str, Json] = {
    "memory_recall": {"query": TRACEBACK}, "memory_context": {"task": TRACEBACK, "token_budget": 2_000},
    "memory_forget": {"query": TRACEBACK, "dry_run": True},
    "search_nodes": {"query": TRACEBACK}, "query_observations": {"query": TRACEBACK, "entity_name": "importer"},
    "search_memories": {"query": TRACEBACK},
    "query_raw_memories": {"query": TRACEBACK}, "query_summaries": {"query": TRACEBACK},
}  # fmt: skip


@pytest.mark.parametrize("tool", CALLS)
def test_every_search_finds_both_ends_and_says_so(server: Agent, tool: str) -> None:
    answer = server.text(tool, **CALLS[tool])
    assert SENTENCE in answer
    for fact in (FACTS["begin"], FACTS["end"]):
        assert fact in answer or fact.rstrip(".") in answer


def test_the_words_mode_says_so_too(server: Agent) -> None:
    assert SENTENCE in server.ok("search_nodes", query=TRACEBACK, mode="text")["degraded"]


@pytest.mark.parametrize("query", ["ferry " * 300, "ferry " * 300 + "OR seven"])
def test_a_query_of_2000_characters_is_searched_whole(server: Agent, query: str) -> None:
    assert "were searched" not in server.text("memory_recall", query=query[:2_000])


@pytest.mark.parametrize("query", ["字" * 50_000, '"' * 90_000, "ferry* OR " * 5_000, "a " * 50_000, f"{WORD} ferry"])
@pytest.mark.slow
def test_no_long_query_fails(server: Agent, query: str) -> None:
    for tool in ("memory_recall", "search_nodes", "search_memories"):
        server.ok(tool, query=query)
    assert "at most 100000 characters" in server.refused("memory_recall", query=query.ljust(100_001, "x"))
