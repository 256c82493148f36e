"""A page over the memory of a team."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.page.kit import Site, Visitor, site
from tests.features.page.tab import Served, Tab


@pytest.fixture
def here(home: Path) -> Iterator[Site]:
    with site(home) as made:
        yield made


@pytest.fixture
def owner(here: Site) -> Visitor:
    return here.owner()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("browser"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def signed_in(browser: Any, served: Served) -> Iterator[Tab]:
    made = Tab(browser, served)
    yield made
    made.context.close()


@pytest.fixture
def tab(signed_in: Tab) -> Iterator[Tab]:
    """Yield a new tab; the login takes as long as most tests, and is done once for all."""
    signed_in.again()
    yield signed_in
    assert signed_in.complaints == []
