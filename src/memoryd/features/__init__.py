"""What is optional, each a slice: a package here with all that belongs to it. Only this table names the slices."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from memoryd import extras
from memoryd.features.base import Feature, Hook, HookTable, SliceState
from memoryd.settings import Settings

FEATURES: Mapping[str, str] = {
    "agents": "memoryd.features.agents:FEATURE",
    "app": "memoryd.features.app:FEATURE",
    "chroma": "memoryd.features.chroma:FEATURE",
    "imports": "memoryd.features.imports:FEATURE",
    "install": "memoryd.features.install:FEATURE",
    "login": "memoryd.features.login:FEATURE",
    "page": "memoryd.features.page:FEATURE",
    "sync": "memoryd.features.sync:FEATURE",
}
"""The slices by their package's name."""


@cache
def features() -> tuple[Feature, ...]:
    """Return all slices, without what their hooks name."""
    return tuple(extras.named(target) for target in FEATURES.values())


def hooked(hook: Hook) -> Iterator[Any]:
    """Load and yield what the slices have for a hook, in the order of the table."""
    for feature in features():
        if target := getattr(feature, hook):
            yield extras.named(target)


def states(settings: Settings) -> list[SliceState]:
    """Return the states of the slices that are in use."""
    return [state for described in hooked("state") if (state := described(settings))]


def folders(name: str) -> list[Traversable]:
    """Return the folders of this name that slices have: `sql` or `templates`."""
    there = [files(__name__) / slice_ / name for slice_ in FEATURES]
    return [folder for folder in there if folder.is_dir()]


def names(table: HookTable) -> tuple[str, ...]:
    """Return the names that the slices have in a table of hooks."""
    return tuple(name for feature in features() for name in getattr(feature, table))


def load(table: HookTable, name: str) -> Any:
    """Load and return what has this name in a table of hooks. Raise KeyError."""
    return extras.named(
        {key: target for feature in features() for key, target in getattr(feature, table).items()}[name]
    )
