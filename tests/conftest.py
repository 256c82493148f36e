"""What tests share: the bundled models, and servers to talk to."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memoryd.models import weights
from tests.clients import Agent, Wire, agent, environment

_CACHE = Path(__file__).parents[1] / ".cache"

Start = Callable[..., Agent]
"""Starts a server with settings; `mode` names the client's era, `arguments` go to the command line."""
Open = Callable[..., Wire]


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The bundled models, pulled once into a directory that outlives the run."""
    directory = Path(os.environ.get("MEMORY_TEST_MODELS") or _CACHE / "models")
    weights.pull(directory, lambda _stage, _fraction: None)  # it is safe beside the other workers of a parallel run
    return directory


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Servers without models in one home, each ended with the test."""
    with ExitStack() as ends:

        def begin(*arguments: str, mode: str = "auto", models: Path | None = None, **settings: str) -> Agent:
            environ = environment(home, models, **settings)
            return ends.enter_context(agent(environ, *arguments, mode=mode, log=home / "stderr.log"))

        yield begin


@pytest.fixture
def wire(home: Path) -> Iterator[Open]:
    """Raw servers without models in one home, each ended with the test."""
    with ExitStack() as ends:

        def begin(*arguments: str, models: Path | None = None, **settings: str) -> Wire:
            return ends.enter_context(Wire(environment(home, models, **settings), *arguments))

        yield begin
