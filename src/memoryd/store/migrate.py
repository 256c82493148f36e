"""Migrations to the present schema: numbered scripts, each applied once."""

from memoryd.errors import StoreError


def outstanding(place: str, found: int, scripts: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the scripts that a database of version `found` lacks, each with the version that it creates.

    Raise StoreError for a newer version than that of the last script.
    """
    if found > len(scripts):
        raise StoreError(
            f"{place} has schema version {found}; this memoryd knows versions up to {len(scripts)}. "
            "It was not touched. Upgrade memoryd to the version that wrote it, then restart this process."
        )
    return list(enumerate(scripts[found:], start=found + 1))
