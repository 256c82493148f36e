"""Servers with and without models, shared by the tests of a worker and empty at the start of each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Agent, agent, environment
from tests.llm import Model, model
from tests.seeds import journal as journals
from tests.seeds.vault import emptied


@pytest.fixture(scope="session")
def _with_models(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("models")
    with agent(environment(home, model_dir)) as server:
        yield server


@pytest.fixture(scope="session")
def _without_models(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("words")
    with agent(environment(home)) as server:
        yield server


@pytest.fixture
def memory(_with_models: Agent) -> Agent:
    """Return an empty memory with the bundled models, ready."""
    return _with_models.clear().settle()


@pytest.fixture
def words(_without_models: Agent) -> Agent:
    """Return an empty memory without models."""
    return _without_models.clear()


@pytest.fixture(scope="session")
def _graph_with_models(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("meaning")
    with agent(environment(home, model_dir), "--toolsets", "graph") as server:
        yield server


@pytest.fixture(scope="session")
def _graph_without_models(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("graph")
    with agent(environment(home), "--toolsets", "graph") as server:
        yield server


@pytest.fixture
def meaning(_graph_with_models: Agent) -> Agent:
    """Return an empty graph with the bundled models."""
    return _graph_with_models.clear_graph()


@pytest.fixture
def graph(_graph_without_models: Agent) -> Agent:
    """Return an empty graph without models."""
    return _graph_without_models.clear_graph()


@pytest.fixture(scope="session")
def _vault(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    environ = environment(tmp_path_factory.mktemp("vault"), MEMORY_MCP_EMBEDDING_DIM="3")
    with agent(environ, "--toolsets", "vault") as server:
        yield server


@pytest.fixture
def vault(_vault: Agent) -> Agent:
    """Return an empty vault with an empty session; embeddings have three dimensions."""
    return emptied(_vault)


@pytest.fixture(scope="session")
def _journal(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(environment(tmp_path_factory.mktemp("journal")), "--toolsets", "journal") as server:
        yield server


@pytest.fixture
def journal(_journal: Agent) -> Agent:
    """Return an empty journal; test_congruence.py shows that one in ChromaDB gives the same answers."""
    return journals.emptied(_journal)


@pytest.fixture(scope="session")
def _remembering(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("remembering")
    with agent(environment(home, model_dir), "--toolsets", "journal,recall") as server:
        yield server


@pytest.fixture
def remembering(_remembering: Agent) -> Agent:
    """Return an empty journal with the bundled models, and the tools of recall."""
    return journals.emptied(_remembering).settle()


@pytest.fixture(scope="module")
def llm() -> Iterator[Model]:
    """Yield a language model's endpoint that answers as the test decides."""
    with model() as found:
        yield found
