"""Imports by name, for optional dependencies and for modules that only one command needs. No other module does this."""

import importlib
from typing import Any

from memoryd.errors import MemorydError


def named(target: str) -> Any:
    """Import the module of `module:name` and return its attribute; raise ImportError if that fails."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """Return the attribute `module:name`; raise `error`, which says what to install, if it cannot be imported."""
    install = f"Install it with: pip install '{f'memoryd[{extra}]' if extra else 'memoryd'}'"
    try:
        return named(target)
    except ModuleNotFoundError as missing:
        raise error(f"{missing.name} is not installed. {install}") from missing
    except ImportError as broken:
        what = extra or repr(target.partition(":")[0])
        raise error(f"What {what} needs is installed but does not load: {broken}. {install}") from broken
