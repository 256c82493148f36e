"""What tests share: the bundled models, and servers to talk to."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memoryd.models import weights
from memoryd.settings import Settings
from tests.clients import Agent, Wire, agent, environment

Start = Callable[..., Agent]
"""Starts a server with settings; `mode` names the client's era, `arguments` go to the command line."""
Open = Callable[..., Wire]


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The bundled models where memoryd keeps them for this user, pulled once."""
    directory = Settings.read().models
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
