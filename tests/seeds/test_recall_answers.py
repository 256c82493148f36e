"""What memory_recall answers: what bears on the question, or where it looked; and what a new text may replace."""

import re
from collections.abc import Iterator

import pytest

from memoryd.core.memories.view import REPLACING
from memoryd.core.search.briefing import RELATED, UNSURE
from memoryd.text import estimate_tokens
from memoryd.toolsets.recall import FRAME
from tests.clients import Agent, Json
from tests.conftest import Start
from tests.http import WORKSPACE, HttpServer, bearer, beside, granted, serving

ROUTER = "The router in the attic has the address 10.4.0.1."
MOVED = "The router moved from the attic to the cellar, its address is 10.4.0.9 now."
HOUSE = [
    ROUTER,
    "The switch in the attic has eight ports.",
    "The printer in the office has the address 10.4.0.20.",
    "Aunt Gisela visits us in the second week of October.",
    "The attic is insulated with wood fibre.",
    "Our neighbour waters the tomatoes while we are away.",
]
ASKED = "What is the address of the router?"
STRANGE = "Which soprano sang in the opera?"


# empty answers -------------------------------------------------------------------------------------------------------


def test_an_answer_without_memories_says_where_it_looked(words: Agent) -> None:
    assert words.text("memory_recall", query=STRANGE) == "Workspace default is empty."
    words.store_all(HOUSE, tags=["house", "infra"])
    assert words.text("memory_recall", query="xylophone") == "No memory bears on this among 6 in workspace default."
    for tags, answer in (
        (["Infra"], "No memory has the tag Infra; there is infra."),
        (["in-fra", "house"], "No memory has the tag in-fra; there is infra."),
        (["houses"], "No memory has the tag houses; there is house."),
        (["garden"], "No memory has the tag garden."),
        (["house"], "No memory with the tags house bears on this among 6 in workspace default."),
    ):
        assert words.text("memory_recall", query="xylophone", tags=tags) == answer
    assert "router" in words.text("memory_recall", query="router", tags=["infra"])


def test_a_wrong_workspace_is_named_with_those_that_have_memories(start: Start) -> None:
    home, shop = start(), start("--workspace", "shop")
    assert shop.text("memory_recall", query="router") == "Workspace shop is empty."
    home.store_all(HOUSE)
    assert shop.text("memory_recall", query="router") == "Workspace shop is empty; default has 6."
    shop.store("The till opens with a kick.")
    assert shop.text("memory_recall", query="router") == "No memory bears on this among 1 in workspace shop."


@pytest.mark.parametrize("form", ["summary", "list", "answer"])
def test_every_text_says_the_same_without_memories(words: Agent, form: str) -> None:
    assert words.text("memory_recall", query=STRANGE, format=form) == "Workspace default is empty."
    assert words.text("memory_recall", query="thanks!", format=form) == "That asks for nothing."
    tiny = words.ok("memory_recall", query=STRANGE, format=form, token_budget=3)
    assert (tiny.get("text", ""), tiny["tokens_used"]) == ("", 0), "too long for the budget"


def test_a_briefing_of_a_fresh_memory_is_as_ever(words: Agent) -> None:
    assert words.text("memory_context") == "No memories found. This appears to be a fresh session."


def test_small_talk_finds_nothing_even_where_its_words_are(words: Agent) -> None:
    words.store("Thanks for the good morning call.")
    assert words.text("memory_recall", query="Thanks, good morning!") == "That asks for nothing."
    assert "call" in words.text("memory_recall", query="good morning call")


# what is shown -------------------------------------------------------------------------------------------------------


def test_only_a_larger_budget_gets_related_memories(memory: Agent) -> None:
    memory.store_all(HOUSE)
    default, larger = (memory.text("memory_recall", query=ASKED, token_budget=budget) for budget in (500, 501))
    assert RELATED not in default
    bearing, related = larger.split(f"\n\n{RELATED}\n")
    assert bearing == default
    assert 0 < related.count("- [") <= bearing.count("- [")
    raw = memory.raw(ASKED)
    assert [one.get("related", False) for one in raw] == sorted(one.get("related", False) for one in raw)


def test_the_default_budget_decides_what_is_larger(start: Start, model_dir: object) -> None:
    server = start(models=model_dir, MEMORY_DEFAULT_TOKEN_BUDGET="900")
    server.store_all(HOUSE)
    server.settle()
    assert RELATED not in server.text("memory_recall", query=ASKED)
    assert RELATED in server.text("memory_recall", query=ASKED, token_budget=901)


def test_where_nothing_surely_bears_the_nearest_are_named(memory: Agent) -> None:
    memory.store_all([*HOUSE, "Tom is allergic to peanuts."])
    for budget in (500, 2_000):
        text = memory.text("memory_recall", query="Which nuts make him ill?", token_budget=budget)
        assert re.fullmatch(rf"{FRAME}{UNSURE}\n- \[\w+\] Tom is allergic to peanuts\. \(\d{{4}}-\d\d-\d\d\)", text)
    assert memory.text("memory_recall", query=STRANGE).startswith("No memory bears on this among 7")


def test_only_memories_that_bear_count_as_recalled(memory: Agent) -> None:
    ids = dict(zip(memory.store_all(HOUSE), HOUSE, strict=True))
    shown = memory.ok("memory_recall", query=ASKED, token_budget=501)["ids"]
    counted = {one["id"] for one in memory.whole(*ids) if one["access_count"]}
    assert set(shown) - counted, "some are shown that do not bear"
    assert counted == set(memory.ok("memory_recall", query=ASKED)["ids"])
    nearest = memory.store("Tom is allergic to peanuts.")
    assert memory.ok("memory_recall", query="Which nuts make him ill?")["ids"] == [nearest]
    assert [one["access_count"] for one in memory.whole(nearest)] == [0]


# what a new memory may replace ---------------------------------------------------------------------------------------


def test_a_new_memory_names_what_it_may_replace_and_then_replaces_it(memory: Agent) -> None:
    old, *_ = memory.store_all(HOUSE)
    result = memory.call("memory_store", {"content": MOVED})
    (may, *others), hint = (result.structured_content or {}).get("may_replace", {}).items(), REPLACING
    assert (old.startswith(may[0]), others) == (True, [])
    assert may[1] == ROUTER, "one is shown whole if it is short"
    assert (result.structured_content or {})["hint"] == hint
    stored = memory.found(ASKED)
    assert {ROUTER, MOVED} <= set(stored), "nothing is replaced yet"
    again = memory.ok("memory_store", content=MOVED, supersedes=[may[0]])
    assert again["status"] in {"merged", "updated"}
    assert "may_replace" not in again
    found = memory.found(ASKED)
    assert MOVED in found
    assert ROUTER not in found


def test_the_text_of_a_store_names_it_too_within_sixty_tokens(memory: Agent) -> None:
    memory.store_all(HOUSE)
    versions = [f"The router in the attic has the address 10.4.0.{number}." for number in (2, 3)]
    memory.store("The router in the cellar has the address 10.4.1.1, " + "as the label on its lower side has it " * 5)
    texts = [memory.text("memory_store", content=one) for one in (*versions, versions[0].replace("attic", "cellar"))]
    for text in texts:
        first, head, *lines, last = text.splitlines()
        assert (head, last) == ("It may replace:", REPLACING)
        assert 1 <= len(lines) <= 3
        assert all(re.match(r"- \[[0-9a-f]{8}\] The router", line) for line in lines)
        assert estimate_tokens(text) - estimate_tokens(first) <= 60


@pytest.mark.parametrize(
    "content",
    [
        "The router in the cellar has six antennas, and the attic none.\n- one\n- two",
        "The printer in the kitchen has the address 10.4.0.21.",
        "Uncle Veit visits us in the third week of November.",
        "The heating is bled each autumn.",
        "Gisela: The router moved to the cellar.",
    ],
)
def test_a_memory_that_replaces_nothing_names_nothing(memory: Agent, content: str) -> None:
    memory.store_all(HOUSE)
    answer = memory.ok("memory_store", content=content)
    assert (answer["status"], "may_replace" in answer, "hint" in answer) == ("stored", False, False)


def test_an_equal_memory_is_merged_and_names_nothing(memory: Agent) -> None:
    first = memory.store(ROUTER)
    assert memory.ok("memory_store", content=ROUTER) == {"id": first, "status": "merged"}


# who may not read ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: object) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("answers")
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    with serving(home, "--toolsets", "recall", "--workspace", "default", made=None, **models) as made:
        with beside(made) as engine:
            engine.workspaces.ensure("shop")
        yield made


def sent(server: HttpServer, tool: str, headers: Json, **arguments: object) -> Json:
    response = server.tool(tool, headers, **arguments)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


def test_a_token_of_one_workspace_never_hears_of_another(server: HttpServer) -> None:
    every, bound = granted(server, "every", "write"), granted(server, "bound", "write", workspace="shop")
    sent(server, "memory_store", bearer(every), content=ROUTER)
    alone = sent(server, "memory_recall", bearer(bound), query="router")
    assert alone["text"] == "Workspace shop is empty."
    both = sent(server, "memory_recall", bearer(every, **{WORKSPACE: "shop"}), query="router")
    assert both["text"] == "Workspace shop is empty; default has 1."


def test_a_token_that_may_only_store_sees_no_text(server: HttpServer) -> None:
    storing = granted(server, "storing", tools=("memory_store",))
    reading = granted(server, "reading", "write")
    sent(server, "memory_store", bearer(reading), content=ROUTER)
    answer = sent(server, "memory_store", bearer(storing), content=MOVED.replace("9", "11"))
    assert set(answer) <= {"id", "status", "workspace"}
    assert "may_replace" in sent(server, "memory_store", bearer(reading), content=MOVED), "who may read is shown it"
