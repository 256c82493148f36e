"""Arguments as models and clients send them: filled in although unknown, under other names, with what is not text."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import MCPError
from pydantic import ValidationError

from memoryd.text import unstorable
from memoryd.toolsets import TOOLSETS
from memoryd.toolsets.registry import Tool
from tests.clients import Agent, Json, agent, environment
from tests.http import WORKSPACE, HttpServer, beside, serving

TOOLS = [tool for tools in TOOLSETS.values() for tool in tools]


@pytest.fixture(scope="module")
def _all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(environment(tmp_path_factory.mktemp("all"), MEMORY_NAMESPACE="default"), "--toolsets", "all") as server:
        server.ok("create_project", name="here")
        yield server


@pytest.fixture
def server(_all: Agent) -> Agent:
    return _all


def wrong(tool: Tool, arguments: Json) -> list[str]:
    """Return the names of the arguments that a tool refuses; a missing one is not refused."""
    try:
        tool.arguments.model_validate(arguments)
    except ValidationError as error:
        return [str(one["loc"][0]) for one in error.errors() if one["type"] != "missing"]
    return []


# null and '' ---------------------------------------------------------------------------------------------------------


def test_a_required_argument_may_not_be_null() -> None:
    for tool in TOOLS:
        fields = tool.arguments.model_fields.items()
        required = {field.alias or name for name, field in fields if field.is_required()}
        assert set(wrong(tool, dict.fromkeys(required))) == required, tool.name


def test_nothing_means_the_default() -> None:
    """What a handler gets for null and '' is what it gets if the argument is not sent."""
    for tool in TOOLS:
        schema = tool.arguments.model_json_schema()
        needed = {name: _sample(schema["properties"][name], schema) for name in schema.get("required", ())}
        short = dict(tool.arguments.model_validate(needed))
        for name in schema.get("properties", {}).keys() - needed.keys():
            for nothing in (None, ""):
                full = dict(tool.arguments.model_validate(needed | {name: nothing}))
                assert full == short or "" in full.values(), (tool.name, name)


def _sample(part: Json, schema: Json) -> object:
    """Return a value that a part of a schema allows."""
    match part:
        case {"$ref": reference}:
            return _sample(schema["$defs"][reference.rpartition("/")[2]], schema)
        case {"enum": [first, *_]}:
            return first
        case {"type": "array", "items": items}:
            return [_sample(items, schema)]
        case {"type": "object", "properties": parts}:
            return {name: _sample(parts[name], schema) for name in parts}
        case {"anyOf": [first, *_]}:
            return _sample(first, schema)
    return 1 if part["type"] in ("integer", "number") else "x"


def test_a_call_with_everything_filled_in_does_what_the_short_one_does(server: Agent) -> None:
    stored = server.ok("memory_store", content="The lamp is red.", tags=["lamp"], importance=0.9)["id"]
    short = server.text("memory_recall", query="What colour is the lamp?")
    for nothing in (None, ""):
        optional = dict.fromkeys(("token_budget", "tags", "after", "before", "as_of", "kinds", "format"), nothing)
        assert server.text("memory_recall", query="What colour is the lamp?", **optional) == short
    replaced = server.ok(
        "memory_store", content="The lamp is green.", tags=None, importance=None, supersedes=[stored[:8]]
    )["id"]
    (memory,) = server.ok("memory_inspect", view=None, ids=[replaced], limit=None)["memories"]
    assert (memory["tags"], memory["importance"]) == (["lamp"], 0.9), "inherited, as without the arguments"


def test_keyed_memories_keep_their_tags_unless_others_are_given(server: Agent) -> None:
    kept = {"scope": "vault", "key": "lamp", "content": "red"}
    server.ok("commit_memory", **kept, tags=["a"])
    for nothing in (None, ""):
        server.ok("commit_memory", **kept, tags=nothing, embedding=nothing)
        (found,) = server.ok("search_memories", query="red", scope="vault", tags=nothing, query_embedding=nothing)[
            "results"
        ]
        assert found["tags"] == ["a"]
    server.ok("commit_memory", **kept, tags=[])
    assert server.ok("search_memories", query="red", scope="vault")["results"][0]["tags"] == []


def test_filters_of_nothing_do_not_empty_the_vault(server: Agent) -> None:
    server.ok("commit_memory", scope="vault", key="kept", content="stays")
    with pytest.raises(MCPError, match="requires at least one filter"):
        server.call("prune_memory", {"scope": "vault", "key": "", "older_than": "", "tags": None})
    assert server.ok("prune_memory", scope="vault", key="kept", older_than="", tags=None)["pruned_count"] == 1
    assert "confirm" in server.refused("memory_forget", ids="", tags=["lamp"], query="", before="", confirm="")


def test_an_empty_text_keeps_its_meaning(server: Agent) -> None:
    ann = {"name": "Ann", "entity_type": "person"}
    server.ok("create_entities", entities=[ann | {"observations": None, "summary": "Tall.", "tags": None}])
    server.ok("create_entities", entities=[ann | {"observations": "", "summary": "", "tags": ""}])
    (node,) = server.ok("open_nodes", names=["Ann"], as_of="")["entities"]
    assert node["summary"] == "Tall.", "what is not given does not replace"
    assert server.ok("set_summary", name="Ann", summary="")["summary"] is None
    assert "summary" in server.refused("set_summary", name="Ann", summary=None)
    assert server.ok("search_memories", query="", tags=["none"])["results"] == []
    assert server.ok("read_graph", cursor="", token_budget="")["entities"]


# what clients add ----------------------------------------------------------------------------------------------------


def test_the_filler_of_clients_is_ignored_where_nothing_is_required() -> None:
    for tool in TOOLS:
        required = any(field.is_required() for field in tool.arguments.model_fields.values())
        assert wrong(tool, {"random_string": "dummy"}) == (["random_string"] if required else []), tool.name
        assert wrong(tool, {"surely_unknown": "dummy"}) == ["surely_unknown"], tool.name


def test_the_type_of_an_object_may_be_repeated_in_it(server: Agent) -> None:
    """The reference server's files have it in each line, and models copy it."""
    people: list[Json] = [
        {"type": "entity", "name": name, "entityType": "person", "observations": []} for name in ("Bo", "Cy")
    ]
    assert len(server.ok("create_entities", entities=people)["result"]) == 2
    knows = {"type": "relation", "from": "Bo", "to": "Cy", "relationType": "knows"}
    assert len(server.ok("create_relations", relations=[knows])["created"]) == 1
    assert server.ok("delete_relations", relations=json.dumps([knows]))["deleted"] == 1


def test_another_type_is_not_lost(server: Agent) -> None:
    message = server.refused("create_entities", entities=[{"type": "person", "name": "Di"}])
    assert "entities.0.type: unknown argument; did you mean entity_type?" in message
    message = server.refused("create_relations", relations=[{"type": "knows", "from": "Bo", "to": "Cy"}])
    assert "relations.0.type: unknown argument; did you mean relation_type?" in message


# other names ---------------------------------------------------------------------------------------------------------

MEANT = [
    ("memory_recall", "limit", "token_budget"),
    ("memory_recall", "max_tokens", "token_budget"),
    ("memory_recall", "top_k", "token_budget"),
    ("memory_recall", "q", "query"),
    ("memory_recall", "text", "query"),
    ("memory_recall", "tag", "tags"),
    ("memory_recall", "since", "after"),
    ("memory_recall", "kind", "kinds"),
    ("memory_recall", "tokenBudget", "token_budget"),
    ("memory_recall", "querry", "query"),
    ("memory_store", "text", "content"),
    ("memory_store", "body", "content"),
    ("memory_store", "Content", "content"),
    ("memory_store", "contents", "content"),
    ("memory_forget", "id", "ids"),
    ("memory_forget", "memory_ids", "ids"),
    ("commit_memory", "id", "key"),
    ("search_memories", "max_results", "limit"),
    ("search_nodes", "top_k", "limit"),
    ("search_nodes", "max_tokens", "token_budget"),
    ("open_nodes", "entities", "names"),
    ("get_neighborhood", "node", "name"),
    ("query_summaries", "limit", "nResults"),
    ("query_raw_memories", "session_id", "sessionId"),
]
"""A tool, a wrong name, and the argument that is meant."""


@pytest.mark.parametrize(("tool", "name", "meant"), MEANT)
def test_a_wrong_name_is_answered_with_the_likely_one(server: Agent, tool: str, name: str, meant: str) -> None:
    assert f"{name}: unknown argument; did you mean {meant}? {tool} takes " in server.refused(tool, **{name: "x"})


@pytest.mark.parametrize("name", ["namespace", "workspace", "project"])
def test_no_argument_chooses_the_workspace(server: Agent, name: str) -> None:
    assert f"{name}: unknown argument; no argument chooses the workspace" in server.refused(
        "memory_recall", query="x", **{name: "atlas"}
    )


@pytest.mark.parametrize("name", ["surely_unknown", "x", "", "verbose", "format_version_of_the_answer"])
def test_an_unlikely_name_gets_no_hint(server: Agent, name: str) -> None:
    message = server.refused("memory_recall", query="x", **{name: "x"})
    assert ": unknown argument; memory_recall takes query, token_budget, tags" in message


# what is not text ----------------------------------------------------------------------------------------------------

LONE = "\\ud800"  # as JSON has it


@pytest.mark.slow
def test_a_lone_surrogate_anywhere_is_refused_in_words(tmp_path: Path) -> None:
    """Also in a list that is given as a text, in the names of fields, and in objects of objects."""
    with serving(tmp_path, "--toolsets", "all") as server:
        with beside(server) as engine:
            engine.workspaces.ensure("here")
        tried = set[str]()
        for tool in TOOLS:
            for name, body in _bodies(tool, tried):
                status, message = _posted(server, tool.name, body)
                assert status == 400 or (status < 500 and not _lone(json.loads(body))), (tool.name, name, message)


def _bodies(tool: Tool, tried: set[str]) -> Iterator[tuple[str, str]]:
    """Yield a text for each field, and everything that text may be in for fields of a type that was not tried yet."""
    kinds = {field.alias or name: repr(field.annotation) for name, field in tool.arguments.model_fields.items()}
    for name, kind in (kinds | {LONE: "no field", "random_string": "ignored"}).items():
        yield from ((name, f'{{"{name}": {part}}}') for part in (PARTS[:1] if kind in tried else PARTS))
        tried.add(kind)


TEXTS = (LONE, f"a{LONE}b", f'[\\"{LONE}\\"]', f'[\\"\\{LONE}\\"]', f'{{\\"\\{LONE}\\": 1}}', "x" * 60 + LONE)
PARTS = [
    *(f'"{text}"' for text in TEXTS),
    *(f'["{LONE}"]', f'[{{"{LONE}": 1}}]', f'[{{"name": "{LONE}"}}]', f'{{"{LONE}": "{LONE}"}}'),
    *("[]", "{}", "[[{}]]", "1e308", "true"),
]
"""What a lone surrogate may be in, as JSON has it, and values of other types."""


def _lone(body: Json) -> bool:
    """Return whether a body has a lone surrogate itself, but not only in what is ignored."""
    body = {name: part for name, part in body.items() if name != "random_string"}
    return unstorable(json.dumps(body, ensure_ascii=False)) is not None


def _posted(server: HttpServer, tool: str, body: str) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", WORKSPACE: "here"}
    answer = server.request("POST", f"/tools/{tool}", content=body.encode(), headers=headers)
    return answer.status_code, answer.json().get("error", "")


@pytest.mark.parametrize("text", [LONE, f'[\\"{LONE}\\"]', f'[\\"\\{LONE}\\"]'])
def test_a_lone_surrogate_in_a_list_as_text_is_an_error_of_the_tool_over_mcp(server: Agent, text: str) -> None:
    message = server.refused("memory_recall", query="x", tags=json.loads(f'"{text}"'))
    assert message.startswith("Invalid arguments for memory_recall. tags: ")
