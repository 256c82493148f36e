"""A home directory for the service of one test."""

from pathlib import Path

import pytest

from tests.server.service.kit import place


@pytest.fixture
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a short path, so that the sockets are in it and not in the user's shared run-time directory."""
    home = tmp_path_factory.mktemp("h") / "home"
    if not place(home).directory.startswith(str(home)):
        pytest.skip("temporary directories have long names here")
    return home
