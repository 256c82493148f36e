"""Migrations to the present schema: numbered scripts, each applied once."""

from collections.abc import Mapping

from memoryd.errors import StoreError


def outstanding(place: str, found: int, scripts: Mapping[int, str], former: str) -> Mapping[int, str]:
    """Return the scripts that a database of version `found` lacks, by the version that each creates.

    Raise StoreError for a newer version than that of the last script, or one before the first; that names `former`,
    how such a database is taken over.
    """
    known = f"{place} has schema version {found}; this memoryd knows versions {min(scripts)} to {max(scripts)}. "
    if found > max(scripts):
        raise StoreError(
            f"{known}It was not touched. Upgrade memoryd to the version that wrote it, then restart this process."
        )
    if 0 < found < min(scripts):
        raise StoreError(f"{known}It was not touched. It was written before the first release: {former}")
    return {version: script for version, script in scripts.items() if version > found}
