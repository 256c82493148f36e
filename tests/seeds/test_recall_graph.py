"""memory_recall searches memories together with the graph's observations and entities."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Agent, agent, environment


@pytest.fixture(scope="module")
def memory(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("recall_graph")
    with agent(environment(home, model_dir), "--toolsets", "recall,graph") as client:
        client.store("The release is planned for the ninth of March.", tags=["plan"])
        client.ok(
            "create_entities",
            entities=[
                {
                    "name": "Ada",
                    "entity_type": "engineer",
                    "observations": ["likes tea", "maintains the payment gateway"],
                },
                {"name": "Bob", "entity_type": "designer", "observations": ["likes tea", "keeps bees on the roof"]},
                {
                    "name": "Falcon",
                    "entity_type": "project",
                    "summary": "Moves invoices to the new ledger.",
                    "tags": ["plan"],
                },
            ],
        )
        client.settle()
        yield client


def kinds(found: list[dict[str, object]]) -> set[object]:
    return {hit["kind"] for hit in found}


def test_one_recall_finds_memories_observations_and_entities(memory: Agent) -> None:
    assert memory.raw("Who looks after payments?")[0]["content"] == "maintains the payment gateway"
    assert memory.raw("When do we ship?")[0]["kind"] == "memory"
    assert memory.raw("Which project is about invoices?")[0]["kind"] == "entity"


def test_a_hit_names_its_entity(memory: Agent) -> None:
    answer = memory.ok("memory_recall", query="Who looks after payments?", format="list")
    (first,) = memory.whole(answer["ids"][0])
    assert (first["kind"], first["key"]) == ("observation", "Ada")
    assert "Ada: maintains the payment gateway" in answer["text"]
    assert "Falcon (project): Moves invoices" in memory.text("memory_recall", query="ledger invoices", format="list")


def test_the_same_text_about_two_entities_is_two_facts(memory: Agent) -> None:
    found = {hit["key"] for hit in memory.raw("Who likes tea?") if hit["content"] == "likes tea"}
    assert found == {"Ada", "Bob"}


def test_kinds_filter(memory: Agent) -> None:
    assert kinds(memory.raw("tea plan invoices", kinds=["observation"])) == {"observation"}
    assert kinds(memory.raw("tea plan invoices", kinds=["entity", "memory"])) <= {"entity", "memory"}
    assert kinds(memory.raw("plan", tags=["plan"])) == {"memory", "entity"}


def test_deleted_entities_are_not_recalled(memory: Agent) -> None:
    memory.ok(
        "create_entities", entities=[{"name": "Eve", "entity_type": "guest", "observations": ["plays the zither"]}]
    )
    assert memory.raw("zither")[0]["key"] == "Eve"
    memory.ok("delete_entities", entity_names=["Eve"])
    assert [hit for hit in memory.raw("zither") if hit["key"] == "Eve"] == []


def test_forgetting_by_query_leaves_the_graph_alone(memory: Agent) -> None:
    result = json.dumps(memory.ok("memory_forget", query="likes tea", dry_run=True))
    opened = memory.ok("open_nodes", names=["Ada", "Bob"])
    assert all(node["id"] not in result for node in opened["entities"])
    ada = opened["entities"][0]["id"]
    hint = f"{ada} is of the kind entity, of 'Ada': delete it with the graph's tools."
    alone = memory.ok("memory_forget", ids=[ada])
    assert (alone["forgotten"], alone["message"]) == (0, f"No memories match the criteria. {hint}")
    mixed = memory.ok("memory_forget", ids=[memory.store("No one keeps this."), ada])
    assert (mixed["forgotten"], mixed["message"]) == (1, f"No living memory has the id {ada}. {hint}")


def test_a_briefing_has_relevant_facts_of_the_graph(memory: Agent) -> None:
    assert "Ada: maintains the payment gateway" in memory.text("memory_context", task="Fix the payment gateway")
