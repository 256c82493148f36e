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


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """Return what `module:name` names; if a dependency is missing, raise `error` with the command to install it.

    `extra` is the extra of memoryd with the dependency; '' if memoryd always depends on it.
    """
    install = f"Install it with: pip install '{f'memoryd[{extra}]' if extra else 'memoryd'}'"
    try:
        return named(target)
    except ModuleNotFoundError as missing:
        raise error(f"{missing.name} is not installed. {install}") from missing
    except ImportError as broken:
        what = extra or repr(target.partition(":")[0])
        raise error(f"A dependency of {what} is installed but cannot be loaded: {broken}. {install}") from broken
