"""What tests of imports share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from tests.core import kit


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    """An engine on an empty memory."""
    with kit.engine(home) as made:
        yield made


@pytest.fixture
def graph(engine: Engine) -> Graph:
    """The graph of the default workspace."""
    return Graph(Scope(engine, engine.workspaces.ensure("default")))
