"""What tests of hooks need."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logging_on() -> Iterator[None]:
    """Switch logging on again, which the command of a hook switches off in its process, here the test's."""
    yield
    logging.disable(logging.NOTSET)
