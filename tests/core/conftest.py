"""What the core's tests share."""

from collections.abc import Iterator

import pytest

from tests.core.kit import Ollama, ollama


@pytest.fixture
def server() -> Iterator[Ollama]:
    with ollama() as server:
        yield server
