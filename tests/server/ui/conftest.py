"""A page over the memory of one team."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.ui.kit import Site, Visitor, site


@pytest.fixture
def here(home: Path) -> Iterator[Site]:
    with site(home) as made:
        yield made


@pytest.fixture
def owner(here: Site) -> Visitor:
    return here.owner()
