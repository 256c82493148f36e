"""The fixtures of the slices' tests: those of core, and the browser."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.core.conftest import engine, file, other, server
from tests.features import browser as browsers
from tests.installers import NotInstalledError

__all__ = ["browser", "engine", "file", "other", "server"]


@pytest.fixture(autouse=True)
def _logging_on() -> Iterator[None]:
    """Switch logging on again, which the command of a hook switches off in its process, here the test's."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium. If there is none, tests are skipped; in CI they fail.

    Not one for all modules: while it runs, no other event loop can be started.
    """
    with ExitStack() as ends:
        try:
            made = ends.enter_context(browsers.browser())
        except NotInstalledError as error:
            reason = f"There is no Chromium: {error}"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        yield made
