"""Where a service may have a directory to itself."""

from pathlib import Path

import pytest

from tests.server.service.kit import place


@pytest.fixture
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose path is short, so that the sockets are in it, and not where all services of this user may be."""
    home = tmp_path_factory.mktemp("h") / "home"
    if not place(home).directory.startswith(str(home)):
        pytest.skip("temporary directories have long names here")
    return home
