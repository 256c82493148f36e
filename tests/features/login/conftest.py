"""Passwords that are cheap to check, and rate limits that most tests do not reach."""

from collections.abc import Iterator

import pytest

from memoryd.features.login import accounts, endpoints, pages


@pytest.fixture(autouse=True, scope="package")
def _quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "COST", (4, 8, 1))
        for module, names in ((endpoints, ("FETCHES", "REGISTRATIONS")), (pages, ("REQUESTS", "ATTEMPTS"))):
            for name in names:
                patch.setattr(module, name, "10000/minute")
        patch.setattr(pages, "ALL_ATTEMPTS", "10000/minute")
        yield
