import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from memoryd.extras import Needing
from tests.clients import PATIENCE, environment


@pytest.mark.parametrize(
    ("door", "framework", "extra"),
    [
        ("langgraph", "langchain", "langgraph"),
        ("langgraph", "langgraph", "langgraph"),
        ("anthropic", "anthropic", "anthropic"),
        ("adk", "google", "adk"),
        ("pydantic_ai", "pydantic_ai_harness", "pydantic-ai"),
    ],
)
def test_door_of_a_missing_framework_names_its_extra(
    door: str, framework: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.split(".")[0] == framework or one == f"memoryd.{door}"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, framework, None)
    with pytest.raises(ImportError, match=rf"is not installed\. Install it with: pip install 'memoryd\[{extra}\]'"):
        import_module(f"memoryd.{door}")


def test_framework_of_another_version_is_not_taken_for_a_missing_one() -> None:
    wrong = r"anthropic is installed but cannot be loaded: .*'memoryd\[anthropic\]'"
    with pytest.raises(ImportError, match=wrong), Needing("anthropic"):
        from sys import no_such_name  # type: ignore[attr-defined]  # noqa: F401


OTHER_MCP = "import sys, types; sys.modules['mcp'] = types.ModuleType('mcp'); "
WORKING = """
from memoryd import Memory
with Memory("atlas") as memory:
    memory.store("Staging listens on port 5433.")
    print(memory.recall("staging port")[0]["content"], memory.call("memory_recall", {"query": "staging port"}))
"""


@pytest.mark.process
def test_beside_an_old_mcp_the_python_class_works_and_the_server_says_why_it_does_not(home: Path) -> None:
    def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", f"{OTHER_MCP}{program}", *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment(home), timeout=PATIENCE
        )

    assert run(WORKING).stdout.count("port 5433") == 2
    for words in (("serve",), ("serve", "--transport", "http", "--port", "0")):
        refused = run("from memoryd.cli import main; main()", *words)
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
        assert "'mcp" in refused.stderr
        assert "pipx install memoryd" in refused.stderr
