"""Passwords that are cheap to check."""

import pytest

from memoryd.core.access import accounts


@pytest.fixture(autouse=True, scope="session")
def _cheap() -> None:
    accounts.COST = (4, 8, 1)
