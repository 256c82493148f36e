"""The errors of memoryd. The docstring of a class is its default message."""

import re
from typing import Self

_NOTHING = re.compile("nothing was stored(?: by this call)?", re.IGNORECASE)


class MemorydError(Exception):
    """memoryd could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class InvalidInputError(MemorydError):
    """The input is not valid."""


class InvalidParamsError(InvalidInputError):
    """The parameters violate the protocol: answered with a protocol error instead of a tool result."""


class ChangedMeanwhileError(InvalidInputError):
    """Somebody else changed this after it was read."""


class NotFoundError(MemorydError):
    """Nothing of that name exists."""


class UnknownWorkspaceError(NotFoundError):
    """There is no workspace of that name."""

    def __init__(self, message: str, others: str) -> None:
        super().__init__(f"{message} There are: {others or 'none yet'}.")
        self.others = others
        """The names of the first workspaces there are; '' for none."""


class StoreError(MemorydError):
    """The database could not be read or written; nothing was stored by this call."""

    def after(self, stored: str) -> Self:
        """Return this error for a call that had stored something before, of which nothing is undone."""
        text, found = _NOTHING.subn(stored, str(self), count=1)
        return type(self)(text if found else f"{self} {stored}.")


class StoreBusyError(StoreError):
    """Another process has locked the database for too long; nothing was stored by this call. Try again."""


class StoreAwayError(StoreError):
    """The database cannot be reached; nothing was stored by this call."""


class UncertainError(StoreError):
    """It is unknown whether this was stored; check before you repeat it."""


class BusyError(MemorydError):
    """Something else has to end first. Nothing was done; try again later."""


class OverloadedError(BusyError):
    """Too many calls are waiting for this one to be answered in time; nothing was done. Try again in `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The server is busy: too many calls are waiting. Nothing was done by this one; try again in {seconds} s."
        )
        self.seconds = seconds


class NoThreadError(BusyError):
    """The system allows no more threads (`ulimit -u`, a container's pids). Nothing was done; raise it and try again."""


class TimedOutError(MemorydError):
    """The call took too long."""


class UnexpectedError(MemorydError):
    """An unexpected error occurred; the log has the details."""


class ProviderAwayError(MemorydError):
    """The identity provider cannot be reached. Try again in a moment."""


class ModelError(MemorydError):
    """A model could not be loaded or used."""
