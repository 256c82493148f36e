"""What not everyone needs: modules behind an extra, imported by name when a setting asks for them. The one place."""

import importlib
from typing import Any

from memoryd.errors import MemorydError


def load(target: str, extra: str, error: type[MemorydError]) -> Any:
    """What `module:name` names. Where it cannot be had, `error` says what is missing and how to install it."""
    module, _, name = target.partition(":")
    install = f"Install it with: pip install '{f'memoryd[{extra}]' if extra else 'memoryd'}'"
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as missing:
        raise error(f"{missing.name} is not installed. {install}") from missing
    except ImportError as broken:
        raise error(f"What {extra or module!r} needs is installed but does not load: {broken}. {install}") from broken
