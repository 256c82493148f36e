"""Seed e: the twelve tools, their parameters, and the form of their errors."""

from memoryd.server.http.openapi import document
from memoryd.toolsets import chosen
from tests.clients import Agent, Json

STRING, INTEGER = {"type": "string"}, {"type": "integer"}

SEED: dict[str, Json] = {
    "healthcheck": {},
    "start_database": {},
    "stop_database": {},
    "add_memory": {"prompt": STRING, "thought": STRING, "response": STRING, "sessionId": STRING},
    "get_session_memories": {
        "sessionId": STRING,
        "limit": INTEGER | {"default": 100},
        "offset": INTEGER | {"default": 0},
    },
    "query_raw_memories": {"query": STRING, "nResults": INTEGER | {"default": 10}, "sessionId": STRING},
    "get_all_summaries": {
        "limit": INTEGER | {"default": 50},
        "offset": INTEGER | {"default": 0},
        "category": STRING,
    },
    "query_summaries": {"query": STRING, "nResults": INTEGER | {"default": 10}, "category": STRING},
    "delete_all_summaries": {},
    "summarize_sessions": {"sessionId": STRING},
    "export_database": {"include": {"type": "array"}},
    "import_database": {"file": STRING, "mode": STRING | {"default": "merge", "enum": ["merge", "replace"]}},
}
"""The parameters of each tool."""
REQUIRED = {
    "add_memory": ["prompt", "thought", "response"],
    "get_session_memories": ["sessionId"],
    "query_raw_memories": ["query"],
    "query_summaries": ["query"],
    "import_database": ["file"],
}
CHANGING = {
    "add_memory",
    "summarize_sessions",
    "delete_all_summaries",
    "export_database",
    "import_database",
    "start_database",
    "stop_database",
}


def schemas(journal: Agent) -> dict[str, Json]:
    return {tool.name: tool.input_schema for tool in journal.tools()}


def without_null(part: Json) -> Json:
    """Return a parameter's schema without the alternative `null`."""
    choices: list[Json] = part.get("anyOf", [part])
    return part | choices[0]


def test_the_twelve_tools_exist(journal: Agent) -> None:
    assert set(schemas(journal)) == set(SEED)


def test_the_parameters_are_those_of_the_seed(journal: Agent) -> None:
    for name, schema in schemas(journal).items():
        own = {parameter: without_null(part) for parameter, part in schema["properties"].items()}
        assert set(own) == set(SEED[name])
        for parameter, wanted in SEED[name].items():
            assert wanted.items() <= own[parameter].items(), name
        assert schema.get("required", []) == REQUIRED.get(name, []), name


def test_a_tool_without_parameters_refuses_arguments(journal: Agent) -> None:
    for name in (name for name in SEED if not SEED[name]):
        assert "surely" in journal.refused(name, surely="not"), name


def test_changing_tools_are_annotated(journal: Agent) -> None:
    annotated = {tool.name for tool in journal.tools() if tool.annotations and not tool.annotations.read_only_hint}
    assert annotated == CHANGING


def test_destructive_tools_are_annotated(journal: Agent) -> None:
    annotated = {tool.name for tool in journal.tools() if tool.annotations and tool.annotations.destructive_hint}
    assert annotated == {"delete_all_summaries", "import_database", "stop_database"}


def test_the_openapi_document_has_all_tools() -> None:
    """e: derived from an OpenAPI specification, which can be imported by other tools."""
    paths = document(chosen(["journal"], read_only=False))["paths"]
    assert set(paths) == {f"/tools/{name}" for name in SEED}


BAD: list[tuple[str, Json, str]] = [
    ("add_memory", {}, "prompt"),
    ("add_memory", {"prompt": "a", "thought": "b"}, "response: Field required"),
    ("add_memory", {"prompt": "", "thought": "b", "response": "c"}, "prompt"),
    ("add_memory", {"prompt": " \n", "thought": "b", "response": "c"}, "prompt"),
    ("add_memory", {"prompt": "a", "thought": "", "response": "c"}, "thought"),
    ("add_memory", {"prompt": "a", "thought": "b", "response": "\t"}, "response"),
    ("add_memory", {"prompt": "a", "thought": "b", "response": "c", "sessionId": " "}, "sessionId"),
    ("add_memory", {"prompt": "a", "thought": "b", "response": "c", "sessionId": "x" * 201}, "sessionId"),
    ("add_memory", {"prompt": "a\0", "thought": "b", "response": "c"}, "U+0000"),
    ("add_memory", {"prompt": 1, "thought": "b", "response": "c"}, "prompt"),
    ("add_memory", {"prompt": "x" * 1_000_001, "thought": "b", "response": "c"}, "prompt"),
    ("add_memory", {"prompt": "a", "thought": "b", "response": "c", "session_id": "d"}, "takes prompt, thought"),
    ("get_session_memories", {}, "sessionId: Field required"),
    ("get_session_memories", {"sessionId": "s", "limit": 0}, "limit"),
    ("get_session_memories", {"sessionId": "s", "limit": -1}, "limit"),
    ("get_session_memories", {"sessionId": "s", "limit": 10**30}, "limit"),
    ("get_session_memories", {"sessionId": "s", "offset": -1}, "offset"),
    ("get_session_memories", {"sessionId": "s", "offset": 10**30}, "offset"),
    ("get_session_memories", {"sessionId": "s", "limit": 1.5}, "limit"),
    ("query_raw_memories", {"query": ""}, "query"),
    ("query_raw_memories", {"query": "  "}, "query"),
    ("query_raw_memories", {"query": "x" * 100_001}, "query"),
    ("query_raw_memories", {"query": "a", "nResults": 0}, "nResults"),
    ("query_raw_memories", {"query": "a", "n_results": 1}, "takes query, nResults, sessionId"),
    ("get_all_summaries", {"limit": -5}, "limit"),
    ("get_all_summaries", {"category": 1}, "category"),
    ("query_summaries", {"query": ""}, "query"),
    ("query_summaries", {"query": "a", "nResults": 10**9}, "nResults"),
    ("summarize_sessions", {"sessionId": " "}, "sessionId"),
    ("summarize_sessions", {"sessionId": "unknown session"}, "unknown session"),
    ("export_database", {"include": []}, "include"),
    ("export_database", {"include": ["everything"]}, "everything"),
    ("import_database", {}, "file"),
    ("import_database", {"file": "a.jsonl", "mode": "overwrite"}, "mode"),
    ("import_database", {"file": "a.jsonl"}, "a.jsonl"),
]


def test_an_error_says_what_failed_and_why(journal: Agent) -> None:
    """e: isError is true, and the text is `Tool Error: <what>. Message: <why>`."""
    for tool, arguments, named in BAD:
        text = journal.refused(tool, **arguments)
        what, message = text.split(". Message: ", 1)
        assert what in ("Tool Error: Invalid arguments", "Tool Error: Not found"), text
        assert named in message, tool
