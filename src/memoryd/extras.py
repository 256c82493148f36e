"""Modules that are imported by name: what is behind an extra, and what one command alone needs. The one place."""

import importlib
from typing import Any

from memoryd.errors import MemorydError


def named(target: str) -> Any:
    """Return what `module:name` names, which imports the module. Raise ImportError where that cannot be done."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """What `module:name` names. Where it cannot be had, `error` says what is missing and how to install it."""
    install = f"Install it with: pip install '{f'memoryd[{extra}]' if extra else 'memoryd'}'"
    try:
        return named(target)
    except ModuleNotFoundError as missing:
        raise error(f"{missing.name} is not installed. {install}") from missing
    except ImportError as broken:
        what = extra or repr(target.partition(":")[0])
        raise error(f"What {what} needs is installed but does not load: {broken}. {install}") from broken
