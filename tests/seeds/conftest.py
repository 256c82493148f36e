"""One server with the models and one without, shared by the tests of a worker; each test finds them empty."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.clients import Agent, agent, environment
from tests.llm import Model, model
from tests.seeds import journal as journals
from tests.seeds.vault import emptied


@pytest.fixture(scope="session")
def _with_models(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("models")
    with agent(environment(home, model_dir)) as server:
        yield server


@pytest.fixture(scope="session")
def _without_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("words")
    with agent(environment(home)) as server:
        yield server


@pytest.fixture
def memory(_with_models: Agent) -> Agent:
    """An empty memory with the bundled models, ready."""
    return _with_models.clear().settle()


@pytest.fixture
def words(_without_models: Agent) -> Agent:
    """An empty memory without any models."""
    return _without_models.clear()


@pytest.fixture(scope="session")
def _graph_with_models(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("meaning")
    with agent(environment(home, model_dir), "--toolsets", "graph") as server:
        yield server


@pytest.fixture(scope="session")
def _graph_without_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("graph")
    with agent(environment(home), "--toolsets", "graph") as server:
        yield server


@pytest.fixture
def meaning(_graph_with_models: Agent) -> Agent:
    """An empty graph with the bundled models."""
    return _graph_with_models.clear_graph()


@pytest.fixture
def graph(_graph_without_models: Agent) -> Agent:
    """An empty graph without any models."""
    return _graph_without_models.clear_graph()


@pytest.fixture(scope="session")
def _vaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Agent]]:
    """A server for the clients of each era, on first use; embeddings have three dimensions."""
    with ExitStack() as ends:

        @cache
        def of(mode: str) -> Agent:
            home = tmp_path_factory.mktemp(mode)
            environ = environment(home, MEMORY_MCP_EMBEDDING_DIM="3")
            return ends.enter_context(agent(environ, "--toolsets", "vault", mode=mode))

        yield of


@pytest.fixture
def vault(_vaults: Callable[[str], Agent]) -> Agent:
    """An empty vault, and an empty session."""
    return emptied(_vaults("auto"))


@pytest.fixture(params=[pytest.param("legacy", marks=pytest.mark.files), "auto"])
def either(request: pytest.FixtureRequest, _vaults: Callable[[str], Agent]) -> Agent:
    """The same for a client of either era; on Postgres for one, since a store never hears of eras."""
    return emptied(_vaults(request.param))


@pytest.fixture(scope="session")
def _journals(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model_dir: Path
) -> Iterator[Callable[[str], Agent]]:
    """A server for the clients of each era, and one whose journal is in ChromaDB, on first use."""
    with ExitStack() as ends:

        @cache
        def of(kind: str) -> Agent:
            home = tmp_path_factory.mktemp(f"journal-{kind}")
            environ, mode, workspace = environment(home), kind, "default"
            if kind == "chroma":  # which keeps nothing without a model
                in_chroma = {"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_CHROMA_URL": request.getfixturevalue("chroma")}
                environ, mode = environment(home, model_dir, MEMORY_RERANKER="none", **in_chroma), "auto"
                workspace = "seeds"  # other tests use this ChromaDB too
            options = ("--toolsets", "journal", "--workspace", workspace)
            return ends.enter_context(agent(environ, *options, mode=mode))

        yield of


@pytest.fixture(params=["auto", *(pytest.param(kind, marks=pytest.mark.files) for kind in ("legacy", "chroma"))])
def journal(request: pytest.FixtureRequest, _journals: Callable[[str], Agent]) -> Agent:
    """An empty journal, for a client of either era, and in ChromaDB; on Postgres for one era, and there alone."""
    return journals.emptied(_journals(request.param))


@pytest.fixture(scope="session")
def _remembering(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("remembering")
    with agent(environment(home, model_dir), "--toolsets", "journal,recall") as server:
        yield server


@pytest.fixture
def remembering(_remembering: Agent) -> Agent:
    """An empty journal with the bundled models, beside the tools of recall."""
    return journals.emptied(_remembering).settle()


@pytest.fixture(scope="module")
def llm() -> Iterator[Model]:
    """The endpoint of a language model, which says what a test tells it."""
    with model() as found:
        yield found
