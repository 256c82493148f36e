"""The one place that imports modules by name: those of an extra, and those of which a table has one for each choice."""

import importlib
from typing import Any

from memoryd.errors import MemorydError


def named(target: str) -> Any:
    """Import a module and return what `module:name` names in it; raise ImportError if that fails."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """Return what `module:name` names; if that needs what is not installed, raise `error` with the command to install.

    `extra` is the extra of memoryd that brings it; '' for what memoryd always brings.
    """
    install = f"Install it with: pip install '{f'memoryd[{extra}]' if extra else 'memoryd'}'"
    try:
        return named(target)
    except ModuleNotFoundError as missing:
        raise error(f"{missing.name} is not installed. {install}") from missing
    except ImportError as broken:
        what = extra or repr(target.partition(":")[0])
        raise error(f"What {what} needs is installed but does not load: {broken}. {install}") from broken
