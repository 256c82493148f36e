"""The documentation is correct: tables, links, snippets, commands, variables."""

import ast
import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryd.cli import app
from memoryd.server.http.openapi import document
from memoryd.settings import Settings, variables
from memoryd.store.sql import migrations
from memoryd.store.sqlite.connection import equipped
from memoryd.toolsets import chosen
from tests.clients import made

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")] + sorted((ROOT / "docs").glob("*.md"))
NO_SETTINGS = {"MEMORY_SYSTEM_PROMPT"}
"""Names that look like memoryd's variables but are not."""

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


TRUE_HERE = [page for page in PAGES if page.name != "extending.md"]
"""The pages about this package as it is; test_extending.py follows docs/extending.md and checks the result."""


def fences(page: Path, *languages: str) -> Iterator[str]:
    """Yield the code blocks in these languages."""
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        if fence["language"] in languages:
            yield fence["text"]


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


# tables --------------------------------------------------------------------------------------------------------------


@cache
def tables() -> Any:
    """Import and return docs/tables.py, a script outside any package."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_tables_are_up_to_date() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in TRUE_HERE}
    stale = [name for name, text in texts.items() if tables().filled(text) != text]
    assert stale == [], "run `python docs/tables.py`"


def test_every_table_is_shown() -> None:
    shown = {found["name"] for page in TRUE_HERE for found in tables().BLOCK.finditer(page.read_text(encoding="utf-8"))}
    hidden = [f"add `<!-- table: {name} -->` to a page of docs/" for name in sorted(set(tables().TABLES) - shown)]
    assert not hidden, "; ".join(hidden)
    unknown = [f"docs/tables.py makes no table {name}" for name in sorted(shown - set(tables().TABLES))]
    assert not unknown, "; ".join(unknown)


COUNT = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty) (?:more )?tools\b",
    re.IGNORECASE,
)
"""A number of tools in a text, which goes stale when a tool is added."""


def test_tools_are_counted_by_the_tables_alone() -> None:
    counted = {page.name: COUNT.findall(tables().BLOCK.sub("", prose(page))) for page in PAGES}
    assert not any(counted.values()), f"leave it to `<!-- table: toolsets -->`: {counted}"


@pytest.mark.parametrize("text", ["All 53 tools take", "Twelve tools, such as", "The five tools of `recall`"])
def test_a_typed_number_of_tools_is_noticed(text: str) -> None:
    assert COUNT.search(text)


@pytest.mark.parametrize("text", ["Its tools take", "the tools of all 5 toolsets", "two toolsets"])
def test_other_numbers_beside_tools_are_not(text: str) -> None:
    assert not COUNT.search(text)


def test_the_page_of_scale_distributes_every_table_of_a_workspace() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    statements = re.search(r"```sql\n(ALTER DATABASE memory SET citus.*?)```", page, re.DOTALL)
    assert statements
    schema = "\n".join(migrations("postgres").values())
    made = re.findall(r"^CREATE TABLE (\w+) \(\s*(?:--[^\n]*\n\s*)?workspace_id ", schema, re.MULTILINE)
    assert sorted(re.findall(r"'(\w+)'(?=[,\]])", statements[1].replace("'workspace_id'", ""))) == sorted(made)


def test_proxies_ask_for_what_a_process_answers_by_itself() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert re.findall(r"uri (/health\S*)", page) == ["/health/live"] * 2


def test_the_architecture_names_every_table_of_the_schema() -> None:
    database = equipped(apsw.Connection(":memory:"))
    for script in migrations("sqlite").values():
        database.execute(script)
    names = {str(name) for (name,) in database.execute("SELECT name FROM pragma_table_list WHERE type != 'shadow'")}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    views = {"live_text", "entity_related", "entities", "observations", "session_memories", "vault_memories"}
    assert {name for name in names - views if not name.startswith("sqlite_") and f"`{name}`" not in page} == set()


def test_a_stale_table_is_replaced() -> None:
    page = "<!-- table: tools -->\n| old |\n<!-- /table -->\n"
    assert "memory_store" in tables().filled(page)


# links ---------------------------------------------------------------------------------------------------------------


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    for page, link in [(each, link) for each in PAGES for link in LINK.finditer(prose(each))]:
        target, _, anchor = link["target"].partition("#")
        if target.startswith(("http://", "https://")):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), (page.name, link[0])
        assert path.is_relative_to(ROOT), (page.name, link[0])
        assert not anchor or anchor in anchors(path), (page.name, link[0])


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            waiting += [
                path
                for link in LINK.finditer(prose(page))
                if (path := (page.parent / link["target"].partition("#")[0]).resolve()).is_file()
            ]
    assert seen == set(PAGES)


# snippets ------------------------------------------------------------------------------------------------------------


def test_snippets_parse() -> None:
    for page in PAGES:
        for text in fences(page, "json"):
            json.loads(text)
        for text in fences(page, "toml"):
            tomllib.loads(text)


DOORS = {"memoryd.adk", "memoryd.anthropic", "memoryd.langgraph", "memoryd.pydantic_ai"}


def test_imports_in_python_blocks_exist() -> None:
    trees = [ast.parse(text) for page in TRUE_HERE for text in fences(page, "python")]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memoryd"):
            if node.module in DOORS:  # `make frameworks` runs these
                assert find_spec(node.module)
                continue
            module = import_module(node.module or "")
            assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)


def test_code_blocks_name_their_language() -> None:
    assert [(page.name, text) for page in PAGES for text in fences(page, "")] == [], "name a language, or `text`"


# commands ------------------------------------------------------------------------------------------------------------


def commands(page: Path) -> Iterator[list[str]]:
    """Yield each command of the `sh` blocks as words, without comments; pipes and lists are split."""
    for text in fences(page, "sh"):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars="|&;")
            words.whitespace_split = True
            command: list[str] = []
            for word in [*words, ";"]:
                if set(word) <= set("|&;"):
                    yield command
                    command = []
                else:
                    command.append(word)


def program(command: list[str]) -> list[str]:
    """Return a command without its leading variables, and without the client that registers it."""
    while command and re.match(r"[A-Za-z_]+=", command[0]):
        command = command[1:]
    return command[command.index("--") + 1 :] if command[:3] == ["claude", "mcp", "add"] else command


def check_memoryd(words: list[str]) -> None:
    """Check that a command of memoryd and its options exist."""
    command: Any = made(app)
    rest = iter(words)
    for word in rest:
        options = {name: option for option in command.params for name in option.opts}
        if word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            assert name in {*options, "--help", "-h"}, f"memoryd {command.name} has no option {word}"
            if not value and name in options and not options[name].is_flag:
                next(rest)
        elif inner := getattr(command, "commands", None):
            assert word in inner, f"memoryd has no command {word}"
            command = inner[word]
    assert not words or command.name != "models", f"memoryd {' '.join(words)} names no command"


def test_commands_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for command in (program(command) for page in PAGES for command in commands(page)):
        match command:
            case ["memoryd", *words]:
                check_memoryd(words)
            case ["make", *words]:
                assert set(words) <= set(targets), command
            case ["python", "-m", module, *_]:
                assert importlib.util.find_spec(module), command
            case ["python", script, *_] if script.endswith(".py"):
                assert (ROOT / script).is_file(), command


@pytest.mark.parametrize("words", [["stroe", "x"], ["recall", "--limit", "3", "x"], ["models"], ["--htp"]])
def test_a_wrong_command_is_reported(words: list[str]) -> None:
    with pytest.raises(AssertionError):
        check_memoryd(words)


def named(pattern: str) -> set[tuple[str, str]]:
    """Return what a pattern finds in the pages about this package, each with its page."""
    texts = [(page.name, page.read_text(encoding="utf-8")) for page in TRUE_HERE]
    return {(page, name) for page, text in texts for name in re.findall(pattern, text)}


def test_variables_exist() -> None:
    known = {name for field in Settings.model_fields for name in variables(field)} | NO_SETTINGS
    assert {found for found in named(r"\bMEMORY_[A-Z_]+[A-Z]\b") if found[1] not in known} == set()


def test_tests_exist() -> None:
    """Check that the test files that a page names exist, by their path or their path below tests/."""
    tests = named(r"`((?:[\w/]+/)?test_\w+\.py)`")
    assert {one for one in tests if not any((root / one[1]).is_file() for root in (ROOT, ROOT / "tests"))} == set()


def test_the_openapi_document_is_up_to_date() -> None:
    tools = chosen(["all"], read_only=False)
    kept = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(document(tools))), "run `memoryd openapi > docs/openapi.json`"
