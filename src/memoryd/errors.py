"""What can go wrong, as one small family. A class's docstring is its default message."""


class MemorydError(Exception):
    """memoryd could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class InvalidInputError(MemorydError):
    """The input is not valid."""


class InvalidParamsError(InvalidInputError):
    """The parameters break a rule of the protocol's own: told as its error, not as a tool's result."""


class NotFoundError(MemorydError):
    """There is nothing of that name."""


class StoreError(MemorydError):
    """The database could not be read or written; nothing was stored by this call."""


class StoreBusyError(StoreError):
    """Another process kept the database locked too long; nothing was stored by this call. Try again."""


class StoreAwayError(StoreError):
    """The database cannot be reached; nothing was stored by this call."""


class UncertainError(StoreError):
    """It is not known whether this was stored; look before you repeat it."""


class BusyError(MemorydError):
    """The server is busy: too many calls wait already. Nothing was done; try again in a moment."""


class TimedOutError(MemorydError):
    """The call took too long."""


class UnexpectedError(MemorydError):
    """Something failed that nobody foresaw; the log has the details."""


class ModelError(MemorydError):
    """A model could not be loaded or asked."""
