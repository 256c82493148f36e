"""Brings a database to the present schema: each numbered script once, each in a transaction of its own."""

from collections.abc import Callable

from memoryd.errors import StoreError


def migrate(place: str, found: int, scripts: tuple[str, ...], apply: Callable[[int, str], None]) -> None:
    """Apply the scripts that a database of version `found` lacks; `apply(version, script)` runs one atomically.

    Raise StoreError for a newer version than these scripts make, before anything is touched.
    """
    if found > len(scripts):
        raise StoreError(
            f"{place} has schema version {found}; this memoryd knows versions up to {len(scripts)}. "
            "It was not touched. Upgrade memoryd to the version that wrote it."
        )
    for version, script in enumerate(scripts[found:], start=found + 1):
        apply(version, script)
