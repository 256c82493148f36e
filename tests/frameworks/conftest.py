"""These tests run with `make frameworks`, in an environment with the frameworks; elsewhere they are not collected."""

import importlib.util
from pathlib import Path

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("langgraph") else ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--operations", type=int, default=10_000, help="random operations of each comparison")


@pytest.fixture
def operations(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--operations"))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DATA_DIR", str(tmp_path / "memory"))
    monkeypatch.setenv("MEMORY_EMBEDDER", "none")  # words alone: the comparison is about what is kept
    monkeypatch.setenv("MEMORY_RERANKER", "none")
    monkeypatch.chdir(tmp_path)
