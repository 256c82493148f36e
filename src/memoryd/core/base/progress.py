"""Callbacks by which long work reports how far it is."""

from collections.abc import Callable

Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""
StepProgress = Callable[[str, float], None]
"""Called with the name of the current step, and the share that is done, 0 to 1; 0 while that is unknown."""
CountProgress = Callable[[float, float], None]
"""Called with how much is done, and how much there is in all."""


def ignore_progress(*_: object) -> None:
    """Do nothing: the caller does not want to know."""
