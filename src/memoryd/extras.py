"""The only place that imports modules by name: modules of an extra, and modules from a table of choices."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in memoryd.connect
    from typing import Any

    from memoryd.errors import MemorydError


def named(target: str) -> Any:
    """Import a module and return what `module:name` names in it; raise ImportError if that fails."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


class Needing:
    """A context manager around imports that need `extra`, an extra of memoryd; '' if memoryd always needs them.

    If a dependency is missing, raise `error` with the command to install it.
    """

    def __init__(self, extra: str, error: type[Exception] = ImportError) -> None:
        self._extra, self._error = extra, error

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, cause: BaseException | None, _trace: object) -> None:
        own = f"[{self._extra}]" if self._extra else ""
        install = f"Install it with: pip install 'memoryd{own}' (in a clone: '.{own}')"
        if isinstance(cause, ModuleNotFoundError):
            raise self._error(f"{cause.name} is not installed. {install}") from cause
        if isinstance(cause, ImportError):
            what = self._extra or "memoryd"
            broken = f"A dependency of {what} is installed but cannot be loaded: {cause}. {install}"
            raise self._error(broken) from cause


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """Return what `module:name` names; see Needing for `extra` and `error`."""
    with Needing(extra, error):
        return named(target)
