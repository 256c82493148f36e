import sys
from importlib import import_module

import pytest

from memoryd.extras import Needing


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
