"""The reported cause of a failed download."""

import pytest

from memoryd.models.pull import _complaint


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("ERROR: No such version\nERROR: No match", "No such version No match"),
        ("ERROR: Exception:\nTraceback:\n  open()\nOSError: disk full", "OSError: disk full"),
        ("/usr/bin/python3: No module named pip\n", "/usr/bin/python3: No module named pip"),
        ("", ""),
    ],
)
def test_a_failure_is_reported_with_its_cause(output: str, cause: str) -> None:
    assert _complaint(output) == cause
