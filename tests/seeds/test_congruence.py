"""The same calls of every tool, resource and prompt get the same answers in both eras and from every store."""

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, types

from memoryd.toolsets import TOOLSETS
from tests.clients import Agent, Json, agent, database, environment, figures, text_of

OWN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)|\d{8}T\d{6,}\w*"
)
"""The parts of answers that differ between walks: ids and times."""
TEMPLATES = ("memory://vault/{key}", "memory://session/{id}")


class Walk:
    """The calls of an agent and their answers, in which numbers replace ids and times."""

    def __init__(self, walker: Agent) -> None:
        self._agent = walker
        self._own: dict[str, str] = {}
        self.answers: list[Any] = []
        self.succeeded: set[str] = set()

    def __call__(self, tool: str, **arguments: Any) -> Json:
        """Call a tool and return its answer, or nothing if it is a protocol error."""
        try:
            result = self._agent.call(tool, arguments)
        except MCPError as error:
            self._note(tool, error.error.code, error.error.message)
            return {}
        if not result.is_error:
            self.succeeded.add(tool)
        meta = {name: value for name, value in (result.meta or {}).items() if name.startswith("memoryd/")}
        self._note(tool, result.is_error, result.structured_content, text_of(result), meta)
        return figures(result)

    def ask(self, what: str, work: Callable[[Client], Awaitable[Any]]) -> None:
        """Send another request. It may be refused; the error codes differ between the eras and are not noted."""
        try:
            answer = self._agent.ask(work)
        except MCPError as error:
            self._note(what, error.error.message, error.error.data)
        else:
            self._note(what, answer.model_dump(mode="json", exclude={"meta", "result_type"}))

    def _note(self, *answer: Any) -> None:
        def number(found: re.Match[str]) -> str:
            return self._own.setdefault(found[0], f"<{len(self._own)}>")

        text = json.dumps(answer, ensure_ascii=False).replace(str(self._agent.data), "DATA")
        self.answers.append(json.loads(OWN.sub(number, text)))


def remember(call: Walk) -> None:
    """Call the tools of seed d: memories."""
    first = call("memory_store", content="The staging server is in Oslo.", tags=["infra"], importance=0.8)["id"]
    call("memory_store", content="The staging server is in Oslo")
    second = call("memory_store", content="The staging server is in Bergen.", supersedes=[first])["id"]
    call("memory_store", content="The staging server has moved again.", supersedes=[first])
    call("memory_store", content="Miso is a cat.\nShe sleeps — a lot: 💤", tags=["cat", "pets"])
    for form in ("summary", "list", "raw", "answer"):
        call("memory_recall", query="staging server", format=form)
    call("memory_recall", query="cat", tags=["cat"], kinds=["memory"], token_budget=50)
    call("memory_recall", query="server", as_of="2000-01-01T00:00:00Z")
    call("memory_recall", query="What happened?", after="2000-01-01T00:00:00Z", before="2001-01-01T00:00:00Z")
    call("memory_recall", query="nothing like it")
    call("memory_context")
    call("memory_context", task="feed the cat", token_budget=100)
    for view in ("stats", "recent", "important", "tags", "export"):
        call("memory_inspect", view=view)
    call("memory_inspect", ids=[first, second, "unknown"])
    call("memory_forget", query="staging", dry_run=True)
    call("memory_forget", query="staging")
    call("memory_forget", ids=[second])
    call("memory_forget", tags=["pets"], confirm=True)
    call("memory_forget")


def commit(call: Walk) -> None:
    """Use seed a: memories with keys, by tools and as resources."""
    for number, key in enumerate(("apple", "a/b c", "übung")):
        call(
            "commit_memory",
            scope="vault",
            key=key,
            content=f"A text of {key}.",
            tags=["t", key],
            embedding=[number, 1, 0],
        )
    call("commit_memory", scope="vault", key="apple", content="Another text of apple.")
    call("commit_memory", scope="session", key="apple", content="A volatile text of apple.")
    call("commit_memory", scope="vault", key="apple", content="text", embedding=[1, 2])
    for query in ("text", "apple", "", "nothing"):
        call("search_memories", query=query)
    call("search_memories", query="another text", scope="vault", tags=["t"], limit=1)
    call("search_memories", query="text", query_embedding=[1, 1, 0])
    call.ask("resources", lambda client: client.list_resources())
    call.ask("templates", lambda client: client.list_resource_templates())
    for uri in (
        "vault",
        "vault/apple",
        "vault/a%2Fb%20c",
        "vault?limit=1",
        "vault/none",
        "vault/%zz",
        "session/other",
        "x",
    ):
        call.ask(uri, lambda client, uri=uri: client.read_resource(f"memory://{uri}"))  # type: ignore[misc]
    for template, name in zip(TEMPLATES, ("key", "id"), strict=True):
        reference = types.ResourceTemplateReference(uri=template)
        call.ask("complete", lambda client, r=reference, n=name: client.complete(r, {"name": n, "value": "a"}))  # type: ignore[misc]
    call.ask("prompts", lambda client: client.list_prompts())
    for prompt, arguments in (
        ("briefing", {}),
        ("briefing", {"task": "apples"}),
        ("remember", {"topic": "x"}),
        ("x", {}),
    ):
        call.ask(prompt, lambda client, p=prompt, a=arguments: client.get_prompt(p, a))  # type: ignore[misc]
    call("prune_memory", scope="vault", key="apple")
    call("prune_memory", scope="all", tags=["t"])
    call("prune_memory", scope="session", older_than="2000-01-01")
    call("set_session_id", session_id="another")
    call("search_memories", query="volatile", scope="session")
    call("set_session_id", session_id="")
    call("set_session_id", session_id="walk")  # whose active project the tools of the graph need


def project(call: Walk) -> None:
    """Call the tools of seed b: projects."""
    call("get_current_project")
    call("search_nodes", query="x")
    for name, description in (("one", "The first."), ("two", ""), ("one", "again"), ("", "")):
        call("create_project", name=name, description=description)
    call("switch_project", name="one")
    call("switch_project", name="none")
    call("get_current_project")
    call("list_projects")
    call("archive_project", name="two")
    call("list_projects", status="archived")
    call("restore_project", name="two")
    call("archive_project", name="two")
    call("delete_project", name="two")
    call("list_projects", status="all")


REPORTS = (
    "get_orphans",
    "get_relation_gaps",
    "find_similar_nodes",
    "get_consolidation_report",
    "get_pending_consolidation",
    "get_stats",
)


def connect(call: Walk) -> None:
    """Call the tools of seed c: a graph."""
    people = [
        {"name": name, "entity_type": "person", "observations": [f"{name} likes tea.", f"{name} is here."]}
        for name in ("Ann", "Bob", "Eve")
    ]
    call("create_entities", entities=[*people, {"name": "Oslo", "entity_type": "city", "tags": ["north"]}])
    call("create_entities", entities=people[:1])
    call("create_entities", entities=[{"name": "", "entity_type": "x"}])
    call("add_observations", observations=[{"entity_name": "Ann", "contents": ["Ann lives in Oslo."]}])
    call("add_observations", observations=[{"entity_name": "Unknown", "contents": ["x"]}])
    call("replace_observation", entity_name="Ann", ordinal=1, new_content="Ann likes coffee.")
    call("replace_observation", entity_name="Ann", ordinal=99, new_content="x")
    call("delete_observations", deletions=[{"entity_name": "Bob", "ordinals": [1]}])
    call(
        "create_relations",
        relations=[
            {"from_entity": "Ann", "to_entity": "Bob", "relation_type": "knows"},
            {"from_entity": "Bob", "to_entity": "Eve", "relation_type": "knows"},
            {"from_entity": "Ann", "to_entity": "Oslo", "relation_type": "lives_in"},
        ],
    )
    call("create_relations", relations=[{"from_entity": "Ann", "to_entity": "Unknown", "relation_type": "knows"}])
    call("update_relation_type", from_entity="Ann", to_entity="Bob", old_type="knows", new_type="trusts")
    call("get_relations_between", entity_a="Ann", entity_b="Bob")
    call("get_neighborhood", name="Ann", depth=2)
    call("get_path", from_entity="Ann", to_entity="Eve")
    call("get_path", from_entity="Oslo", to_entity="Unknown")
    call("set_summary", name="Ann", summary="Ann, who lives in Oslo.")
    call("set_tags", name="Ann", tags=["friend"])
    call("get_nodes_by_type", entity_type="person")
    call("get_recently_modified", days=1, limit=2)
    call("open_nodes", names=["Ann", "Unknown"])
    call("open_nodes", names=["Ann"], as_of="2000-01-01T00:00:00Z", token_budget=0)
    page = call("read_graph", token_budget=60)
    call("read_graph", cursor=page.get("next_cursor"))
    call("read_graph", cursor="none such")
    for mode in ("auto", "text", "embedding", "none such"):
        call("search_nodes", query="Who likes coffee?", mode=mode)
        call("query_observations", entity_name="Ann", query="coffee", mode=mode)
    call("search_nodes", query="Who likes coffee?", limit=1, token_budget=20)
    for report in REPORTS:
        call(report)
    call("delete_relations", relations=[{"from_entity": "Ann", "to_entity": "Bob", "relation_type": "trusts"}])
    call("delete_entities", entity_names=["Eve", "Unknown"])


SESSIONS = {
    "bread": (
        ("How do I bake bread?", "They want bread.", "Mix flour, water and yeast."),
        ("How long does it take to rise?", "The dough.", "One hour in a warm place."),
    ),
    "car": (("The car does not start.", "It may be the battery.", "Charge the battery or replace it."),),
    "code": (("Fix the bug: the tests of the parser fail.", "An off-by-one error.", "Fixed in `parser.py`: 1 line."),),
}


def converse(call: Walk) -> None:
    """Call the tools of seed e: a journal."""
    for session, turns in SESSIONS.items():
        for prompt, thought, response in turns:
            call("add_memory", prompt=prompt, thought=thought, response=response, sessionId=session)
    call("add_memory", prompt="", thought="", response="")
    call("get_session_memories", sessionId="bread")
    call("get_session_memories", sessionId="bread", limit=1, offset=1)
    call("get_session_memories", sessionId="none", limit=0)
    call("query_raw_memories", query="How do I bake bread?", nResults=1)
    call("query_raw_memories", query="battery", sessionId="car")
    call("query_raw_memories", query="")
    call("query_raw_memories", query="bread", sessionId="none")
    call("get_all_summaries")
    call("summarize_sessions", sessionId="bread")
    call("summarize_sessions", sessionId="none")
    call("summarize_sessions")
    call("get_all_summaries", limit=1, offset=1)
    call("get_all_summaries", category="bugfix")
    call("get_all_summaries", category="none such")
    call("query_summaries", query="How do I bake bread?", nResults=1)
    call("query_summaries", query="parser", category="bugfix")
    name = Path(call("export_database")["file"]).name
    call("export_database", include=["summaries"])
    call("export_database", include=["nothing"])
    call("delete_all_summaries")
    call("import_database", file=name, mode="merge")
    call("import_database", file=name, mode="replace")
    call("import_database", file="none.jsonl")
    call("import_database", file="../none.jsonl")
    call("get_all_summaries")
    for tool in ("healthcheck", "start_database", "stop_database", "healthcheck"):
        call(tool)


WALKS = (project, remember, commit, connect, converse)


def walked(home: Path, mode: str = "auto", **settings: str) -> Walk:
    """Call every tool of a new server."""
    environ = environment(home, None, MEMORY_MCP_EMBEDDING_DIM="3", MEMORY_MCP_SESSION_ID="walk", **settings)
    with agent(environ, "--toolsets", "all", mode=mode) as walker:
        walk = Walk(walker)
        for part in WALKS:
            part(walk)
    return walk


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """Return the walk through a server of this protocol on SQLite."""
    return walked(tmp_path_factory.mktemp("reference"))


@pytest.mark.slow
@pytest.mark.files  # a store does not know the era
def test_both_eras_get_the_same_answers(reference: Walk, tmp_path: Path) -> None:
    assert reference.succeeded == {tool.name for tools in TOOLSETS.values() for tool in tools}
    for answer, expected in zip(walked(tmp_path, "legacy").answers, reference.answers, strict=True):
        assert in_order(answer) == in_order(expected)


@pytest.mark.slow
@pytest.mark.files  # it selects the stores itself
def test_postgres_gives_the_same_answers(reference: Walk, postgres: str, tmp_path: Path) -> None:
    walk = walked(tmp_path, MEMORY_DATABASE_URL=database(postgres, tmp_path))
    for answer, expected in zip(walk.answers, reference.answers, strict=True):
        assert alike(answer) == alike(expected)


def in_order(answer: Any) -> Any:
    """Return an answer with equally good matches sorted by key, since the server sorts them by random ids."""
    match answer:
        case ["search_memories", arguments, {"results": list(results), **more}, *rest]:
            by_key = sorted(results, key=lambda one: (-one["relevance"], one["key"], one["scope"]))
            return ["search_memories", arguments, {"results": by_key, **more}, *rest]
        case ["search_nodes", arguments, {"result": list(nodes), **more}, _, *rest]:
            by_name = sorted(nodes, key=lambda one: (-one["score"], one["name"]))
            return ["search_nodes", arguments, {"result": by_name, **more}, *rest]
    return answer


@pytest.mark.files
def test_a_journal_is_the_same_in_chromadb(tmp_path: Path, model_dir: Path, chroma: str) -> None:
    walks = []
    with ExitStack() as ends:
        for store in ("records", "chroma"):
            settings = {"MEMORY_RERANKER": "none", "MEMORY_JOURNAL_STORE": store, "MEMORY_CHROMA_URL": chroma}
            environ = environment(tmp_path / store, model_dir, **settings)
            walker = ends.enter_context(agent(environ, "--toolsets", "journal", "--workspace", "congruence"))
            walk = Walk(walker)
            converse(walk)
            walks.append(walk)
    for records, kept in zip(walks[0].answers, walks[1].answers, strict=True):
        assert alike(records) == alike(in_time(kept))


def alike(answer: Any) -> Any:
    """Return an answer without the parts that depend on the store: scores, and the place of the data."""
    match answer:
        case ["healthcheck", failed, data, *_]:
            return failed, data["status"], sorted(data)
        case ["start_database" | "stop_database", failed, data, *_]:
            return failed, sorted(data)
        case ["search_memories", failed, {"results": list(results), **more}, *_]:
            found = sorted(results, key=lambda one: (one["key"], one["scope"]))  # ordered by a score
            return failed, scoreless(found), more
        case ["search_nodes", failed, {"result": list(nodes), **more}, *_]:
            return failed, scoreless(sorted(nodes, key=lambda one: one["name"])), more
        case [_, bool(), data, *_]:  # of a tool; its text is the same once more
            return scoreless(data)
    return answer


def in_time(answer: Any) -> Any:
    """Return an answer of a journal in ChromaDB as if the machine had not been too busy to make all vectors."""
    match answer:
        case [tool, bool(failed), {"degraded": str(note), **data}, *rest] if note.startswith("Not yet compared across"):
            return [tool, failed, data, *rest]
    return answer


def scoreless(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: scoreless(value) for key, value in data.items() if key not in UNEQUAL}
    return [scoreless(one) for one in data] if isinstance(data, list) else data


UNEQUAL = {"score", "relevance", "tokens_used"}
"""The fields of results that may differ: stores score words in their own way, and a score has more digits or fewer."""
