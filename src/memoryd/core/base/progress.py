"""Callbacks by which long work reports its progress."""

from collections.abc import Callable

Progress = Callable[[float], None]
"""Called with the completed share, 0 to 1."""
StepProgress = Callable[[str, float], None]
"""Called with the name of the current step, and the completed share, 0 to 1; 0 while that is unknown."""
CountProgress = Callable[[float, float], None]
"""Called with the completed amount, and the total."""


def ignore_progress(*_: object) -> None:
    """Do nothing, for callers that need no progress."""
