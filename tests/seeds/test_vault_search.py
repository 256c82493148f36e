"""Seed a, search_memories sentence by sentence: full text, tags, embeddings, relevance, and the searched memories."""

from itertools import product

import pytest

from tests.clients import Agent, Json
from tests.conftest import Start
from tests.odd_queries import WITH_A_WORD
from tests.seeds.test_recall_search import PASTRIES, SYNTAX
from tests.seeds.vault import EVER, found, keep, keep_all, pruned, searched

MANY = 300
FACT = "The staging database listens on port 5433."


# "Full-text search query (FTS5 syntax supported)" --------------------------------------------------------------------


@pytest.mark.slow
def test_syntax(vault: Agent) -> None:
    keep_all(
        vault,
        [{"key": str(n), "content": pastry, "scope": ("vault", "session")[n % 2]} for n, pastry in enumerate(PASTRIES)],
    )
    for query, expected in SYNTAX:
        result = vault.ok("search_memories", query=query)
        assert {one["content"] for one in result["results"]} == expected, query
        assert result["total_searched"] == len(PASTRIES)


@pytest.mark.parametrize("scope", ["vault", "session"])
def test_key_content_and_tags_are_searched(vault: Agent, scope: str) -> None:
    keep(vault, "user_preference_language", "Prefers Python.", scope, tags=["coding-style"])
    for query in ("preference", "python", "coding", "style AND prefers", "PYTHON", "pref*", "user_preference_language"):
        assert found(vault, query) == {"user_preference_language": 1}, query


def test_malformed_syntax_is_searched_literally(vault: Agent) -> None:
    keep(vault, "a", FACT)
    keep(vault, "b", "nothing of this")
    missed = [query[:60] for query in WITH_A_WORD if not found(vault, query[:2_000]).get("a")]
    assert missed == []


def test_a_query_without_words_finds_nothing(vault: Agent) -> None:
    keep(vault, "a", FACT, tags=["t"])
    assert vault.ok("search_memories", query="???") == {"results": [], "total_searched": 1}
    assert found(vault, "???", tags=["t"]) == {}, "the query must match too"


def test_a_result_is_complete(vault: Agent) -> None:
    keep(vault, "a", "apple", tags=["t", "u"])
    keep(vault, "b", "apple", "session")
    result = vault.ok("search_memories", query="apple content", scope="vault")
    one = {"key": "a", "content": "apple", "tags": ["t", "u"], "scope": "vault", "relevance": 0.5}
    assert result == {"results": [one], "total_searched": 1}
    result = vault.ok("search_memories", query="apple", scope="session")
    one = {"key": "b", "content": "apple", "tags": [], "scope": "session", "relevance": 1}
    assert result == {"results": [one], "total_searched": 1}


# relevance: "Score in [0,1]; 1.0 = exact match" ----------------------------------------------------------------------


def test_an_exact_match_scores_one_and_a_partial_one_less(vault: Agent) -> None:
    keep(vault, "both", "apple pie")
    keep(vault, "one", "apple tart")
    keep(vault, "none", "banana bread")
    answer = found(vault, "apple pie")
    assert list(answer) == ["both", "one"]
    assert answer["both"] == 1
    assert 0.05 < answer["one"] <= 0.5


def test_the_only_match_is_not_near_zero(vault: Agent) -> None:
    keep(vault, "a", "apple pie with cream")
    assert found(vault, "apple") == {"a": 1}
    assert found(vault, "apple pie") == {"a": 1}
    assert found(vault, "apple crumble") == {"a": 0.5}
    assert found(vault, "apple crumble custard") == {"a": pytest.approx(1 / 3, abs=0.001)}
    for number in range(4):
        keep(vault, f"z{number}", "something else")
    assert found(vault, "apple") == {"a": 1}
    assert found(vault, "apple crumble") == {"a": 0.5}


def test_a_word_that_most_memories_have_still_counts(vault: Agent) -> None:
    # BM25 gives next to nothing for such a word, but these two do match
    keep(vault, "a", "database port")
    keep(vault, "b", "database host")
    keep(vault, "c", "something else")
    assert found(vault, "database port") == {"a": 1, "b": pytest.approx(0.1, abs=0.01)}
    assert found(vault, "database") == {"a": 1, "b": 1}


def test_not_every_match_is_exact(vault: Agent) -> None:
    keep(vault, "short", "apple")
    keep(vault, "long", "apple " + " ".join(f"word{n}" for n in range(60)))
    for number in range(6):
        keep(vault, f"z{number}", f"filler {number}")
    answer = found(vault, "apple")
    assert list(answer) == ["short", "long"]
    assert answer["short"] == 1
    assert 0.2 < answer["long"] < 0.9
    assert max(found(vault, "apple zeppelin airship").values()) == pytest.approx(1 / 3, abs=0.001)


def test_relevance_stays_within_its_bounds(vault: Agent) -> None:
    keep_all(
        vault,
        [
            {"key": f"k{n}", "content": "apple " * (n + 1) + f"pie{n % 3}", "embedding": [n - 5, n % 3, 1]}
            for n in range(12)
        ],
    )
    for query in ("apple", "apple pie1", "apple pie1 pie2 cherry", "pie*", "apple NOT pie0", "", "cherry"):
        for vector in ([1, 0, 0], [-1, 0, 0], [-1, -1, -1], [1e-30, 0, 1e30], [5, 2, 1]):
            answer = list(found(vault, query, query_embedding=vector, limit=100).values())
            assert all(0 <= relevance <= 1 for relevance in answer), (query, vector)
            assert answer == sorted(answer, reverse=True), "Results sorted descending by relevance"
        answer = list(found(vault, query or "apple", limit=100).values())
        assert answer == sorted(answer, reverse=True)


# "relevance = 0.4 * bm25_norm + 0.6 * cosine_sim" --------------------------------------------------------------------

BLENDED = [
    # the query's vector, its cosine with (3, 4, 0), by hand
    ([3, 4, 0], 1.0),
    ([3e38, 3e38, 0], 1.4 / 2**0.5),
    ([3e-30, 4e-30, 0], 1.0),
    ([0.03, 0.04, 0], 1.0),
    ([5, 0, 0], 0.6),
    ([0, 1, 0], 0.8),
    ([2, 2, 1], 2.8 / 3),
    ([0, 3, 4], 0.48),
    ([0, 0, 1], 0.0),
    ([-1, 0, 0], 0.0),  # -0.6: raised to 0, to keep relevance in [0,1]
]


@pytest.mark.slow
def test_words_and_cosine_are_blended(vault: Agent) -> None:
    keep(vault, "a", "apple pie", embedding=[3, 4, 0])
    keep(vault, "z", "something else")
    for query, words in (("apple pie", 1.0), ("apple", 1.0), ("apple crumble", 0.5), ('"apple pie"', 1.0)):
        for vector, cosine in BLENDED:
            expected = {"a": pytest.approx(0.4 * words + 0.6 * cosine, abs=0.001)}
            assert found(vault, query, query_embedding=vector) == expected, (query, vector)
        assert found(vault, query) == {"a": words}, "without a query_embedding, only words count"


def test_an_exact_match_in_words_and_meaning_scores_one(vault: Agent) -> None:
    for number, vector in enumerate(([0.6, 0.8, 0], [1, 2, 3], [0.123, -0.456, 0.789], [7, 1e-3, 0])):
        keep(vault, "a", f"apple {number}", embedding=vector)
        assert found(vault, f"apple {number}", query_embedding=vector) == {"a": 1}
        assert found(vault, "", query_embedding=vector) == {"a": 1}


def test_meaning_changes_the_order(vault: Agent) -> None:
    keep(vault, "words", "apple pie recipe", embedding=[1, 0, 0])
    keep(vault, "meaning", "apple tart recipe", embedding=[0, 1, 0])
    assert list(found(vault, "apple pie recipe")) == ["words", "meaning"]
    assert list(found(vault, "apple pie recipe", query_embedding=[1, 0, 0])) == ["words", "meaning"]
    assert list(found(vault, "apple pie recipe", query_embedding=[0, 1, 0])) == ["meaning", "words"]


def test_a_memory_without_an_embedding_is_scored_by_words(vault: Agent) -> None:
    keep(vault, "with", "apple", embedding=[0, 1, 0])
    keep(vault, "without", "apple")
    keep(vault, "volatile", "apple", "session")
    answer = found(vault, "apple", query_embedding=[1, 0, 0])
    assert answer["with"] == pytest.approx(0.4 * found(vault, "apple")["with"], abs=0.001)
    assert answer["without"] == answer["volatile"] == found(vault, "apple")["without"] > answer["with"]


def test_a_query_embedding_alone_finds_memories(vault: Agent) -> None:
    keep(vault, "a", "apple pie", embedding=[3, 4, 0])
    keep(vault, "b", "banana bread", embedding=[0, 0, 1])
    keep(vault, "c", "cherry cake")
    assert found(vault, "", query_embedding=[0, 1, 0]) == {"a": pytest.approx(0.8, abs=0.001)}
    assert found(vault, "unheard", query_embedding=[0, 1, 0]) == {"a": pytest.approx(0.48, abs=0.001)}
    assert found(vault, "", query_embedding=[0, 1, 0], tags=["t"]) == {}


def test_syntax_also_restricts_results_by_meaning(vault: Agent) -> None:
    keep(vault, "a", "apple pie", embedding=[1, 0, 0])
    keep(vault, "b", "apple tart", embedding=[1, 0, 0])
    assert set(found(vault, "apple NOT tart", query_embedding=[1, 0, 0])) == {"a"}
    assert set(found(vault, '"apple tart"', query_embedding=[1, 0, 0])) == {"b"}


# "Filter: only return memories with ALL specified tags" --------------------------------------------------------------


@pytest.mark.parametrize("scope", ["vault", "session"])
def test_all_tags_must_match(vault: Agent, scope: str) -> None:
    keep(vault, "both", "apple", scope, tags=["red", "fruit"])
    keep(vault, "one", "apple", scope, tags=["red"])
    keep(vault, "none", "apple", scope)
    assert set(found(vault, "apple", tags=["red"])) == {"both", "one"}
    assert set(found(vault, "apple", tags=["fruit", "red"])) == {"both"}
    assert set(found(vault, "apple", tags=["red", "red"])) == {"both", "one"}
    assert found(vault, "apple", tags=["red", "green"]) == {}
    assert found(vault, "apple", tags=["Red"]) == {}, "tags are case-sensitive"
    assert found(vault, "banana", tags=["red"]) == {}
    assert set(found(vault, "apple", tags=[])) == {"both", "one", "none"}


@pytest.mark.slow
def test_a_rare_tag_and_a_near_vector_are_found_among_many_memories(vault: Agent) -> None:
    keep_all(
        vault,
        [{"key": f"k{n}", "content": "apple", "tags": ["common"], "embedding": [1, 0, 0]} for n in range(MANY - 1)],
    )
    keep(vault, "rare", "In a long text there is also an apple.", tags=["common", "rare"], embedding=[3, 4, 0])
    # "Tag filter applied as a pre-filter": a cut-off before the filter would lose it
    assert found(vault, "apple", tags=["rare"]) == {"rare": 1}
    assert found(vault, "apple", tags=["rare"], limit=1) == {"rare": 1}
    assert found(vault, "", tags=["rare", "common"]) == {"rare": 1}
    assert found(vault, "", tags=["rare"], query_embedding=[1, 0, 0]) == {"rare": pytest.approx(0.6, abs=0.001)}
    answer = found(vault, "apple", tags=["rare"], query_embedding=[1, 0, 0])
    assert answer == {"rare": pytest.approx(0.4 + 0.36, abs=0.001)}
    assert searched(vault, "apple", tags=["rare"]) == 1
    assert searched(vault, "apple", tags=["common"]) == MANY
    # its word score is the lowest of three hundred: at least .08 and much less than .4
    for query in ("apple", '"apple"', "apple NOT pie", "text OR apple"):
        answer = found(vault, query, query_embedding=[0, 1, 0])
        assert next(iter(answer)) == "rare", query
        assert answer["rare"] == pytest.approx(0.48 + 0.25, abs=0.18), query
    # only `limit` bounds the results
    assert len(found(vault, "apple")) == 10
    assert len(found(vault, "apple", limit=250)) == 250
    assert len(found(vault, "apple", limit=1_000)) == MANY
    assert len(found(vault, "apple pie", limit=1_000, query_embedding=[1, 0, 0])) == MANY
    assert len(found(vault, "", limit=1_000, query_embedding=[1, 0, 0])) == MANY
    assert len(found(vault, "", limit=1_000, tags=["common"])) == MANY
    assert pruned(vault, "all", tags=["common"]) == MANY


def test_tags_alone_list_the_newest(vault: Agent) -> None:
    for key, scope in (("a", "vault"), ("b", "session"), ("c", "vault"), ("d", "session"), ("e", "vault")):
        keep(vault, key, f"memory {key}", scope, tags=["t"])
    keep(vault, "f", "another")
    keep(vault, "a", "changed", tags=["t"])
    for query in ("", " \n\t"):
        assert list(found(vault, query, tags=["t"])) == ["a", "e", "d", "c", "b"]
    assert list(found(vault, "", tags=["t"], limit=2)) == ["a", "e"]
    assert list(found(vault, "", tags=["t"], scope="session")) == ["d", "b"]
    assert set(found(vault, "", tags=["t"]).values()) == {1}
    assert searched(vault, "", tags=["t"], limit=2) == 5


# scope and total_searched --------------------------------------------------------------------------------------------

SCOPES: list[tuple[Json, set[str], int]] = [
    ({}, {"v", "s"}, 5),
    ({"scope": "all"}, {"v", "s"}, 5),
    ({"scope": "vault"}, {"v"}, 3),
    ({"scope": "session"}, {"s"}, 2),
    ({"tags": ["t"]}, {"v", "s"}, 3),
    ({"tags": ["t"], "scope": "vault"}, {"v"}, 2),
    ({"tags": ["t"], "scope": "session"}, {"s"}, 1),
    ({"tags": ["none"]}, set(), 0),
    ({"limit": 1, "scope": "vault"}, {"v"}, 3),
]


def test_which_scopes_are_searched(vault: Agent) -> None:
    keep(vault, "v", "apple", tags=["t"], embedding=[1, 0, 0])
    keep(vault, "v2", "other", tags=["t"])
    keep(vault, "v3", "more")
    keep(vault, "s", "apple", "session", tags=["t"], embedding=[1, 0, 0])
    keep(vault, "s2", "other", "session")
    for more, (arguments, keys, total) in product(({}, {"query_embedding": [1, 0, 0]}), SCOPES):
        result = vault.ok("search_memories", query="apple", **arguments | more)
        assert {one["key"] for one in result["results"]} == keys, arguments
        assert result["total_searched"] == total, "the searched memories, not the hits"


def test_memories_of_other_toolsets_are_not_searched(start: Start) -> None:
    both = start("--toolsets", "recall,vault")
    both.store("An apple a day.")
    keep(both, "a", "apple")
    assert both.ok("search_memories", query="apple")["total_searched"] == 1
    assert found(both, "apple") == {"a": 1}
    assert pruned(both, "all", older_than=EVER) == 1
    assert pruned(both, "session") == 0
    assert set(both.found("apple")) >= {"An apple a day."}
