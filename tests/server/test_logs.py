"""The server's log: JSON lines on stderr, whatever happens."""

import json
import sys
from typing import Any

import pytest

from tests import forks
from tests.clients import PATIENCE, SOURCE

pytestmark = pytest.mark.process


def logged(script: str, level: str = "warning") -> list[dict[str, Any]]:
    """Return what a process with our log writes to stderr; it must write nothing to stdout."""
    ended = forks.run(
        [sys.executable, "-c", f"from memoryd.server import logs\nlogs.set_up({level!r})\n{script}"],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stdout == ""
    return [json.loads(line) for line in ended.stderr.splitlines()]


def test_a_record_is_one_line() -> None:
    (line,) = logged("import logging; logging.getLogger('a.b').warning('two\\nlines %s', '\\ud800\\u2603')")
    assert line.keys() == {"time", "level", "logger", "message"}
    assert (line["level"], line["logger"], line["message"]) == ("warning", "a.b", "two\nlines \ud800\u2603")
    assert line["time"].endswith("+00:00")


def test_the_level_decides() -> None:
    script = "import logging; log = logging.getLogger('x'); log.info('a'); log.error('b')"
    assert [line["message"] for line in logged(script)] == ["b"]
    assert [line["message"] for line in logged(script, "info")] == ["a", "b"]


def test_consequences_of_a_postgres_error_are_not_logged() -> None:
    script = "import logging; log = logging.getLogger('psycopg'); log.warning('error ignored'); log.error('b')"
    assert [line["message"] for line in logged(script)] == ["b"]


def test_an_exception_keeps_its_traceback() -> None:
    (line,) = logged("import logging\ntry: 1 / 0\nexcept ZeroDivisionError: logging.exception('failed')")
    assert "ZeroDivisionError: division by zero" in line["exception"]
    assert line["message"] == "failed"


def test_warnings_and_uncaught_errors_are_logged() -> None:
    assert "beware" in logged("import warnings; warnings.warn('beware')")[0]["message"]
    (line,) = logged("raise ValueError('lost')")
    assert (line["level"], line["message"]) == ("critical", "memoryd ends: lost")
    (line,) = logged("import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()")
    assert "ZeroDivisionError" in line["exception"]
